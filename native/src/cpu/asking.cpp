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
  // Never destroyed: threads may still multiply while the process ends.
  static auto& all = *new std::array<std::unique_ptr<Asking>, 2 * 2 * kernels::kTypeCount>();
  const size_t place = ((kernels::is_avx512(isa) ? 1 : 0) * kernels::kTypeCount + static_cast<size_t>(type)) * 2 + (k >= kernels::kLongRow ? 1 : 0);
  const std::lock_guard lock(mutex);
  if (!all[place]) all[place] = std::make_unique<Asking>(usual_ask(isa, type, k));
  return all[place].get();
}

float Asking::Shares::median() const {
  std::array<float, kKept> sorted = values;
  const auto end = sorted.begin() + static_cast<ptrdiff_t>(std::min(count, kKept)), middle = sorted.begin() + (end - sorted.begin()) / 2;
  std::nth_element(sorted.begin(), middle, end);
  return *middle;
}

void Asking::compared(float share, bool near_first) {
  const std::lock_guard lock(mutex_);
  Shares& shares = near_first ? near_first_ : usual_first_;
  shares.values[shares.count++ % Shares::kKept] = share;
  if (usual_first_.count < kFew || near_first_.count < kFew) return;
  // A memory that gets slower from one token to the next makes one median larger and the other smaller by the same factor.
  best_.store(usual_first_.median() * near_first_.median() < kBetter * kBetter ? Ask::near : usual_, std::memory_order_relaxed);
}

void Trial::begin() {
  const size_t at = run_++ % kPeriod;
  const double rate = rows_ > 0 ? seconds_ / rows_ : 0;
  rows_ = seconds_ = 0;
  if (at == kSecond) first_ = rate;
  if (at == kSecond + 1) {
    // A thread that found nothing to do in one of the two has nothing to compare.
    if (first_ > 0 && rate > 0) asking_->compared(static_cast<float>(near_first_ ? first_ / rate : rate / first_), near_first_);
    near_first_ = !near_first_;
  }
  timed_ = at == kFirst || at == kSecond;
  ask_ = !timed_ ? asking_->best() : (at == kFirst) == near_first_ ? Ask::near : asking_->usual();
}

}  // namespace rlx
