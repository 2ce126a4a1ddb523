// How AVX-512 wants prepared activations for few tokens: planes of bytes in the orders of its registers (avx512_k.h,
// avx512_block32.h), and what the quants' offsets add to each lane.
#pragma once

#include "avx512_k.h"

namespace rlx::kernels::RLX_ISA {

// value = 2^Shift * high + low, 32 values.
struct Planes {
  __m256i high, low;
};
template <int Shift>
RLX_INLINE Planes planes_of(const int16_t* values) {
  const __m512i value = load512(values);
  const __m512i half = _mm512_set1_epi16(Shift == 4 ? 0 : 64);
  const __m512i high = _mm512_srai_epi16(_mm512_add_epi16(value, half), Shift);
  const __m512i low = _mm512_sub_epi16(value, _mm512_slli_epi16(high, Shift));
  return {_mm512_cvtepi16_epi8(high), _mm512_cvtepi16_epi8(low)};
}
RLX_INLINE void store256(int8_t* to, __m256i v) { _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), v); }

// 256 bytes each.
template <int Shift>
RLX_INLINE void store_byte_planes(const int16_t* ordered, int8_t* planes) {
  for (size_t i = 0; i < kChunk; i += 32) {
    const Planes p = planes_of<Shift>(ordered + i);
    store256(planes + i, p.high);
    store256(planes + kChunk + i, p.low);
  }
}

// 256 bytes and 128: the low nibbles of 64 values, and in the upper half of the same bytes those of the next 64.
RLX_INLINE void store_nibble_planes(const int16_t* ordered, int8_t* planes) {
  for (size_t half = 0; half < 2; ++half) {
    for (size_t i = 0; i < 64; i += 32) {
      const size_t at = 128 * half + i;
      const Planes first = planes_of<4>(ordered + at), second = planes_of<4>(ordered + at + 64);
      store256(planes + at, first.high);
      store256(planes + at + 64, second.high);
      store256(planes + kChunk + 64 * half + i, _mm256_or_si256(first.low, _mm256_slli_epi16(second.low, 4)));
    }
  }
}
RLX_INLINE void store_planes_k(const int16_t* ordered, int8_t* planes, bool nibbles) {
  if (nibbles) return store_nibble_planes(ordered, planes);
  store_byte_planes<4>(ordered, planes);
}

// -2 * (sum of the eight values that share a lane), 32 lanes of int16.
RLX_INLINE void store_lane_sums(const int16_t* ordered, int8_t* out) {
  const __m512i ones = _mm512_set1_epi8(1);
  alignas(64) int8_t planes[kBytePlanes];
  store_byte_planes<4>(ordered, planes);
  const __m512i both[2] = {ones, ones};
  for (size_t half = 0; half < 2; ++half) {
    const Sums sums = dot_half<false>(_mm512_setzero_si512(), both, planes, half);
    const __m512i whole = _mm512_add_epi32(_mm512_slli_epi32(sums.high, 4), sums.low);
    store256(out + 32 * half, _mm512_cvtepi32_epi16(_mm512_mullo_epi32(whole, _mm512_set1_epi32(-2))));
  }
}

// Q6_K: 8 values of each of the sub-blocks 0 8 1 9 2 10 3 11, the next 8, and the same of 4 12 5 13 6 14 7 15.
RLX_INLINE void store_lanes256(const int16_t* q, bool nibbles, int8_t* planes) {
  alignas(64) int16_t ordered[kChunk];
  for (size_t part = 0; part < 4; ++part) {
    for (size_t lane = 0; lane < 4; ++lane) {
      const size_t to = 64 * part + 16 * lane, from = 16 * lane + 8 * (part % 2) + 64 * (part / 2);
      memcpy(ordered + to, q + from, 16);
      memcpy(ordered + to + 8, q + 128 + from, 16);
    }
  }
  store_planes_k(ordered, planes, nibbles);
  store_lane_sums(ordered, planes + (nibbles ? kNibblePlanes : kBytePlanes));
}

// 32-blocks: the first and the last 16 values of the blocks 0 1 2 3, then of 4 5 6 7. And minus the sums of the blocks.
RLX_INLINE void store_lanes32(const int16_t* q, const float* sums, int8_t* planes, int8_t* negative_sums) {
  alignas(64) int16_t ordered[kChunk];
  for (size_t part = 0; part < 4; ++part) {
    for (size_t block = 0; block < 4; ++block) {
      memcpy(ordered + 64 * part + 16 * block, q + 128 * (part / 2) + 32 * block + 16 * (part % 2), 32);
    }
  }
  store_byte_planes<7>(ordered, planes);
  const __m256i whole = _mm256_cvtps_epi32(_mm256_loadu_ps(sums));
  store256(negative_sums, _mm256_sub_epi32(_mm256_setzero_si256(), whole));
}

}  // namespace rlx::kernels::RLX_ISA
