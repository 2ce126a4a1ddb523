// Q8_0: value = d * code, codes of 8 bits.
#pragma once

#include "block.h"

namespace rlx::formats::q8_0 {

inline constexpr size_t kElements = 32;
struct Block {
  uint8_t d[2];
  int8_t qs[32];
};

RLX_INLINE void unpack(const Block& x, float* y) {
  const float d = load_half(x.d);
  for (int i = 0; i < 32; ++i) y[i] = static_cast<float>(x.qs[i]) * d;
}

}  // namespace rlx::formats::q8_0
