// Q5_K: 8 groups of 32 with a 6-bit scale and a 6-bit minimum each: value = (d * scale) * code -
// dmin * minimum, codes of 5 bits.
#pragma once

#include "block.h"
#include "fit.h"
#include "layouts.h"

namespace rlx::formats::q5_k {

RLX_INLINE void unpack(const Block& x, float* y) {
  const float d = load_half(x.d), dmin = load_half(x.dmin);
  const PackedScales s = unpack_scales(x.scales);
  for (int j = 0; j < 4; ++j, y += 64) {
    const float d0 = d * static_cast<float>(byte_of(s.scale, 2 * j));
    const float m0 = dmin * static_cast<float>(byte_of(s.min, 2 * j));
    const float d1 = d * static_cast<float>(byte_of(s.scale, 2 * j + 1));
    const float m1 = dmin * static_cast<float>(byte_of(s.min, 2 * j + 1));
    const uint8_t* q = x.qs + 32 * j;
    for (int i = 0; i < 32; ++i) {
      y[i] = d0 * static_cast<float>((q[i] & 15) + ((x.qh[i] >> (2 * j)) & 1) * 16) - m0;
    }
    for (int i = 0; i < 32; ++i) {
      y[i + 32] = d1 * static_cast<float>((q[i] >> 4) + ((x.qh[i] >> (2 * j + 1)) & 1) * 16) - m1;
    }
  }
}

RLX_INLINE void pack(const float* x, fit::Columns columns, Block& y) {
  const fit::LineBlock<8, 32> found = fit::line_block<8, 32>(x, columns, 63, 31.0f);
  fit::store_half(found.unit.scale, y.d);
  fit::store_half(found.unit.minimum, y.dmin);
  uint8_t scales[8], minimums[8];
  for (int g = 0; g < 8; ++g) {
    scales[g] = static_cast<uint8_t>(found.multiples[g].scale);
    minimums[g] = static_cast<uint8_t>(found.multiples[g].minimum);
  }
  pack_scales(scales, minimums, y.scales);
  std::memset(y.qh, 0, 32);
  for (int pair = 0; pair < 4; ++pair) {
    const float* c = found.codes + 64 * pair;
    for (int i = 0; i < 32; ++i) {
      const int a = static_cast<int>(c[i]), b = static_cast<int>(c[i + 32]);
      y.qs[32 * pair + i] = static_cast<uint8_t>((a & 15) | (b & 15) << 4);
      y.qh[i] = static_cast<uint8_t>(y.qh[i] | (a >> 4) << (2 * pair) | (b >> 4) << (2 * pair + 1));
    }
  }
}

}  // namespace rlx::formats::q5_k
