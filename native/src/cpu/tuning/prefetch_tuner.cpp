#include "prefetch_tuner.h"

#include <algorithm>
#include <cmath>

namespace rlx {
namespace {

using kernels::ActKind;
using kernels::Isa;
using kernels::Prefetch;
using kernels::Type;

// The fastest setting on most processors. The prefetchers of x86 lose the walk in long rows, and
// with AVX-512 also in Q6_K, which has few instructions per byte.
Prefetch usual_prefetch(Isa isa, Type type, size_t k) {
  return k >= kernels::kLongRow || (kernels::is_avx512(isa) && type == Type::q6_k) ? Prefetch::far : Prefetch::none;
}

size_t place_of(Type type, size_t k) { return static_cast<size_t>(type) * 2 + (k >= kernels::kLongRow ? 1 : 0); }

}  // namespace

PrefetchTuner::PrefetchTuner(const kernels::Dispatch& kernels) {
  if (!kernels::is_x86(kernels.isa)) return;
  for (size_t i = 0; i < kernels::kTypeCount; i++) {
    const auto type = static_cast<Type>(i);
    if (kernels::act_kind(type) == ActKind::f32) continue;
    for (const size_t k : {size_t{0}, kernels::kLongRow})
      kinds_[place_of(type, k)] = std::make_unique<PrefetchStatistics>(usual_prefetch(kernels.isa, type, k));
  }
}

PrefetchStatistics* PrefetchTuner::of(Type type, size_t k) const { return kinds_[place_of(type, k)].get(); }

kernels::Tuning PrefetchTuner::tuning() const {
  kernels::Tuning tuning;
  for (size_t i = 0; i < kernels::kTypeCount; i++)
    for (const size_t k : {size_t{0}, kernels::kLongRow})
      if (const PrefetchStatistics* kind = of(static_cast<Type>(i), k))
        tuning.set_prefetch(static_cast<Type>(i), k, kind->best());
  return tuning;
}

PrefetchStatistics::PrefetchStatistics(Prefetch usual) : usual_(usual), best_(usual) {
  size_t which = 0;
  for (const Prefetch setting : {Prefetch::near, Prefetch::far, Prefetch::none})
    if (setting != usual && which < kOthers) others_[which++].setting = setting;
}

float PrefetchStatistics::Shares::median() const {
  std::array<float, kKept> sorted = values;
  const auto end = sorted.begin() + static_cast<ptrdiff_t>(std::min(count, kKept)),
             middle = sorted.begin() + (end - sorted.begin()) / 2;
  std::nth_element(sorted.begin(), middle, end);
  return *middle;
}

// The geometric mean of both orders: where memory gets slower from one token to the next, one
// median grows and the other shrinks by the same factor.
float PrefetchStatistics::Other::share() const { return std::sqrt(usual_first.median() * other_first.median()); }

void PrefetchStatistics::record(size_t which, float share, bool other_first) {
  const std::lock_guard lock(mutex_);
  (other_first ? others_[which].other_first : others_[which].usual_first).add(share);
  Prefetch best = usual_;
  float least = kBetter;
  for (const Other& other : others_) {
    if (!other.is_known() || other.share() >= least) continue;
    best = other.setting;
    least = other.share();
  }
  best_.store(best, std::memory_order_relaxed);
}

void PrefetchTrial::begin() {
  const size_t at = run_++;
  const double rate = rows_ > 0 ? seconds_ / rows_ : 0;
  rows_ = seconds_ = 0;
  if (at == starts_ + 1) first_ = rate;
  if (at == starts_ + 2) {
    // A thread that got no items in one of the two tokens has nothing to compare.
    if (first_ > 0 && rate > 0)
      statistics_->record(which_, static_cast<float>(other_first_ ? first_ / rate : rate / first_), other_first_);
    which_ = (which_ + 1) % PrefetchStatistics::kOthers;
    if (which_ == 0) other_first_ = !other_first_;
    const bool all_at_first = at < kFirst + 2 * PrefetchStatistics::kOthers;
    starts_ = all_at_first ? at : (at / kPeriod + 1) * kPeriod + kFirst;
  }
  timed_ = at == starts_ || at == starts_ + 1;
  prefetch_ = !timed_                           ? statistics_->best()
              : (at == starts_) == other_first_ ? statistics_->other(which_)
                                                : statistics_->usual();
}

}  // namespace rlx
