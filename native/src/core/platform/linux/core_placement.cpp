#include "../../core_placement.h"

#include <sched.h>

#include <cstring>

namespace rlx {

void CorePlacement::begin(size_t threads) {
  threads_.store(threads > slots_.size() ? 0 : threads, std::memory_order_relaxed);
}

void CorePlacement::enter(size_t thread) {
  if (thread < threads_.load(std::memory_order_relaxed))
    slots_[thread].processor.store(sched_getcpu(), std::memory_order_relaxed);
}

void CorePlacement::leave(size_t thread) {
  if (thread < slots_.size()) slots_[thread].processor.store(kNowhere, std::memory_order_relaxed);
}

CorePlacement::Spread CorePlacement::spread(size_t thread) const {
  const size_t threads = threads_.load(std::memory_order_relaxed);
  const int here = sched_getcpu();
  if (thread >= threads || here < 0) return Spread::full;
  bool shared = false;
  for (size_t i = 0; i < threads && !shared; i++)
    shared = i != thread && slots_[i].processor.load(std::memory_order_relaxed) == here;
  if (!shared) return Spread::alone;

  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return Spread::full;
  cpu_set_t free = allowed;
  CPU_CLR(static_cast<size_t>(here), &free);
  for (size_t i = 0; i < threads; i++) {
    const int taken = slots_[i].processor.load(std::memory_order_relaxed);
    if (taken != kNowhere) CPU_CLR(static_cast<size_t>(taken), &free);
  }
  // The first call moves this thread, the second lets it go anywhere again. The second fails only
  // when the container got other processors meanwhile: then all are allowed.
  if (CPU_COUNT(&free) == 0 || sched_setaffinity(0, sizeof free, &free) != 0) return Spread::full;
  if (sched_setaffinity(0, sizeof allowed, &allowed) != 0) {
    std::memset(&allowed, 0xff, sizeof allowed);
    sched_setaffinity(0, sizeof allowed, &allowed);
  }
  return Spread::moved;
}

}  // namespace rlx
