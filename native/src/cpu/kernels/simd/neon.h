// Float vectors of 4 lanes over Advanced SIMD (arm64). One of four headers with the same names.
#pragma once

#include <arm_neon.h>

#include "half.h"

namespace rlx::kernels::RLX_ISA {

using F = float32x4_t;
using Mask = uint32x4_t;
inline constexpr int W = 4;
inline constexpr int kTileRows = 6;
inline constexpr int kTileVecs = 4;

RLX_INLINE F fset(float x) { return vdupq_n_f32(x); }
RLX_INLINE F fzero() { return vdupq_n_f32(0.0f); }
RLX_INLINE F fload(const float* p) { return vld1q_f32(p); }
RLX_INLINE void fstore(float* p, F v) { vst1q_f32(p, v); }
RLX_INLINE F fload_n(const float* p, size_t n) {
  float t[4] = {0, 0, 0, 0};
  for (size_t i = 0; i < n; ++i) t[i] = p[i];
  return vld1q_f32(t);
}
RLX_INLINE void fstore_n(float* p, F v, size_t n) {
  float t[4];
  vst1q_f32(t, v);
  for (size_t i = 0; i < n; ++i) p[i] = t[i];
}
RLX_INLINE F ffma(F a, F b, F c) { return vfmaq_f32(c, a, b); }
RLX_INLINE F fmax(F a, F b) { return vmaxq_f32(a, b); }
// The largest of each four lanes, in all four.
RLX_INLINE F fmax_of_fours(F v) { return vdupq_n_f32(vmaxvq_f32(v)); }
RLX_INLINE F fmin(F a, F b) { return vminq_f32(a, b); }
RLX_INLINE F fsqrt(F a) { return vsqrtq_f32(a); }
RLX_INLINE F fround(F a) { return vrndnq_f32(a); }
RLX_INLINE F ffloor(F a) { return vrndmq_f32(a); }
RLX_INLINE F fceil(F a) { return vrndpq_f32(a); }
RLX_INLINE F fabs(F a) { return vabsq_f32(a); }
RLX_INLINE F fcopysign(F mag, F sign) { return vbslq_f32(vdupq_n_u32(0x80000000u), sign, mag); }
RLX_INLINE Mask flt(F a, F b) { return vcltq_f32(a, b); }
RLX_INLINE Mask fnan(F a) { return vmvnq_u32(vceqq_f32(a, a)); }
RLX_INLINE F fselect(Mask m, F yes, F no) { return vbslq_f32(m, yes, no); }
RLX_INLINE F fscale2(F v, F n) {
  const int32x4_t whole = vcvtnq_s32_f32(n);
  const int32x4_t half = vshrq_n_s32(whole, 1);
  const int32x4_t bias = vdupq_n_s32(127);
  const F a = vreinterpretq_f32_s32(vshlq_n_s32(vaddq_s32(half, bias), 23));
  const F b = vreinterpretq_f32_s32(vshlq_n_s32(vaddq_s32(vsubq_s32(whole, half), bias), 23));
  return vmulq_f32(vmulq_f32(v, a), b);
}
RLX_INLINE float fsum(F v) { return vaddvq_f32(v); }
RLX_INLINE float fhmax(F v) { return vmaxvq_f32(v); }
RLX_INLINE float fhmin(F v) { return vminvq_f32(v); }
RLX_INLINE F fload_f16(const uint16_t* p) { return vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(p))); }
RLX_INLINE void fstore_f16(uint16_t* p, F v) { vst1_u16(p, vreinterpret_u16_f16(vcvt_f16_f32(v))); }
RLX_INLINE F fload_bf16(const uint16_t* p) { return vreinterpretq_f32_u32(vshll_n_u16(vld1_u16(p), 16)); }
// What an f16 would hold.
RLX_INLINE F fround_f16(F v) { return vcvt_f32_f16(vcvt_f16_f32(v)); }

// Doubles, half as many as floats.
using D = float64x2_t;
RLX_INLINE D dset(double x) { return vdupq_n_f64(x); }
RLX_INLINE D dlow(F v) { return vcvt_f64_f32(vget_low_f32(v)); }
RLX_INLINE D dhigh(F v) { return vcvt_high_f64_f32(v); }
RLX_INLINE D dfma(D a, D b, D c) { return vfmaq_f64(c, a, b); }
RLX_INLINE double dsum(D v) { return vaddvq_f64(v); }

RLX_INLINE void ftranspose(F* r) {
  const float32x4_t a = vtrn1q_f32(r[0], r[1]), b = vtrn2q_f32(r[0], r[1]);
  const float32x4_t c = vtrn1q_f32(r[2], r[3]), d = vtrn2q_f32(r[2], r[3]);
  const float64x2_t ad = vreinterpretq_f64_f32(a), bd = vreinterpretq_f64_f32(b);
  const float64x2_t cd = vreinterpretq_f64_f32(c), dd = vreinterpretq_f64_f32(d);
  r[0] = vreinterpretq_f32_f64(vtrn1q_f64(ad, cd));
  r[1] = vreinterpretq_f32_f64(vtrn1q_f64(bd, dd));
  r[2] = vreinterpretq_f32_f64(vtrn2q_f64(ad, cd));
  r[3] = vreinterpretq_f32_f64(vtrn2q_f64(bd, dd));
}

// Whole numbers within int16.
RLX_INLINE void fstore_i16(int16_t* p, F v) { vst1_s16(p, vmovn_s32(vcvtnq_s32_f32(v))); }

// Lane i = sum of the lanes of v[i].
RLX_INLINE F fsum_each(const F* v) { return vpaddq_f32(vpaddq_f32(v[0], v[1]), vpaddq_f32(v[2], v[3])); }

}  // namespace rlx::kernels::RLX_ISA
