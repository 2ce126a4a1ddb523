// Q4_1: value = d * code + m, codes of 4 bits.
#pragma once

#include "block.h"

namespace rlx::formats::q4_1 {

inline constexpr size_t kElements = 32;
struct Block {
  uint8_t d[2], m[2];
  uint8_t qs[16];
};

RLX_INLINE void unpack(const Block& x, float* y) {
  const float d = load_half(x.d), m = load_half(x.m);
  for (int i = 0; i < 16; ++i) {
    y[i] = static_cast<float>(x.qs[i] & 15) * d + m;
    y[i + 16] = static_cast<float>(x.qs[i] >> 4) * d + m;
  }
}

}  // namespace rlx::formats::q4_1
