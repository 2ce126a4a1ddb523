// Q3_K: 16 groups of 16 with a signed 6-bit scale each: value = (d * scale) * (code - 4), codes of
// 3 bits.
#pragma once

#include "block.h"
#include "fit.h"
#include "layouts.h"

namespace rlx::formats::q3_k {

RLX_INLINE float read_whole(const Block& x, int8_t* codes, int8_t* scales) {
  for (int i = 0; i < 16; ++i) {  // 6 bits each: low nibbles in bytes 0-7, high pairs in bytes 8-11
    const int low = i < 8 ? x.scales[i] & 15 : x.scales[i - 8] >> 4;
    scales[i] = static_cast<int8_t>((low | ((x.scales[8 + i % 4] >> (2 * (i / 4))) & 3) << 4) - 32);
  }
  for (int half = 0; half < 2; ++half) {
    const uint8_t* q = x.qs + half * 32;
    for (int j = 0; j < 4; ++j, codes += 32) {
      for (int i = 0; i < 32; ++i) {
        const int bit = (x.hmask[i] >> (half * 4 + j)) & 1;
        codes[i] = static_cast<int8_t>(((q[i] >> (2 * j)) & 3) + 4 * bit - 4);
      }
    }
  }
  return load_half(x.d);
}

RLX_INLINE void read(const Block& x, int8_t* codes, float* scales) { scale_whole(x, read_whole, codes, scales); }

RLX_INLINE void unpack(const Block& x, float* y) {
  Coded<kElements, kGroup> coded;
  read(x, coded.codes, coded.scales);
  coded.values(y);
}

RLX_INLINE void pack(const float* x, fit::Columns columns, Block& y) {
  const auto found = fit::scale_block<16, 16>(x, columns, fit::Whole{-4.0f, 3.0f}, -4.0f, 0.1f, 9, -32, 31);
  fit::store_half(found.unit, y.d);
  std::memset(y.hmask, 0, sizeof y.hmask);
  std::memset(y.scales, 0, sizeof y.scales);
  for (int g = 0; g < 16; ++g) {
    const int scale = found.multiples[g] + 32;
    uint8_t& low = y.scales[g % 8];
    low = static_cast<uint8_t>(low | (scale & 15) << (g < 8 ? 0 : 4));
    uint8_t& high = y.scales[8 + g % 4];
    high = static_cast<uint8_t>(high | (scale >> 4) << (2 * (g / 4)));
  }
  for (int half = 0; half < 2; ++half) {
    for (int i = 0; i < 32; ++i) {
      int low = 0, high = 0;
      for (int j = 0; j < 4; ++j) {
        const int code = static_cast<int>(found.codes[128 * half + 32 * j + i]) + 4;
        low |= (code & 3) << (2 * j);
        high |= (code >> 2) << (4 * half + j);
      }
      y.qs[32 * half + i] = static_cast<uint8_t>(low);
      y.hmask[i] = static_cast<uint8_t>(y.hmask[i] | high);
    }
  }
}

}  // namespace rlx::formats::q3_k
