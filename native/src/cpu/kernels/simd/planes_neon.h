// Byte dot products of arm64: the dotprod instruction where there is one, the same sums from
// multiplies where not.
#pragma once

#include "neon.h"

namespace rlx::kernels::RLX_ISA {

// Lane i += sum of a[4i .. 4i + 3] * b[4i .. 4i + 3].
RLX_INLINE int32x4_t dot4(int32x4_t acc, int8x16_t a, int8x16_t b) {
#if defined(__ARM_FEATURE_DOTPROD)
  return vdotq_s32(acc, a, b);
#else
  const int32x4_t low = vpaddlq_s16(vmull_s8(vget_low_s8(a), vget_low_s8(b)));
  const int32x4_t high = vpaddlq_s16(vmull_high_s8(a, b));
  return vaddq_s32(acc, vpaddq_s32(low, high));
#endif
}

// The same with the four bytes `lane` of b for every lane of a.
template <int Lane>
RLX_INLINE int32x4_t dot4_lane(int32x4_t acc, int8x16_t a, int8x16_t b) {
#if defined(__ARM_FEATURE_DOTPROD)
  return vdotq_laneq_s32(acc, a, b, Lane);
#else
  return dot4(acc, a, vreinterpretq_s8_s32(vdupq_laneq_s32(vreinterpretq_s32_s8(b), Lane)));
#endif
}

}  // namespace rlx::kernels::RLX_ISA
