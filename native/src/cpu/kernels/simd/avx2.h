// Float vectors of 8 lanes over AVX2 + FMA + F16C. One of four headers with the same names.
#pragma once

#include <immintrin.h>

#include "half.h"

namespace rlx::kernels::RLX_ISA {

using F = __m256;
using Mask = __m256;
inline constexpr int W = 8;
inline constexpr int kTileRows = 6;
inline constexpr int kTileVecs = 2;

alignas(32) inline constexpr int32_t kLaneMask[16] = {-1, -1, -1, -1, -1, -1, -1, -1, 0, 0, 0, 0, 0, 0, 0, 0};
RLX_INLINE __m256i first_lanes(size_t n) {  // n <= 8
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(kLaneMask + 8 - n));
}

RLX_INLINE F fset(float x) { return _mm256_set1_ps(x); }
RLX_INLINE F fzero() { return _mm256_setzero_ps(); }
RLX_INLINE F fload(const float* p) { return _mm256_loadu_ps(p); }
RLX_INLINE void fstore(float* p, F v) { _mm256_storeu_ps(p, v); }
RLX_INLINE F fload_n(const float* p, size_t n) { return _mm256_maskload_ps(p, first_lanes(n)); }
RLX_INLINE void fstore_n(float* p, F v, size_t n) { _mm256_maskstore_ps(p, first_lanes(n), v); }
RLX_INLINE F ffma(F a, F b, F c) { return _mm256_fmadd_ps(a, b, c); }
RLX_INLINE F fmax(F a, F b) { return _mm256_max_ps(a, b); }
// The largest of each four lanes, in all four.
RLX_INLINE F fmax_of_fours(F v) {
  const F pairs = fmax(v, _mm256_permute_ps(v, 0xb1));
  return fmax(pairs, _mm256_permute_ps(pairs, 0x4e));
}
RLX_INLINE F fmin(F a, F b) { return _mm256_min_ps(a, b); }
RLX_INLINE F fsqrt(F a) { return _mm256_sqrt_ps(a); }
RLX_INLINE F fround(F a) { return _mm256_round_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
RLX_INLINE F ffloor(F a) { return _mm256_floor_ps(a); }
RLX_INLINE F fceil(F a) { return _mm256_ceil_ps(a); }
RLX_INLINE F fabs(F a) { return _mm256_andnot_ps(_mm256_set1_ps(-0.0f), a); }
RLX_INLINE F fcopysign(F mag, F sign) {
  const F bit = _mm256_set1_ps(-0.0f);
  return _mm256_or_ps(_mm256_andnot_ps(bit, mag), _mm256_and_ps(bit, sign));
}
RLX_INLINE Mask flt(F a, F b) { return _mm256_cmp_ps(a, b, _CMP_LT_OQ); }
RLX_INLINE Mask fnan(F a) { return _mm256_cmp_ps(a, a, _CMP_UNORD_Q); }
RLX_INLINE F fselect(Mask m, F yes, F no) { return _mm256_blendv_ps(no, yes, m); }
// v * 2^n for whole n, in two steps so that gradual underflow works.
RLX_INLINE F fscale2(F v, F n) {
  const __m256i whole = _mm256_cvtps_epi32(n);
  const __m256i half = _mm256_srai_epi32(whole, 1);
  const __m256i bias = _mm256_set1_epi32(127);
  const F a = _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(half, bias), 23));
  const F b = _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(_mm256_sub_epi32(whole, half), bias), 23));
  return v * a * b;
}

RLX_INLINE float fsum(F v) {
  __m128 s = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
  s = _mm_add_ps(s, _mm_movehl_ps(s, s));
  return _mm_cvtss_f32(_mm_add_ss(s, _mm_movehdup_ps(s)));
}
RLX_INLINE float fhmax(F v) {
  __m128 s = _mm_max_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
  s = _mm_max_ps(s, _mm_movehl_ps(s, s));
  return _mm_cvtss_f32(_mm_max_ss(s, _mm_movehdup_ps(s)));
}
RLX_INLINE float fhmin(F v) {
  __m128 s = _mm_min_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
  s = _mm_min_ps(s, _mm_movehl_ps(s, s));
  return _mm_cvtss_f32(_mm_min_ss(s, _mm_movehdup_ps(s)));
}

