// MXFP4: 32 values of 4 bits (sign, 2 bits of exponent, 1 of mantissa) times a power of two.
#pragma once

#include "block.h"
#include "fit.h"
#include "layouts.h"

namespace rlx::formats::mxfp4 {

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

// The place of the nearest value, the first of two that are as near.
RLX_INLINE uint8_t nearest_place(float x, float factor) {
  uint8_t best = 0;
  float distance = __builtin_fabsf(static_cast<float>(kValues[0]) * factor - x);
  for (uint8_t i = 1; i < 16; ++i) {
    const float other = __builtin_fabsf(static_cast<float>(kValues[i]) * factor - x);
    if (other < distance) best = i, distance = other;
  }
  return best;
}

// ggml's rule, byte for byte: the power of two that brings the largest magnitude to 4..8.
RLX_INLINE void pack(const float* x, fit::Columns, Block& y) {
  const float largest = fit::largest_magnitude<32>(x);
  y.exponent =
      largest > 0.0f ? static_cast<uint8_t>(__builtin_floorf(__builtin_log2f(largest)) - 2.0f + 127.0f) : uint8_t{0};
  const float factor = factor_of(y.exponent);
  for (int i = 0; i < 16; ++i)
    y.qs[i] = static_cast<uint8_t>(nearest_place(x[i], factor) | nearest_place(x[i + 16], factor) << 4);
}

}  // namespace rlx::formats::mxfp4
