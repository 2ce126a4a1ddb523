// IQ1_S: 8 groups of 32 with a 3-bit scale each: value = d * (2 * scale + 1) * (t +- 1/8), t of -1,
// 0, 1 from a table of eights; here an eighth of the scale, and codes 8 t +- 1.
#pragma once

#include "grid.h"
#include "ternary_fit.h"
#include "layouts.h"

namespace rlx::formats::iq1_s {

RLX_INLINE void read(const Block& x, int8_t* codes, float* scales) {
  const float d = load_half(x.d);
  for (int group = 0; group < 8; ++group) {
    const unsigned rest = load_u16(x.qh + 2 * group);
    scales[group] = d * static_cast<float>(2 * ((rest >> 12) & 7) + 1) * 0.125f;
    for (int l = 0; l < 4; ++l, codes += 8) {
      const unsigned place = x.qs[4 * group + l] | ((rest >> (3 * l)) & 7) << 8;
      grid::store_shifted(grid::kIq1S[place], (rest & 0x8000) != 0, codes);
    }
  }
}

RLX_INLINE void unpack(const Block& x, float* y) {
  Coded<kElements, kGroup> coded;
  read(x, coded.codes, coded.scales);
  coded.values(y);
}

RLX_INLINE void pack(const float* x, fit::Columns columns, Block& y) {
  const auto found = ternary::block_of<8, 32, 32>(x, columns);
  fit::store_half(found.unit, y.d);
  for (int group = 0; group < 8; ++group) {
    int rest = found.scales[group] << 12 | (found.minus[group] ? 0x8000 : 0);
    for (int l = 0; l < 4; ++l) {
      const int place = found.places[4 * group + l];
      y.qs[4 * group + l] = static_cast<uint8_t>(place);
      rest |= (place >> 8) << (3 * l);
    }
    const uint16_t stored = static_cast<uint16_t>(rest);
    std::memcpy(y.qh + 2 * group, &stored, 2);
  }
}

}  // namespace rlx::formats::iq1_s
