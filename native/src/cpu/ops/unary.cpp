// Element-wise kernels with one operand, and the gate of a gated layer.
#include <cmath>

#include "numbers.h"
#include "steps.h"
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

// f32 through the vector kernels, f64 by the C library; whole numbers where `Whole` says what they
// become.
struct NoWhole {};
struct Negate {
  template <class T>
  static T of(T x) {
    return Sub::of(T{0}, x);
  }
};
struct Absolute {
  template <class T>
  static T of(T x) {
    return x < 0 ? Negate::of(x) : x;
  }
};
struct Sign {
  template <class T>
  static T of(T x) {
    return static_cast<T>(static_cast<int>(x > 0) - static_cast<int>(x < 0));
  }
};
struct Square {
  template <class T>
  static T of(T x) {
    return Mul::of(x, x);
  }
};

template <Unary kKind, double (*kDouble)(double), class Whole = NoWhole>
class Vector final : public Elementwise {
 public:
  static constexpr bool kTakesWhole = !std::is_same_v<Whole, NoWhole>;

  explicit Vector(const OpContext& context) : Elementwise(context) {
    const DType type = out().dtype;
    if (!is_number(type) || (!kTakesWhole && type != DType::f32 && type != DType::f64))
      reject(Code::ir_type, "element type: got %s, expected %s", dtype_name(type),
             kTakesWhole ? "a number" : "f32 or f64");
    expect_type(c.in[0], type, "operand");
  }
  void run(size_t, size_t item, Thread&) override {
    const size_t begin = item * kGrain;
    const size_t n = std::min(kGrain, out().count - begin);
    const size_t bytes = begin * dtype_bytes(out().dtype);
    step({c.kernels, out().dtype, follows_ggml(), {in(0).data + bytes}, {1}, out().data + bytes, n});
  }
  static void step(const Stretch& s) {
    constexpr bool kOther = kKind == Unary::gelu_tanh;
    const Unary kind = kOther && s.as_ggml ? Unary::gelu_half : kKind;
    if (s.type == DType::f32) return s.kernels.unary(kind, s.operand<float>(0), s.result<float>(), s.n);
    with_number(s.type, [&]<class T>(T) { each(s.template operand<T>(0), s.template result<T>(), s.n); });
  }

 private:
  template <class T>
  static void each(const T* x, T* y, size_t n) {
    if constexpr (std::floating_point<T>) {
      for (size_t i = 0; i < n; i++) y[i] = static_cast<T>(kDouble(x[i]));
    } else if constexpr (kTakesWhole) {
      for (size_t i = 0; i < n; i++) y[i] = Whole::of(x[i]);
    }
  }
};

template <class T, class Curve>
void map(const Curve& curve, const T* x, T* y, size_t n) {
  for (size_t i = 0; i < n; i++) y[i] = static_cast<T>(curve(x[i]));
}

// By the C library in double, f32 too; `Curve` is made from the instruction's parameters.
template <class Curve>
class Scalar final : public Elementwise {
 public:
  explicit Scalar(const OpContext& context) : Elementwise(context), curve_(c.params) {
    const DType type = out().dtype;
    if (type != DType::f32 && type != DType::f64)
      reject(Code::ir_type, "element type: got %s, expected f32 or f64", dtype_name(type));
    expect_type(c.in[0], type, "operand");
  }
  void run(size_t, size_t item, Thread&) override {
    const size_t begin = item * kGrain;
    const size_t n = std::min(kGrain, out().count - begin);
    if (out().dtype == DType::f64)
      return map(curve_, in(0).template as<double>() + begin, out().template as<double>() + begin, n);
    map(curve_, in(0).template as<float>() + begin, out().template as<float>() + begin, n);
  }

 private:
  Curve curve_;
};

template <double (*kFunction)(double)>
struct Plain {
  explicit Plain(const Params&) {}
  double operator()(double x) const { return kFunction(x); }
};
struct Elu {
  double alpha;
  explicit Elu(const Params& params) : alpha(params.number("alpha", 1)) {}
  double operator()(double x) const { return x > 0 ? x : alpha * std::expm1(x); }
};
struct LeakyRelu {
  double alpha;
  explicit LeakyRelu(const Params& params) : alpha(params.number("alpha", 0)) {}
  double operator()(double x) const { return x >= 0 ? x : alpha * x; }
};

