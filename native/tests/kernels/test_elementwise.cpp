// Element-wise functions against libm in f64, with special values.
#include <algorithm>
#include <numbers>

#include "check.h"

using namespace test;

namespace {

double reference(Unary op, double v) {
  switch (op) {
    case Unary::neg: return -v;
    case Unary::abs: return std::fabs(v);
    case Unary::sign: return v > 0 ? 1 : v < 0 ? -1 : v;
    case Unary::square: return v * v;
    case Unary::sqrt: return std::sqrt(v);
    case Unary::rsqrt: return 1.0 / std::sqrt(v);
    case Unary::reciprocal: return 1.0 / v;
    case Unary::exp: return std::exp(v);
    case Unary::log: return std::log(v);
    case Unary::sin: return std::sin(v);
    case Unary::cos: return std::cos(v);
    case Unary::tanh: return std::tanh(v);
    case Unary::sigmoid: return 1.0 / (1.0 + std::exp(-v));
    case Unary::silu: return v / (1.0 + std::exp(-v));
    case Unary::gelu_tanh:
      return 0.5 * v * (1.0 + std::tanh(std::sqrt(2.0 / std::numbers::pi) * (v + 0.044715 * v * v * v)));
    case Unary::gelu_half: return v >= 10 ? v : reference(Unary::gelu_tanh, v);
    case Unary::gelu_erf: return 0.5 * v * std::erfc(-v / std::sqrt(2.0));
    case Unary::relu: return v < 0 ? 0 : v;
    case Unary::softplus: return std::max(v, 0.0) + std::log1p(std::exp(-std::fabs(v)));
    case Unary::erf: return std::erf(v);
    case Unary::floor: return std::floor(v);
    case Unary::ceil: return std::ceil(v);
    case Unary::round_even: return std::nearbyint(v);
  }
  return 0;
}

// What does not fit f32 is infinite.
double rounded(double v) { return std::fabs(v) > 3.4028236e38 ? std::copysign(INFINITY, v) : v; }

struct Named {
  Unary op;
  const char* name;
  double relative, absolute;
};
const Named kUnary[] = {
    {Unary::neg, "neg", 0, 0},
    {Unary::abs, "abs", 0, 0},
    {Unary::sign, "sign", 0, 0},
    {Unary::square, "square", 1e-7, 0},
    {Unary::sqrt, "sqrt", 1e-7, 0},
    {Unary::rsqrt, "rsqrt", 3e-7, 0},
    {Unary::reciprocal, "reciprocal", 1e-7, 0},
    {Unary::exp, "exp", 3e-7, 1.5e-45},
    {Unary::log, "log", 2e-7, 1e-7},
    {Unary::sin, "sin", 2e-7, 1e-7},
    {Unary::cos, "cos", 2e-7, 1e-7},
    {Unary::tanh, "tanh", 4e-7, 0},
    {Unary::sigmoid, "sigmoid", 6e-7, 1e-38},
    {Unary::silu, "silu", 6e-7, 1e-36},
    {Unary::gelu_tanh, "gelu_tanh", 2e-6, 3e-7},
    // Operand and result as halves.
    {Unary::gelu_half, "gelu_half", 4e-3, 1e-3},
    {Unary::gelu_erf, "gelu_erf", 2e-6, 3e-7},
    {Unary::relu, "relu", 0, 0},
    {Unary::softplus, "softplus", 5e-7, 1e-7},
    {Unary::erf, "erf", 5e-7, 0},
    {Unary::floor, "floor", 0, 0},
    {Unary::ceil, "ceil", 0, 0},
    {Unary::round_even, "round_even", 0, 0},
};

}  // namespace

TEST_CASE("unary: values over the whole useful range and any length") {
  for (const Named& f : kUnary) {
    for (size_t n : {1, 5, 16, 2000}) {
      Random random(n);
      std::vector<float> x(n), y(n);
      const float range = n == 5 ? 1.0f : n == 16 ? 0.01f : 90.0f;
      for (float& v : x) v = range * random.uniform();
      if (f.op == Unary::sqrt || f.op == Unary::rsqrt || f.op == Unary::log) {
        for (float& v : x) v = std::fabs(v) + 1e-6f;
      }
      if (n == 2000) {
        for (size_t i = 0; i < 7; ++i) x[i] = 0.5f + static_cast<float>(i) - 3.0f;  // ties of rounding
      }
      std::vector<double> expected(n);
      for (size_t i = 0; i < n; ++i) expected[i] = rounded(reference(f.op, static_cast<double>(x[i])));
      k.unary(f.op, x.data(), y.data(), n);
      check_each(f.name, y.data(), expected.data(), n, f.relative, f.absolute);
      k.unary(f.op, x.data(), x.data(), n);
      check_same(f.name, x.data(), y.data(), n * sizeof(float));
    }
  }
}

TEST_CASE("unary: NaN stays NaN, infinities go where they should") {
  for (const Named& f : kUnary) {
    const float x[5] = {NAN, INFINITY, -INFINITY, 0.0f, -0.0f};
    float y[5];
    k.unary(f.op, x, y, 5);
    check(f.name, std::isnan(y[0]));
  }
  const float x[3] = {INFINITY, -INFINITY, 200.0f};
  float y[3];
  k.unary(Unary::exp, x, y, 3);
  check("exp", y[0] == INFINITY && y[1] == 0.0f && y[2] == INFINITY);
  k.unary(Unary::tanh, x, y, 3);
  check("tanh", y[0] == 1.0f && y[1] == -1.0f && y[2] == 1.0f);
  k.unary(Unary::sigmoid, x, y, 3);
  check("sigmoid", y[0] == 1.0f && y[1] == 0.0f && y[2] == 1.0f);
  k.unary(Unary::erf, x, y, 3);
  check("erf", y[0] == 1.0f && y[1] == -1.0f && y[2] == 1.0f);
}

TEST_CASE("binary: contiguous and broadcast operands, NaN in min and max") {
  Random random(2);
  for (size_t n : {1, 9, 16, 100}) {
    std::vector<float> a(n), b(n), y(n);
    for (float& v : a) v = random.uniform();
    for (float& v : b) v = random.uniform();
    for (size_t sa : {0, 1}) {
      for (size_t sb : {0, 1}) {
        for (Binary op : {Binary::add, Binary::sub, Binary::mul, Binary::div, Binary::min, Binary::max}) {
          std::vector<float> expected(n);
          for (size_t i = 0; i < n; ++i) {
            const float u = a[i * sa], v = b[i * sb];
            switch (op) {
              case Binary::add: expected[i] = u + v; break;
              case Binary::sub: expected[i] = u - v; break;
              case Binary::mul: expected[i] = u * v; break;
              case Binary::div: expected[i] = u / v; break;
              case Binary::min: expected[i] = std::fmin(u, v); break;
              case Binary::max: expected[i] = std::fmax(u, v); break;
            }
          }
          k.binary(op, a.data(), sa, b.data(), sb, y.data(), n);
          check_same("binary", y.data(), expected.data(), n * sizeof(float));
        }
      }
    }
  }
  const float a[4] = {NAN, 1.0f, INFINITY, -INFINITY}, b[4] = {1.0f, NAN, 2.0f, 2.0f};
  float y[4];
  k.binary(Binary::max, a, 1, b, 1, y, 4);
  check("max", std::isnan(y[0]) && std::isnan(y[1]) && y[2] == INFINITY && y[3] == 2.0f);
  k.binary(Binary::min, a, 1, b, 1, y, 4);
  check("min", std::isnan(y[0]) && std::isnan(y[1]) && y[2] == 2.0f && y[3] == -INFINITY);
}
