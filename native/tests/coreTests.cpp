// The core without Node: threads, handles, memory, mapped files that shrink, random numbers, and plans that lie.
#ifdef __linux__
#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/vfs.h>
#endif
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/handles.h"
#include "core/lane.h"
#include "core/memory.h"
#include "core/pool.h"
#include "core/weights.h"
#include "cpu/plan.h"
#include "cpu/sampler.h"
#include "cpu/session.h"

namespace {

int failures = 0;
int checks = 0;

void check(bool condition, const char* what, int line) {
  checks++;
  if (condition) return;
  failures++;
  std::fprintf(stderr, "line %d: %s\n", line, what);
}
#define CHECK(condition) check((condition), #condition, __LINE__)

template <class Body>
const char* code_of(Body&& body) {
  try {
    body();
  } catch (const rlx::Error& error) {
    return rlx::code_name(error.code());
  }
  return "none";
}
bool same(const char* a, const char* b) { return std::strcmp(a, b) == 0; }

struct Counting {
  std::atomic<size_t> seen{0};
  rlx::Barrier barrier;
  rlx::Seats seats;
  std::atomic<int> lasts{0};
};

void test_pool() {
  rlx::Pool pool;
  for (size_t threads = 1; threads <= 4; threads++) {
    for (int round = 0; round < 200; round++) {
      Counting counting;
      counting.barrier.reset(threads);
      pool.run(
          threads,
          [](void* argument, size_t thread) {
            auto& state = *static_cast<Counting*>(argument);
            for (int i = 0; i < 5; i++) {
              state.seen.fetch_add(thread + 1);
              state.barrier.wait(state.seats, thread, [&] { state.lasts.fetch_add(1); });
            }
          },
          &counting);
      if (counting.seen != 5 * threads * (threads + 1) / 2 || counting.lasts != 5) CHECK(!"every thread runs, one is last");
    }
  }
  CHECK(pool.workers() == 3);
}

#ifdef __linux__
using Room = rlx::Seats::Room;

void hold_on(const cpu_set_t& processors) { sched_setaffinity(0, sizeof processors, &processors); }
cpu_set_t only(int processor) {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(static_cast<size_t>(processor), &one);
  return one;
}
cpu_set_t affinity() {
  cpu_set_t all;
  sched_getaffinity(0, sizeof all, &all);
  return all;
}
// Thread 0 sits down on `processor`, where this thread is then let go; the system may move it at once.
void share(rlx::Seats& seats, int processor, const cpu_set_t& anywhere) {
  hold_on(only(processor));
  seats.sit(0);
  hold_on(anywhere);
}

void test_seats() {
  const cpu_set_t anywhere = affinity();
  if (CPU_COUNT(&anywhere) < 2) {
    std::printf("skipped: seats, which need two processors\n");
    return;
  }
  const int here = sched_getcpu();
  rlx::Seats seats;
  seats.open(2);
  CHECK(seats.make_room(1) == Room::alone);
  // Away from whom it shares with, in most turns: in any of them the system may have moved it before, or move it back.
  int moved = 0, away = 0;
  for (int i = 0; i < 20; i++) {
    share(seats, here, anywhere);
    if (seats.make_room(1) != Room::moved) continue;
    moved++;
    away += sched_getcpu() != here;
  }
  CHECK(moved > 10 && away > moved / 2);
  const cpu_set_t after = affinity();
  CHECK(CPU_EQUAL(&anywhere, &after));
  // Not with itself, nor with a thread that waits.
  hold_on(only(here));
  CHECK(seats.make_room(0) == Room::alone);
  seats.rise(0);
  CHECK(seats.make_room(1) == Room::alone);
  // Nowhere else to go: it may use this processor only, or others work on all that it may.
  seats.sit(0);
  CHECK(seats.make_room(1) == Room::none);
  hold_on(anywhere);
  for (size_t processor = 0, thread = 0; processor < CPU_SETSIZE && thread < 62; processor++) {
    if (!CPU_ISSET(processor, &anywhere)) continue;
    seats.open(64);
    hold_on(only(static_cast<int>(processor)));
    seats.sit(thread++);
  }
  if (CPU_COUNT(&anywhere) <= 62) CHECK(seats.make_room(63) == Room::none);
  hold_on(anywhere);
  // More threads than seats: none is moved.
  seats.open(65);
  CHECK(seats.make_room(1) == Room::none && seats.make_room(64) == Room::none);
}
#else
void test_seats() {}
#endif

void test_lane() {
  std::vector<int> order;
  {
    rlx::Lane lane;
    for (int i = 0; i < 100; i++) lane.push([&order, i] { order.push_back(i); });
  }
  CHECK(order.size() == 100);
  for (size_t i = 0; i < order.size(); i++) CHECK(order[i] == static_cast<int>(i));
}

void test_handles() {
  rlx::Handles handles;
  const double first = handles.add(std::make_shared<int>(1));
  CHECK(*handles.get<int>(first, "int") == 1);
  CHECK(same(code_of([&] { handles.get<double>(first, "double"); }), "HANDLE_UNKNOWN"));
  CHECK(handles.remove(first));
  CHECK(!handles.remove(first));
  const double second = handles.add(std::make_shared<int>(2));
  CHECK(first != second);
  CHECK(same(code_of([&] { handles.get<int>(first, "int"); }), "HANDLE_UNKNOWN"));
  for (const double bad : {-1.0, 0.5e-3, 1e300, 0.0 / 0.0}) CHECK(same(code_of([&] { handles.get<int>(bad, "int"); }), "HANDLE_UNKNOWN"));
}

void test_memory() {
  rlx::Pages pages(size_t{1} << 34);  // costs nothing until it is touched
  pages.data()[0] = 1;
  pages.data()[(size_t{1} << 34) - 1] = 2;
  pages.clear();
  CHECK(pages.data()[0] == 0);
  CHECK(same(code_of([] { rlx::Pages impossible(size_t{1} << 62); }), "ENV_NO_MEMORY"));
}

void test_weights() {
  char path[] = "/tmp/rlx-core-XXXXXX";
  const int fd = mkstemp(path);
  const size_t size = 64 * 4096;
  const std::string content(size, 'x');
  CHECK(write(fd, content.data(), size) == static_cast<ssize_t>(size));
  {
    rlx::Weights weights({path});
    CHECK(weights.bytes() == size);
    CHECK(weights.at(0, size - 1, 1)[0] == 'x');
    CHECK(same(code_of([&] { weights.at(0, size - 1, 2); }), "INPUT_ARGUMENT"));
    CHECK(same(code_of([&] { weights.at(0, ~uint64_t{0}, 2); }), "INPUT_ARGUMENT"));
    CHECK(same(code_of([&] { weights.at(1, 0, 0); }), "INPUT_ARGUMENT"));
    const uint8_t* last = weights.at(0, size - 4096, 4096);
    CHECK(ftruncate(fd, 4096) == 0);
    // Behind the new end of the file: zeros instead of the end of the process, and the file counts as changed.
    volatile uint8_t value = last[5];
    CHECK(value == 0);
    CHECK(same(code_of([&] { weights.check(); }), "INPUT_CHANGED"));
  }
  close(fd);
  unlink(path);
  CHECK(same(code_of([&] { rlx::Weights gone({path}); }), "INPUT_NOT_FOUND"));
  CHECK(same(code_of([] { rlx::Weights none(std::vector<std::string>{}); }), "INPUT_ARGUMENT"));
}

// Numbered words: three windows of a copy, nine of what is read again, and an odd end.
constexpr size_t kLarge = (140u << 20) + 4096 + 5;
std::vector<uint8_t> numbered(size_t bytes) {
  std::vector<uint64_t> words(bytes / 8 + 1);
  for (size_t i = 0; i < words.size(); i++) words[i] = i * 0x9e3779b97f4a7c15;
  const auto* from = reinterpret_cast<const uint8_t*>(words.data());
  return {from, from + bytes};
}

class TestFile {
 public:
  explicit TestFile(const std::vector<uint8_t>& content) : content_(content) { fill(); }
  ~TestFile() {
    close(fd_);
    unlink(path_);
  }
  std::string path() const { return path_; }
  void fill() { CHECK(pwrite(fd_, content_.data(), content_.size(), 0) == static_cast<ssize_t>(content_.size())); }
  void cut(size_t bytes) { CHECK(ftruncate(fd_, static_cast<off_t>(bytes)) == 0); }
  bool is_in(const rlx::Weights& weights, size_t file) const {
    return std::memcmp(weights.at(file, 0, content_.size()), content_.data(), content_.size()) == 0;
  }

