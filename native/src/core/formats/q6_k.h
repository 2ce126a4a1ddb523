// Q6_K: 16 groups of 16 with a signed 8-bit scale each: value = (d * scale) * (code - 32), codes of
// 6 bits.
#pragma once

#include "block.h"
#include "fit.h"
#include "layouts.h"

namespace rlx::formats::q6_k {

RLX_INLINE void unpack(const Block& x, float* y) {
  const float d = load_half(x.d);
  for (int half = 0; half < 2; ++half, y += 128) {
    const uint8_t* ql = x.ql + 64 * half;
    const uint8_t* qh = x.qh + 32 * half;
    for (int j = 0; j < 4; ++j) {  // 32 values: nibble j/2 of ql[32*(j%2)..], bits 2j of qh
      for (int part = 0; part < 2; ++part) {
        const float scale = d * static_cast<float>(x.scales[8 * half + 2 * j + part]);
        for (int i = 16 * part; i < 16 * part + 16; ++i) {
          const int low = (ql[i + 32 * (j & 1)] >> (4 * (j >> 1))) & 15;
          y[32 * j + i] = scale * static_cast<float>((low | ((qh[i] >> (2 * j)) & 3) << 4) - 32);
        }
      }
    }
  }
}

RLX_INLINE void pack(const float* x, fit::Columns columns, Block& y) {
  const auto found = fit::scale_block<16, 16>(x, columns, fit::Whole{-32.0f, 31.0f}, -32.0f, 0.1f, 9, -128, 127);
  fit::store_half(found.unit, y.d);
  for (int g = 0; g < 16; ++g) y.scales[g] = static_cast<int8_t>(found.multiples[g]);
  for (int half = 0; half < 2; ++half) {
    const float* c = found.codes + 128 * half;
    for (int i = 0; i < 32; ++i) {
      const int a = static_cast<int>(c[i]) + 32, b = static_cast<int>(c[i + 32]) + 32;
      const int e = static_cast<int>(c[i + 64]) + 32, f = static_cast<int>(c[i + 96]) + 32;
      y.ql[64 * half + i] = static_cast<uint8_t>((a & 15) | (e & 15) << 4);
      y.ql[64 * half + i + 32] = static_cast<uint8_t>((b & 15) | (f & 15) << 4);
      y.qh[32 * half + i] = static_cast<uint8_t>(a >> 4 | (b >> 4) << 2 | (e >> 4) << 4 | (f >> 4) << 6);
    }
  }
}

}  // namespace rlx::formats::q6_k
