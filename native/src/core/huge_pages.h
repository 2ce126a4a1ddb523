// Mapped files get pages of 2 MB while others read them. What lies in the page cache in pages of 4 KB, as a file does that
// was written or copied here, costs a walk through it 2 to 17 % of its rate (decision 16). There are two ways: to let the system forget
// its pages and read the file again, for it then takes large ones where the file system has them; or to move a copy over the mapping,
// which works with any file and takes its size in memory once more. Addresses and content stay, so others read on meanwhile.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <vector>

namespace rlx {

// `size` bytes of the file `fd`, mapped at `data`, which reserve_huge gave.
struct Mapping {
  int fd;
  uint8_t* data;
  size_t size;
};

// Address space that begins at a multiple of 2 MB, or null.
uint8_t* reserve_huge(size_t bytes);

class HugePages {
 public:
  HugePages() = default;
  ~HugePages();
  HugePages(const HugePages&) = delete;
  HugePages& operator=(const HugePages&) = delete;

  enum class Way { reread, copy };

  // Whether the system has pages of this size.
  static bool available();
  // Once, on a thread of its own.
  void begin(std::vector<Mapping> mappings, Way way);
  // Bytes that were copied, or of files that were read again those that the system has in such pages.
  size_t bytes() const { return bytes_.load(std::memory_order_acquire); }
  // Whether a thread has been through all of it.
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
  std::chrono::duration<double> late_{0};  // of the thread: how much longer than a good disk this one took
  std::thread thread_;
};

}  // namespace rlx
