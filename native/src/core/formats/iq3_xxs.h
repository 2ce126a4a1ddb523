// IQ3_XXS: 8 groups of 32 with a 4-bit scale each: value = (d * (0.5 + scale) * 0.5) * code, codes
// from a table of fours with seven signs for two of them.
#pragma once

#include "grid.h"
#include "grid_fit.h"
#include "layouts.h"

namespace rlx::formats::iq3_xxs {

RLX_INLINE void read(const Block& x, int8_t* codes, float* scales) {
  const float d = load_half(x.d);
#if defined(__AVX512VBMI__)
  const __m256i words = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(x.rest));
  const __m256 half = _mm256_add_ps(_mm256_set1_ps(0.5f), _mm256_cvtepi32_ps(_mm256_srli_epi32(words, 28)));
  _mm256_storeu_ps(scales, _mm256_mul_ps(_mm256_mul_ps(_mm256_set1_ps(d), half), _mm256_set1_ps(0.5f)));
  alignas(32) uint64_t signs[4];
  _mm256_store_si256(reinterpret_cast<__m256i*>(signs), grid::even_signs_of(words));
  for (int i = 0; i < 2; ++i)
    grid::store_fours(grids::kIq3Xxs, grids::kIq3XxsValues, grid::places_of(x.qs + 32 * i), signs + 2 * i,
                      codes + 128 * i);
#else
  for (int group = 0; group < 8; ++group) {
    const uint8_t* places = x.qs + 8 * group;
    const uint32_t rest = load_u32(x.rest + 4 * group);
    scales[group] = d * (0.5f + static_cast<float>(rest >> 28)) * 0.5f;
    for (int l = 0; l < 4; ++l, codes += 8) {
      const uint64_t eight = grid::two(grid::kIq3Xxs[places[2 * l]], grid::kIq3Xxs[places[2 * l + 1]]);
      grid::store_signed(eight, grid::kEvenSigns[(rest >> (7 * l)) & 127], codes);
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
  grid::split_signs<32>(x, columns, true, parts);
  const auto found = grid::magnitude_block<grid::Iq3XxsGrid, 8, 32>(parts.x, parts.w, 4.0f);
  fit::store_half(4.0f * found.unit, y.d);
  for (int group = 0; group < 8; ++group) {
    uint32_t rest = static_cast<uint32_t>(found.scales[group]) << 28;
    for (int l = 0; l < 4; ++l) rest |= static_cast<uint32_t>(parts.signs[4 * group + l] & 127) << (7 * l);
    std::memcpy(y.rest + 4 * group, &rest, 4);
    for (int i = 0; i < 8; ++i) y.qs[8 * group + i] = static_cast<uint8_t>(found.places[8 * group + i]);
  }
}

}  // namespace rlx::formats::iq3_xxs
