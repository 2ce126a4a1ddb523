// IQ2_XS: 16 groups of 16 with a 4-bit scale each: value = (d * (0.5 + scale) * 0.25) * code, codes
// from a table of eights with seven signs.
#pragma once

#include "grid.h"
#include "grid_fit.h"
#include "layouts.h"

namespace rlx::formats::iq2_xs {

RLX_INLINE float read_whole(const Block& x, int8_t* codes, int8_t* scales) {
#if defined(__AVX512VBMI__)
  grid::store_odd_scales(x.scales, scales);
  const __m512i q = _mm512_loadu_si512(x.qs);
  const __m256i signs = grid::even_signs(_mm512_cvtepi16_epi8(_mm512_srli_epi16(q, 9)));
  grid::store_eights(grids::kIq2Xs, grids::kIq2XsValues, q, signs, codes);
#else
  for (int group = 0; group < 16; ++group) {
    const int scale = (x.scales[group / 2] >> (4 * (group % 2))) & 15;
    scales[group] = static_cast<int8_t>(2 * scale + 1);
  }
  for (int eight = 0; eight < 32; ++eight, codes += 8) {
    const uint32_t q = load_u16(x.qs + 2 * eight);
    grid::store_signed(grid::kIq2Xs[q & 511], grid::kEvenSigns[q >> 9], codes);
  }
#endif
  return load_half(x.d) * 0.125f;
}

RLX_INLINE void read(const Block& x, int8_t* codes, float* scales) { scale_whole(x, read_whole, codes, scales); }

RLX_INLINE void unpack(const Block& x, float* y) {
  Coded<kElements, kGroup> coded;
  read(x, coded.codes, coded.scales);
  coded.values(y);
}

RLX_INLINE void pack(const float* x, fit::Columns columns, Block& y) {
  grid::Signed parts;
  grid::split_signs<16>(x, columns, true, parts);
  const auto found = grid::magnitude_block<grid::Iq2XsGrid, 16, 16>(parts.x, parts.w, 8.0f);
  fit::store_half(8.0f * found.unit, y.d);
  for (int pair = 0; pair < 8; ++pair)
    y.scales[pair] = static_cast<uint8_t>(found.scales[2 * pair] | found.scales[2 * pair + 1] << 4);
  for (int eight = 0; eight < 32; ++eight) {
    const uint16_t q = static_cast<uint16_t>(found.places[eight] | (parts.signs[eight] & 127) << 9);
    std::memcpy(y.qs + 2 * eight, &q, 2);
  }
}

}  // namespace rlx::formats::iq2_xs
