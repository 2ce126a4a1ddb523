#include "pool.h"

#include "platform/platform.h"

namespace rlx {
namespace {
// Yields of an idle worker before it sleeps: about the time between two tokens.
constexpr int kIdleYields = 1300;
}  // namespace

Pool::~Pool() {
  stop_.store(true);
  epoch_.fetch_add(1, std::memory_order_acq_rel);
  platform::wake_all(epoch_);
  for (std::thread& worker : workers_) worker.join();
}

void Pool::run(size_t count, void (*fn)(void*, size_t), void* argument) {
  if (count <= 1) {
    fn(argument, 0);
    return;
  }
  while (workers_.size() + 1 < count) {
    const size_t thread = workers_.size() + 1;
    const uint32_t seen = epoch_.load(std::memory_order_relaxed);
    workers_.emplace_back([this, thread, seen] { work(thread, seen); });
  }
  fn_ = fn;
  argument_ = argument;
  count_ = count;
  placement_.begin(count);
  placement_.enter(0);
  // Every worker passes through: none may still read this run's fields when the next one sets them.
  pending_.store(static_cast<uint32_t>(workers_.size()), std::memory_order_relaxed);
  epoch_.fetch_add(1, std::memory_order_acq_rel);
  platform::wake_all(epoch_);
  fn(argument, 0);
  placement_.leave(0);
  Spreader spreader(placement_, 0);
  for (;;) {
    const uint32_t left = pending_.load(std::memory_order_acquire);
    if (left == 0) return;
    await_change(pending_, left, kIdleYields, [&] { spreader.try_once(); });
  }
}

void Pool::work(size_t thread, uint32_t seen) {
  platform::mark_compute_thread("rlx-worker");
  for (;;) {
    await_change(epoch_, seen, kIdleYields, [] {});
    seen = epoch_.load(std::memory_order_acquire);
    if (stop_.load()) return;
    if (thread < count_) {
      placement_.enter(thread);
      fn_(argument_, thread);
      placement_.leave(thread);
    }
    if (pending_.fetch_sub(1, std::memory_order_acq_rel) == 1) platform::wake_one(pending_);
  }
}

}  // namespace rlx
