// Keeps the threads of a run on different processors. Linux sometimes wakes a thread on a processor
// that another thread of the run uses, and takes milliseconds to move it, because threads that
// yield to each other look busy. On other systems nothing is moved.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>

namespace rlx {

class CorePlacement {
 public:
  // Starts a run of so many threads. With more threads than slots the system places them.
  void begin(size_t threads);
  // The thread starts working on its processor.
  void enter(size_t thread);
  // The thread starts waiting.
  void leave(size_t thread);

  enum class Spread {
    alone,  // no other thread of the run works on this processor
    moved,
    full,  // no free processor
  };
  // Moves a waiting thread to a processor without a working thread, if a working thread shares its
  // own. The thread keeps the affinity of that moment: it does not use processors that its
  // container gets later.
  Spread spread(size_t thread) const;

 private:
  static constexpr int kNowhere = -1;
  struct alignas(64) Slot {
    std::atomic<int> processor{kNowhere};
  };
  std::array<Slot, 64> slots_;
  std::atomic<size_t> threads_{0};
};

// One wait of a thread: tries to spread until the thread has moved or there is no free processor.
class Spreader {
 public:
  Spreader(const CorePlacement& placement, size_t thread) : placement_(placement), thread_(thread) {}
  void try_once() {
    if (!done_) done_ = placement_.spread(thread_) != CorePlacement::Spread::alone;
  }

 private:
  const CorePlacement& placement_;
  size_t thread_;
  bool done_ = false;
};

}  // namespace rlx
