// TQ2_0: value = (code - 1) * d, codes of 2 bits: -1, 0 or 1 in models trained for it.
#pragma once

#include "block.h"
#include "fit.h"
#include "layouts.h"

namespace rlx::formats::tq2_0 {

RLX_INLINE void read(const Block& x, int8_t* codes, float* scales) {
  scales[0] = load_half(x.d);
  for (int half = 0; half < 2; ++half) {
    for (int j = 0; j < 4; ++j, codes += 32) {
      // Four codes in a word, less 1: no borrow with the top bits set.
      uint32_t words[8];
      std::memcpy(words, x.qs + 32 * half, sizeof words);
      for (uint32_t& word : words)
        word = ((((word >> (2 * j)) & 0x03030303u) | 0x80808080u) - 0x01010101u) ^ 0x80808080u;
      std::memcpy(codes, words, sizeof words);
    }
  }
}

RLX_INLINE void unpack(const Block& x, float* y) {
  Coded<kElements, kGroup> coded;
  read(x, coded.codes, coded.scales);
  coded.values(y);
}

// ggml's rule, byte for byte: the largest magnitude is the scale.
RLX_INLINE void pack(const float* x, fit::Columns, Block& y) {
  const float d = fit::largest_magnitude<256>(x), inverse = fit::inverse_of(d);
  fit::store_half(d, y.d);
  for (int half = 0; half < 2; ++half) {
    for (int i = 0; i < 32; ++i) {
      int four = 0;
      for (int j = 0; j < 4; ++j)
        four |= (static_cast<int>(fit::clamp(__builtin_roundf(x[128 * half + 32 * j + i] * inverse), -1.0f, 1.0f)) + 1)
                << (2 * j);
      y.qs[32 * half + i] = static_cast<uint8_t>(four);
    }
  }
}

}  // namespace rlx::formats::tq2_0
