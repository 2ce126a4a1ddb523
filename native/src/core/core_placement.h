// Which processor each thread of a run works on, so that no two share one while another is idle. The system wakes a thread
// behind another one of the run now and then (a program that runs for a moment is enough), and takes milliseconds to see
// it: threads that yield to each other keep their processor busy, so nobody comes to fetch one. On Linux only: elsewhere the system
// does not say where a thread runs.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>

namespace rlx {

class CorePlacement {
 public:
  // The threads of the next run. More than there are seats do as the system says.
  void begin(size_t threads);
  // This thread begins to work, or to wait.
  void enter(size_t thread);
  void leave(size_t thread);

  enum class Spread { alone, moved, full };
  // Moves a waiting thread to a processor where nobody works, if another one works on its own. Its affinity is then what it was when it
  // moved: what a container is given later, such a thread does not use.
  Spread spread(size_t thread) const;

 private:
  static constexpr int kNowhere = -1;
  struct alignas(64) Slot {
    std::atomic<int> processor{kNowhere};
  };
  std::array<Slot, 64> slots_;
  std::atomic<size_t> threads_{0};
};

// One wait of a thread: it looks for room until it has moved or has found none.
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
