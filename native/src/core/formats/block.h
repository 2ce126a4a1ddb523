// What several packed formats share.
#pragma once

#include "../half.h"

#if defined(__AVX2__)
#include <immintrin.h>
#elif defined(__ARM_NEON)
#include <arm_neon.h>
#endif

namespace rlx::formats {

RLX_INLINE float load_half(const uint8_t* p) {
#if defined(__F16C__)
  return _cvtsh_ss(load_u16(p));
#else
  return half_to_f32(load_u16(p));
#endif
}

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

// What each nibble of 16 bytes stands for: the low ones, then the high ones.
RLX_INLINE void look_up_nibbles(const int8_t* values, const uint8_t* qs, int8_t* codes) {
#if defined(__AVX2__)
  const __m256i table = _mm256_broadcastsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(values)));
  const __m256i x = _mm256_broadcastsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(qs)));
  const __m256i nibbles = _mm256_srlv_epi64(x, _mm256_setr_epi64x(0, 0, 4, 4));
  const __m256i found = _mm256_shuffle_epi8(table, _mm256_and_si256(nibbles, _mm256_set1_epi8(15)));
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(codes), found);
#elif defined(__ARM_NEON)
  const int8x16_t table = vld1q_s8(values);
  const uint8x16_t x = vld1q_u8(qs);
  vst1q_s8(codes, vqtbl1q_s8(table, vandq_u8(x, vdupq_n_u8(15))));
  vst1q_s8(codes + 16, vqtbl1q_s8(table, vshrq_n_u8(x, 4)));
#else
  for (int i = 0; i < 16; ++i) {
    codes[i] = values[qs[i] & 15];
    codes[i + 16] = values[qs[i] >> 4];
  }
#endif
}

// Coded types: value = scale * code, whole codes of -128..127 and one scale for each `kGroup`
// values. Their headers say how a block becomes codes and scales; this makes values of those.
template <size_t kElements, size_t kGroup>
struct Coded {
  alignas(64) int8_t codes[kElements];
  float scales[kElements / kGroup];

  __attribute__((always_inline)) void values(float* y) const {
    for (size_t g = 0; g < kElements / kGroup; ++g) {
      const float scale = scales[g];
      for (size_t i = g * kGroup; i < (g + 1) * kGroup; ++i) y[i] = scale * static_cast<float>(codes[i]);
    }
  }
};

// Coded types with 16 whole scales: value = factor * scale * code. `read_whole` of a block gives
// its codes, scales and factor. Products of factor and scale are exact.
template <class Block>
__attribute__((always_inline)) inline void scale_whole(const Block& x,
                                                       float (*read_whole)(const Block&, int8_t*, int8_t*),
                                                       int8_t* codes, float* scales) {
  int8_t whole[16];
  const float factor = read_whole(x, codes, whole);
  for (int i = 0; i < 16; ++i) scales[i] = factor * static_cast<float>(whole[i]);
}

}  // namespace rlx::formats
