// Q4_0: value = d * (code - 8), codes of 4 bits.
#pragma once

#include "block.h"

namespace rlx::formats::q4_0 {

inline constexpr size_t kElements = 32;
struct Block {
  uint8_t d[2];
  uint8_t qs[16];
};

RLX_INLINE void unpack(const Block& x, float* y) {
  const float d = load_half(x.d);
  for (int i = 0; i < 16; ++i) {
    y[i] = static_cast<float>((x.qs[i] & 15) - 8) * d;
    y[i + 16] = static_cast<float>((x.qs[i] >> 4) - 8) * d;
  }
}

}  // namespace rlx::formats::q4_0
