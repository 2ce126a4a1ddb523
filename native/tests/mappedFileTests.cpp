// Mapped weight files without Node: cut while they are read, and given larger pages.
#ifdef __linux__
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/vfs.h>
#endif
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <ctime>
#include <string>
#include <vector>

#include "core/weights.h"
#include "coreTests.h"

namespace core_tests {
namespace {

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
    if (std::sscanf(line, "%lx-%lx ", &from, &to) == 2)
      inside = from <= reinterpret_cast<uintptr_t>(data) && reinterpret_cast<uintptr_t>(data) < to;
    else if (inside && std::sscanf(line, "FilePmdMapped: %zu", &kilobytes) == 1)
      break;
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
  struct statfs info{};
  const bool disk = fstatfs(fd, &info) == 0 && info.f_type == 0xef53;
  fdatasync(fd);
  posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
  timespec before{}, after{};
  clock_gettime(CLOCK_MONOTONIC, &before);
  uint8_t sum = 0;
  for (size_t at = 0; at < bytes; at += 4096) sum ^= static_cast<volatile uint8_t*>(data)[at];
  clock_gettime(CLOCK_MONOTONIC, &after);
  const double seconds =
      static_cast<double>(after.tv_sec - before.tv_sec) + 1e-9 * static_cast<double>(after.tv_nsec - before.tv_nsec);
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
      std::printf("not shown here: pages of 2 MB of a file, which want a fast disk with ext4 and Linux 6.16\n");
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
    for (int i = 0; i < 1000 && there && !weights.huge().done(); i++)
      CHECK(first.is_in(weights, 0) && second.is_in(weights, 1));
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
  if (must) {  // nobody in the way
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

}  // namespace

void test_mapped_files() {
  test_weights();
  test_huge_pages();
}

}  // namespace core_tests
