// One chunk (256 weights) of a packed row as exact int16 with its f32 scales, for the panels. Plain
// loops, vectorised by the compiler for each instruction set.
#pragma once

#include "blocks.h"
#include "coded.h"
#include "internal.h"

namespace rlx::kernels::RLX_ISA {

// weight[i] = scale[i / 32] * q[i] + min[i / 32], with fine scales scale[i / 16]. K blocks fold the
// integer sub-block scale into q, so that all `scale` are equal and only scale[0] is set. With
// minimums of 16 what is taken off is min[0] * minimums[i / 16].
struct UnpackedChunk {
  int16_t* q;  // [256]
  float scale[16];
  float min[8];
  int16_t minimums[16];
};

// Minimums of a type: none, of 32 values, or whole ones of 16.
enum class Min { none, of32, of16 };
RLX_INLINE Min min_of(Type t) {
  if (has_minimums16(t)) return Min::of16;
  return t == Type::q4_1 || t == Type::q5_1 || t == Type::q4_k || t == Type::q5_k ? Min::of32 : Min::none;
}

// Low nibbles, then high nibbles, of 16 bytes as 32 words less `subtract`. The compiler unrolls
// loops of 16 before it would vectorise them, so this one is written out.
RLX_INLINE void unpack_nibbles(const uint8_t* qs, int subtract, int16_t* q) {
#if defined(__AVX2__)
  const __m128i x = _mm_loadu_si128(reinterpret_cast<const __m128i*>(qs)), low4 = _mm_set1_epi8(15);
  const __m256i less = _mm256_set1_epi16(static_cast<short>(subtract));
  const __m256i low = _mm256_cvtepu8_epi16(_mm_and_si128(x, low4));
  const __m256i high = _mm256_cvtepu8_epi16(_mm_and_si128(_mm_srli_epi16(x, 4), low4));
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(q), _mm256_sub_epi16(low, less));
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(q + 16), _mm256_sub_epi16(high, less));
#else
  for (int i = 0; i < 16; ++i) {
    q[i] = static_cast<int16_t>((qs[i] & 15) - subtract);
    q[i + 16] = static_cast<int16_t>((qs[i] >> 4) - subtract);
  }
#endif
}

// Bit i of `high` is worth 16 in word i.
RLX_INLINE void add_fifth_bits(uint32_t high, int16_t* q) {
#if defined(__AVX2__)
  const __m256i bit =
      _mm256_setr_epi16(1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, INT16_MIN);
  for (int half = 0; half < 2; ++half) {
    const __m256i all = _mm256_set1_epi16(static_cast<short>(high >> (16 * half)));
    const __m256i set = _mm256_cmpeq_epi16(_mm256_and_si256(all, bit), bit);
    __m256i* to = reinterpret_cast<__m256i*>(q + 16 * half);
    const __m256i old = _mm256_loadu_si256(to);
    _mm256_storeu_si256(to, _mm256_add_epi16(old, _mm256_and_si256(set, _mm256_set1_epi16(16))));
  }
#else
  for (int i = 0; i < 32; ++i) q[i] = static_cast<int16_t>(q[i] + static_cast<int>(((high >> i) & 1u) << 4));
#endif
}

RLX_INLINE void unpack_block32(Type type, const uint8_t* p, int16_t* q, float* scale, float* min) {
  *scale = load_half(p);
  *min = 0.0f;
  switch (type) {
    case Type::q8_0:
      for (int i = 0; i < 32; ++i) q[i] = static_cast<int8_t>(p[2 + i]);
      break;
    case Type::q4_0: unpack_nibbles(p + 2, 8, q); break;
    case Type::q4_1:
      *min = load_half(p + 2);
      unpack_nibbles(p + 4, 0, q);
      break;
    case Type::q5_0:
      unpack_nibbles(p + 6, 16, q);
      add_fifth_bits(load_u32(p + 2), q);
      break;
    case Type::q5_1:
      *min = load_half(p + 2);
      unpack_nibbles(p + 8, 0, q);
      add_fifth_bits(load_u32(p + 4), q);
      break;
    default: break;
  }
}

