// Element-wise kernels with one operand, and the gate of a gated layer.
#include <cmath>

#include "tables.h"

namespace rlx {
namespace {

using kernels::Unary;

class Elementwise : public Op {
 public:
  explicit Elementwise(const OpContext& context) : Op(context) { arity(1, 1, 1); }
  void bind() override { expect(in(0).count == out().count, "the result has another size"); }
  size_t items(size_t) const override { return ceil_div(out().count, kGrain); }
};

int32_t negate(int32_t x) { return static_cast<int32_t>(0u - static_cast<uint32_t>(x)); }
int32_t absolute(int32_t x) { return x < 0 ? negate(x) : x; }
int32_t sign_of(int32_t x) { return (x > 0) - (x < 0); }
int32_t square_of(int32_t x) { return static_cast<int32_t>(static_cast<uint32_t>(int64_t{x} * x)); }

template <Unary kKind, int32_t (*kInteger)(int32_t) = nullptr>
class Vector final : public Elementwise {
 public:
  explicit Vector(const OpContext& context) : Elementwise(context) {
    const DType type = kInteger != nullptr && out().dtype == DType::i32 ? DType::i32 : DType::f32;
    expect_type(c.in[0], type, "operand");
    expect_type(c.out[0], type, "result");
  }
  void run(size_t, size_t item, Thread&) override {
    const size_t begin = item * kGrain;
    const size_t n = std::min(kGrain, out().count - begin);
    if constexpr (kInteger != nullptr) {
      if (out().dtype == DType::i32) {
        for (size_t i = begin; i < begin + n; i++) out().i32()[i] = kInteger(in(0).i32()[i]);
        return;
      }
    }
    c.kernels.unary(kKind, in(0).f32() + begin, out().f32() + begin, n);
  }
};

template <float (*kFunction)(float)>
class Scalar final : public Elementwise {
 public:
  explicit Scalar(const OpContext& context) : Elementwise(context) {
    expect_type(c.in[0], DType::f32, "operand");
    expect_type(c.out[0], DType::f32, "result");
  }
  void run(size_t, size_t item, Thread&) override {
    const size_t begin = item * kGrain;
    const size_t end = std::min(begin + kGrain, out().count);
    for (size_t i = begin; i < end; i++) out().f32()[i] = kFunction(in(0).f32()[i]);
  }
};

float tan_f(float x) { return std::tan(x); }
float atan_f(float x) { return std::atan(x); }

class Not final : public Elementwise {
 public:
  explicit Not(const OpContext& context) : Elementwise(context) {
    expect_type(c.in[0], DType::boolean, "operand");
    expect_type(c.out[0], DType::boolean, "result");
  }
  void run(size_t, size_t item, Thread&) override {
    const size_t begin = item * kGrain;
    const size_t end = std::min(begin + kGrain, out().count);
    for (size_t i = begin; i < end; i++) out().data[i] = in(0).data[i] == 0;
  }
};

// act(gate) * up
class Gate final : public Op {
 public:
  explicit Gate(const OpContext& context) : Op(context) {
    arity(2, 2, 1);
    expect_type(c.in[0], DType::f32, "gate");
    expect_type(c.in[1], DType::f32, "up");
    expect_type(c.out[0], DType::f32, "result");
    constexpr kernels::Glu kinds[] = {kernels::Glu::silu, kernels::Glu::gelu_tanh, kernels::Glu::gelu_erf, kernels::Glu::relu};
    kind_ = kinds[c.params.integer("activation", 0, 0, 3)];
  }
  void bind() override { expect(in(0).count == out().count && in(1).count == out().count, "operands have different sizes"); }
  size_t items(size_t) const override { return ceil_div(out().count, kGrain); }
  void run(size_t, size_t item, Thread&) override {
    const size_t begin = item * kGrain;
    c.kernels.glu(kind_, in(0).f32() + begin, in(1).f32() + begin, out().f32() + begin, std::min(kGrain, out().count - begin));
  }

 private:
  kernels::Glu kind_;
};

constexpr KernelEntry kTable[] = {
    {"neg", make_op<Vector<Unary::neg, negate>>},
    {"abs", make_op<Vector<Unary::abs, absolute>>},
    {"sign", make_op<Vector<Unary::sign, sign_of>>},
    {"square", make_op<Vector<Unary::square, square_of>>},
    {"sqrt", make_op<Vector<Unary::sqrt>>},
    {"rsqrt", make_op<Vector<Unary::rsqrt>>},
    {"reciprocal", make_op<Vector<Unary::reciprocal>>},
    {"exp", make_op<Vector<Unary::exp>>},
    {"log", make_op<Vector<Unary::log>>},
    {"sin", make_op<Vector<Unary::sin>>},
    {"cos", make_op<Vector<Unary::cos>>},
    {"tan", make_op<Scalar<tan_f>>},
    {"atan", make_op<Scalar<atan_f>>},
    {"tanh", make_op<Vector<Unary::tanh>>},
    {"sigmoid", make_op<Vector<Unary::sigmoid>>},
    {"silu", make_op<Vector<Unary::silu>>},
    {"gelu", make_op<Vector<Unary::gelu_erf>>},
    {"gelu_tanh", make_op<Vector<Unary::gelu_tanh>>},
    {"relu", make_op<Vector<Unary::relu>>},
    {"softplus", make_op<Vector<Unary::softplus>>},
    {"erf", make_op<Vector<Unary::erf>>},
    {"floor", make_op<Vector<Unary::floor>>},
    {"ceil", make_op<Vector<Unary::ceil>>},
    {"round", make_op<Vector<Unary::round_even>>},
    {"logical_not", make_op<Not>},
    {"glu", make_op<Gate>},
};

}  // namespace

std::span<const KernelEntry> unary_kernels() { return kTable; }

}  // namespace rlx
