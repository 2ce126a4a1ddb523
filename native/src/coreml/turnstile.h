// Takes turns for calls that must not overlap: predictions that share a state, and reads of that
// state.
#pragma once

#include <deque>
#include <functional>
#include <mutex>
#include <utility>

#import "objc.h"

namespace rlx::coreml {

// One after the other, in order of arrival, without holding a thread.
class Turnstile {
 public:
  void enter(std::function<void()> go) {
    {
      std::lock_guard guard(mutex_);
      if (busy_) return waiting_.push_back(std::move(go));
      busy_ = true;
    }
    go();
  }
  void leave() {
    if (handing_ == this) {
      left_ = true;
      return;
    }
    for (bool left = true; left;) {
      std::function<void()> next;
      {
        std::lock_guard guard(mutex_);
        if (waiting_.empty()) {
          busy_ = false;
          return;
        }
        next = std::move(waiting_.front());
        waiting_.pop_front();
      }
      // Those that end inside their call (cancelled ones) are followed by the next from here: as
      // calls in calls, a long row of them would be deeper than the stack of a system's thread.
      Turnstile* const outer = std::exchange(handing_, this);
      const bool outer_left = std::exchange(left_, false);
      next();
      handing_ = outer;
      left = std::exchange(left_, outer_left);
    }
  }
  // For a caller that may wait: inside from here until `leave`.
  void enter_blocking() {
    auto answer = std::make_shared<Answer<bool>>();
    enter([answer] { answer->give(true, nullptr); });
    answer->wait(nullptr);
  }

 private:
  std::mutex mutex_;
  bool busy_ = false;
  // The turn that this thread passes on now, and whether its receiver has left already.
  static inline thread_local Turnstile* handing_ = nullptr;
  static inline thread_local bool left_ = false;
  std::deque<std::function<void()>> waiting_;
};

struct Pass {
  Turnstile& turnstile;
  explicit Pass(Turnstile& one) : turnstile(one) { turnstile.enter_blocking(); }
  ~Pass() { turnstile.leave(); }
};

}  // namespace rlx::coreml
