// Q6_K: 16 groups of 16 with a signed 8-bit scale each: value = (d * scale) * (code - 32), codes of
// 6 bits.
#pragma once

#include "block.h"
#include "fit.h"

namespace rlx::formats::q6_k {

inline constexpr size_t kElements = 256;
struct Block {
  uint8_t ql[128];
  uint8_t qh[64];
  int8_t scales[16];
  uint8_t d[2];
};

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
  const float* importance = columns.importance;
  float w[256], scales[16];
  float largest = 0.0f;
  const float spread = importance == nullptr ? 0.0f : fit::mean_square<256>(x);
  for (int g = 0; g < 16; ++g) {
    const float* part = x + 16 * g;
    float* own = w + 16 * g;
    if (importance == nullptr) {
      for (int i = 0; i < 16; ++i) own[i] = part[i] * part[i];
    } else {
      fit::weigh<16>(part, importance + 16 * g, spread, own);
    }
    scales[g] = fit::scale_of<16>(part, own, -32.0f, 31.0f);
    if (std::fabs(scales[g]) > std::fabs(largest)) largest = scales[g];
  }
  const float unit = fit::as_half(largest / -128.0f);
  fit::store_half(unit, y.d);
  float codes[256];
  for (int g = 0; g < 16; ++g) {
    const int scale = fit::best_multiple<16>(x + 16 * g, w + 16 * g, unit, scales[g], -128, 127, -32.0f, 31.0f);
    y.scales[g] = static_cast<int8_t>(scale);
    fit::codes_of<16>(x + 16 * g, unit * static_cast<float>(scale), -32.0f, 31.0f, codes + 16 * g);
  }
  for (int half = 0; half < 2; ++half) {
    const float* c = codes + 128 * half;
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
