// TQ2_0: value = (code - 1) * d, codes of 2 bits: -1, 0 or 1 in models trained for it.
#pragma once

#include "block.h"

namespace rlx::formats::tq2_0 {

inline constexpr size_t kElements = 256;
inline constexpr size_t kGroup = 256;
struct Block {
  uint8_t qs[64];
  uint8_t d[2];
};

RLX_INLINE void read(const Block& x, int8_t* codes, float* scales) {
  scales[0] = load_half(x.d);
  for (int half = 0; half < 2; ++half) {
    const uint8_t* q = x.qs + 32 * half;
    for (int j = 0; j < 4; ++j, codes += 32) {
      for (int i = 0; i < 32; ++i) codes[i] = static_cast<int8_t>(((q[i] >> (2 * j)) & 3) - 1);
    }
  }
}

RLX_INLINE void unpack(const Block& x, float* y) {
  Coded<kElements, kGroup> coded;
  read(x, coded.codes, coded.scales);
  coded.values(y);
}

}  // namespace rlx::formats::tq2_0
