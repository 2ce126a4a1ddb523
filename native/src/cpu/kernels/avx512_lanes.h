// How AVX-512 wants prepared activations for few tokens: planes of bytes in the orders of its registers (avx512_k.h,
// avx512_block32.h), and what the quants' offsets add to each lane.
#pragma once

#include "avx512_rows.h"

namespace rlx::kernels::RLX_ISA {

// value = 2^Shift * high + low: 256 bytes each. The low one of 16 is not negative, that of 128 is.
template <int Shift>
RLX_INLINE void store_lane_planes(const int16_t* ordered, int8_t* planes) {
  static_assert(Shift == 4 || Shift == 7);
  const __m512i half = _mm512_set1_epi16(Shift == 4 ? 0 : 64);
  for (size_t i = 0; i < kChunk; i += 32) {
    const __m512i value = load512(ordered + i);
    const __m512i high = _mm512_srai_epi16(_mm512_add_epi16(value, half), Shift);
    const __m512i low = _mm512_sub_epi16(value, _mm512_slli_epi16(high, Shift));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(planes + i), _mm512_cvtepi16_epi8(high));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(planes + kChunk + i), _mm512_cvtepi16_epi8(low));
  }
}

// -Times * (sum of the eight values that share a lane), 32 lanes.
template <int Shift, int Times>
RLX_INLINE void store_lane_sums(const int8_t* planes, int8_t* out) {
  const __m512i ones[2] = {_mm512_set1_epi8(1), _mm512_set1_epi8(1)};
  for (size_t half = 0; half < 2; ++half) {
    const __m512i sums = dot_planes<Shift>(_mm512_setzero_si512(), ones, planes + 128 * half);
    _mm512_storeu_si512(out + 64 * half, _mm512_mullo_epi32(sums, _mm512_set1_epi32(-Times)));
  }
}

// Q4_K and Q5_K: the first and the last 16 values of sub-blocks 0 2 4 6, then of 1 3 5 7.
// Q6_K: 8 values of each of the sub-blocks 0 8 1 9 2 10 3 11, the next 8, and the same of 4 12 5 13 6 14 7 15.
RLX_INLINE void store_lanes256(const int16_t* q, int8_t* planes) {
  alignas(64) int16_t q45[kChunk], q6[kChunk];
  for (size_t part = 0; part < 4; ++part) {
    for (size_t lane = 0; lane < 4; ++lane) {
      const size_t to = 64 * part + 16 * lane, from = 16 * lane + 8 * (part % 2) + 64 * (part / 2);
      memcpy(q45 + to, q + 64 * lane + 16 * part, 32);
      memcpy(q6 + to, q + from, 16);
      memcpy(q6 + to + 8, q + 128 + from, 16);
    }
  }
  store_lane_planes<4>(q45, planes);
  store_lane_planes<4>(q6, planes + 2 * kChunk);
  store_lane_sums<4, 2>(planes + 2 * kChunk, planes + 4 * kChunk);
}

// 32-blocks: the first and the last 16 values of the blocks 0 1 2 3, then of 4 5 6 7.
RLX_INLINE void store_lanes32(const int16_t* q, int8_t* planes) {
  alignas(64) int16_t ordered[kChunk];
  for (size_t part = 0; part < 4; ++part) {
    for (size_t block = 0; block < 4; ++block) {
      memcpy(ordered + 64 * part + 16 * block, q + 128 * (part / 2) + 32 * block + 16 * (part % 2), 32);
    }
  }
  store_lane_planes<7>(ordered, planes);
  store_lane_sums<7, 1>(planes, planes + 2 * kChunk);
}

}  // namespace rlx::kernels::RLX_ISA
