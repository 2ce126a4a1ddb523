// Float vectors of 16 lanes over AVX-512 (F, BW, VL, DQ). One of four headers with the same names.
#pragma once

#include <immintrin.h>

#include "half.h"

namespace rlx::kernels::RLX_ISA {

using F = __m512;
using Mask = __mmask16;
inline constexpr int W = 16;
// Register tile of the f32 and integer products: rows of A (tokens) x vectors of B.
inline constexpr int kTileRows = 12;
inline constexpr int kTileVecs = 2;

RLX_INLINE Mask first_lanes(size_t n) { return static_cast<Mask>((1u << n) - 1u); }  // n < 16

RLX_INLINE F fset(float x) { return _mm512_set1_ps(x); }
RLX_INLINE F fzero() { return _mm512_setzero_ps(); }
RLX_INLINE F fload(const float* p) { return _mm512_loadu_ps(p); }
RLX_INLINE void fstore(float* p, F v) { _mm512_storeu_ps(p, v); }
RLX_INLINE F fload_n(const float* p, size_t n) { return _mm512_maskz_loadu_ps(first_lanes(n), p); }
RLX_INLINE void fstore_n(float* p, F v, size_t n) { _mm512_mask_storeu_ps(p, first_lanes(n), v); }
RLX_INLINE F ffma(F a, F b, F c) { return _mm512_fmadd_ps(a, b, c); }
RLX_INLINE F fmax(F a, F b) { return _mm512_max_ps(a, b); }
// The largest of each four lanes, in all four.
RLX_INLINE F fmax_of_fours(F v) {
  const F pairs = fmax(v, _mm512_permute_ps(v, 0xb1));
  return fmax(pairs, _mm512_permute_ps(pairs, 0x4e));
}
RLX_INLINE F fmin(F a, F b) { return _mm512_min_ps(a, b); }
RLX_INLINE F fsqrt(F a) { return _mm512_sqrt_ps(a); }
RLX_INLINE F fround(F a) { return _mm512_roundscale_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
RLX_INLINE F ffloor(F a) { return _mm512_roundscale_ps(a, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC); }
RLX_INLINE F fceil(F a) { return _mm512_roundscale_ps(a, _MM_FROUND_TO_POS_INF | _MM_FROUND_NO_EXC); }
RLX_INLINE F fabs(F a) { return _mm512_abs_ps(a); }
RLX_INLINE F fcopysign(F mag, F sign) {
  return _mm512_castsi512_ps(_mm512_ternarylogic_epi32(_mm512_set1_epi32(INT32_MIN), _mm512_castps_si512(sign),
                                                       _mm512_castps_si512(mag), 0xca));
}
RLX_INLINE Mask flt(F a, F b) { return _mm512_cmp_ps_mask(a, b, _CMP_LT_OQ); }
RLX_INLINE Mask fnan(F a) { return _mm512_cmp_ps_mask(a, a, _CMP_UNORD_Q); }
RLX_INLINE F fselect(Mask m, F yes, F no) { return _mm512_mask_blend_ps(m, no, yes); }
// v * 2^n for whole n, gradual underflow included.
RLX_INLINE F fscale2(F v, F n) { return _mm512_scalef_ps(v, n); }

RLX_INLINE float fsum(F v) { return _mm512_reduce_add_ps(v); }
RLX_INLINE float fhmax(F v) { return _mm512_reduce_max_ps(v); }
RLX_INLINE float fhmin(F v) { return _mm512_reduce_min_ps(v); }

RLX_INLINE F fload_f16(const uint16_t* p) {
  return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
}
RLX_INLINE void fstore_f16(uint16_t* p, F v) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), _mm512_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT));
}
RLX_INLINE F fload_bf16(const uint16_t* p) {
  const __m512i x = _mm512_cvtepu16_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
  return _mm512_castsi512_ps(_mm512_slli_epi32(x, 16));
}
// What an f16 would hold.
RLX_INLINE F fround_f16(F v) { return _mm512_cvtph_ps(_mm512_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT)); }

// Doubles, half as many as floats.
using D = __m512d;
RLX_INLINE D dset(double x) { return _mm512_set1_pd(x); }
RLX_INLINE D dlow(F v) { return _mm512_cvtps_pd(_mm512_castps512_ps256(v)); }
RLX_INLINE D dhigh(F v) { return _mm512_cvtps_pd(_mm512_extractf32x8_ps(v, 1)); }
RLX_INLINE D dfma(D a, D b, D c) { return _mm512_fmadd_pd(a, b, c); }
RLX_INLINE double dsum(D v) { return _mm512_reduce_add_pd(v); }

