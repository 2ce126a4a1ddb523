#include "asking.h"

#include <algorithm>
#include <cmath>
#include <memory>

namespace rlx {
namespace {

using kernels::ActKind;
using kernels::Ask;
using kernels::Isa;
using kernels::Type;

// What most processors are fastest with: those of x86 lose the walk in long rows, and with AVX-512 in Q6_K, too, which has few
// instructions for its bytes.
Ask usual_ask(Isa isa, Type type, size_t k) {
  return k >= kernels::kLongRow || (kernels::is_avx512(isa) && type == Type::q6_k) ? Ask::far : Ask::none;
}

}  // namespace

Asking* Asking::of(const kernels::Dispatch& kernels, Type type, size_t k) {
  const ActKind kind = kernels::act_kind(type);
  const Isa isa = kernels.isa;
  if (!kernels::is_x86(isa) || (kind != ActKind::i16_block32 && kind != ActKind::i8_groups256)) return nullptr;
  static std::mutex mutex;
  // Never destroyed: threads may still multiply while the process ends.
  static auto& all = *new std::array<std::unique_ptr<Asking>, 2 * 2 * kernels::kTypeCount>();
  const size_t place = ((kernels::is_avx512(isa) ? 1 : 0) * kernels::kTypeCount + static_cast<size_t>(type)) * 2 + (k >= kernels::kLongRow ? 1 : 0);
  const std::lock_guard lock(mutex);
  if (!all[place]) all[place] = std::make_unique<Asking>(usual_ask(isa, type, k));
  return all[place].get();
}

Asking::Asking(Ask usual) : usual_(usual), best_(usual) {
  size_t which = 0;
  for (const Ask way : {Ask::near, Ask::far, Ask::none})
    if (way != usual && which < kOthers) others_[which++].way = way;
}

float Asking::Shares::median() const {
  std::array<float, kKept> sorted = values;
  const auto end = sorted.begin() + static_cast<ptrdiff_t>(std::min(count, kKept)), middle = sorted.begin() + (end - sorted.begin()) / 2;
  std::nth_element(sorted.begin(), middle, end);
  return *middle;
}

// A memory that gets slower from one token to the next makes one median larger and the other smaller by the same factor.
float Asking::Other::share() const { return std::sqrt(usual_first.median() * other_first.median()); }

void Asking::compared(size_t which, float share, bool other_first) {
  const std::lock_guard lock(mutex_);
  (other_first ? others_[which].other_first : others_[which].usual_first).add(share);
  Ask best = usual_;
  float least = kBetter;
  for (const Other& other : others_) {
    if (!other.is_known() || other.share() >= least) continue;
    best = other.way;
    least = other.share();
  }
  best_.store(best, std::memory_order_relaxed);
}

void Trial::begin() {
  const size_t at = run_++;
  const double rate = rows_ > 0 ? seconds_ / rows_ : 0;
  rows_ = seconds_ = 0;
  if (at == starts_ + 1) first_ = rate;
  if (at == starts_ + 2) {
    // A thread that found nothing to do in one of the two has nothing to compare.
    if (first_ > 0 && rate > 0) asking_->compared(which_, static_cast<float>(other_first_ ? first_ / rate : rate / first_), other_first_);
    which_ = (which_ + 1) % Asking::kOthers;
    if (which_ == 0) other_first_ = !other_first_;
    const bool all_at_first = at < kFirst + 2 * Asking::kOthers;
    starts_ = all_at_first ? at : (at / kPeriod + 1) * kPeriod + kFirst;
  }
  timed_ = at == starts_ || at == starts_ + 1;
  ask_ = !timed_ ? asking_->best() : (at == starts_) == other_first_ ? asking_->other(which_) : asking_->usual();
}

}  // namespace rlx
