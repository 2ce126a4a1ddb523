// The engine's own thread: jobs in order, one at a time. Kernels then use the pool from here;
// JavaScript never waits.
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

#include "pool.h"

namespace rlx {

class Lane {
 public:
  Lane();
  // Runs what is queued to its end (cancelled jobs end at once), then joins.
  ~Lane();
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;

  void push(std::function<void()> job);
  Pool& pool() { return pool_; }

 private:
  void work();

  std::mutex mutex_;
  std::deque<std::function<void()>> jobs_;
  std::atomic<uint32_t> signal_{0};
  std::atomic<bool> stop_{false};
  Pool pool_;
  std::thread thread_;
};

}  // namespace rlx
