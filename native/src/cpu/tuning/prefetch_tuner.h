// Prefetch tuning for matrix-vector products. Which setting is fastest depends on the machine and
// on what else it runs, and processors do not say (docs/performance/kernels.md), so it is measured
// during generation: now and then two tokens are a trial, in which each product runs once with its
// usual setting and once with another one. The medians of recent trials decide what all products of
// a kind use.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>

#include "../kernels/kernels.h"

namespace rlx {

// The trials of one kind of product: rows of one type, long ones apart. Threads share it.
class PrefetchStatistics {
 public:
  // Settings beside the usual one.
  static constexpr size_t kOthers = 2;

  explicit PrefetchStatistics(kernels::Prefetch usual);

  kernels::Prefetch usual() const { return usual_; }
  kernels::Prefetch other(size_t which) const { return others_[which].setting; }
  kernels::Prefetch best() const { return best_.load(std::memory_order_relaxed); }
  // True for every second product: its first trials begin with the other setting. So each setting
  // comes first equally often.
  bool begins_with_other() { return products_.fetch_add(1, std::memory_order_relaxed) % 2 == 1; }
  // Records the time of a product with another setting as a share of its time with the usual one.
  void record(size_t which, float share, bool other_first);

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
    kernels::Prefetch setting = kernels::Prefetch::none;
    Shares usual_first, other_first;
    bool is_known() const { return usual_first.count >= kFew && other_first.count >= kFew; }
    float share() const;
  };
  // Trials of each order that a decision needs.
  static constexpr size_t kFew = 2;
  // Another setting must be better than the usual one by more than noise.
  static constexpr float kBetter = 0.98f;

  const kernels::Prefetch usual_;
  std::atomic<kernels::Prefetch> best_;
  std::atomic<size_t> products_{0};
  std::mutex mutex_;
  std::array<Other, kOthers> others_;
};

// The settings that one instruction set has found in this process. Sessions share it.
class PrefetchTuner {
 public:
  explicit PrefetchTuner(const kernels::Dispatch& kernels);

  // The fastest settings so far.
  kernels::Tuning tuning() const;
  // Null where kernels do not prefetch.
  PrefetchStatistics* of(kernels::Type type, size_t k) const;

 private:
  static constexpr size_t kKinds = kernels::kTypeCount * 2;
  std::array<std::unique_ptr<PrefetchStatistics>, kKinds> kinds_;
};

// The trials of one product on one thread. Counts the tokens in which the thread worked on it.
class alignas(64) PrefetchTrial {
 public:
  PrefetchTrial(PrefetchStatistics& statistics, bool other_first)
      : statistics_(&statistics), other_first_(other_first) {}

  // The product is about to run on this thread once more.
  void begin();
  kernels::Prefetch prefetch() const { return prefetch_; }
  bool is_timed() const { return timed_; }
  void took(size_t rows, double seconds) {
    rows_ += static_cast<double>(rows);
    seconds_ += seconds;
  }

  // Two tokens of 64 are a trial, so a slower setting costs a sixtieth of its full cost. All
  // settings are tried at first, then in turn. The first token of all is left out: its weights may
  // still be on the disk.
  static constexpr size_t kPeriod = 64, kFirst = 1;

 private:
  PrefetchStatistics* statistics_;
  kernels::Prefetch prefetch_ = kernels::Prefetch::none;
  bool other_first_, timed_ = false;
  size_t run_ = 0, starts_ = kFirst, which_ = 0;
  double rows_ = 0, seconds_ = 0, first_ = 0;  // seconds per row
};

}  // namespace rlx