// What f64 becomes.
double negative(double x) { return -x; }
double sign_of(double x) { return std::isnan(x) || x == 0 ? x : std::copysign(1.0, x); }
double square_of(double x) { return x * x; }
double rsqrt_of(double x) { return 1 / std::sqrt(x); }
double reciprocal_of(double x) { return 1 / x; }
double sigmoid_of(double x) {
  const double e = std::exp(-std::fabs(x));
  return x >= 0 ? 1 / (1 + e) : e / (1 + e);
}
double silu_of(double x) { return x * sigmoid_of(x); }
double gelu_of(double x) { return 0.5 * x * std::erfc(-x * std::sqrt(0.5)); }
double gelu_tanh_of(double x) {
  constexpr double kTwoOverPi = 0.63661977236758134308;
  return 0.5 * x * (1 + std::tanh(std::sqrt(kTwoOverPi) * (x + 0.044715 * x * x * x)));
}
double relu_of(double x) { return std::isnan(x) || x > 0 ? x : 0; }
double softplus_of(double x) { return std::fmax(x, 0) + std::log1p(std::exp(-std::fabs(x))); }

template <double (*kFunction)(double)>
void plain_step(const Stretch& s) {
  if (s.type == DType::f64) return map(kFunction, s.operand<double>(0), s.result<double>(), s.n);
  map(kFunction, s.operand<float>(0), s.result<float>(), s.n);
}

void not_step(const Stretch& s) {
  for (size_t i = 0; i < s.n; i++) s.out[i] = s.in[0][i] == 0;
}

class Not final : public Elementwise {
 public:
  explicit Not(const OpContext& context) : Elementwise(context) {
    expect_type(c.in[0], DType::boolean, "operand");
    expect_type(c.out[0], DType::boolean, "result");
  }
  void run(size_t, size_t item, Thread&) override {
    const size_t begin = item * kGrain;
    const size_t n = std::min(kGrain, out().count - begin);
    not_step({c.kernels, DType::boolean, false, {in(0).data + begin}, {1}, out().data + begin, n});
  }
};

constexpr KernelEntry kTable[] = {
    {"neg", make_op<Vector<Unary::neg, negative, Negate>>},
    {"abs", make_op<Vector<Unary::abs, std::fabs, Absolute>>},
    {"sign", make_op<Vector<Unary::sign, sign_of, Sign>>},
    {"square", make_op<Vector<Unary::square, square_of, Square>>},
    {"sqrt", make_op<Vector<Unary::sqrt, std::sqrt>>},
    {"rsqrt", make_op<Vector<Unary::rsqrt, rsqrt_of>>},
    {"reciprocal", make_op<Vector<Unary::reciprocal, reciprocal_of>>},
    {"exp", make_op<Vector<Unary::exp, std::exp>>},
    {"log", make_op<Vector<Unary::log, std::log>>},
    {"sin", make_op<Vector<Unary::sin, std::sin>>},
    {"cos", make_op<Vector<Unary::cos, std::cos>>},
    {"tan", make_op<Scalar<Plain<std::tan>>>},
    {"atan", make_op<Scalar<Plain<std::atan>>>},
    {"asin", make_op<Scalar<Plain<std::asin>>>},
    {"acos", make_op<Scalar<Plain<std::acos>>>},
    {"sinh", make_op<Scalar<Plain<std::sinh>>>},
    {"cosh", make_op<Scalar<Plain<std::cosh>>>},
    {"asinh", make_op<Scalar<Plain<std::asinh>>>},
    {"acosh", make_op<Scalar<Plain<std::acosh>>>},
    {"atanh", make_op<Scalar<Plain<std::atanh>>>},
    {"log1p", make_op<Scalar<Plain<std::log1p>>>},
    {"expm1", make_op<Scalar<Plain<std::expm1>>>},
    {"trunc", make_op<Scalar<Plain<std::trunc>>>},
    {"elu", make_op<Scalar<Elu>>},
    {"leaky_relu", make_op<Scalar<LeakyRelu>>},
    {"tanh", make_op<Vector<Unary::tanh, std::tanh>>},
    {"sigmoid", make_op<Vector<Unary::sigmoid, sigmoid_of>>},
    {"silu", make_op<Vector<Unary::silu, silu_of>>},
    {"gelu", make_op<Vector<Unary::gelu_erf, gelu_of>>},
    {"gelu_tanh", make_op<Vector<Unary::gelu_tanh, gelu_tanh_of>>},
    {"relu", make_op<Vector<Unary::relu, relu_of>>},
    {"softplus", make_op<Vector<Unary::softplus, softplus_of>>},
    {"erf", make_op<Vector<Unary::erf, std::erf>>},
    {"floor", make_op<Vector<Unary::floor, std::floor>>},
    {"ceil", make_op<Vector<Unary::ceil, std::ceil>>},
    {"round", make_op<Vector<Unary::round_even, std::nearbyint>>},
    {"logical_not", make_op<Not>},
};

