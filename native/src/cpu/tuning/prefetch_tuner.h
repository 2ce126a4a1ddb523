// How products of few tokens ask memory for the weights that come (kernels::Ask), found out while they run: on one processor asking close
// ahead makes Q4_K 1.4 times as fast, on another it halves the rate; asking far ahead gains 12 % where both cores have memory of their own and costs 9 %
// where they share their way to it. Nothing that a processor says of itself tells these apart.
// So now and then two tokens are a trial: each product, on each thread by itself, asks in its usual way in one and in another way in
// the other. What products of a kind were fastest with of late is what all of them do.
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
  // Ways beside the usual one.
  static constexpr size_t kOthers = 2;

  // Null where the kernels don't ask.
  static Asking* of(const kernels::Dispatch& kernels, kernels::Type type, size_t k);

  explicit Asking(kernels::Ask usual);

  kernels::Ask usual() const { return usual_; }
  kernels::Ask other(size_t which) const { return others_[which].way; }
  kernels::Ask best() const { return best_.load(std::memory_order_relaxed); }
  // Whether the next product's first trials begin with the other way: each comes first in half of them.
  bool begins_with_other() { return products_.fetch_add(1, std::memory_order_relaxed) % 2 == 1; }
  // The time of one product that asked in the other way, as a share of its time in the usual one, and which of the two came first.
  void compared(size_t which, float share, bool other_first);

 private:
  // The latest shares of one order.
  struct Shares {
    static constexpr size_t kKept = 32;
    std::array<float, kKept> values{};
    size_t count = 0;
    void add(float share) { values[count++ % kKept] = share; }
    float median() const;
  };
  struct Other {
    kernels::Ask way = kernels::Ask::none;
    Shares usual_first, other_first;
    bool is_known() const { return usual_first.count >= kFew && other_first.count >= kFew; }
    float share() const;
  };
  // Of each order, before anything is decided.
  static constexpr size_t kFew = 2;
  // Another way than the usual one must be better by more than noise.
  static constexpr float kBetter = 0.98f;

  const kernels::Ask usual_;
  std::atomic<kernels::Ask> best_;
  std::atomic<size_t> products_{0};
  std::mutex mutex_;
  std::array<Other, kOthers> others_;
};

// One product's part in this, on one thread, which counts the tokens in which it had a part of the op.
class alignas(64) Trial {
 public:
  Trial(Asking& asking, bool other_first) : asking_(&asking), other_first_(other_first) {}

  // The product is about to run on this thread once more.
  void begin();
  kernels::Ask ask() const { return ask_; }
  bool is_timed() const { return timed_; }
  void took(size_t rows, double seconds) {
    rows_ += static_cast<double>(rows);
    seconds_ += seconds;
  }

  // Two tokens of 64, one of which asks in the slower way: a sixtieth of what that costs. All ways are tried at first, then in turn. The first token
  // of all is left out: its weights may be on the disk.
  static constexpr size_t kPeriod = 64, kFirst = 1;

 private:
  Asking* asking_;
  kernels::Ask ask_ = kernels::Ask::none;
  bool other_first_, timed_ = false;
  size_t run_ = 0, starts_ = kFirst, which_ = 0;
  double rows_ = 0, seconds_ = 0, first_ = 0;  // seconds per row
};

}  // namespace rlx
