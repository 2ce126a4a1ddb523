// Recurrences over the tokens of a step whose state stays for the next one: the short causal
// convolution of each channel, and the names of the others (scan.h, delta.h).
#include <cstring>
#include <type_traits>

#include "delta.h"
#include "doubles.h"
#include "scan.h"
#include "tables.h"

namespace rlx {
namespace {

template <class T>
constexpr DType kTypeOf = std::is_same_v<T, double> ? DType::f64 : DType::f32;

// (x [T, C], before [k-1, C], weight [C, k], bias [C]?) → y [T, C], the last k-1 rows of before and
// x, which may be the memory of `before`. An item is a block of channels, so nothing that another
// item still reads is overwritten.
template <class T>
class ShortConv final : public Op {
 public:
  static constexpr size_t kBlock = 64;

  explicit ShortConv(const OpContext& context) : Op(context) {
    arity(3, 4, 2);
    for (const Tensor* tensor : c.in)
      if (tensor != nullptr) expect_type(tensor, kTypeOf<T>, "operand");
    for (const Tensor* tensor : c.out) expect_type(tensor, kTypeOf<T>, "result");
  }
  void bind() override {
    expect(in(0).rank == 2 && in(1).rank == 2 && in(2).rank == 2, "the operands are not matrices");
    tokens_ = in(0).shape[0];
    channels_ = in(0).shape[1];
    taps_ = in(2).shape[1];
    expect(taps_ > 1 && in(2).shape[0] == channels_, "the weight has another size");
    expect(in(1).shape[0] == taps_ - 1 && in(1).shape[1] == channels_, "the rows before have another size");
    if (maybe(3) != nullptr) expect(in(3).count == channels_, "the bias has another size");
    expect(out(0).count == in(0).count && out(1).count == in(1).count, "a result has another size");
    thread_bytes = taps_ * kBlock * sizeof(T);
  }
  size_t items(size_t) const override { return ceil_div(channels_, kBlock); }
  void run(size_t, size_t item, Thread& thread) override {
    const size_t from = item * kBlock, to = std::min(channels_, from + kBlock);
    const T* weight = in(2).template as<T>();
    const T* bias = maybe(3) == nullptr ? nullptr : in(3).template as<T>();
    T* y = out(0).template as<T>();
    // A tap of all channels after the other, so that channels are side by side.
    T* taps = reinterpret_cast<T*>(thread.scratch);
    for (size_t j = 0; j < taps_; j++)
      for (size_t i = 0; i < to - from; i++) taps[j * kBlock + i] = weight[(from + i) * taps_ + j];
    for (size_t t = 0; t < tokens_; t++) {
      T sum[kBlock] = {};
      for (size_t j = 0; j < taps_; j++) {
        const T *x = row(t + j) + from, *tap = taps + j * kBlock;
        for (size_t i = 0; i < to - from; i++) sum[i] += x[i] * tap[i];
      }
      T* line = y + t * channels_ + from;
      for (size_t i = 0; i < to - from; i++) line[i] = bias == nullptr ? sum[i] : sum[i] + bias[from + i];
    }
    // Each row comes from one behind it, so the memory may be the same.
    T* after = out(1).template as<T>();
    for (size_t r = 0; r + 1 < taps_; r++)
      std::memmove(after + r * channels_ + from, row(tokens_ + r) + from, (to - from) * sizeof(T));
  }

 private:
  const T* row(size_t r) const {
    return r + 1 < taps_ ? in(1).template as<T>() + r * channels_
                         : in(0).template as<T>() + (r + 1 - taps_) * channels_;
  }

  size_t tokens_ = 0, channels_ = 0, taps_ = 0;
};

constexpr KernelEntry kTable[] = {
    {"gated_delta", make_real<GatedDelta<float>, GatedDelta<double>>},
    {"short_conv", make_real<ShortConv<float>, ShortConv<double>>},
    {"selective_scan", make_real<SelectiveScan<float>, SelectiveScan<double>>},
    {"wkv7", make_real<Wkv7<float>, Wkv7<double>>},
};

}  // namespace

std::span<const KernelEntry> recurrence_kernels() { return kTable; }

}  // namespace rlx
