// IQ3_S: 8 groups of 32 with a 4-bit scale each: value = (d * (1 + 2 * scale)) * code, codes from a
// table of fours with a sign for each value.
#pragma once

#include "grid.h"
#include "grid_fit.h"
#include "layouts.h"

namespace rlx::formats::iq3_s {

RLX_INLINE void read(const Block& x, int8_t* codes, float* scales) {
  const float d = load_half(x.d);
#if defined(__AVX512VBMI__)
  const __m256i nibbles = _mm256_srlv_epi32(_mm256_set1_epi32(static_cast<int>(load_u32(x.scales))),
                                            _mm256_setr_epi32(0, 4, 8, 12, 16, 20, 24, 28));
  const __m256i twice = _mm256_slli_epi32(_mm256_and_si256(nibbles, _mm256_set1_epi32(15)), 1);
  const __m256 odd = _mm256_cvtepi32_ps(_mm256_add_epi32(twice, _mm256_set1_epi32(1)));
  _mm256_storeu_ps(scales, _mm256_mul_ps(_mm256_set1_ps(d), odd));
  uint64_t signs[4];
  std::memcpy(signs, x.signs, sizeof signs);
  for (int i = 0; i < 2; ++i) {
    const __m512i low = grid::places_of(x.qs + 32 * i);
    const __m512i places = _mm512_mask_add_epi16(low, load_u32(x.qh + 4 * i), low, _mm512_set1_epi16(256));
    grid::store_fours(grids::kIq3S, grids::kIq3SValues, places, signs + 2 * i, codes + 128 * i);
  }
#else
  for (int group = 0; group < 8; ++group) {
    const int scale = (x.scales[group / 2] >> (4 * (group % 2))) & 15;
    scales[group] = d * static_cast<float>(1 + 2 * scale);
    const uint8_t *places = x.qs + 8 * group, *signs = x.signs + 4 * group;
    const unsigned ninth = x.qh[group];
    for (unsigned l = 0; l < 4; ++l, codes += 8) {
      const unsigned first = places[2 * l] | ((ninth << (8 - 2 * l)) & 256);
      const unsigned second = places[2 * l + 1] | ((ninth << (7 - 2 * l)) & 256);
      grid::store_signed(grid::two(grid::kIq3S[first], grid::kIq3S[second]), grid::kSigns[signs[l]], codes);
    }
  }
#endif
}

RLX_INLINE void unpack(const Block& x, float* y) {
  Coded<kElements, kGroup> coded;
  read(x, coded.codes, coded.scales);
  coded.values(y);
}

RLX_INLINE void pack(const float* x, fit::Columns columns, Block& y) {
  grid::Signed parts;
  grid::split_signs<32>(x, columns, false, parts);
  const auto found = grid::magnitude_block<grid::Iq3SGrid, 8, 32>(parts.x, parts.w, 1.0f);
  fit::store_half(found.unit, y.d);
  std::memcpy(y.signs, parts.signs, sizeof y.signs);
  for (int pair = 0; pair < 4; ++pair)
    y.scales[pair] = static_cast<uint8_t>(found.scales[2 * pair] | found.scales[2 * pair + 1] << 4);
  for (int group = 0; group < 8; ++group) {
    int ninth = 0;
    for (int i = 0; i < 8; ++i) {
      y.qs[8 * group + i] = static_cast<uint8_t>(found.places[8 * group + i]);
      ninth |= (found.places[8 * group + i] >> 8) << i;
    }
    y.qh[group] = static_cast<uint8_t>(ninth);
  }
}

}  // namespace rlx::formats::iq3_s
