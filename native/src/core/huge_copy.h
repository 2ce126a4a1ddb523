// Mapped files move into pages of 2 MB of our own while they are being read. What lies in the page cache in pages of 4 KB, as
// a file does that was written or copied here, costs a walk through it 2 to 17 % of its rate (decision 16).
#pragma once

#include <atomic>
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

class HugeCopy {
 public:
  HugeCopy() = default;
  ~HugeCopy();
  HugeCopy(const HugeCopy&) = delete;
  HugeCopy& operator=(const HugeCopy&) = delete;

  // Whether the system has pages of this size.
  static bool available();
  // Once, on a thread of its own. Addresses and content stay, so others read
  // on meanwhile.
  void begin(std::vector<Mapping> mappings);
  size_t copied() const { return copied_.load(std::memory_order_acquire); }

 private:
  void copy(const std::vector<Mapping>& mappings);
  bool copy_window(const Mapping& mapping, size_t at, size_t bytes);

  std::atomic<bool> stop_{false};
  std::atomic<size_t> copied_{0};
  std::thread thread_;
};

}  // namespace rlx
