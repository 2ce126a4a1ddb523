#include "seats.h"

#ifdef __linux__
#include <sched.h>
#endif

namespace rlx {

#ifdef __linux__

void Seats::sit(size_t thread) {
  if (thread < seats_.size()) seats_[thread].processor.store(sched_getcpu(), std::memory_order_relaxed);
}

void Seats::rise(size_t thread) {
  if (thread < seats_.size()) seats_[thread].processor.store(kNowhere, std::memory_order_relaxed);
}

bool Seats::make_room(size_t thread) const {
  const int here = sched_getcpu();
  bool shared = false;
  for (size_t i = 0; i < seats_.size() && !shared; i++)
    shared = i != thread && seats_[i].processor.load(std::memory_order_relaxed) == here;
  if (!shared || here < 0) return false;

  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return false;
  cpu_set_t free = allowed;
  for (const Seat& seat : seats_) {
    const int taken = seat.processor.load(std::memory_order_relaxed);
    if (taken != kNowhere) CPU_CLR(static_cast<size_t>(taken), &free);
  }
  // The first call moves this thread, the second lets it go anywhere again.
  return CPU_COUNT(&free) > 0 && sched_setaffinity(0, sizeof free, &free) == 0 && sched_setaffinity(0, sizeof allowed, &allowed) == 0;
}

#else

void Seats::sit(size_t) {}
void Seats::rise(size_t) {}
bool Seats::make_room(size_t) const { return false; }

#endif

}  // namespace rlx
