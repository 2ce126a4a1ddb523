// IQ2_S: 16 groups of 16 with a 4-bit scale each: value = (d * (0.5 + scale) * 0.25) * code, codes
// from a table of eights with eight signs.
#pragma once

#include "grid.h"

namespace rlx::formats::iq2_s {

inline constexpr size_t kElements = 256;
inline constexpr size_t kGroup = 16;
inline constexpr int kLargest = 43;
struct Block {
  uint8_t d[2];
  uint8_t qs[32];  // low bits of the places
  uint8_t signs[32];
  uint8_t qh[8];  // two high bits of each place
  uint8_t scales[8];
};

RLX_INLINE float read_whole(const Block& x, int8_t* codes, int8_t* scales) {
  for (int group = 0; group < 16; ++group) {
    const int scale = (x.scales[group / 2] >> (4 * (group % 2))) & 15;
    scales[group] = static_cast<int8_t>(2 * scale + 1);
  }
  for (unsigned eight = 0; eight < 32; ++eight, codes += 8) {
    const unsigned place = x.qs[eight] | ((x.qh[eight / 4] >> (2 * (eight % 4))) & 3u) << 8;
    grid::store_signed(grid::kIq2S[place], grid::kSigns[x.signs[eight]], codes);
  }
  return load_half(x.d) * 0.125f;
}

RLX_INLINE void read(const Block& x, int8_t* codes, float* scales) { scale_whole(x, read_whole, codes, scales); }

RLX_INLINE void unpack(const Block& x, float* y) {
  Coded<kElements, kGroup> coded;
  read(x, coded.codes, coded.scales);
  coded.values(y);
}

}  // namespace rlx::formats::iq2_s
