// Softmax and log-softmax along any axis, in f32 or f64. The last axis in f32 goes through the
// vector kernels.
#include <cmath>

#include "tables.h"

namespace rlx {
namespace {

template <bool kLog>
class Softmax final : public Op {
 public:
  explicit Softmax(const OpContext& context) : Op(context) {
    arity(1, 1, 1);
    if (in(0).dtype != DType::f64) expect_type(c.in[0], DType::f32, "operand");
    expect_type(c.out[0], in(0).dtype, "result");
  }
  void bind() override {
    expect(in(0).rank > 0, "a scalar has no axis");
    const size_t axis = static_cast<size_t>(
        c.params.integer("axis", static_cast<int64_t>(in(0).rank) - 1, 0, static_cast<int64_t>(in(0).rank) - 1));
    expect(out().count == in(0).count, "the result has another size");
    length_ = in(0).shape[axis];
    inner_ = in(0).span(axis + 1, in(0).rank);
    lanes_ = in(0).span(0, axis) * inner_;
    grain_ = std::max<size_t>(1, kGrain / std::max<size_t>(1, length_));
  }
  size_t items(size_t) const override { return length_ == 0 ? 0 : ceil_div(lanes_, grain_); }
  void run(size_t, size_t item, Thread&) override {
    const size_t begin = item * grain_;
    const size_t end = std::min(lanes_, begin + grain_);
    if (in(0).dtype == DType::f64) return lanes<double>(begin, end);
    if (inner_ != 1 || kLog) return lanes<float>(begin, end);
    c.kernels.softmax(in(0).f32(), length_, 1.0f, out().f32(), length_, begin, end, length_);
  }

 private:
  template <class T>
  void lanes(size_t begin, size_t end) const {
    for (size_t lane = begin; lane < end; lane++)
      strided(in(0).template as<T>(), out().template as<T>(), lane / inner_ * length_ * inner_ + lane % inner_);
  }
  template <class T>
  void strided(const T* x, T* y, size_t base) const {
    T largest = -INFINITY;
    for (size_t i = 0; i < length_; i++) largest = std::fmax(largest, x[base + i * inner_]);
    if (largest == -INFINITY) largest = 0;  // all masked: 0/0 below gives NaN, as the formula does
    double total = 0;
    for (size_t i = 0; i < length_; i++) total += std::exp(static_cast<double>(x[base + i * inner_]) - largest);
    const double log_total = std::log(total);
    for (size_t i = 0; i < length_; i++) {
      const double shifted = static_cast<double>(x[base + i * inner_]) - largest;
      y[base + i * inner_] = static_cast<T>(kLog ? shifted - log_total : std::exp(shifted) / total);
    }
  }
  size_t length_ = 0, inner_ = 1, lanes_ = 0, grain_ = 1;
};

constexpr KernelEntry kTable[] = {{"softmax", make_op<Softmax<false>>}, {"log_softmax", make_op<Softmax<true>>}};

}  // namespace

std::span<const KernelEntry> softmax_kernels() { return kTable; }

}  // namespace rlx
