// Q1_0: value = d where the bit is set, -d where not.
#pragma once

#include "grid.h"

namespace rlx::formats::q1_0 {

inline constexpr size_t kElements = 128;
inline constexpr size_t kGroup = 128;
inline constexpr int kLargest = 1;
struct Block {
  uint8_t d[2];
  uint8_t qs[16];
};

RLX_INLINE void read(const Block& x, int8_t* codes, float* scales) {
  scales[0] = load_half(x.d);
  for (int i = 0; i < 16; ++i) {
    // Eight bits become eight bytes: 1 or, under the mask, -1.
    grid::store_signed(grid::kOnes, ~grid::kSigns[x.qs[i]], codes + 8 * i);
  }
}

RLX_INLINE void unpack(const Block& x, float* y) {
  Coded<kElements, kGroup> coded;
  read(x, coded.codes, coded.scales);
  coded.values(y);
}

}  // namespace rlx::formats::q1_0
