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
  // This thread begins to work, or to wait.
  void sit(size_t thread);
  void rise(size_t thread);
  // For a waiting thread to ask between two looks: it moves to a processor where none of the others works, if one of them
  // works on its own. Whether it did.
  bool make_room(size_t thread) const;

 private:
  static constexpr int kNowhere = -1;
  struct alignas(64) Seat {
    std::atomic<int> processor{kNowhere};
  };
  // More threads than this keep no seats, and do as the system says.
  std::array<Seat, 64> seats_;
};

}  // namespace rlx
