// NVFP4: 4 groups of 16 with an 8-bit float as scale: values of 4 bits as in MXFP4. The scale of
// the whole tensor is another tensor of the file and is not applied here.
#pragma once

#include <array>

#include "mxfp4.h"
#include "layouts.h"

namespace rlx::formats::nvfp4 {

// Half of the number (codes are twice theirs): 4 bits of exponent, 3 of mantissa. The top bit does
// not count; 0 and 127 are zero.
constexpr std::array<float, 256> halves_of_ue4m3() {
  std::array<float, 256> out{};
  for (unsigned byte = 0; byte < 256; ++byte) {
    const unsigned exponent = (byte >> 3) & 15u, mantissa = byte & 7u;
    if (byte == 127) continue;
    out[byte] = static_cast<float>(exponent == 0 ? mantissa : (8 + mantissa) << (exponent - 1)) * (1.0f / 1024);
  }
  return out;
}
inline constexpr auto kHalves = halves_of_ue4m3();
RLX_INLINE float half_of_ue4m3(uint8_t byte) { return kHalves[byte]; }

RLX_INLINE void read(const Block& x, int8_t* codes, float* scales) {
  for (int group = 0; group < 4; ++group) scales[group] = half_of_ue4m3(x.scales[group]);
#if defined(__AVX2__)
  const __m256i q = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(x.qs)), low4 = _mm256_set1_epi8(15);
  const __m256i low = _mm256_and_si256(q, low4), high = _mm256_and_si256(_mm256_srli_epi16(q, 4), low4);
  const __m256i values = _mm256_broadcastsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(mxfp4::kValues)));
  const __m256i even = _mm256_shuffle_epi8(values, _mm256_unpacklo_epi64(low, high));  // groups 0 2
  const __m256i odd = _mm256_shuffle_epi8(values, _mm256_unpackhi_epi64(low, high));   // groups 1 3
  __m256i* to = reinterpret_cast<__m256i*>(codes);
  _mm256_storeu_si256(to, _mm256_permute2x128_si256(even, odd, 0x20));
  _mm256_storeu_si256(to + 1, _mm256_permute2x128_si256(even, odd, 0x31));
#else
  for (int pair = 0; pair < 2; ++pair, codes += 32) {
    int8_t found[32];  // eights of groups 0 1 0 1
    look_up_nibbles(mxfp4::kValues, x.qs + 16 * pair, found);
    std::memcpy(codes, found, 8);
    std::memcpy(codes + 8, found + 16, 8);
    std::memcpy(codes + 16, found + 8, 8);
    std::memcpy(codes + 24, found + 24, 8);
  }
#endif
}

RLX_INLINE void unpack(const Block& x, float* y) {
  Coded<kElements, kGroup> coded;
  read(x, coded.codes, coded.scales);
  coded.values(y);
}

// The 8-bit float nearest to `x`, halves up. As ggml has it, all from 256 on is the largest one,
// and what would round up to the smallest normal number stays below it.
RLX_INLINE uint8_t scale_near(float x) {
  if (!(x > 0.0f)) return 0;
  const uint32_t bits = f32_to_bits(x);
  const int exponent = static_cast<int>(bits >> 23) - 120;
  if (exponent <= 0) return static_cast<uint8_t>(fit::clamp(x * 512.0f + 0.5f, 0.0f, 7.0f));
  const uint32_t code = (static_cast<uint32_t>(exponent) << 3 | (bits >> 20 & 7u)) + (bits >> 19 & 1u);
  return static_cast<uint8_t>(code < 120u ? code : 126u);
}

// ggml's rule, byte for byte: the largest magnitude of a group becomes 6.
RLX_INLINE void pack(const float* x, fit::Columns, Block& y) {
  for (int group = 0; group < 4; ++group, x += 16) {
    y.scales[group] = scale_near(fit::largest_magnitude<16>(x) / 6.0f);
    const float scale = half_of_ue4m3(y.scales[group]);
    for (int i = 0; i < 8; ++i)
      y.qs[8 * group + i] =
          static_cast<uint8_t>(mxfp4::nearest_place(x[i], scale) | mxfp4::nearest_place(x[i + 8], scale) << 4);
  }
}

}  // namespace rlx::formats::nvfp4
