// Q8_K: value = d * code with an f32 scale, codes of 8 bits. ggml packs activations so; files
// rarely carry it.
#pragma once

#include "block.h"
#include "layouts.h"

namespace rlx::formats::q8_k {

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
