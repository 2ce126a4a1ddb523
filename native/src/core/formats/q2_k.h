// Q2_K: 16 groups of 16 with a 4-bit scale and a 4-bit minimum each: value = (d * scale) * code -
// dmin * minimum, codes of 2 bits.
#pragma once

#include "block.h"
#include "fit.h"
#include "layouts.h"

namespace rlx::formats::q2_k {

// value = factor * scale * code - dmin * minimum, whole scales and minimums of 16 values; the
// factor.
RLX_INLINE float read_whole(const Block& x, int8_t* codes, int8_t* scales, int8_t* minimums) {
  for (int i = 0; i < 16; ++i) {
    scales[i] = static_cast<int8_t>(x.scales[i] & 15);
    minimums[i] = static_cast<int8_t>(x.scales[i] >> 4);
  }
  for (int half = 0; half < 2; ++half) {
    for (int j = 0; j < 4; ++j, codes += 32) {
      for (int i = 0; i < 32; ++i) codes[i] = static_cast<int8_t>((x.qs[32 * half + i] >> (2 * j)) & 3);
    }
  }
  return load_half(x.d);
}

RLX_INLINE void unpack(const Block& x, float* y) {
  const float d = load_half(x.d), dmin = load_half(x.dmin);
  for (int half = 0; half < 2; ++half) {
    for (int j = 0; j < 4; ++j) {
      for (int part = 0; part < 2; ++part, y += 16) {
        const uint8_t sc = x.scales[half * 8 + j * 2 + part];
        const float scale = d * static_cast<float>(sc & 15), min = dmin * static_cast<float>(sc >> 4);
        const uint8_t* q = x.qs + half * 32 + part * 16;
        for (int i = 0; i < 16; ++i) y[i] = scale * static_cast<float>((q[i] >> (2 * j)) & 3) - min;
      }
    }
  }
}

RLX_INLINE void pack(const float* x, fit::Columns columns, Block& y) {
  const fit::LineBlock<16, 16> found = fit::line_block<16, 16>(x, columns, 15, 3.0f);
  fit::store_half(found.unit.scale, y.d);
  fit::store_half(found.unit.minimum, y.dmin);
  for (int g = 0; g < 16; ++g)
    y.scales[g] = static_cast<uint8_t>(found.multiples[g].scale | found.multiples[g].minimum << 4);
  for (int half = 0; half < 2; ++half) {
    for (int i = 0; i < 32; ++i) {
      const float* c = found.codes + 128 * half + i;
      y.qs[32 * half + i] = static_cast<uint8_t>(static_cast<int>(c[0]) | static_cast<int>(c[32]) << 2 |
                                                 static_cast<int>(c[64]) << 4 | static_cast<int>(c[96]) << 6);
    }
  }
}

}  // namespace rlx::formats::q2_k
