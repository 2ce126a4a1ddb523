// Mapped weight files without Node: cut while they are read, replaced, and given larger pages.
#ifdef __linux__
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "core/platform/posix/posix.h"
#endif

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "core/weights.h"
#include "coreTests.h"

namespace core_tests {
namespace {

// Windows does not let a mapped file be cut.
#ifdef _WIN32
constexpr bool kCutsMapped = false;
#else
constexpr bool kCutsMapped = true;
#endif

void wait_ms(int milliseconds) { std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds)); }

class TestFile {
 public:
  explicit TestFile(const std::vector<uint8_t>& content) : content_(content) {
    std::ofstream(path_, std::ios::binary);
    fill();
  }
  ~TestFile() { std::filesystem::remove(path_); }
  TestFile(const TestFile&) = delete;
  TestFile& operator=(const TestFile&) = delete;

  std::string path() const { return path_.string(); }
  // Writes the content again, in place.
  void fill() {
    std::fstream file(path_, std::ios::binary | std::ios::in | std::ios::out);
    file.write(reinterpret_cast<const char*>(content_.data()), static_cast<std::streamsize>(content_.size()));
    CHECK(file.flush().good());
  }
  // False where the system refuses, because the file is mapped.
  bool cut(size_t bytes) {
    std::error_code refused;
    std::filesystem::resize_file(path_, bytes, refused);
    return !refused;
  }
  bool is_in(const rlx::Weights& weights, size_t file) const {
    return std::memcmp(weights.at(file, 0, content_.size()), content_.data(), content_.size()) == 0;
  }

 private:
  const std::vector<uint8_t>& content_;
  const std::filesystem::path path_ =
      std::filesystem::temp_directory_path() / ("rlx-core-\u00e9-" + std::to_string(std::random_device{}()));
};

void test_weights() {
  const std::vector<uint8_t> content(64 * 4096, 'x');
  std::string path;
  {
    TestFile file(content);
    path = file.path();
    rlx::Weights weights({path});
    CHECK(weights.bytes() == content.size());
    CHECK(weights.at(0, content.size() - 1, 1)[0] == 'x');
    CHECK(same(code_of([&] { weights.at(0, content.size() - 1, 2); }), "INPUT_ARGUMENT"));
    CHECK(same(code_of([&] { weights.at(0, ~uint64_t{0}, 2); }), "INPUT_ARGUMENT"));
    CHECK(same(code_of([&] { weights.at(1, 0, 0); }), "INPUT_ARGUMENT"));
    CHECK(same(code_of([&] { rlx::Weights other({path}, {"1:2:3:4"}); }), "INPUT_CHANGED"));
    weights.check();
    CHECK(file.cut(4096) == kCutsMapped);
    // Behind the new end of the file: zeros instead of the end of the process, and the file counts
    // as changed.
    CHECK(*static_cast<const volatile uint8_t*>(weights.at(0, content.size() - 5, 1)) == (kCutsMapped ? 0 : 'x'));
    if (kCutsMapped) CHECK(same(code_of([&] { weights.check(); }), "INPUT_CHANGED"));
  }
  CHECK(same(code_of([&] { rlx::Weights gone({path}); }), "INPUT_NOT_FOUND"));
  CHECK(same(code_of([] { rlx::Weights none(std::vector<std::string>{}); }), "INPUT_ARGUMENT"));
  const std::string folder = std::filesystem::temp_directory_path().string();
  CHECK(same(code_of([&] { rlx::Weights directory({folder}); }), "INPUT_UNREADABLE"));
}

// The identity that fileByteSource.ts writes for this size and time, and a write after it.
void test_identity() {
  const std::vector<uint8_t> content(4096, 'x');
  TestFile file(content);
  const rlx::platform::OpenFile open(file.path());
  const rlx::platform::FileFacts facts = open.facts().value();
  const auto written = std::chrono::system_clock::now().time_since_epoch();
  const double age = std::chrono::duration<double>(written).count() - 1e-9 * static_cast<double>(facts.modified);
  CHECK(facts.size == content.size() && age > -1 && age < 60);
  const std::string identity = std::to_string(facts.device) + ":" + std::to_string(facts.file) + ":" +
                               std::to_string(facts.size) + ":" + std::to_string(facts.modified);
  rlx::Weights weights({file.path()}, {identity});
  weights.check();
  wait_ms(20);
  file.fill();
  CHECK(same(code_of([&] { weights.check(); }), "INPUT_CHANGED"));
  CHECK(same(code_of([&] { rlx::Weights later({file.path()}, {identity}); }), "INPUT_CHANGED"));
}

// Numbered words: three windows to copy, nine to read again, and an odd end.
constexpr size_t kLarge = (140u << 20) + 4096 + 5;
std::vector<uint8_t> numbered(size_t bytes) {
  std::vector<uint64_t> words(bytes / 8 + 1);
  for (size_t i = 0; i < words.size(); i++) words[i] = i * 0x9e3779b97f4a7c15;
  const auto* from = reinterpret_cast<const uint8_t*>(words.data());
  return {from, from + bytes};
}

