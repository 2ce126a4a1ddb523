// Q4_K: 8 groups of 32 with a 6-bit scale and a 6-bit minimum each: value = (d * scale) * code -
// dmin * minimum, codes of 4 bits.
#pragma once

#include "block.h"

namespace rlx::formats::q4_k {

inline constexpr size_t kElements = 256;
struct Block {
  uint8_t d[2], dmin[2];
  uint8_t scales[12];
  uint8_t qs[128];
};

RLX_INLINE void unpack(const Block& x, float* y) {
  const float d = load_half(x.d), dmin = load_half(x.dmin);
  const PackedScales s = unpack_scales(x.scales);
  for (int j = 0; j < 4; ++j, y += 64) {
    const float d0 = d * static_cast<float>(byte_of(s.scale, 2 * j));
    const float m0 = dmin * static_cast<float>(byte_of(s.min, 2 * j));
    const float d1 = d * static_cast<float>(byte_of(s.scale, 2 * j + 1));
    const float m1 = dmin * static_cast<float>(byte_of(s.min, 2 * j + 1));
    const uint8_t* q = x.qs + 32 * j;
    for (int i = 0; i < 32; ++i) y[i] = d0 * static_cast<float>(q[i] & 15) - m0;
    for (int i = 0; i < 32; ++i) y[i + 32] = d1 * static_cast<float>(q[i] >> 4) - m1;
  }
}

}  // namespace rlx::formats::q4_k
