// Q2_K: 16 groups of 16 with a 4-bit scale and a 4-bit minimum each: value = (d * scale) * code -
// dmin * minimum, codes of 2 bits.
#pragma once

#include "block.h"

namespace rlx::formats::q2_k {

inline constexpr size_t kElements = 256;
struct Block {
  uint8_t scales[16];
  uint8_t qs[64];
  uint8_t d[2], dmin[2];
};

RLX_INLINE void unpack(const Block& x, float* y) {
  const float d = load_half(x.d), dmin = load_half(x.dmin);
  for (int half = 0; half < 2; ++half) {
    for (int j = 0; j < 4; ++j) {
      for (int part = 0; part < 2; ++part, y += 16) {
        const uint8_t sc = x.scales[half * 8 + j * 2 + part];
        const float scale = d * static_cast<float>(sc & 15), min = dmin * static_cast<float>(sc >> 4);
        const uint8_t* q = x.qs + half * 32 + part * 16;
        for (int i = 0; i < 16; ++i) y[i] = scale * static_cast<float>((q[i] >> (2 * j)) & 3) - min;
      }
    }
  }
}

}  // namespace rlx::formats::q2_k
