// IQ2_XXS: 8 groups of 32 with a 4-bit scale each: value = (d * (0.5 + scale) * 0.25) * code, codes
// from a table of eights with seven signs.
#pragma once

#include "grid.h"
#include "grid_fit.h"
#include "layouts.h"

namespace rlx::formats::iq2_xxs {

RLX_INLINE void read(const Block& x, int8_t* codes, float* scales) {
  const float d = load_half(x.d);
#if defined(__AVX512VBMI__)
  const __m512i q = _mm512_loadu_si512(x.qs);
  const __m256i rest = _mm512_cvtepi64_epi32(_mm512_srli_epi64(q, 32));
  const __m256 half = _mm256_add_ps(_mm256_set1_ps(0.5f), _mm256_cvtepi32_ps(_mm256_srli_epi32(rest, 28)));
  _mm256_storeu_ps(scales, _mm256_mul_ps(_mm256_mul_ps(_mm256_set1_ps(d), half), _mm256_set1_ps(0.25f)));
  grid::store_eights(grids::kIq2Xxs, grids::kIq2XxsValues, grid::places_of(_mm512_cvtepi64_epi32(q)),
                     grid::even_signs_of(rest), codes);
#else
  for (int group = 0; group < 8; ++group) {
    const uint8_t* places = x.qs + 8 * group;
    const uint32_t rest = load_u32(places + 4);
    scales[group] = d * (0.5f + static_cast<float>(rest >> 28)) * 0.25f;
    for (int l = 0; l < 4; ++l, codes += 8)
      grid::store_signed(grid::kIq2Xxs[places[l]], grid::kEvenSigns[(rest >> (7 * l)) & 127], codes);
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
  grid::split_signs<32>(x, columns, true, parts);
  const auto found = grid::magnitude_block<grid::Iq2XxsGrid, 8, 32>(parts.x, parts.w, 8.0f);
  fit::store_half(8.0f * found.unit, y.d);
  for (int group = 0; group < 8; ++group) {
    uint32_t rest = static_cast<uint32_t>(found.scales[group]) << 28;
    for (int l = 0; l < 4; ++l) {
      rest |= static_cast<uint32_t>(parts.signs[4 * group + l] & 127) << (7 * l);
      y.qs[8 * group + l] = static_cast<uint8_t>(found.places[4 * group + l]);
    }
    std::memcpy(y.qs + 8 * group + 4, &rest, 4);
  }
}

}  // namespace rlx::formats::iq2_xxs
