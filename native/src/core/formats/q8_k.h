// Q8_K: value = d * code with an f32 scale, codes of 8 bits. ggml packs activations so; files
// rarely carry it.
#pragma once

#include "block.h"

namespace rlx::formats::q8_k {

inline constexpr size_t kElements = 256;
inline constexpr size_t kGroup = 256;
inline constexpr int kLargest = 128;
struct Block {
  uint8_t d[4];
  int8_t qs[256];
  uint8_t sums[32];  // i16 sums of 16 codes each: not needed to unpack
};

RLX_INLINE void read(const Block& x, int8_t* codes, float* scales) {
  scales[0] = bits_to_f32(load_u32(x.d));
  std::memcpy(codes, x.qs, sizeof x.qs);
}

RLX_INLINE void unpack(const Block& x, float* y) {
  Coded<kElements, kGroup> coded;
  read(x, coded.codes, coded.scales);
  coded.values(y);
}

}  // namespace rlx::formats::q8_k
