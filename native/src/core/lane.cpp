#include "lane.h"

#include "platform/platform.h"

namespace rlx {

Lane::Lane() : thread_([this] { work(); }) {}

Lane::~Lane() {
  stop_.store(true);
  signal_.fetch_add(1);
  platform::wake_all(signal_);
  thread_.join();
}

void Lane::push(std::function<void()> job) {
  {
    const std::lock_guard lock(mutex_);
    jobs_.push_back(std::move(job));
  }
  signal_.fetch_add(1, std::memory_order_acq_rel);
  platform::wake_one(signal_);
}

void Lane::work() {
  platform::mark_compute_thread("rlx-engine");
  for (;;) {
    const uint32_t seen = signal_.load(std::memory_order_acquire);
    std::function<void()> job;
    {
      const std::lock_guard lock(mutex_);
      if (!jobs_.empty()) {
        job = std::move(jobs_.front());
        jobs_.pop_front();
      }
    }
    if (job) {
      job();
      continue;
    }
    if (stop_.load()) return;
    await_change(signal_, seen, 300, [] {});
  }
}

}  // namespace rlx
