// Q6_K: 16 groups of 16 with a signed 8-bit scale each: value = (d * scale) * (code - 32), codes of
// 6 bits.
#pragma once

#include "block.h"

namespace rlx::formats::q6_k {

inline constexpr size_t kElements = 256;
struct Block {
  uint8_t ql[128];
  uint8_t qh[64];
  int8_t scales[16];
  uint8_t d[2];
};

RLX_INLINE void unpack(const Block& x, float* y) {
  const float d = load_half(x.d);
  for (int half = 0; half < 2; ++half, y += 128) {
    const uint8_t* ql = x.ql + 64 * half;
    const uint8_t* qh = x.qh + 32 * half;
    for (int j = 0; j < 4; ++j) {  // 32 values: nibble j/2 of ql[32*(j%2)..], bits 2j of qh
      for (int part = 0; part < 2; ++part) {
        const float scale = d * static_cast<float>(x.scales[8 * half + 2 * j + part]);
        for (int i = 16 * part; i < 16 * part + 16; ++i) {
          const int low = (ql[i + 32 * (j & 1)] >> (4 * (j >> 1))) & 15;
          y[32 * j + i] = scale * static_cast<float>((low | ((qh[i] >> (2 * j)) & 3) << 4) - 32);
        }
      }
    }
  }
}

}  // namespace rlx::formats::q6_k
