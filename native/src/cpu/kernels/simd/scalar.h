// Float vectors of 4 lanes in the compiler's portable vector type: the reference that runs
// anywhere.
#pragma once

#include <math.h>

#include "half.h"

namespace rlx::kernels::RLX_ISA {

typedef float F __attribute__((vector_size(16)));
typedef int32_t Mask __attribute__((vector_size(16)));
inline constexpr int W = 4;
inline constexpr int kTileRows = 4;
inline constexpr int kTileVecs = 2;

#define RLX_LANES(expr)                    \
  F r = {};                                \
  for (int i = 0; i < W; ++i) r[i] = expr; \
  return r

RLX_INLINE F fset(float x) { return F{x, x, x, x}; }
RLX_INLINE F fzero() { return fset(0.0f); }
RLX_INLINE F fload(const float* p) {
  F v;
  memcpy(&v, p, 16);
  return v;
}
RLX_INLINE void fstore(float* p, F v) { memcpy(p, &v, 16); }
RLX_INLINE F fload_n(const float* p, size_t n) {
  F v = fzero();
  for (size_t i = 0; i < n; ++i) v[i] = p[i];
  return v;
}
RLX_INLINE void fstore_n(float* p, F v, size_t n) {
  for (size_t i = 0; i < n; ++i) p[i] = v[i];
}
RLX_INLINE F ffma(F a, F b, F c) { return a * b + c; }
RLX_INLINE F fmax(F a, F b) { RLX_LANES(a[i] > b[i] ? a[i] : b[i]); }
// The largest of each four lanes, in all four.
RLX_INLINE F fmax_of_fours(F v) {
  const F pairs = fmax(v, F{v[1], v[0], v[3], v[2]});
  return fmax(pairs, F{pairs[2], pairs[3], pairs[0], pairs[1]});
}
RLX_INLINE F fmin(F a, F b) { RLX_LANES(a[i] < b[i] ? a[i] : b[i]); }
RLX_INLINE F fsqrt(F a) { RLX_LANES(sqrtf(a[i])); }
RLX_INLINE F fround(F a) { RLX_LANES(rintf(a[i])); }
RLX_INLINE F ffloor(F a) { RLX_LANES(floorf(a[i])); }
RLX_INLINE F fceil(F a) { RLX_LANES(ceilf(a[i])); }
RLX_INLINE F fabs(F a) { RLX_LANES(fabsf(a[i])); }
RLX_INLINE F fcopysign(F mag, F sign) { RLX_LANES(copysignf(mag[i], sign[i])); }
RLX_INLINE Mask flt(F a, F b) { return a < b; }
RLX_INLINE Mask fnan(F a) { return a != a; }
RLX_INLINE F fselect(Mask m, F yes, F no) { RLX_LANES(m[i] ? yes[i] : no[i]); }
RLX_INLINE F fscale2(F v, F n) { RLX_LANES(ldexpf(v[i], static_cast<int>(n[i]))); }
RLX_INLINE float fsum(F v) { return (v[0] + v[2]) + (v[1] + v[3]); }
RLX_INLINE float fhmax(F v) {
  float m = v[0];
  for (int i = 1; i < W; ++i) m = v[i] > m ? v[i] : m;
  return m;
}
RLX_INLINE float fhmin(F v) {
  float m = v[0];
  for (int i = 1; i < W; ++i) m = v[i] < m ? v[i] : m;
  return m;
}
RLX_INLINE F fload_f16(const uint16_t* p) { RLX_LANES(half_to_f32(p[i])); }
RLX_INLINE void fstore_f16(uint16_t* p, F v) {
  for (int i = 0; i < W; ++i) p[i] = f32_to_half(v[i]);
}
RLX_INLINE F fload_bf16(const uint16_t* p) { RLX_LANES(bf16_to_float(p[i])); }
// What an f16 would hold.
RLX_INLINE F fround_f16(F v) { RLX_LANES(half_to_f32(f32_to_half(v[i]))); }
RLX_INLINE void ftranspose(F* r) {
  for (int i = 0; i < W; ++i) {
    for (int j = 0; j < i; ++j) {
      const float t = r[i][j];
      r[i][j] = r[j][i];
      r[j][i] = t;
    }
  }
}
#undef RLX_LANES

// Doubles, half as many as floats.
typedef double D __attribute__((vector_size(16)));
RLX_INLINE D dset(double x) { return D{x, x}; }
RLX_INLINE D dlow(F v) { return D{static_cast<double>(v[0]), static_cast<double>(v[1])}; }
RLX_INLINE D dhigh(F v) { return D{static_cast<double>(v[2]), static_cast<double>(v[3])}; }
RLX_INLINE D dfma(D a, D b, D c) { return a * b + c; }
RLX_INLINE double dsum(D v) { return v[0] + v[1]; }

// Whole numbers within int16.
RLX_INLINE void fstore_i16(int16_t* p, F v) {
  for (int i = 0; i < W; ++i) p[i] = static_cast<int16_t>(v[i]);
}

// Integer lanes of the panel products: each 32-bit lane holds a pair of int16.
typedef int32_t I __attribute__((vector_size(16)));
RLX_INLINE I izero() { return I{0, 0, 0, 0}; }
RLX_INLINE I iload(const int32_t* p) {
  I v;
  memcpy(&v, p, 16);
  return v;
}
RLX_INLINE void istore(int32_t* p, I v) { memcpy(p, &v, 16); }
RLX_INLINE I ipair(const int16_t* p) {
  const int32_t x = static_cast<int32_t>(load_u32(p));
  return I{x, x, x, x};
}
RLX_INLINE I idot(I acc, I a, I b) {
  const I low = ((a << 16) >> 16) * ((b << 16) >> 16);
  return acc + low + (a >> 16) * (b >> 16);
}
RLX_INLINE F ifloat(I v) { return __builtin_convertvector(v, F); }
RLX_INLINE void transpose_lanes(I* r) {
  for (int i = 0; i < W; ++i) {
    for (int j = 0; j < i; ++j) {
      const int32_t t = r[i][j];
      r[i][j] = r[j][i];
      r[j][i] = t;
    }
  }
}

// Lane i = sum of the lanes of v[i].
RLX_INLINE F fsum_each(const F* v) { return F{fsum(v[0]), fsum(v[1]), fsum(v[2]), fsum(v[3])}; }

}  // namespace rlx::kernels::RLX_ISA