template <class Block>
RLX_INLINE void unpack_q45(const Block& b, UnpackedChunk& out) {
  const PackedScales s = unpack_scales(b.scales);
  const float dmin = load_half(b.dmin);
  out.scale[0] = load_half(b.d);
  for (int j = 0; j < 8; ++j) out.min[j] = -dmin * static_cast<float>(byte_of(s.min, j));
  for (int j = 0; j < 4; ++j) {
    const int16_t first = static_cast<int16_t>(byte_of(s.scale, 2 * j));
    const int16_t second = static_cast<int16_t>(byte_of(s.scale, 2 * j + 1));
    const uint8_t* qs = b.qs + 32 * j;
    int16_t* q = out.q + 64 * j;
    for (int i = 0; i < 32; ++i) {
      int low = qs[i] & 15, high = qs[i] >> 4;
      if constexpr (sizeof(Block) == sizeof(BlockQ5K)) {
        low |= ((b.qh[i] >> (2 * j)) & 1) << 4;
        high |= ((b.qh[i] >> (2 * j + 1)) & 1) << 4;
      }
      q[i] = static_cast<int16_t>(low * first);
      q[i + 32] = static_cast<int16_t>(high * second);
    }
  }
}

RLX_INLINE void unpack_q6(const BlockQ6K& b, UnpackedChunk& out) {
  out.scale[0] = load_half(b.d);
  for (int half = 0; half < 2; ++half) {
    const uint8_t* ql = b.ql + 64 * half;
    const uint8_t* qh = b.qh + 32 * half;
    int16_t* q = out.q + 128 * half;
    const int8_t* s = b.scales + 8 * half;
    for (int part = 0; part < 2; ++part) {
      const int16_t s0 = s[part], s1 = s[2 + part], s2 = s[4 + part], s3 = s[6 + part];
      for (int i = 16 * part; i < 16 * part + 16; ++i) {
        const int h = qh[i];
        q[i] = static_cast<int16_t>((((ql[i] & 15) | (h & 3) << 4) - 32) * s0);
        q[i + 32] = static_cast<int16_t>((((ql[i + 32] & 15) | ((h >> 2) & 3) << 4) - 32) * s1);
        q[i + 64] = static_cast<int16_t>((((ql[i] >> 4) | ((h >> 4) & 3) << 4) - 32) * s2);
        q[i + 96] = static_cast<int16_t>((((ql[i + 32] >> 4) | (h >> 6) << 4) - 32) * s3);
      }
    }
  }
}

// Codes times their scales. (Written out: see unpack_nibbles.)
RLX_INLINE void multiply_whole(const WholeChunk& chunk, int16_t* q) {
#if defined(__AVX2__)
  unrolled<16>([&](auto j) RLX_LAMBDA {
    const __m256i codes = _mm256_cvtepi8_epi16(_mm_load_si128(reinterpret_cast<const __m128i*>(chunk.codes + 16 * j)));
    const __m256i product = _mm256_mullo_epi16(codes, _mm256_set1_epi16(chunk.scales[j]));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(q + 16 * j), product);
  });
#else
  for (size_t i = 0; i < kChunk; ++i) q[i] = static_cast<int16_t>(chunk.codes[i] * chunk.scales[i / 16]);
#endif
}

// The chunk of `n` weights at p; q is zero behind n.
RLX_INLINE void unpack_chunk(Type type, const uint8_t* p, size_t n, UnpackedChunk& out) {
  switch (type) {
    case Type::q4_k: return unpack_q45(*reinterpret_cast<const BlockQ4K*>(p), out);
    case Type::q5_k: return unpack_q45(*reinterpret_cast<const BlockQ5K*>(p), out);
    case Type::q6_k: return unpack_q6(*reinterpret_cast<const BlockQ6K*>(p), out);
    default: break;
  }
  if (const ReadWhole read = whole_reader(type)) {
    WholeChunk chunk;
    read(p, n, chunk);
    multiply_whole(chunk, out.q);
    out.scale[0] = chunk.factor;
    memset(out.min, 0, sizeof out.min);
    if (has_minimums16(type)) {
      for (size_t j = 0; j < 16; ++j) out.minimums[j] = chunk.minimums[j];
      out.min[0] = chunk.unit;
    }
    return;
  }
  if (const ReadChunk read = chunk_reader(type)) {
    CodedChunk chunk;
    read(p, n, chunk);
    for (size_t i = 0; i < kChunk; ++i) out.q[i] = chunk.codes[i];
    memcpy(out.scale, chunk.scales, (has_fine_scales(type) ? 16 : 8) * sizeof(float));
    memset(out.min, 0, sizeof out.min);
    return;
  }
  for (size_t b = 0; b < 8; ++b) {
    if (32 * b < n) {
      unpack_block32(type, p + b * type_info(type).bytes, out.q + 32 * b, out.scale + b, out.min + b);
    } else {
      memset(out.q + 32 * b, 0, 64);
      out.scale[b] = out.min[b] = 0.0f;
    }
  }
}

}  // namespace rlx::kernels::RLX_ISA
