// Threads of the engine. Who waits looks for a moment, lets others run for a while, then sleeps; a run uses the first `count` threads, the caller
// being thread 0. The barrier's last arrival may do something for all before the others go on.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <vector>

#include "core_placement.h"

namespace rlx {

inline void relax() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ __volatile__("yield");
#endif
}

// Waits until `word` is not `old`: looks for some microseconds at most, then lets other threads run between two looks, having called
// `between`, then sleeps. Where other programs want the processors, too, the one that is waited for may be waiting for this one's: looking
// alone would hold it up, a token of a small model took six times as long.
template <class Between>
void await_change(std::atomic<uint32_t>& word, uint32_t old, int yields, Between&& between) {
  constexpr int kLooks = 200;
  for (int i = 0; i < kLooks + yields; i++) {
    if (word.load(std::memory_order_acquire) != old) return;
    if (i < kLooks) {
      relax();
      continue;
    }
    between();
    std::this_thread::yield();
  }
  while (word.load(std::memory_order_acquire) == old) word.wait(old, std::memory_order_acquire);
}

class Barrier {
 public:
  void reset(size_t count) {
    count_ = static_cast<uint32_t>(count);
    arrived_.store(0, std::memory_order_relaxed);
  }
  // `placement` are those of the pool whose thread this is. Who did not have to wait sits down again, too: it may have been moved.
  template <class Last>
  void wait(CorePlacement& placement, size_t thread, Last&& last) {
    const uint32_t epoch = epoch_.load(std::memory_order_acquire);
    if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == count_) {
      arrived_.store(0, std::memory_order_relaxed);
      last();
      epoch_.store(epoch + 1, std::memory_order_release);
      if (count_ > 1) epoch_.notify_all();
    } else {
      placement.leave(thread);
      Spreader spreader(placement, thread);
      await_change(epoch_, epoch, kYields, [&] { spreader.try_once(); });
    }
    if (count_ > 1) placement.enter(thread);
  }

 private:
  // Some hundred microseconds: longer than any imbalance on an idle machine, shorter than a time slice.
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

// Asks the system to keep this thread on fast cores (macOS) and names it.
void mark_compute_thread(const char* name);

}  // namespace rlx
