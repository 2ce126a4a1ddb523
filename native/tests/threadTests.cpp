// The threads of the engine without Node: the pool, its barriers, its placement, and the lane.
#ifdef __linux__
#include <sched.h>
#endif

#include <atomic>

#include "core/lane.h"
#include "core/pool.h"
#include "coreTests.h"

namespace core_tests {
namespace {

struct Counting {
  std::atomic<size_t> seen{0};
  rlx::Barrier barrier;
  rlx::CorePlacement placement;
  std::atomic<int> lasts{0};
};

void test_pool() {
  rlx::Pool pool;
  for (size_t threads = 1; threads <= 4; threads++) {
    for (int round = 0; round < 200; round++) {
      Counting counting;
      counting.barrier.reset(threads);
      pool.run(
          threads,
          [](void* argument, size_t thread) {
            auto& state = *static_cast<Counting*>(argument);
            for (int i = 0; i < 5; i++) {
              state.seen.fetch_add(thread + 1);
              state.barrier.wait(state.placement, thread, [&] { state.lasts.fetch_add(1); });
            }
          },
          &counting);
      if (counting.seen != 5 * threads * (threads + 1) / 2 || counting.lasts != 5)
        CHECK(!"every thread runs, one is last");
    }
  }
  CHECK(pool.workers() == 3);
}

#ifdef __linux__
using Spread = rlx::CorePlacement::Spread;

void hold_on(const cpu_set_t& processors) { sched_setaffinity(0, sizeof processors, &processors); }
cpu_set_t only(int processor) {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(static_cast<size_t>(processor), &one);
  return one;
}
cpu_set_t affinity() {
  cpu_set_t all;
  sched_getaffinity(0, sizeof all, &all);
  return all;
}
// Thread 0 enters on `processor`; this thread may then run anywhere, and the system may move it at
// once.
void share(rlx::CorePlacement& placement, int processor, const cpu_set_t& anywhere) {
  hold_on(only(processor));
  placement.enter(0);
  hold_on(anywhere);
}

void test_placement() {
  const cpu_set_t anywhere = affinity();
  if (CPU_COUNT(&anywhere) < 2) {
    std::printf("skipped: placement, which need two processors\n");
    return;
  }
  const int here = sched_getcpu();
  rlx::CorePlacement placement;
  placement.begin(2);
  CHECK(placement.spread(1) == Spread::alone);
  // Moved off the shared processor in most turns: in some the system has moved it before, or moves
  // it back.
  int moved = 0, away = 0;
  for (int i = 0; i < 20; i++) {
    share(placement, here, anywhere);
    if (placement.spread(1) != Spread::moved) continue;
    moved++;
    away += sched_getcpu() != here;
  }
  CHECK(moved > 10 && away > moved / 2);
  const cpu_set_t after = affinity();
  CHECK(CPU_EQUAL(&anywhere, &after));
  // It does not share with itself, nor with a waiting thread.
  hold_on(only(here));
  CHECK(placement.spread(0) == Spread::alone);
  placement.leave(0);
  CHECK(placement.spread(1) == Spread::alone);
  // No free processor: this is the only one allowed, or threads work on all others.
  placement.enter(0);
  CHECK(placement.spread(1) == Spread::full);
  hold_on(anywhere);
  for (size_t processor = 0, thread = 0; processor < CPU_SETSIZE && thread < 62; processor++) {
    if (!CPU_ISSET(processor, &anywhere)) continue;
    placement.begin(64);
    hold_on(only(static_cast<int>(processor)));
    placement.enter(thread++);
  }
  if (CPU_COUNT(&anywhere) <= 62) CHECK(placement.spread(63) == Spread::full);
  hold_on(anywhere);
  // More threads than placement: none is moved.
  placement.begin(65);
  CHECK(placement.spread(1) == Spread::full && placement.spread(64) == Spread::full);
}
#else
void test_placement() {}
#endif

void test_lane() {
  std::vector<int> order;
  {
    rlx::Lane lane;
    for (int i = 0; i < 100; i++) lane.push([&order, i] { order.push_back(i); });
  }
  CHECK(order.size() == 100);
  for (size_t i = 0; i < order.size(); i++) CHECK(order[i] == static_cast<int>(i));
}

}  // namespace

void test_threads() {
  test_pool();
  test_placement();
  test_lane();
}

}  // namespace core_tests
