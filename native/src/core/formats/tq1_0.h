// TQ1_0: value = digit * d, digits of -1, 0, 1. A byte holds five of them to the base 3 as a
// fraction: digit n is the whole part of three times what is left after multiplying by 3^n.
#pragma once

#include "block.h"

namespace rlx::formats::tq1_0 {

inline constexpr size_t kElements = 256;
inline constexpr size_t kGroup = 256;
inline constexpr int kLargest = 1;
struct Block {
  uint8_t qs[48];
  uint8_t qh[4];
  uint8_t d[2];
};

// Three times a fraction of 256 is 256 and more from 86 on, 512 and more from 171 on.
template <int kBytes, int kDigits>
RLX_INLINE int8_t* digits_of(const uint8_t* bytes, int8_t* codes) {
  uint8_t fraction[kBytes];
  std::memcpy(fraction, bytes, kBytes);
  for (int digit = 0; digit < kDigits; ++digit, codes += kBytes) {
    for (int i = 0; i < kBytes; ++i) {
      codes[i] = static_cast<int8_t>((fraction[i] > 85) + (fraction[i] > 170) - 1);
      fraction[i] = static_cast<uint8_t>(fraction[i] * 3);
    }
  }
  return codes;
}

RLX_INLINE void read(const Block& x, int8_t* codes, float* scales) {
  scales[0] = load_half(x.d);
  codes = digits_of<32, 5>(x.qs, codes);
  codes = digits_of<16, 5>(x.qs + 32, codes);
  digits_of<4, 4>(x.qh, codes);
}

RLX_INLINE void unpack(const Block& x, float* y) {
  Coded<kElements, kGroup> coded;
  read(x, coded.codes, coded.scales);
  coded.values(y);
}

}  // namespace rlx::formats::tq1_0
