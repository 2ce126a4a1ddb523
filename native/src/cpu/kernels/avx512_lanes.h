// Stores Form::lanes32: activations of 32-blocks for few tokens as planes of bytes in the order of
// AVX-512's registers (avx512_block32.h), and minus the sums of the blocks.
#pragma once

#include "avx512_rows.h"

namespace rlx::kernels::RLX_ISA {

RLX_INLINE void store256(int8_t* to, __m256i v) { _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), v); }

// value = 128 * high + low, 256 bytes each.
RLX_INLINE void store_byte_planes(const int16_t* ordered, int8_t* planes) {
  for (size_t i = 0; i < kChunk; i += 32) {
    const __m512i value = load512(ordered + i);
    const __m512i high = _mm512_srai_epi16(_mm512_add_epi16(value, _mm512_set1_epi16(64)), 7);
    store256(planes + i, _mm512_cvtepi16_epi8(high));
    store256(planes + kChunk + i, _mm512_cvtepi16_epi8(_mm512_sub_epi16(value, _mm512_slli_epi16(high, 7))));
  }
}

// 32-blocks: the first and the last 16 values of the blocks 0 1 2 3, then of 4 5 6 7. And minus the
// sums of the blocks.
RLX_INLINE void store_lanes32(const int16_t* q, const float* sums, int8_t* planes, int8_t* negative_sums) {
  alignas(64) int16_t ordered[kChunk];
  for (size_t part = 0; part < 4; ++part) {
    for (size_t block = 0; block < 4; ++block) {
      memcpy(ordered + 64 * part + 16 * block, q + 128 * (part / 2) + 32 * block + 16 * (part % 2), 32);
    }
  }
  store_byte_planes(ordered, planes);
  const __m256i whole = _mm256_cvtps_epi32(_mm256_loadu_ps(sums));
  store256(negative_sums, _mm256_sub_epi32(_mm256_setzero_si256(), whole));
}

}  // namespace rlx::kernels::RLX_ISA
