// Element-wise loops over contiguous f32. Rare functions go through libm, one lane at a time.
#include "vecmath.h"

extern "C" {
float logf(float);
float log1pf(float);
float sinf(float);
float cosf(float);
}

namespace rlx::kernels::RLX_ISA {
namespace {

template <class Op>
RLX_INLINE void map(const float* x, float* y, size_t n, Op op) {
  size_t i = 0;
  for (; i + W <= n; i += W) fstore(y + i, op(fload(x + i)));
  if (i < n) fstore_n(y + i, op(fload_n(x + i, n - i)), n - i);
}

template <class Op>
RLX_INLINE void map_scalar(const float* x, float* y, size_t n, Op op) {
  for (size_t i = 0; i < n; ++i) y[i] = op(x[i]);
}

template <class Op>
RLX_INLINE void zip(const float* a, size_t sa, const float* b, size_t sb, float* y, size_t n, Op op) {
  const F ca = n != 0 ? fset(a[0]) : fzero(), cb = n != 0 ? fset(b[0]) : fzero();
  size_t i = 0;
  for (; i + W <= n; i += W) fstore(y + i, op(sa != 0 ? fload(a + i) : ca, sb != 0 ? fload(b + i) : cb));
  if (i < n) {
    const size_t m = n - i;
    fstore_n(y + i, op(sa != 0 ? fload_n(a + i, m) : ca, sb != 0 ? fload_n(b + i, m) : cb), m);
  }
}

// NaN in either operand gives NaN; the processors' own max and min may drop it.
RLX_INLINE F nan_or(F a, F b, F value) { return fselect(fnan(a), a, fselect(fnan(b), b, value)); }

}  // namespace

void unary(Unary op, const float* x, float* y, size_t n) {
  switch (op) {
    case Unary::neg: return map_scalar(x, y, n, [](float v) { return -v; });
    case Unary::abs: return map(x, y, n, [](F v) { return fabs(v); });
    case Unary::sign: return map_scalar(x, y, n, [](float v) { return v > 0.0f ? 1.0f : v < 0.0f ? -1.0f : v; });
    case Unary::square: return map(x, y, n, [](F v) { return v * v; });
    case Unary::sqrt: return map(x, y, n, [](F v) { return fsqrt(v); });
    case Unary::rsqrt: return map(x, y, n, [](F v) { return fset(1.0f) / fsqrt(v); });
    case Unary::reciprocal: return map(x, y, n, [](F v) { return fset(1.0f) / v; });
    case Unary::exp: return map(x, y, n, [](F v) { return fexp(v); });
    case Unary::log: return map_scalar(x, y, n, [](float v) { return logf(v); });
    case Unary::sin: return map_scalar(x, y, n, [](float v) { return sinf(v); });
    case Unary::cos: return map_scalar(x, y, n, [](float v) { return cosf(v); });
    case Unary::tanh: return map(x, y, n, [](F v) { return ftanh(v); });
    case Unary::sigmoid: return map(x, y, n, [](F v) { return fsigmoid(v); });
    case Unary::silu: return map(x, y, n, [](F v) { return fsilu(v); });
    case Unary::gelu_tanh: return map(x, y, n, [](F v) { return fgelu_tanh(v); });
    case Unary::gelu_half: return map(x, y, n, [](F v) { return fgelu_half(v); });
    case Unary::gelu_erf: return map(x, y, n, [](F v) { return fgelu_erf(v); });
    case Unary::relu: return map_scalar(x, y, n, [](float v) { return v < 0.0f ? 0.0f : v; });
    case Unary::softplus:
      // max(x, 0) + log(1 + exp(-|x|)) never overflows.
      return map_scalar(x, y, n, [](float v) {
        const float a = v < 0.0f ? v : -v;
        return (v > 0.0f ? v : 0.0f) + log1pf(__builtin_expf(a));
      });
    case Unary::erf: return map(x, y, n, [](F v) { return ferf(v); });
    case Unary::floor: return map(x, y, n, [](F v) { return ffloor(v); });
    case Unary::ceil: return map(x, y, n, [](F v) { return fceil(v); });
    case Unary::round_even: return map(x, y, n, [](F v) { return fround(v); });
  }
}

void binary(Binary op, const float* a, size_t sa, const float* b, size_t sb, float* y, size_t n) {
  switch (op) {
    case Binary::add: return zip(a, sa, b, sb, y, n, [](F u, F v) { return u + v; });
    case Binary::sub: return zip(a, sa, b, sb, y, n, [](F u, F v) { return u - v; });
    case Binary::mul: return zip(a, sa, b, sb, y, n, [](F u, F v) { return u * v; });
    case Binary::div: return zip(a, sa, b, sb, y, n, [](F u, F v) { return u / v; });
    case Binary::min: return zip(a, sa, b, sb, y, n, [](F u, F v) { return nan_or(u, v, fmin(u, v)); });
    case Binary::max: return zip(a, sa, b, sb, y, n, [](F u, F v) { return nan_or(u, v, fmax(u, v)); });
  }
}

}  // namespace rlx::kernels::RLX_ISA
