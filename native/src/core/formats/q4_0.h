// Q4_0: value = d * (code - 8), codes of 4 bits.
#pragma once

#include "block.h"
#include "fit.h"

namespace rlx::formats::q4_0 {

inline constexpr size_t kElements = 32;
struct Block {
  uint8_t d[2];
  uint8_t qs[16];
};

RLX_INLINE void unpack(const Block& x, float* y) {
  const float d = load_half(x.d);
  for (int i = 0; i < 16; ++i) {
    y[i] = static_cast<float>((x.qs[i] & 15) - 8) * d;
    y[i + 16] = static_cast<float>((x.qs[i] >> 4) - 8) * d;
  }
}

// Without an importance ggml's rule, byte for byte: the value with the largest magnitude gets code 0.
RLX_INLINE void pack(const float* x, fit::Columns columns, Block& y) {
  float d = fit::peak<32>(x) / -8.0f;
  if (columns.importance != nullptr) {
    float w[32];
    fit::weigh<32>(x, columns.importance, columns.mean_square, w);
    d = fit::scale_for<32>(x, w, fit::Whole{-8.0f, 7.0f}, -8.0f, 0.1f, 9);
  }
  const float inverse = fit::inverse_of(d);
  fit::store_half(d, y.d);
  const auto code = [inverse](float v) { return static_cast<uint8_t>(fit::clamp(v * inverse + 8.5f, 0.0f, 15.0f)); };
  for (int i = 0; i < 16; ++i) y.qs[i] = static_cast<uint8_t>(code(x[i]) | code(x[i + 16]) << 4);
}

}  // namespace rlx::formats::q4_0
