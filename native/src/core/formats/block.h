// What several packed formats share.
#pragma once

#include "../half.h"

namespace rlx::formats {

RLX_INLINE float load_half(const uint8_t* p) { return half_to_f32(load_u16(p)); }

// The eight 6-bit scales and minimums of Q4_K and Q5_K as bytes of two 64-bit words (byte j =
// sub-block j).
struct PackedScales {
  uint64_t scale, min;
};
RLX_INLINE PackedScales unpack_scales(const uint8_t* s) {
  const uint32_t a = load_u32(s), b = load_u32(s + 4), c = load_u32(s + 8);
  const uint32_t high_scale = (c & 0x0f0f0f0fu) | ((a >> 2) & 0x30303030u);
  const uint32_t high_min = ((c >> 4) & 0x0f0f0f0fu) | ((b >> 2) & 0x30303030u);
  return {(a & 0x3f3f3f3fu) | static_cast<uint64_t>(high_scale) << 32,
          (b & 0x3f3f3f3fu) | static_cast<uint64_t>(high_min) << 32};
}
RLX_INLINE void pack_scales(const uint8_t* scale, const uint8_t* min, uint8_t* s) {
  for (int j = 0; j < 4; ++j) {
    s[j] = static_cast<uint8_t>(scale[j] | (scale[j + 4] >> 4) << 6);
    s[j + 4] = static_cast<uint8_t>(min[j] | (min[j + 4] >> 4) << 6);
    s[j + 8] = static_cast<uint8_t>((scale[j + 4] & 15) | (min[j + 4] & 15) << 4);
  }
}
RLX_INLINE int byte_of(uint64_t v, int i) { return static_cast<int>((v >> (8 * i)) & 255u); }

// The values that a code of IQ4_NL and IQ4_XS stands for.
inline constexpr int8_t kIq4Values[16] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};

}  // namespace rlx::formats
