// Q2_0: value = (code - 1) * d, codes of 2 bits.
#pragma once

#include "block.h"
#include "fit.h"
#include "layouts.h"

namespace rlx::formats::q2_0 {

RLX_INLINE void read(const Block& x, int8_t* codes, float* scales) {
  scales[0] = load_half(x.d);
  for (int i = 0; i < 16; ++i) {
    // Four codes of a byte to four bytes, then less 1: no borrow with the top bits set.
    const uint32_t q = x.qs[i];
    const uint32_t four = (q | q << 6 | q << 12 | q << 18) & 0x03030303u;
    const uint32_t less = ((four | 0x80808080u) - 0x01010101u) ^ 0x80808080u;
    std::memcpy(codes + 4 * i, &less, 4);
  }
}

RLX_INLINE void unpack(const Block& x, float* y) {
  Coded<kElements, kGroup> coded;
  read(x, coded.codes, coded.scales);
  coded.values(y);
}

// ggml's rule, byte for byte: the largest magnitude is the scale.
RLX_INLINE void pack(const float* x, fit::Columns, Block& y) {
  const float d = fit::largest_magnitude<64>(x), inverse = fit::inverse_of(d);
  fit::store_half(d, y.d);
  for (int i = 0; i < 16; ++i) {
    int four = 0;
    for (int j = 0; j < 4; ++j)
      four |= (static_cast<int>(fit::clamp(__builtin_roundf(x[4 * i + j] * inverse), -1.0f, 1.0f)) + 1) << (2 * j);
    y.qs[i] = static_cast<uint8_t>(four);
  }
}

}  // namespace rlx::formats::q2_0
