// Q3_K: 16 groups of 16 with a signed 6-bit scale each: value = (d * scale) * (code - 4), codes of
// 3 bits.
#pragma once

#include "block.h"

namespace rlx::formats::q3_k {

inline constexpr size_t kElements = 256;
struct Block {
  uint8_t hmask[32];
  uint8_t qs[64];
  uint8_t scales[12];
  uint8_t d[2];
};

RLX_INLINE void unpack(const Block& x, float* y) {
  const float d = load_half(x.d);
  int scales[16];  // 6 bits each: low nibbles in bytes 0-7, high pairs in bytes 8-11
  for (int i = 0; i < 16; ++i) {
    const int low = i < 8 ? x.scales[i] & 15 : x.scales[i - 8] >> 4;
    scales[i] = (low | ((x.scales[8 + i % 4] >> (2 * (i / 4))) & 3) << 4) - 32;
  }
  for (int half = 0; half < 2; ++half) {
    for (int j = 0; j < 4; ++j) {
      for (int part = 0; part < 2; ++part, y += 16) {
        const float scale = d * static_cast<float>(scales[half * 8 + j * 2 + part]);
        const uint8_t* q = x.qs + half * 32 + part * 16;
        const uint8_t* high = x.hmask + part * 16;
        for (int i = 0; i < 16; ++i) {
          const int bit = (high[i] >> (half * 4 + j)) & 1;
          y[i] = scale * static_cast<float>(((q[i] >> (2 * j)) & 3) - 4 * (1 - bit));
        }
      }
    }
  }
}

}  // namespace rlx::formats::q3_k
