// IQ4_XS: 8 groups of 32 with a signed 6-bit scale each: value = (d * (scale - 32)) *
// kIq4Values[code], codes of 4 bits.
#pragma once

#include "block.h"

namespace rlx::formats::iq4_xs {

inline constexpr size_t kElements = 256;
struct Block {
  uint8_t d[2];
  uint8_t high[2];  // two high bits of each scale
  uint8_t low[4];   // four low bits of each scale
  uint8_t qs[128];
};

RLX_INLINE void unpack(const Block& x, float* y) {
  const float d = load_half(x.d);
  const int high = load_u16(x.high);
  for (int group = 0; group < 8; ++group, y += 32) {
    const int scale = ((x.low[group / 2] >> (4 * (group % 2))) & 15) | ((high >> (2 * group)) & 3) << 4;
    const float factor = d * static_cast<float>(scale - 32);
    const uint8_t* q = x.qs + 16 * group;
    for (int i = 0; i < 16; ++i) {
      y[i] = factor * static_cast<float>(kIq4Values[q[i] & 15]);
      y[i + 16] = factor * static_cast<float>(kIq4Values[q[i] >> 4]);
    }
  }
}

}  // namespace rlx::formats::iq4_xs
