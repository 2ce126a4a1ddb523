// Q4_0: value = d * (code - 8), codes of 4 bits.
#pragma once

#include "block.h"
#include "fit.h"
#include "layouts.h"

namespace rlx::formats::q4_0 {

RLX_INLINE void unpack(const Block& x, float* y) {
  const float d = load_half(x.d);
  for (int i = 0; i < 16; ++i) {
    y[i] = static_cast<float>((x.qs[i] & 15) - 8) * d;
    y[i + 16] = static_cast<float>((x.qs[i] >> 4) - 8) * d;
  }
}

// Without an importance ggml's rule, byte for byte: the largest magnitude gets code 0.
RLX_INLINE void pack(const float* x, fit::Columns columns, Block& y) {
  const float peak = fit::peak<32>(x);
  float d = peak / -8.0f;
  if (columns.importance != nullptr) {
    float w[32];
    fit::weigh<32>(x, columns.importance, columns.mean_square, w);
    d = fit::scale_for(fit::Group<32>{x, w}, fit::Whole{-8.0f, 7.0f}, peak, -8.0f, 0.1f, 9);
  }
  const float inverse = fit::inverse_of(d);
  fit::store_half(d, y.d);
  fit::Bytes codes[4];
  for (int i = 0; i < 4; ++i) codes[i] = fit::bytes_of(fit::clamp(fit::load(x + 8 * i) * inverse + 8.5f, 0.0f, 15.0f));
  fit::store_nibbles(codes, y.qs);
}

}  // namespace rlx::formats::q4_0
