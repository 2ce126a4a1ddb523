// MXFP4: 32 values of 4 bits (sign, 2 bits of exponent, 1 of mantissa) times a power of two.
#pragma once

#include "block.h"

namespace rlx::formats::mxfp4 {

inline constexpr size_t kElements = 32;
inline constexpr size_t kGroup = 32;
inline constexpr int kLargest = 12;
struct Block {
  uint8_t exponent;
  uint8_t qs[16];
};

// Twice the values of the codes, which makes them whole; the factor is half the power of two.
inline constexpr int8_t kValues[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

// 2^(exponent - 128); the two smallest are subnormal.
RLX_INLINE float factor_of(uint8_t exponent) {
  return bits_to_f32(exponent < 2 ? 0x00200000u << exponent : static_cast<uint32_t>(exponent - 1) << 23);
}

RLX_INLINE void read(const Block& x, int8_t* codes, float* scales) {
  scales[0] = factor_of(x.exponent);
  look_up_nibbles(kValues, x.qs, codes);
}

RLX_INLINE void unpack(const Block& x, float* y) {
  Coded<kElements, kGroup> coded;
  read(x, coded.codes, coded.scales);
  coded.values(y);
}

}  // namespace rlx::formats::mxfp4
