// Q8_0: value = d * code, codes of 8 bits.
#pragma once

#include "block.h"
#include "fit.h"
#include "layouts.h"

namespace rlx::formats::q8_0 {

RLX_INLINE void unpack(const Block& x, float* y) {
  const float d = load_half(x.d);
  for (int i = 0; i < 32; ++i) y[i] = static_cast<float>(x.qs[i]) * d;
}

// ggml's rule, byte for byte: the largest magnitude gets 127, halves are rounded away from 0.
RLX_INLINE void pack(const float* x, fit::Columns, Block& y) {
  const float d = fit::largest_magnitude<32>(x) / 127.0f;
  const float inverse = fit::inverse_of(d);
  fit::store_half(d, y.d);
  for (int i = 0; i < 32; ++i) y.qs[i] = static_cast<int8_t>(__builtin_roundf(x[i] * inverse));
}

}  // namespace rlx::formats::q8_0