RLX_INLINE F fload_f16(const uint16_t* p) {
  return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
}
RLX_INLINE void fstore_f16(uint16_t* p, F v) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm256_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT));
}
RLX_INLINE F fload_bf16(const uint16_t* p) {
  const __m256i x = _mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
  return _mm256_castsi256_ps(_mm256_slli_epi32(x, 16));
}
// What an f16 would hold.
RLX_INLINE F fround_f16(F v) { return _mm256_cvtph_ps(_mm256_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT)); }

// Doubles, half as many as floats.
using D = __m256d;
RLX_INLINE D dset(double x) { return _mm256_set1_pd(x); }
RLX_INLINE D dlow(F v) { return _mm256_cvtps_pd(_mm256_castps256_ps128(v)); }
RLX_INLINE D dhigh(F v) { return _mm256_cvtps_pd(_mm256_extractf128_ps(v, 1)); }
RLX_INLINE D dfma(D a, D b, D c) { return _mm256_fmadd_pd(a, b, c); }
RLX_INLINE double dsum(D v) { return (v[0] + v[2]) + (v[1] + v[3]); }

// 8 x 8 transpose of 32-bit lanes.
RLX_INLINE void ftranspose(F* r) {
  F t[8];
  for (int i = 0; i < 4; ++i) {
    t[2 * i] = _mm256_unpacklo_ps(r[2 * i], r[2 * i + 1]);
    t[2 * i + 1] = _mm256_unpackhi_ps(r[2 * i], r[2 * i + 1]);
  }
  F u[8];
  for (int i = 0; i < 2; ++i) {
    u[4 * i] = _mm256_shuffle_ps(t[4 * i], t[4 * i + 2], 0x44);
    u[4 * i + 1] = _mm256_shuffle_ps(t[4 * i], t[4 * i + 2], 0xee);
    u[4 * i + 2] = _mm256_shuffle_ps(t[4 * i + 1], t[4 * i + 3], 0x44);
    u[4 * i + 3] = _mm256_shuffle_ps(t[4 * i + 1], t[4 * i + 3], 0xee);
  }
  for (int i = 0; i < 4; ++i) {
    r[i] = _mm256_permute2f128_ps(u[i], u[4 + i], 0x20);
    r[4 + i] = _mm256_permute2f128_ps(u[i], u[4 + i], 0x31);
  }
}

RLX_INLINE void transpose_lanes(__m256i* r) {
  F x[8];
  for (int i = 0; i < 8; ++i) x[i] = _mm256_castsi256_ps(r[i]);
  ftranspose(x);
  for (int i = 0; i < 8; ++i) r[i] = _mm256_castps_si256(x[i]);
}

// Whole numbers within int16.
RLX_INLINE void fstore_i16(int16_t* p, F v) {
  const __m256i x = _mm256_cvtps_epi32(v);
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p),
                   _mm_packs_epi32(_mm256_castsi256_si128(x), _mm256_extracti128_si256(x, 1)));
}

// Integer lanes of the panel products: each 32-bit lane holds a pair of int16.
using I = __m256i;
RLX_INLINE I izero() { return _mm256_setzero_si256(); }
RLX_INLINE I iload(const int32_t* p) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)); }
RLX_INLINE void istore(int32_t* p, I v) { _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), v); }
RLX_INLINE I ipair(const int16_t* p) { return _mm256_set1_epi32(static_cast<int32_t>(load_u32(p))); }
// Written out because GCC 12 schedules the intrinsics of a large tile apart and then spills the
// accumulators.
RLX_INLINE I idot(I acc, I a, I b) {
  I product;
  __asm__("vpmaddwd %3, %2, %1\n\tvpaddd %1, %0, %0" : "+x"(acc), "=&x"(product) : "x"(a), "x"(b));
  return acc;
}
RLX_INLINE F ifloat(I v) { return _mm256_cvtepi32_ps(v); }

// Lane i = sum of the lanes of v[i].
RLX_INLINE F fsum_each(const F* v) {
  const F a = _mm256_hadd_ps(_mm256_hadd_ps(v[0], v[1]), _mm256_hadd_ps(v[2], v[3]));
  const F b = _mm256_hadd_ps(_mm256_hadd_ps(v[4], v[5]), _mm256_hadd_ps(v[6], v[7]));
  return _mm256_permute2f128_ps(a, b, 0x20) + _mm256_permute2f128_ps(a, b, 0x31);
}

}  // namespace rlx::kernels::RLX_ISA
