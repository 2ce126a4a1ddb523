#include "asking.h"

#include <algorithm>
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
  static std::array<std::unique_ptr<Asking>, 2 * 2 * kernels::kTypeCount> all;
  const size_t place = ((kernels::is_avx512(isa) ? 1 : 0) * kernels::kTypeCount + static_cast<size_t>(type)) * 2 + (k >= kernels::kLongRow ? 1 : 0);
  const std::lock_guard lock(mutex);
  if (!all[place]) all[place] = std::make_unique<Asking>(usual_ask(isa, type, k));
  return all[place].get();
}

void Asking::compared(float share) {
  const std::lock_guard lock(mutex_);
  shares_[count_++ % kKept] = share;
  if (count_ % kEvery != 0) return;
  std::array<float, kKept> sorted = shares_;
  const auto end = sorted.begin() + static_cast<ptrdiff_t>(std::min(count_, kKept)), middle = sorted.begin() + (end - sorted.begin()) / 2;
  std::nth_element(sorted.begin(), middle, end);
  best_.store(*middle < kBetter ? Ask::near : usual_, std::memory_order_relaxed);
}

void Trial::begin() {
  const size_t at = run_++ % kPeriod;
  const double rate = rows_ > 0 ? seconds_ / rows_ : 0;
  rows_ = seconds_ = 0;
  if (at == kSecond) first_ = rate;
  // A thread that found nothing to do in one of the two has nothing to compare.
  if (at == kSecond + 1 && first_ > 0 && rate > 0) asking_->compared(static_cast<float>(near_first_ ? first_ / rate : rate / first_));
  timed_ = at == kFirst || at == kSecond;
  ask_ = !timed_ ? asking_->best() : (at == kFirst) == near_first_ ? Ask::near : asking_->usual();
}

}  // namespace rlx