constexpr size_t kPlenty = SIZE_MAX;

void wait_for(const rlx::HugePages& pages) {
  for (int i = 0; i < 2000 && !pages.done(); i++) wait_ms(10);
}

#ifdef __linux__
size_t in_pages_of_2_mb(const uint8_t* data) {
  FILE* maps = std::fopen("/proc/self/smaps", "r");
  size_t kilobytes = 0;
  bool inside = false;
  for (char line[512]; maps != nullptr && std::fgets(line, sizeof line, maps) != nullptr;) {
    unsigned long from = 0, to = 0;
    if (std::sscanf(line, "%lx-%lx ", &from, &to) == 2)
      inside = from <= reinterpret_cast<uintptr_t>(data) && reinterpret_cast<uintptr_t>(data) < to;
    else if (inside && std::sscanf(line, "FilePmdMapped: %zu", &kilobytes) == 1)
      break;
  }
  if (maps != nullptr) std::fclose(maps);
  return kilobytes << 10;
}
// Whether a file that is read from the disk comes in large pages here, and twice as fast as the
// engine wants it.
bool gives_large_pages(const TestFile& file, size_t bytes) {
  const int fd = open(file.path().c_str(), O_RDONLY);
  uint8_t* place = rlx::platform::reserve_huge(bytes);
  void* data = mmap(place, bytes, PROT_READ, MAP_SHARED | MAP_FIXED, fd, 0);
  madvise(data, bytes, MADV_HUGEPAGE);
  struct statfs info{};
  const bool disk = fstatfs(fd, &info) == 0 && info.f_type == 0xef53;
  fdatasync(fd);
  posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
  const auto before = std::chrono::steady_clock::now();
  uint8_t sum = 0;
  for (size_t at = 0; at < bytes; at += 4096) sum ^= static_cast<volatile uint8_t*>(data)[at];
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - before).count();
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
    if (!must)
      std::printf("not shown here: pages of 2 MB of a file, which need a fast disk with ext4 and Linux 6.16\n");
    first.cut(0);
    first.fill();  // in small pages again, or as large as a write makes them
  }
  {
    rlx::Weights weights({first.path(), second.path()});
    const uint8_t* before = weights.at(0, 0, 1);
    weights.use_huge_pages(way, (copies ? 2 * bytes : bytes) - 1);
    wait_ms(200);
    CHECK(weights.huge().bytes() == 0 && !weights.huge().done());  // memory is short
    weights.use_huge_pages(way, copies ? 2 * bytes : bytes);
    weights.use_huge_pages(way, 2 * bytes);  // once is enough
    // Read while the pages are exchanged.
    for (int i = 0; i < 1000 && there && !weights.huge().done(); i++)
      CHECK(first.is_in(weights, 0) && second.is_in(weights, 1));
    if (there) wait_for(weights.huge());
    CHECK(weights.huge().done() == there);
    if (copies) CHECK(weights.huge().bytes() == (there ? bytes : 0));
    if (must) CHECK(weights.huge().bytes() > 0);
    CHECK(first.is_in(weights, 0) && second.is_in(weights, 1));
    CHECK(weights.at(0, 0, 1) == before);
    weights.check();
    CHECK(first.cut(4096) == kCutsMapped);
    if (kCutsMapped) CHECK(same(code_of([&] { weights.check(); }), "INPUT_CHANGED"));
    // A copy no longer follows the file, but the file counts as changed.
    if (copies) CHECK(!there || first.is_in(weights, 0));
  }
  if (must) {  // without readers
    first.fill();
    rlx::Weights quiet({first.path()});
    quiet.use_huge_pages(way, kPlenty);
    wait_for(quiet.huge());
    CHECK(quiet.huge().done() && quiet.huge().bytes() >= content.size() / 2);
  }
  for (int i = 0; i < 20; i++) {  // closed in the middle, or cut while its pages are exchanged and read
    first.fill();
    rlx::Weights weights({first.path()});
    weights.use_huge_pages(way, kPlenty);
    wait_ms(i * (copies ? 1 : 8));
    if (i % 2 == 0) continue;
    if (!first.cut(4096)) continue;
    first.is_in(weights, 0);
    CHECK(same(code_of([&] { weights.check(); }), "INPUT_CHANGED"));
  }
  rlx::Weights small({second.path()});
  small.use_huge_pages(way, kPlenty);
  wait_ms(20);
  CHECK(small.huge().bytes() == 0 && !small.huge().done());
}

void test_huge_pages() {
  test_huge_pages_of(rlx::HugePages::Way::copy);
  test_huge_pages_of(rlx::HugePages::Way::reread);
}

}  // namespace

void test_mapped_files() {
  test_weights();
  test_identity();
  test_huge_pages();
}

}  // namespace core_tests
