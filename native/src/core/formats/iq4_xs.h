// IQ4_XS: 8 groups of 32 with a signed 6-bit scale each: value = (d * (scale - 32)) *
// kIq4Values[code], codes of 4 bits.
#pragma once

#include "iq4_nl.h"
#include "layouts.h"

namespace rlx::formats::iq4_xs {

RLX_INLINE void read(const Block& x, int8_t* codes, float* scales) {
  const float d = load_half(x.d);
  const uint32_t low = load_u32(x.low), high = load_u16(x.high);
#if defined(__AVX2__)
  const __m256i places = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  const __m256i lows = _mm256_srlv_epi32(_mm256_set1_epi32(static_cast<int>(low)), _mm256_slli_epi32(places, 2));
  const __m256i tops = _mm256_srlv_epi32(_mm256_set1_epi32(static_cast<int>(high)), _mm256_slli_epi32(places, 1));
  const __m256i six = _mm256_or_si256(_mm256_and_si256(lows, _mm256_set1_epi32(15)),
                                      _mm256_slli_epi32(_mm256_and_si256(tops, _mm256_set1_epi32(3)), 4));
  const __m256 whole = _mm256_cvtepi32_ps(_mm256_sub_epi32(six, _mm256_set1_epi32(32)));
  _mm256_storeu_ps(scales, _mm256_mul_ps(_mm256_set1_ps(d), whole));
#else
  for (uint32_t group = 0; group < 8; ++group) {
    const uint32_t scale = ((low >> (4 * group)) & 15) | ((high >> (2 * group)) & 3) << 4;
    scales[group] = d * static_cast<float>(static_cast<int>(scale) - 32);
  }
#endif
  for (int group = 0; group < 8; ++group) look_up_nibbles(kIq4Values, x.qs + 16 * group, codes + 32 * group);
}

RLX_INLINE void unpack(const Block& x, float* y) {
  Coded<kElements, kGroup> coded;
  read(x, coded.codes, coded.scales);
  coded.values(y);
}

RLX_INLINE void pack(const float* x, fit::Columns columns, Block& y) {
  const auto found = fit::scale_block<8, 32>(x, columns, iq4_nl::Values{}, -127.0f, 2.0f, 9, -32, 31);
  fit::store_half(found.unit, y.d);
  uint32_t low = 0;
  uint16_t high = 0;
  for (int g = 0; g < 8; ++g) {
    const uint32_t scale = static_cast<uint32_t>(found.multiples[g] + 32);
    low |= (scale & 15) << (4 * g);
    high = static_cast<uint16_t>(high | (scale >> 4) << (2 * g));
    iq4_nl::store_places(found.codes + 32 * g, y.qs + 16 * g);
  }
  std::memcpy(y.low, &low, 4);
  std::memcpy(y.high, &high, 2);
}

}  // namespace rlx::formats::iq4_xs
