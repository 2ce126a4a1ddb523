// How products of one token ask memory for the weights that come (kernels::Ask), found out while they run: on one processor asking close
// ahead makes Q4_K 1.4 times as fast, on another it halves the rate, and nothing that a processor says of itself tells them apart.
// So now and then two tokens are a trial: each product asks in one way in the first and in the other way in the second, and what most
// products of a kind are faster with stays until the next trial.
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
  // Which way comes first in a trial changes from product to product, so that a memory that gets slower is no one's fault.
  bool begins_near() { return places_.fetch_add(1, std::memory_order_relaxed) % 2 == 1; }
  // The time of one product that asked close ahead, as a share of its time in the usual way.
  void compared(float share);

 private:
  static constexpr size_t kKept = 64, kEvery = 16;
  // Another way than the usual one must be better by more than noise.
  static constexpr float kBetter = 0.98f;

  const kernels::Ask usual_;
  std::atomic<kernels::Ask> best_;
  std::atomic<size_t> places_{0};
  std::mutex mutex_;
  std::array<float, kKept> shares_{};  // the latest
  size_t count_ = 0;
};

// One product's part in this, on one thread.
class Trial {
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
  // Two tokens of 64: what the slower way costs is below a hundredth. The first token of all is left out: its weights may be on the disk.
  static constexpr size_t kPeriod = 64, kFirst = 1, kSecond = 2;

  Asking* asking_;
  kernels::Ask ask_ = kernels::Ask::none;
  bool near_first_, timed_ = false;
  size_t run_ = 0;
  double rows_ = 0, seconds_ = 0, first_ = 0;  // seconds per row
};

}  // namespace rlx
