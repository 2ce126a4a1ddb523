// How products of few tokens ask memory for the weights that come (kernels::Ask), found out while they run: on one processor asking close
// ahead makes Q4_K 1.4 times as fast, on another it halves the rate, and nothing that a processor says of itself tells them apart.
// So now and then two tokens are a trial: each product, on each thread by itself, asks in one way in the first and in the other way in
// the second. What products of a kind were faster with of late is what all of them do.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <mutex>

#include "kernels/kernels.h"

namespace rlx {

// Of all rows of one type in this process, long ones apart.
class Asking {
 public:
  // Null where the kernels don't ask.
  static Asking* of(const kernels::Dispatch& kernels, kernels::Type type, size_t k);

  explicit Asking(kernels::Ask usual) : usual_(usual), best_(usual) {}

  kernels::Ask usual() const { return usual_; }
  kernels::Ask best() const { return best_.load(std::memory_order_relaxed); }
  // Which way the next product's first trial begins with: each comes first in half of them.
  bool begins_near() { return products_.fetch_add(1, std::memory_order_relaxed) % 2 == 1; }
  // The time of one product that asked close ahead, as a share of its time in the usual way, and which of the two came first.
  void compared(float share, bool near_first);

 private:
  // The latest shares of one order.
  struct Shares {
    static constexpr size_t kKept = 32;
    std::array<float, kKept> values{};
    size_t count = 0;
    float median() const;
  };
  // Of each order, before anything is decided.
  static constexpr size_t kFew = 2;
  // Another way than the usual one must be better by more than noise.
  static constexpr float kBetter = 0.98f;

  const kernels::Ask usual_;
  std::atomic<kernels::Ask> best_;
  std::atomic<size_t> products_{0};
  std::mutex mutex_;
  Shares usual_first_, near_first_;
};

// One product's part in this, on one thread, which counts the tokens in which it had a part of the op.
class alignas(64) Trial {
 public:
  Trial(Asking& asking, bool near_first) : asking_(&asking), near_first_(near_first) {}

  // The product is about to run on this thread once more.
  void begin();
  kernels::Ask ask() const { return ask_; }
  bool is_timed() const { return timed_; }
  void took(size_t rows, double seconds) {
    rows_ += static_cast<double>(rows);
    seconds_ += seconds;
  }

 private:
  // Two tokens of 64, one of which asks in the slower way: a sixtieth of what that costs. The first token of all is left out: its
  // weights may be on the disk.
  static constexpr size_t kPeriod = 64, kFirst = 1, kSecond = 2;

  Asking* asking_;
  kernels::Ask ask_ = kernels::Ask::none;
  bool near_first_, timed_ = false;
  size_t run_ = 0;
  double rows_ = 0, seconds_ = 0, first_ = 0;  // seconds per row
};

}  // namespace rlx
