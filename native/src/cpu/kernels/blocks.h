// GGUF block layouts (facts of the file format) and how the 6-bit scales of K blocks unpack.
#pragma once

#include "simd/half.h"

namespace rlx::kernels::RLX_ISA {

struct BlockQ8_0 { uint8_t d[2]; int8_t qs[32]; };
struct BlockQ4_0 { uint8_t d[2]; uint8_t qs[16]; };
struct BlockQ4_1 { uint8_t d[2], m[2]; uint8_t qs[16]; };
struct BlockQ5_0 { uint8_t d[2]; uint8_t qh[4]; uint8_t qs[16]; };
struct BlockQ5_1 { uint8_t d[2], m[2]; uint8_t qh[4]; uint8_t qs[16]; };
struct BlockQ2K { uint8_t scales[16]; uint8_t qs[64]; uint8_t d[2], dmin[2]; };
struct BlockQ3K { uint8_t hmask[32]; uint8_t qs[64]; uint8_t scales[12]; uint8_t d[2]; };
struct BlockQ4K { uint8_t d[2], dmin[2]; uint8_t scales[12]; uint8_t qs[128]; };
struct BlockQ5K { uint8_t d[2], dmin[2]; uint8_t scales[12]; uint8_t qh[32]; uint8_t qs[128]; };
struct BlockQ6K { uint8_t ql[128]; uint8_t qh[64]; int8_t scales[16]; uint8_t d[2]; };

static_assert(sizeof(BlockQ8_0) == 34 && sizeof(BlockQ4_0) == 18 && sizeof(BlockQ4_1) == 20);
static_assert(sizeof(BlockQ5_0) == 22 && sizeof(BlockQ5_1) == 24);
static_assert(sizeof(BlockQ2K) == 84 && sizeof(BlockQ3K) == 110 && sizeof(BlockQ4K) == 144);
static_assert(sizeof(BlockQ5K) == 176 && sizeof(BlockQ6K) == 210);

// 32-blocks that store a minimum beside the scale.
template <class Block>
inline constexpr bool kHasMin = sizeof(Block) == sizeof(BlockQ4_1) || sizeof(Block) == sizeof(BlockQ5_1);

RLX_INLINE float load_half(const uint8_t* p) { return half_to_f32(load_u16(p)); }

// The eight 6-bit scales and minimums of Q4_K and Q5_K as bytes of two 64-bit words (byte j = sub-block j).
struct PackedScales { uint64_t scale, min; };
RLX_INLINE PackedScales unpack_scales(const uint8_t* s) {
  const uint32_t a = load_u32(s), b = load_u32(s + 4), c = load_u32(s + 8);
  const uint32_t high_scale = (c & 0x0f0f0f0fu) | ((a >> 2) & 0x30303030u);
  const uint32_t high_min = ((c >> 4) & 0x0f0f0f0fu) | ((b >> 2) & 0x30303030u);
  return {(a & 0x3f3f3f3fu) | static_cast<uint64_t>(high_scale) << 32,
          (b & 0x3f3f3f3fu) | static_cast<uint64_t>(high_min) << 32};
}
RLX_INLINE int byte_of(uint64_t v, int i) { return static_cast<int>((v >> (8 * i)) & 255u); }

}  // namespace rlx::kernels::RLX_ISA
