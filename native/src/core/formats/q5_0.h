// Q5_0: value = d * (code - 16), codes of 5 bits. The fifth bit of value i is bit i of qh.
#pragma once

#include "block.h"
#include "fit.h"
#include "layouts.h"

namespace rlx::formats::q5_0 {

RLX_INLINE void unpack(const Block& x, float* y) {
  const float d = load_half(x.d);
  const uint32_t high = load_u32(x.qh);
  for (int i = 0; i < 16; ++i) {
    const int lo = (x.qs[i] & 15) | static_cast<int>((high >> i) & 1u) << 4;
    const int hi = (x.qs[i] >> 4) | static_cast<int>((high >> (i + 16)) & 1u) << 4;
    y[i] = static_cast<float>(lo - 16) * d;
    y[i + 16] = static_cast<float>(hi - 16) * d;
  }
}

// Without an importance ggml's rule, byte for byte: the largest magnitude gets code 0.
RLX_INLINE void pack(const float* x, fit::Columns columns, Block& y) {
  const float peak = fit::peak<32>(x);
  float d = peak / -16.0f;
  if (columns.importance != nullptr) {
    float w[32];
    fit::weigh<32>(x, columns.importance, columns.mean_square, w);
    d = fit::scale_for(fit::Group<32>{x, w}, fit::Whole{-16.0f, 15.0f}, peak, -16.0f, 0.1f, 9);
  }
  const float inverse = fit::inverse_of(d);
  fit::store_half(d, y.d);
  fit::Bytes codes[4];
  for (int i = 0; i < 4; ++i) codes[i] = fit::bytes_of(fit::clamp(fit::load(x + 8 * i) * inverse + 16.5f, 0.0f, 31.0f));
  fit::store_nibbles(codes, y.qs);
  const uint32_t fifth = fit::bits_of(codes, 4);
  std::memcpy(y.qh, &fifth, 4);
}

}  // namespace rlx::formats::q5_0