// 16 x 16 transpose of 32-bit lanes.
RLX_INLINE void transpose_lanes(__m512i* r) {
  __m512i t[16];
  for (int i = 0; i < 8; ++i) {
    t[2 * i] = _mm512_unpacklo_epi32(r[2 * i], r[2 * i + 1]);
    t[2 * i + 1] = _mm512_unpackhi_epi32(r[2 * i], r[2 * i + 1]);
  }
  for (int i = 0; i < 4; ++i) {
    r[4 * i] = _mm512_unpacklo_epi64(t[4 * i], t[4 * i + 2]);
    r[4 * i + 1] = _mm512_unpackhi_epi64(t[4 * i], t[4 * i + 2]);
    r[4 * i + 2] = _mm512_unpacklo_epi64(t[4 * i + 1], t[4 * i + 3]);
    r[4 * i + 3] = _mm512_unpackhi_epi64(t[4 * i + 1], t[4 * i + 3]);
  }
  // r[4g + c] now holds, in 128-bit quarter q, column 4q + c of rows 4g .. 4g + 3.
  for (int c = 0; c < 4; ++c) {
    const __m512i a = _mm512_shuffle_i32x4(r[c], r[4 + c], 0x88);       // quarters 0,2 of rows 0-3, 4-7
    const __m512i b = _mm512_shuffle_i32x4(r[8 + c], r[12 + c], 0x88);  // the same of rows 8-11, 12-15
    const __m512i d = _mm512_shuffle_i32x4(r[c], r[4 + c], 0xdd);       // quarters 1,3
    const __m512i e = _mm512_shuffle_i32x4(r[8 + c], r[12 + c], 0xdd);
    t[c] = _mm512_shuffle_i32x4(a, b, 0x88);
    t[8 + c] = _mm512_shuffle_i32x4(a, b, 0xdd);
    t[4 + c] = _mm512_shuffle_i32x4(d, e, 0x88);
    t[12 + c] = _mm512_shuffle_i32x4(d, e, 0xdd);
  }
  for (int i = 0; i < 16; ++i) r[i] = t[i];
}

RLX_INLINE void ftranspose(F* r) {
  __m512i x[16];
  for (int i = 0; i < 16; ++i) x[i] = _mm512_castps_si512(r[i]);
  transpose_lanes(x);
  for (int i = 0; i < 16; ++i) r[i] = _mm512_castsi512_ps(x[i]);
}

// Whole numbers within int16.
RLX_INLINE void fstore_i16(int16_t* p, F v) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), _mm512_cvtepi32_epi16(_mm512_cvtps_epi32(v)));
}

// Integer lanes of the panel products: each 32-bit lane holds a pair of int16.
using I = __m512i;
RLX_INLINE I izero() { return _mm512_setzero_si512(); }
RLX_INLINE I iload(const int32_t* p) { return _mm512_loadu_si512(p); }
RLX_INLINE void istore(int32_t* p, I v) { _mm512_storeu_si512(p, v); }
RLX_INLINE I ipair(const int16_t* p) { return _mm512_set1_epi32(static_cast<int32_t>(load_u32(p))); }
// Written out because GCC 12 copies and spills the accumulators of a large tile around the
// intrinsic.
RLX_INLINE I idot(I acc, I a, I b) {
  __asm__("vpdpwssd %2, %1, %0" : "+v"(acc) : "v"(a), "v"(b));
  return acc;
}
RLX_INLINE F ifloat(I v) { return _mm512_cvtepi32_ps(v); }

// Lane i = sum of the lanes of v[i].
RLX_INLINE F fsum_each(const F* v) {
  F a[8], b[4], c[2];
  for (int i = 0; i < 8; ++i)
    a[i] = _mm512_unpacklo_ps(v[2 * i], v[2 * i + 1]) + _mm512_unpackhi_ps(v[2 * i], v[2 * i + 1]);
  for (int i = 0; i < 4; ++i) {
    const __m512d x = _mm512_castps_pd(a[2 * i]), y = _mm512_castps_pd(a[2 * i + 1]);
    b[i] = _mm512_castpd_ps(_mm512_unpacklo_pd(x, y)) + _mm512_castpd_ps(_mm512_unpackhi_pd(x, y));
  }
  for (int i = 0; i < 2; ++i) {
    c[i] = _mm512_shuffle_f32x4(b[2 * i], b[2 * i + 1], 0x44) + _mm512_shuffle_f32x4(b[2 * i], b[2 * i + 1], 0xee);
  }
  return _mm512_shuffle_f32x4(c[0], c[1], 0x88) + _mm512_shuffle_f32x4(c[0], c[1], 0xdd);
}

}  // namespace rlx::kernels::RLX_ISA
