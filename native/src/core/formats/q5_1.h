// Q5_1: value = d * code + m, codes of 5 bits. The fifth bit of value i is bit i of qh.
#pragma once

#include "block.h"

namespace rlx::formats::q5_1 {

inline constexpr size_t kElements = 32;
struct Block {
  uint8_t d[2], m[2];
  uint8_t qh[4];
  uint8_t qs[16];
};

RLX_INLINE void unpack(const Block& x, float* y) {
  const float d = load_half(x.d), m = load_half(x.m);
  const uint32_t high = load_u32(x.qh);
  for (int i = 0; i < 16; ++i) {
    const int lo = (x.qs[i] & 15) | static_cast<int>((high >> i) & 1u) << 4;
    const int hi = (x.qs[i] >> 4) | static_cast<int>((high >> (i + 16)) & 1u) << 4;
    y[i] = static_cast<float>(lo) * d + m;
    y[i + 16] = static_cast<float>(hi) * d + m;
  }
}

}  // namespace rlx::formats::q5_1
