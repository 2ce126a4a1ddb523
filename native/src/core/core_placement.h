// Which processor each thread of a run works on, so that no two share one while another is idle. The system wakes a thread
// behind another one of the run now and then (a program that runs for a moment is enough), and takes milliseconds to see
// it: threads that yield to each other keep their processor busy, so nobody comes to fetch one. On Linux only: elsewhere the system
// does not say where a thread runs.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>

namespace rlx {

class Seats {
 public:
  // The threads of the next run. More than there are seats do as the system says.
  void open(size_t threads);
  // This thread begins to work, or to wait.
  void sit(size_t thread);
  void rise(size_t thread);

  enum class Room { alone, moved, none };
  // Moves a waiting thread to a processor where nobody works, if another one works on its own. Its affinity is then what it was when it
  // moved: what a container is given later, such a thread does not use.
  Room make_room(size_t thread) const;

 private:
  static constexpr int kNowhere = -1;
  struct alignas(64) Seat {
    std::atomic<int> processor{kNowhere};
  };
  std::array<Seat, 64> seats_;
  std::atomic<size_t> open_{0};
};

// One wait of a thread: it looks for room until it has moved or has found none.
class RoomSeeker {
 public:
  RoomSeeker(const Seats& seats, size_t thread) : seats_(seats), thread_(thread) {}
  void look() {
    if (!done_) done_ = seats_.make_room(thread_) != Seats::Room::alone;
  }

 private:
  const Seats& seats_;
  size_t thread_;
  bool done_ = false;
};

}  // namespace rlx
