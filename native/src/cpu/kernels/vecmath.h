// Vector exp, tanh, erf and the activations built on them.
// exp: reduction by ln 2 in two steps and the degree-5 polynomial of Arm's optimised routines
// (within 2.3 ulp), whose numbers ggml uses too: silu and softmax agree with it to the last bit.
// tanh: the odd polynomial of Cephes below 0.625, exp above. erf: see erf_of.
#pragma once

#include "internal.h"

namespace rlx::kernels::RLX_ISA {

// For x that is finite or minus infinity.
RLX_INLINE F fexp_finite(F x) {
  const F top = fset(88.7228394f), bottom = fset(-103.972084f);
  const F clamped = fmax(fmin(x, top), bottom);
  const F shift = fset(0x1.8p23f);  // adding it rounds to a whole number
  const F n = ffma(clamped, fset(0x1.715476p+0f), shift) - shift;
  F r = ffma(n, fset(-0x1.62e4p-1f), clamped);
  r = ffma(n, fset(-0x1.7f7d1cp-20f), r);
  const F r2 = r * r;
  const F high = ffma(fset(0x1.0e4020p-7f), r, fset(0x1.573e2ep-5f));
  const F middle = ffma(fset(0x1.555e66p-3f), r, fset(0x1.fffdb6p-2f));
  const F bend = ffma(high, r2, middle), slope = fset(0x1.ffffecp-1f);
#if defined(RLX_ISA_AVX512)
  const F p = ffma(bend, r2, ffma(slope, r, fset(1.0f)));
#else
  const F p = ffma(bend, r2, slope * r) + fset(1.0f);  // ggml adds the one here in its other builds
#endif
  return fselect(flt(x, bottom), fzero(), fscale2(p, n));
}

RLX_INLINE F fexp(F x) {
  const F y = fselect(flt(fset(88.7228394f), x), fset(bits_to_f32(0x7f800000u)), fexp_finite(x));
  return fselect(fnan(x), x, y);  // min and max may drop a NaN
}

RLX_INLINE F fsigmoid(F x) { return fset(1.0f) / (fset(1.0f) + fexp(fzero() - x)); }

RLX_INLINE F ftanh(F x) {
  const F z = x * x;
  F p = fset(-5.70498872745e-3f);
  p = ffma(p, z, fset(2.06390887954e-2f));
  p = ffma(p, z, fset(-5.37397155531e-2f));
  p = ffma(p, z, fset(1.33314422036e-1f));
  p = ffma(p, z, fset(-3.33332819422e-1f));
  const F small = ffma(p * z, x, x);
  const F e = fexp(fabs(x) * fset(2.0f));
  const F large = fcopysign(fset(1.0f) - fset(2.0f) / (e + fset(1.0f)), x);
  return fselect(flt(fabs(x), fset(0.625f)), small, large);
}

// erf on |x| < 1 by an odd polynomial; above by 1 - exp(-x^2) * q(t), t = 1 / (1 + x / 2).
// Coefficients: least squares on Chebyshev nodes in double precision, see
// native/tests/kernels/fit_erf.py.
#include "erf_coefficients.inc"
RLX_INLINE F ferf(F x) {
  const F a = fabs(x), z = x * x;
  F p = fset(kErfSmall[0]);
  for (int i = 1; i < static_cast<int>(sizeof kErfSmall / sizeof(float)); ++i) p = ffma(p, z, fset(kErfSmall[i]));
  const F t = fset(1.0f) / ffma(a, fset(0.5f), fset(1.0f));
  F q = fset(kErfLarge[0]);
  for (int i = 1; i < static_cast<int>(sizeof kErfLarge / sizeof(float)); ++i) q = ffma(q, t, fset(kErfLarge[i]));
  const F large = fcopysign(fset(1.0f) - fexp(fzero() - z) * q, x);
  return fselect(flt(a, fset(1.0f)), p * x, large);
}

RLX_INLINE F fsilu(F x) { return x / (fset(1.0f) + fexp(fzero() - x)); }

RLX_INLINE F fgelu_tanh(F x) {
  const F inner = fset(0.797884561f) * ffma(fset(0.044715f) * x * x, x, x);
  return fset(0.5f) * x * (fset(1.0f) + ftanh(inner));
}

// As ggml's table of halves gives it, which it does not ask from 10 on.
RLX_INLINE F fgelu_half(F x) { return fselect(flt(x, fset(10.0f)), fround_f16(fgelu_tanh(fround_f16(x))), x); }

RLX_INLINE F fgelu_erf(F x) { return fset(0.5f) * x * (fset(1.0f) + ferf(x * fset(0.707106781f))); }

RLX_INLINE F activate(Glu kind, F x) {
  switch (kind) {
    case Glu::none: return x;
    case Glu::silu: return fsilu(x);
    case Glu::gelu_tanh: return fgelu_tanh(x);
    case Glu::gelu_erf: return fgelu_erf(x);
    case Glu::relu: return fmax(x, fzero());
  }
  return x;
}

}  // namespace rlx::kernels::RLX_ISA
