// IQ1_M: 16 groups of 16 with a 3-bit scale each, values as IQ1_S. The 16 bits of d are the top
// four of the four words of scales.
#pragma once

#include "grid.h"
#include "ternary_fit.h"
#include "layouts.h"

namespace rlx::formats::iq1_m {

RLX_INLINE float read_whole(const Block& x, int8_t* codes, int8_t* scales) {
  unsigned half = 0;
  for (int word = 0; word < 4; ++word) half |= (load_u16(x.scales + 2 * word) >> 12u) << (4 * word);
  for (int group = 0; group < 16; ++group) {
    const int scale = (load_u16(x.scales + group / 4 * 2) >> (3 * (group % 4))) & 7;
    scales[group] = static_cast<int8_t>(2 * scale + 1);
  }
  for (int eight = 0; eight < 32; ++eight, codes += 8) {
    const unsigned high = x.qh[eight / 2] >> (4 * (eight % 2));
    grid::store_shifted(grid::kIq1S[x.qs[eight] | (high & 7) << 8], (high & 8) != 0, codes);
  }
  return half_to_f32(static_cast<uint16_t>(half)) * 0.125f;
}

RLX_INLINE void read(const Block& x, int8_t* codes, float* scales) { scale_whole(x, read_whole, codes, scales); }

RLX_INLINE void unpack(const Block& x, float* y) {
  Coded<kElements, kGroup> coded;
  read(x, coded.codes, coded.scales);
  coded.values(y);
}

RLX_INLINE void pack(const float* x, fit::Columns columns, Block& y) {
  const auto found = ternary::block_of<16, 16, 8>(x, columns);
  const unsigned half = f32_to_half(found.unit);
  for (unsigned word = 0; word < 4; ++word) {
    unsigned scales = (half >> (4 * word) & 15u) << 12;
    for (unsigned g = 0; g < 4; ++g) scales |= static_cast<unsigned>(found.scales[4 * word + g]) << (3 * g);
    const uint16_t stored = static_cast<uint16_t>(scales);
    std::memcpy(y.scales + 2 * word, &stored, 2);
  }
  for (int pair = 0; pair < 16; ++pair) {
    int high = 0;
    for (int i = 0; i < 2; ++i) {
      const int place = found.places[2 * pair + i];
      y.qs[2 * pair + i] = static_cast<uint8_t>(place);
      const int sign = static_cast<int>(found.minus[2 * pair + i]) << 3;
      high |= (place >> 8 | sign) << (4 * i);
    }
    y.qh[pair] = static_cast<uint8_t>(high);
  }
}

}  // namespace rlx::formats::iq1_m