 private:
  const std::vector<uint8_t>& content_;
  char path_[32] = "/tmp/rlx-core-XXXXXX";
  const int fd_ = mkstemp(path_);
};

constexpr size_t kPlenty = SIZE_MAX;

void wait_for(const rlx::HugePages& pages) {
  for (int i = 0; i < 2000 && !pages.done(); i++) usleep(10000);
}

#ifdef __linux__
size_t in_pages_of_2_mb(const uint8_t* data) {
  FILE* maps = std::fopen("/proc/self/smaps", "r");
  size_t kilobytes = 0;
  bool inside = false;
  for (char line[512]; maps != nullptr && std::fgets(line, sizeof line, maps) != nullptr;) {
    unsigned long from = 0, to = 0;
    if (std::sscanf(line, "%lx-%lx ", &from, &to) == 2) inside = from <= reinterpret_cast<uintptr_t>(data) && reinterpret_cast<uintptr_t>(data) < to;
    else if (inside && std::sscanf(line, "FilePmdMapped: %zu", &kilobytes) == 1) break;
  }
  if (maps != nullptr) std::fclose(maps);
  return kilobytes << 10;
}
// Whether a file that is read from the disk comes in large pages here, and twice as fast as the engine wants it.
bool gives_large_pages(const TestFile& file, size_t bytes) {
  const int fd = open(file.path().c_str(), O_RDONLY);
  uint8_t* place = rlx::reserve_huge(bytes);
  void* data = mmap(place, bytes, PROT_READ, MAP_SHARED | MAP_FIXED, fd, 0);
  madvise(data, bytes, MADV_HUGEPAGE);
  struct statfs info {};
  const bool disk = fstatfs(fd, &info) == 0 && info.f_type == 0xef53;
  fdatasync(fd);
  posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
  timespec before{}, after{};
  clock_gettime(CLOCK_MONOTONIC, &before);
  uint8_t sum = 0;
  for (size_t at = 0; at < bytes; at += 4096) sum ^= static_cast<volatile uint8_t*>(data)[at];
  clock_gettime(CLOCK_MONOTONIC, &after);
  const double seconds = static_cast<double>(after.tv_sec - before.tv_sec) + 1e-9 * static_cast<double>(after.tv_nsec - before.tv_nsec);
  const bool large = in_pages_of_2_mb(place) > bytes / 10 * 9;
  munmap(data, bytes);
  close(fd);
  return disk && large && static_cast<double>(bytes) / seconds > 800e6;
}
#else
bool gives_large_pages(const TestFile&, size_t) { return false; }
#endif

void test_huge_pages_of(rlx::HugePages::Way way) {
  const bool there = rlx::HugePages::available(), copies = way == rlx::HugePages::Way::copy;
  const std::vector<uint8_t> content = numbered(kLarge), little = numbered(5 << 20);
  TestFile first(content), second(little);
  const size_t bytes = content.size() + little.size();
  const bool must = !copies && there && gives_large_pages(first, content.size());
  if (!copies) {
    if (!must) std::printf("not shown here: pages of 2 MB of a file, which want a fast disk with ext4 and Linux 6.16\n");
    first.cut(0);
    first.fill();  // in small pages again, or as large as a write makes them
  }
  {
    rlx::Weights weights({first.path(), second.path()});
    const uint8_t* before = weights.at(0, 0, 1);
    weights.use_huge_pages(way, (copies ? 2 * bytes : bytes) - 1);
    usleep(200000);
    CHECK(weights.huge().bytes() == 0 && !weights.huge().done());  // memory is short
    weights.use_huge_pages(way, copies ? 2 * bytes : bytes);
    weights.use_huge_pages(way, 2 * bytes);  // once is enough
    // Read while the pages are exchanged.
    for (int i = 0; i < 1000 && there && !weights.huge().done(); i++) CHECK(first.is_in(weights, 0) && second.is_in(weights, 1));
    wait_for(weights.huge());
    CHECK(weights.huge().done() == there);
    if (copies) CHECK(weights.huge().bytes() == (there ? bytes : 0));
    if (must) CHECK(weights.huge().bytes() > 0);
    CHECK(first.is_in(weights, 0) && second.is_in(weights, 1));
    CHECK(weights.at(0, 0, 1) == before);
    weights.check();
    first.cut(4096);
    CHECK(same(code_of([&] { weights.check(); }), "INPUT_CHANGED"));
    // What was copied no longer follows the file, but the file counts as changed.
    if (copies) CHECK(!there || first.is_in(weights, 0));
  }
  for (int i = 0; i < 20; i++) {  // closed in the middle, or cut while its pages are exchanged and read
    first.fill();
    rlx::Weights weights({first.path()});
    weights.use_huge_pages(way, kPlenty);
    usleep(static_cast<useconds_t>(i) * (copies ? 1000 : 8000));
    if (i % 2 == 0) continue;
    first.cut(4096);
    first.is_in(weights, 0);
    CHECK(same(code_of([&] { weights.check(); }), "INPUT_CHANGED"));
  }
  rlx::Weights small({second.path()});
  small.use_huge_pages(way, kPlenty);
  usleep(20000);
  CHECK(small.huge().bytes() == 0 && !small.huge().done());
}

void test_huge_pages() {
  test_huge_pages_of(rlx::HugePages::Way::copy);
  test_huge_pages_of(rlx::HugePages::Way::reread);
}

void test_philox() {
  // Known answers of Random123 (Salmon et al.): philox4x32, 10 rounds.
  const struct {
    uint32_t counter[4], key[2], want[4];
  } cases[] = {
      {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
      {{~0u, ~0u, ~0u, ~0u}, {~0u, ~0u}, {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
      {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}, {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
  };
  for (const auto& known : cases) {
    uint32_t got[4];
    rlx::philox4x32(known.counter, known.key, got);
    CHECK(std::memcmp(got, known.want, sizeof got) == 0);
  }
  double sum = 0;
  for (uint64_t i = 0; i < 100000; i++) {
    const double x = rlx::philox_uniform(3, i);
    if (!(x >= 0 && x < 1)) CHECK(!"in [0, 1)");
    sum += x;
  }
  CHECK(sum > 49700 && sum < 50300);
}

// A vocabulary is shared by threads in parts: any number of them gives the same, also where a whole part is ruled out.
void test_sampler_parts() {
  const rlx::kernels::Dispatch& kernels = *rlx::kernels::dispatch(nullptr);
  rlx::Pages work;
  rlx::Pool pool;
  std::vector<float> logits(100'000);
  for (size_t i = 0; i < logits.size(); i++) logits[i] = static_cast<float>(rlx::philox_uniform(5, i) * 8);
  std::fill(logits.begin() + 30'000, logits.begin() + 70'000, -INFINITY);
  for (const size_t best : {size_t{3}, size_t{16'384}, size_t{99'999}}) {
    std::vector<float> row = logits;
    row[best] = 9;
    if (best == 3) row[20'000] = 9;  // of equals the first
    double total = 0;
    for (const float x : row) total += std::exp(static_cast<double>(x));
    const double want = 9 - std::log(total);
    const rlx::Sampled one = rlx::sample(kernels, pool, 1, row.data(), row.size(), {}, work);
    CHECK(one.token.id == best);
    CHECK(std::abs(static_cast<double>(one.token.logprob) - want) < 2e-6 * std::abs(want));
    for (const size_t threads : {2, 3, 16}) {
      const rlx::Sampled many = rlx::sample(kernels, pool, threads, row.data(), row.size(), {}, work);
      CHECK(many.token.id == one.token.id && many.token.logprob == one.token.logprob);
    }
  }
}

void test_sampler() {
  const rlx::kernels::Dispatch& kernels = *rlx::kernels::dispatch(nullptr);
  rlx::Pages work;
  rlx::Pool pool;
  const std::vector<float> logits = {1, 3, 2, 0, -1};
  rlx::SampleRequest request;
  CHECK(rlx::sample(kernels, pool, 2, logits.data(), 5, request, work).token.id == 1);
  request.repeat_penalty = 4;
  request.recent = {1, 1, 99, -5};
  CHECK(rlx::sample(kernels, pool, 2, logits.data(), 5, request, work).token.id == 2);
  request = {};
  request.temperature = 1;
  // Shares of 20 000 draws against the softmax; the filters leave exactly what they should.
  const auto shares = [&] {
    std::vector<double> found(5);
    for (request.step = 0; request.step < 20000; request.step++) found[rlx::sample(kernels, pool, 2, logits.data(), 5, request, work).token.id] += 1 / 20000.0;
    return found;
  };
  const double expected[] = {0.08613, 0.63641, 0.23412, 0.03168, 0.01166};
  std::vector<double> found = shares();
  for (size_t i = 0; i < 5; i++) CHECK(std::abs(found[i] - expected[i]) < 0.012);
  request.top_k = 2;
  found = shares();
  CHECK(found[0] + found[3] + found[4] == 0 && found[2] > 0.2);
  request.top_k = 0;
  request.top_p = 0.7;
  found = shares();
  CHECK(found[0] + found[3] + found[4] == 0 && found[2] > 0.2);
  request.top_p = 1;
  request.min_p = 0.5;
  found = shares();
  CHECK(found[0] == 0 && found[2] == 0 && found[3] == 0 && found[4] == 0 && found[1] > 0.999);
  const std::vector<float> poison(5, NAN);
  CHECK(same(code_of([&] { rlx::sample(kernels, pool, 2, poison.data(), 5, request, work); }), "RUN_FAILED"));
}

// ------------------------------------------------------------------------------------------------ plans

struct Bytes {
  std::vector<uint8_t> data;
  template <class T>
  void put(T value) {
    const auto* raw = reinterpret_cast<const uint8_t*>(&value);
    data.insert(data.end(), raw, raw + sizeof value);
  }
  void u32(uint32_t value) { put(value); }
  void u64(uint64_t value) { put(value); }
  void f64(double value) { put(value); }
  void text(const char* text) {
    u32(static_cast<uint32_t>(std::strlen(text)));
    data.insert(data.end(), text, text + std::strlen(text));
    while (data.size() % 4 != 0) data.push_back(0);
  }
};

// y[T, 4] = x[T, 4] + x, in an own buffer; kernel by name.
Bytes small_plan(const char* kernel) {
  Bytes out;
  out.u32(rlx::kPlanMagic);
  out.u32(rlx::kPlanVersion);
  out.u64(0);
  out.u32(1);  // own buffers
  out.u32(4);
  for (const char* name : {kernel, "T", "x", "y"}) out.text(name);
  out.u32(1);  // symbols: T, at most 8
  out.u32(1);
  out.u64(8);
  out.u32(2);  // sizes: T and 4
  out.u32(1), out.f64(1), out.u32(1), out.u32(0);
  out.u32(1), out.f64(4), out.u32(0);
  out.u32(0);  // states
  out.u32(1), out.u32(2), out.u32(0);
  out.u32(1), out.u32(3), out.u32(1);
  out.u64(0);  // constants
  out.u32(2);
  for (const uint32_t storage : {4u, 5u}) {
    out.u32(9), out.u32(2), out.u32(0), out.u32(1), out.u32(storage), out.u32(0), out.u64(0), out.u64(0);
  }
  out.u32(1);
  out.u32(0), out.u32(2), out.u32(0), out.u32(0), out.u32(1), out.u32(1), out.u32(0);
  return out;
}

const char* run_plan(const Bytes& plan, size_t rows, std::vector<float>* result = nullptr) {
  return code_of([&] {
    auto parsed = std::make_shared<rlx::Plan>(plan.data.data(), plan.data.size(), nullptr);
    rlx::SessionOptions options;
    options.kernels = rlx::kernels::dispatch(nullptr);
    rlx::Session session(parsed, options);
    rlx::RunRequest request;
    std::vector<uint8_t> input(rows * 4 * sizeof(float));
    for (size_t i = 0; i < rows * 4; i++) {
      const auto value = static_cast<float>(i);
      std::memcpy(input.data() + i * sizeof value, &value, sizeof value);
    }
    request.inputs.emplace_back("x", input);
    request.symbols.emplace_back("T", rows);
    request.fetch.push_back("y");
    rlx::Pool pool;
    std::atomic<bool> cancel{false};
    const rlx::RunResult done = session.run(pool, request, cancel);
    if (result != nullptr) {
      result->resize(done.outputs[0].bytes.size() / sizeof(float));
      std::memcpy(result->data(), done.outputs[0].bytes.data(), done.outputs[0].bytes.size());
    }
  });
}

void test_plans() {
  std::vector<float> y;
  CHECK(same(run_plan(small_plan("add"), 3, &y), "none"));
  CHECK(y.size() == 12);
  for (size_t i = 0; i < y.size(); i++) CHECK(y[i] == 2 * static_cast<float>(i));
  CHECK(same(run_plan(small_plan("add"), 9), "IR_SHAPE"));
  CHECK(same(run_plan(small_plan("no such kernel"), 1), "UNSUPPORTED_OP"));
  CHECK(same(run_plan(small_plan("matmul"), 3), "IR_SHAPE"));
  CHECK(same(run_plan(small_plan("linear_block"), 1), "IR_STRUCTURE"));

  // Every beginning of a plan, and ten thousand mutations of plans of every kernel: a code, or a harmless run.
  const Bytes whole = small_plan("add");
  for (size_t length = 0; length < whole.data.size(); length++) {
    Bytes cut;
    cut.data.assign(whole.data.begin(), whole.data.begin() + static_cast<long>(length));
    CHECK(!same(run_plan(cut, 1), "none"));
  }
  std::mt19937 random(5);
  const std::vector<const char*> kernels = rlx::kernel_names();
  for (int i = 0; i < 10000; i++) {
    Bytes plan = small_plan(kernels[random() % kernels.size()]);
    for (uint32_t n = random() % 4; n-- > 0;) plan.data[random() % plan.data.size()] = static_cast<uint8_t>(random() % 3 == 0 ? 255 : random() % 16);
    run_plan(plan, random() % 9);
  }
}

}  // namespace

int main() {
  test_pool();
  test_seats();
  test_lane();
  test_handles();
  test_memory();
  test_weights();
  test_huge_pages();
  test_philox();
  test_sampler();
  test_sampler_parts();
  test_plans();
  std::printf("%d passed, %d failed\n", checks - failures, failures);
  return failures == 0 ? 0 : 1;
}
