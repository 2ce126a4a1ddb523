// A single product as ggml's x86 builds add it: four vectors of running sums, and behind whole
// groups of these product by product.
#pragma once

#include "internal.h"

namespace rlx::kernels::RLX_ISA {

inline constexpr size_t kDotGroup = 4 * W;

// The sums of a single product's lanes: halves; on AVX2 halves, then neighbours.
inline constexpr bool kNeighbours = W == 8;
RLX_INLINE float sum_of_lanes(F v) {
#if defined(RLX_ISA_AVX2)
  const __m128 half = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
  const __m128 pairs = _mm_hadd_ps(half, half);
  return _mm_cvtss_f32(_mm_hadd_ps(pairs, pairs));
#else
  return fsum(v);
#endif
}

RLX_INLINE float sum_of_group(const F* acc) { return sum_of_lanes((acc[0] + acc[2]) + (acc[1] + acc[3])); }

// The products behind whole groups. Its compiler takes what fills half a vector as vectors, whose
// products are rounded before they are added one by one, and fuses the last few.
RLX_INLINE float add_rest(float sum, const float* a, const float* b, size_t n) {
  const size_t rounded = n / (W / 2) * (W / 2);
  for (size_t i = 0; i < rounded; ++i) sum += a[i] * b[i];
  for (size_t i = rounded; i < n; ++i) sum = __builtin_fmaf(a[i], b[i], sum);
  return sum;
}

// The same beside f16 weights: in double.
RLX_INLINE float add_rest_of_halves(float sum, const float* a, const float* b, size_t n) {
  double total = static_cast<double>(sum);
  for (size_t i = 0; i < n; ++i) total += static_cast<double>(a[i] * b[i]);
  return static_cast<float>(total);
}

}  // namespace rlx::kernels::RLX_ISA
