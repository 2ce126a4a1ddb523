// Moves mapped files to 2 MB pages while threads read them. Reading 4 KB pages is slower
// (docs/performance/memory-pages.md). Two ways: drop the file's pages from the cache and read them
// again, which gives large pages on file systems that have them; or map a copy over the file, which
// works with any file and needs its size in memory again. Addresses and content stay the same, so
// readers go on meanwhile. Linux only.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <vector>

namespace rlx {

// A mapped file (platform::OpenFile, platform::FileMap).
struct Mapping {
  intptr_t file;
  uint8_t* data;
  size_t size;
};

class HugePages {
 public:
  HugePages() = default;
  ~HugePages() {
    stop_.store(true, std::memory_order_release);
    if (thread_.joinable()) thread_.join();
  }
  HugePages(const HugePages&) = delete;
  HugePages& operator=(const HugePages&) = delete;

  enum class Way { reread, copy };

  // Whether the system has pages of this size.
  static bool available();
  // Once, on a thread of its own.
  void begin(std::vector<Mapping> mappings, Way way);
  // Bytes that were copied; or, of files that were read again, the bytes that are now in such
  // pages.
  size_t bytes() const { return bytes_.load(std::memory_order_acquire); }
  // Whether the thread has been through all files.
  bool done() const { return done_.load(std::memory_order_acquire); }

 private:
  void reread(const Mapping& mapping);
  template <class Visit>
  bool each_window(const Mapping& mapping, Visit&& visit) const;
  bool populate(const Mapping& mapping, size_t at, size_t bytes);
  bool reread_window(const Mapping& mapping, size_t at, size_t bytes);
  void copy(const Mapping& mapping);
  bool copy_window(const Mapping& mapping, size_t at, size_t bytes) const;

  std::atomic<bool> stop_{false};
  std::atomic<bool> done_{false};
  std::atomic<size_t> bytes_{0};
  std::chrono::duration<double> late_{0};  // how much longer than a good disk this one took
  std::thread thread_;
};

}  // namespace rlx
