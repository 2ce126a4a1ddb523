// The engine's thread pool and barrier. A run uses the first `count` threads; the caller is thread
// 0. A waiting thread spins briefly, then yields, then sleeps. The last thread to reach a barrier
// may run a function before the others go on.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <vector>

#include "core_placement.h"
#include "platform/platform.h"

namespace rlx {

inline void relax() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ __volatile__("yield");
#endif
}

// Waits until `word` differs from `old`: spins for some microseconds, then yields and calls
// `between` before each yield, then sleeps. Spinning alone would hold up the other threads when
// other programs need the processors too (docs/performance/kernels.md).
template <class Between>
void await_change(std::atomic<uint32_t>& word, uint32_t old, int yields, Between&& between) {
  constexpr int kSpins = 200;
  for (int i = 0; i < kSpins + yields; i++) {
    if (word.load(std::memory_order_acquire) != old) return;
    if (i < kSpins) {
      relax();
      continue;
    }
    between();
    std::this_thread::yield();
  }
  while (word.load(std::memory_order_acquire) == old) platform::sleep_while(word, old);
}

class Barrier {
 public:
  void reset(size_t count) {
    count_ = static_cast<uint32_t>(count);
    arrived_.store(0, std::memory_order_relaxed);
  }
  // `placement` belongs to the thread's pool. A thread that did not wait enters again too: the
  // system may have moved it.
  template <class Last>
  void wait(CorePlacement& placement, size_t thread, Last&& last) {
    const uint32_t epoch = epoch_.load(std::memory_order_acquire);
    if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == count_) {
      arrived_.store(0, std::memory_order_relaxed);
      last();
      epoch_.store(epoch + 1, std::memory_order_release);
      if (count_ > 1) platform::wake_all(epoch_);
    } else {
      placement.leave(thread);
      Spreader spreader(placement, thread);
      await_change(epoch_, epoch, kYields, [&] { spreader.try_once(); });
    }
    if (count_ > 1) placement.enter(thread);
  }

 private:
  // Some hundred microseconds: longer than any imbalance on an idle machine, shorter than a time
  // slice.
  static constexpr int kYields = 800;
  alignas(64) std::atomic<uint32_t> arrived_{0};
  alignas(64) std::atomic<uint32_t> epoch_{0};
  uint32_t count_ = 1;
};

class Pool {
 public:
  Pool() = default;
  ~Pool();
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  // Calls fn(argument, thread) on `count` threads and returns when all are done. fn must not throw.
  void run(size_t count, void (*fn)(void*, size_t), void* argument);
  size_t workers() const { return workers_.size(); }
  CorePlacement& placement() { return placement_; }

 private:
  void work(size_t thread, uint32_t seen);

  std::vector<std::thread> workers_;
  void (*fn_)(void*, size_t) = nullptr;
  void* argument_ = nullptr;
  size_t count_ = 0;
  CorePlacement placement_;
  alignas(64) std::atomic<uint32_t> epoch_{0};
  alignas(64) std::atomic<uint32_t> pending_{0};
  std::atomic<bool> stop_{false};
};

}  // namespace rlx
