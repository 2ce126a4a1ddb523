// IQ4_NL: value = d * kIq4Values[code], codes of 4 bits.
#pragma once

#include "block.h"

namespace rlx::formats::iq4_nl {

inline constexpr size_t kElements = 32;
struct Block {
  uint8_t d[2];
  uint8_t qs[16];
};

RLX_INLINE void unpack(const Block& x, float* y) {
  const float d = load_half(x.d);
  for (int i = 0; i < 16; ++i) {
    y[i] = d * static_cast<float>(kIq4Values[x.qs[i] & 15]);
    y[i + 16] = d * static_cast<float>(kIq4Values[x.qs[i] >> 4]);
  }
}

}  // namespace rlx::formats::iq4_nl
