// IQ4_NL: value = d * kIq4Values[code], codes of 4 bits.
#pragma once

#include "block.h"

namespace rlx::formats::iq4_nl {

inline constexpr size_t kElements = 32;
inline constexpr size_t kGroup = 32;
inline constexpr int kLargest = 127;
struct Block {
  uint8_t d[2];
  uint8_t qs[16];
};

RLX_INLINE void read(const Block& x, int8_t* codes, float* scales) {
  scales[0] = load_half(x.d);
  look_up_nibbles(kIq4Values, x.qs, codes);
}

RLX_INLINE void unpack(const Block& x, float* y) {
  Coded<kElements, kGroup> coded;
  read(x, coded.codes, coded.scales);
  coded.values(y);
}

}  // namespace rlx::formats::iq4_nl
