// Recurrences over the tokens of a step whose state stays for the next one: the short causal
// convolution of each channel, and the gated delta rule.
#include <cmath>
#include <cstring>
#include <type_traits>

#include "../kernels/scan.h"
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

// (q, k [T, H, N], v [T, H, V], gate [T, H] or [T, H, N], beta [T, H], S [H, N, V]) → [T, H, V], S
// after, which may be the memory of S. An item is a run of columns of one head: columns of S do not
// meet.
template <class T>
class GatedDelta final : public Op {
 public:
  static constexpr size_t kColumns = 64;

  explicit GatedDelta(const OpContext& context) : Op(context) {
    arity(6, 6, 2);
    for (const Tensor* tensor : c.in) expect_type(tensor, kTypeOf<T>, "operand");
    for (const Tensor* tensor : c.out) expect_type(tensor, kTypeOf<T>, "result");
  }
  void bind() override {
    expect(in(0).rank == 3 && in(2).rank == 3, "queries or values are not [T, H, size]");
    tokens_ = in(0).shape[0];
    heads_ = in(0).shape[1];
    size_ = in(0).shape[2];
    wide_ = in(2).shape[2];
    const size_t rows = tokens_ * heads_;
    expect(in(1).count == rows * size_ && in(2).count == rows * wide_, "keys or values have another size");
    expect(in(3).count == rows || in(3).count == rows * size_, "the gate has another size");
    expect(in(4).count == rows && in(5).count == heads_ * size_ * wide_, "beta or the state has another size");
    expect(out(0).count == in(2).count && out(1).count == in(5).count, "a result has another size");
    gates_ = in(3).count == rows ? 1 : size_;
    blocks_ = ceil_div(wide_, kColumns);
    thread_bytes = size_ * sizeof(T);
  }
  size_t items(size_t) const override { return heads_ * blocks_; }
  void run(size_t, size_t item, Thread& thread) override {
    const size_t head = item / blocks_, from = item % blocks_ * kColumns;
    const size_t columns = std::min(kColumns, wide_ - from);
    T* state = out(1).template as<T>() + head * size_ * wide_ + from;
    const T* before = in(5).template as<T>() + head * size_ * wide_ + from;
    if (state != before)
      for (size_t i = 0; i < size_; i++) std::memcpy(state + i * wide_, before + i * wide_, columns * sizeof(T));
    const T scale = 1 / std::sqrt(static_cast<T>(size_));
    T* decays = reinterpret_cast<T*>(thread.scratch);
    for (size_t t = 0; t < tokens_; t++) {
      const size_t row = t * heads_ + head;
      const T *q = in(0).template as<T>() + row * size_, *k = in(1).template as<T>() + row * size_;
      const T* v = in(2).template as<T>() + row * wide_ + from;
      T* y = out(0).template as<T>() + row * wide_ + from;
      fade(in(3).template as<T>() + row * gates_, decays);
      const T beta = in(4).template as<T>()[row];
      if constexpr (std::is_same_v<T, float>) {
        kernels::scan_table(c.kernels.isa).delta({state, decays, q, k, v, y, beta, scale, size_, columns, wide_});
      } else {
        token(state, decays, columns, q, k, v, beta, scale, y);
      }
    }
  }

 private:
  void fade(const T* gate, T* decays) const {
    if (gates_ == 1) {
      std::fill_n(decays, size_, std::exp(gate[0]));
      return;
    }
    for (size_t i = 0; i < size_; i++) decays[i] = std::exp(gate[i]);
  }
  void token(T* state, const T* decays, size_t columns, const T* q, const T* k, const T* v, T beta, T scale,
             T* y) const {
    T known[kColumns] = {}, sum[kColumns] = {};
    for (size_t i = 0; i < size_; i++) {
      T* s = state + i * wide_;
      for (size_t j = 0; j < columns; j++) {
        s[j] *= decays[i];
        known[j] += s[j] * k[i];
      }
    }
    for (size_t j = 0; j < columns; j++) known[j] = (v[j] - known[j]) * beta;
    for (size_t i = 0; i < size_; i++) {
      T* s = state + i * wide_;
      for (size_t j = 0; j < columns; j++) {
        s[j] += k[i] * known[j];
        sum[j] += s[j] * q[i];
      }
    }
    for (size_t j = 0; j < columns; j++) y[j] = sum[j] * scale;
  }

  size_t tokens_ = 0, heads_ = 0, size_ = 0, wide_ = 0, gates_ = 1, blocks_ = 0;
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
