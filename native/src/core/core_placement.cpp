#include "seats.h"

#ifdef __linux__
#include <sched.h>

#include <cstring>
#endif

namespace rlx {

#ifdef __linux__

void Seats::open(size_t threads) { open_.store(threads > seats_.size() ? 0 : threads, std::memory_order_relaxed); }

void Seats::sit(size_t thread) {
  if (thread < open_.load(std::memory_order_relaxed)) seats_[thread].processor.store(sched_getcpu(), std::memory_order_relaxed);
}

void Seats::rise(size_t thread) {
  if (thread < seats_.size()) seats_[thread].processor.store(kNowhere, std::memory_order_relaxed);
}

Seats::Room Seats::make_room(size_t thread) const {
  const size_t threads = open_.load(std::memory_order_relaxed);
  const int here = sched_getcpu();
  if (thread >= threads || here < 0) return Room::none;
  bool shared = false;
  for (size_t i = 0; i < threads && !shared; i++)
    shared = i != thread && seats_[i].processor.load(std::memory_order_relaxed) == here;
  if (!shared) return Room::alone;

  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return Room::none;
  cpu_set_t free = allowed;
  CPU_CLR(static_cast<size_t>(here), &free);
  for (size_t i = 0; i < threads; i++) {
    const int taken = seats_[i].processor.load(std::memory_order_relaxed);
    if (taken != kNowhere) CPU_CLR(static_cast<size_t>(taken), &free);
  }
  // The first call moves this thread, the second lets it go anywhere again (and undoes what somebody else has set in between). That
  // fails only when its container was given other processors meanwhile: then any of those.
  if (CPU_COUNT(&free) == 0 || sched_setaffinity(0, sizeof free, &free) != 0) return Room::none;
  if (sched_setaffinity(0, sizeof allowed, &allowed) != 0) {
    std::memset(&allowed, 0xff, sizeof allowed);
    sched_setaffinity(0, sizeof allowed, &allowed);
  }
  return Room::moved;
}

#else

void Seats::open(size_t) {}
void Seats::sit(size_t) {}
void Seats::rise(size_t) {}
Seats::Room Seats::make_room(size_t) const { return Room::none; }

#endif

}  // namespace rlx
