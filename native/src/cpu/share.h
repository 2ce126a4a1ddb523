// Divides the items of a phase: each thread walks a range of its own from the front; a thread that
// is done takes items from the back of another range. Long walks are fast because memory
// prefetchers start anew at every jump.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace rlx {

// Items taken of a thread's range: from the front in the lower half, from the back in the upper
// half. Both start at zero, so shares can be reset before the number of items is known.
struct alignas(64) Share {
  std::atomic<uint64_t> taken{0};

  void reset() { taken.store(0, std::memory_order_relaxed); }
  size_t count() const {
    const uint64_t seen = taken.load(std::memory_order_relaxed);
    return (seen & UINT32_MAX) + (seen >> 32);
  }
};

class Shares {
 public:
  Shares(Share* shares, size_t threads, size_t items, size_t thread)
      : shares_(shares), threads_(threads), items_(items), thread_(thread) {}

  // The next item for this thread; false when nothing is left anywhere.
  bool take(size_t* item) {
    if (claim(thread_, false, item)) return true;
    for (size_t i = 1; i < threads_; i++)
      if (claim((thread_ + i) % threads_, true, item)) return true;
    return false;
  }

 private:
  size_t begin(size_t thread) const { return items_ * thread / threads_; }

  bool claim(size_t owner, bool back, size_t* item) {
    const size_t first = begin(owner), end = begin(owner + 1);
    std::atomic<uint64_t>& taken = shares_[owner].taken;
    for (uint64_t seen = taken.load(std::memory_order_relaxed);;) {
      const size_t front = seen & UINT32_MAX, rear = seen >> 32;
      if (front + rear >= end - first) return false;
      const uint64_t next = seen + (back ? uint64_t{1} << 32 : 1);
      if (!taken.compare_exchange_weak(seen, next, std::memory_order_relaxed)) continue;
      *item = back ? end - 1 - rear : first + front;
      return true;
    }
  }

  Share* shares_;
  size_t threads_, items_, thread_;
};

}  // namespace rlx