constexpr StepEntry kSteps[] = {
    {"neg", 1, StepTypes::numbers, Vector<Unary::neg, negative, Negate>::step},
    {"abs", 1, StepTypes::numbers, Vector<Unary::abs, std::fabs, Absolute>::step},
    {"sign", 1, StepTypes::numbers, Vector<Unary::sign, sign_of, Sign>::step},
    {"square", 1, StepTypes::numbers, Vector<Unary::square, square_of, Square>::step},
    {"sqrt", 1, StepTypes::reals, Vector<Unary::sqrt, std::sqrt>::step},
    {"rsqrt", 1, StepTypes::reals, Vector<Unary::rsqrt, rsqrt_of>::step},
    {"reciprocal", 1, StepTypes::reals, Vector<Unary::reciprocal, reciprocal_of>::step},
    {"exp", 1, StepTypes::reals, Vector<Unary::exp, std::exp>::step},
    {"log", 1, StepTypes::reals, Vector<Unary::log, std::log>::step},
    {"sin", 1, StepTypes::reals, Vector<Unary::sin, std::sin>::step},
    {"cos", 1, StepTypes::reals, Vector<Unary::cos, std::cos>::step},
    {"tan", 1, StepTypes::reals, plain_step<std::tan>},
    {"atan", 1, StepTypes::reals, plain_step<std::atan>},
    {"asin", 1, StepTypes::reals, plain_step<std::asin>},
    {"acos", 1, StepTypes::reals, plain_step<std::acos>},
    {"sinh", 1, StepTypes::reals, plain_step<std::sinh>},
    {"cosh", 1, StepTypes::reals, plain_step<std::cosh>},
    {"asinh", 1, StepTypes::reals, plain_step<std::asinh>},
    {"acosh", 1, StepTypes::reals, plain_step<std::acosh>},
    {"atanh", 1, StepTypes::reals, plain_step<std::atanh>},
    {"log1p", 1, StepTypes::reals, plain_step<std::log1p>},
    {"expm1", 1, StepTypes::reals, plain_step<std::expm1>},
    {"trunc", 1, StepTypes::reals, plain_step<std::trunc>},
    {"tanh", 1, StepTypes::reals, Vector<Unary::tanh, std::tanh>::step},
    {"sigmoid", 1, StepTypes::reals, Vector<Unary::sigmoid, sigmoid_of>::step},
    {"silu", 1, StepTypes::reals, Vector<Unary::silu, silu_of>::step},
    {"gelu", 1, StepTypes::reals, Vector<Unary::gelu_erf, gelu_of>::step},
    {"gelu_tanh", 1, StepTypes::reals, Vector<Unary::gelu_tanh, gelu_tanh_of>::step},
    {"relu", 1, StepTypes::reals, Vector<Unary::relu, relu_of>::step},
    {"softplus", 1, StepTypes::reals, Vector<Unary::softplus, softplus_of>::step},
    {"erf", 1, StepTypes::reals, Vector<Unary::erf, std::erf>::step},
    {"floor", 1, StepTypes::reals, Vector<Unary::floor, std::floor>::step},
    {"ceil", 1, StepTypes::reals, Vector<Unary::ceil, std::ceil>::step},
    {"round", 1, StepTypes::reals, Vector<Unary::round_even, std::nearbyint>::step},
    {"logical_not", 1, StepTypes::logic, not_step},
};

}  // namespace

std::span<const KernelEntry> unary_kernels() { return kTable; }
std::span<const StepEntry> unary_steps() { return kSteps; }

}  // namespace rlx
