// Q1_0: value = d where the bit is set, -d where not.
#pragma once

#include "grid.h"
#include "fit.h"
#include "layouts.h"

namespace rlx::formats::q1_0 {

RLX_INLINE void read(const Block& x, int8_t* codes, float* scales) {
  scales[0] = load_half(x.d);
  for (int i = 0; i < 16; ++i) {
    // Eight bits become eight bytes: 1 or, under the mask, -1.
    grid::store_signed(grid::kOnes, ~grid::kSigns[x.qs[i]], codes + 8 * i);
  }
}

RLX_INLINE void unpack(const Block& x, float* y) {
  Coded<kElements, kGroup> coded;
  read(x, coded.codes, coded.scales);
  coded.values(y);
}

// ggml's rule, byte for byte: the mean magnitude is the scale, 0 counts as positive.
RLX_INLINE void pack(const float* x, fit::Columns, Block& y) {
  float sum = 0.0f;
  for (int i = 0; i < 128; ++i) sum += __builtin_fabsf(x[i]);
  fit::store_half(sum / 128.0f, y.d);
  for (int i = 0; i < 16; ++i) {
    int bits = 0;
    for (int j = 0; j < 8; ++j) bits |= (x[8 * i + j] >= 0.0f ? 1 : 0) << j;
    y.qs[i] = static_cast<uint8_t>(bits);
  }
}

}  // namespace rlx::formats::q1_0
