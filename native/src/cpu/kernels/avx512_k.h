// Few tokens against rows of K blocks with AVX-512: Q4_K, Q5_K and Q6_K, a chunk of 256 quants at a time.
//
// The quants of a sub-block lie in the same lanes of two registers, so that its 6- or 8-bit scale is applied once, in
// int32: a chunk is one exact integer per lane. Speed here is the number of vector operations.
#pragma once

#include "avx512_rows.h"

namespace rlx::kernels::RLX_ISA {

template <class Block>
inline constexpr bool kFive = sizeof(Block) == sizeof(BlockQ5K);

// A chunk of Q4_K or Q5_K with its 256 quants as bytes. Each lane of 128 bits belongs to one sub-block: `even` holds
// the first and the last 16 quants of sub-blocks 0 2 4 6, `odd` those of 1 3 5 7.
struct Chunk45 {
  __m512i even[2], odd[2];
  __m512i scale;  // of every lane of 16 bits, as the products are packed
  __m256 mins;
  __m128 d;  // d, dmin
};

// One bit of each byte, moved to bit 4; a different one in each lane of 128 bits.
RLX_INLINE __m512i bits_to_fifth(int first) {
  const auto m = [](int bit) RLX_LAMBDA { return static_cast<long long>(1ull << (24 + bit)); };
  return _mm512_setr_epi64(m(first), m(first), m(first + 2), m(first + 2), m(first + 4), m(first + 4), m(first + 6),
                           m(first + 6));
}

// For vpshufb: byte i in each of four lanes of 16 bits, without sign.
RLX_INLINE long long w16(int i) {
  return static_cast<long long>(0x8000800080008000ull | 0x0001000100010001ull * static_cast<unsigned>(i));
}

template <class Block>
RLX_INLINE Chunk45 unpack45(const Block& b) {
  const __m512i low4 = _mm512_set1_epi8(15), to_low = _mm512_set1_epi64(kHighNibble);
  const __m512i x = load512_once(b.qs), y = load512_once(b.qs + 64);
  const __m512i q[2] = {starts_of(x, y), ends_of(x, y)};
  Chunk45 r;
  for (int i = 0; i < 2; ++i) {
    r.even[i] = _mm512_and_si512(q[i], low4);
    r.odd[i] = _mm512_gf2p8affine_epi64_epi8(q[i], to_low, 0);
    if constexpr (kFive<Block>) {
      const __m512i high = _mm512_broadcast_i32x4(load128(b.qh + 16 * i));
      r.even[i] = _mm512_or_si512(r.even[i], _mm512_gf2p8affine_epi64_epi8(high, bits_to_fifth(0), 0));
      r.odd[i] = _mm512_or_si512(r.odd[i], _mm512_gf2p8affine_epi64_epi8(high, bits_to_fifth(1), 0));
    }
  }
  const PackedScales s = unpack_scales(b.scales);
  const __m512i scales = _mm512_set1_epi64(static_cast<int64_t>(s.scale));
  const __m512i order = _mm512_setr_epi64(w16(0), w16(1), w16(2), w16(3), w16(4), w16(5), w16(6), w16(7));
  r.scale = _mm512_shuffle_epi8(scales, order);
  r.mins = _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(_mm_cvtsi64_si128(static_cast<int64_t>(s.min))));
  r.d = _mm_cvtph_ps(_mm_cvtsi32_si128(static_cast<int>(load_u32(b.d))));
  return r;
}

// sum of quants * activations of half a chunk, by planes: 32 bits for eight products each.
struct Sums {
  __m512i high, low;
};
// Planes of 256 bytes, the low one packed if Nibbles: two of the same half in a byte.
template <bool Nibbles>
RLX_INLINE Sums dot_half(__m512i start, const __m512i* quants, const int8_t* planes, size_t half) {
  const int8_t* high = planes + 128 * half;
  __m512i low[2];
  if constexpr (Nibbles) {
    const __m512i both = load512(planes + kChunk + 64 * half);
    low[0] = _mm512_and_si512(both, _mm512_set1_epi8(15));
    low[1] = _mm512_gf2p8affine_epi64_epi8(both, _mm512_set1_epi64(kHighNibble), 0);
  } else {
    low[0] = load512(high + kChunk);
    low[1] = load512(high + kChunk + 64);
  }
  return {dot_two(start, quants, load512(high), load512(high + 64)),
          dot_two(_mm512_setzero_si512(), quants, low[0], low[1])};
}

// scale * (16 * high + low) in int32, pairs of neighbours added. Packing loses nothing, see kActMax256.
RLX_INLINE __m512i scaled(const Sums& a, const Sums& b, __m512i scale, __m512i scale16) {
  const __m512i high = _mm512_dpwssd_epi32(_mm512_setzero_si512(), _mm512_packs_epi32(a.high, b.high), scale16);
  return _mm512_dpwssd_epi32(high, _mm512_packs_epi32(a.low, b.low), scale);
}

RLX_INLINE __m256 second_everywhere(__m128 v) {
  return _mm256_permutevar8x32_ps(_mm256_castps128_ps256(v), _mm256_set1_epi32(1));
}

template <int T>
RLX_INLINE void add45(const Chunk45& w, const RowsTask& task, size_t c, F* total, __m256* low) {
  for (int t = 0; t < T; ++t) {
    const size_t at = task.t0 + static_cast<size_t>(t);
    const int8_t* quants = task.act.planes(c, at);
    const __m512i even = dot_two(_mm512_setzero_si512(), w.even, load512(quants), load512(quants + 64));
    const __m512i odd = dot_two(_mm512_setzero_si512(), w.odd, load512(quants + 128), load512(quants + 192));
    // A lane of 16 bits is a group: its factor and the scale of its sub-block are one number.
    const __m512i factors = _mm512_mullo_epi16(w.scale, load512(quants + kChunk));
    const __m512i acc = _mm512_dpwssd_epi32(_mm512_setzero_si512(), _mm512_packs_epi32(even, odd), factors);
    const __m128 ds = _mm_mul_ps(w.d, _mm_set1_ps(task.act.scales(c)[at]));
    total[t] = ffma(_mm512_cvtepi32_ps(acc), _mm512_broadcastss_ps(ds), total[t]);
    const __m256 min = _mm256_mul_ps(w.mins, _mm256_loadu_ps(task.act.sums(c) + 8 * at));
    low[t] = _mm256_fmadd_ps(min, second_everywhere(ds), low[t]);
  }
}

template <class Block, int T>
RLX_INLINE void row_q45(const RowsTask& task, const uint8_t* row, F* total) {
  const Block* b = reinterpret_cast<const Block*>(row);
  __m256 low[T];
  for (int t = 0; t < T; ++t) {
    total[t] = fzero();
    low[t] = _mm256_setzero_ps();
  }
  each_chunk(
      task.k / kChunk, [b](size_t c) RLX_LAMBDA { return unpack45(b[c]); },
      [&](const Chunk45& chunk, size_t c) RLX_LAMBDA { add45<T>(chunk, task, c, total, low); });
  for (int t = 0; t < T; ++t) total[t] = total[t] - _mm512_zextps256_ps512(low[t]);
}

// A chunk of Q6_K with its 256 quants (32 added) as bytes. Lane i of 128 bits of `low` holds 8 quants of sub-block i and
// 8 of sub-block 8 + i, the first ones in low[0] and the last in low[1]; `high` those of 4 + i and 12 + i.
struct Chunk6 {
  __m512i low[2], high[2];
  __m512i scale, scale16;  // the scale of every lane of 16 bits, and 16 times that, in the order of scaled()
  __m128 d;
};

// Two bits of each byte, moved to bits 4 and 5: others in the upper half of the register than in the lower.
RLX_INLINE __m512i bits_to_top(int lower, int upper) {
  const auto m = [](int bit) RLX_LAMBDA { return static_cast<long long>(1ull << (24 + bit) | 1ull << (17 + bit)); };
  return _mm512_setr_epi64(m(lower), m(lower), m(lower), m(lower), m(upper), m(upper), m(upper), m(upper));
}
// Lanes of 16 bits: a a b b.
RLX_INLINE long long w4(long long a, long long b) { return a | a << 16 | b << 32 | b << 48; }

RLX_INLINE Chunk6 unpack6(const BlockQ6K& b) {
  const __m512i low4 = _mm512_set1_epi8(15), to_low = _mm512_set1_epi64(kHighNibble);
  const __m512i x = load512_once(b.ql), y = load512_once(b.ql + 64), top = load512_once(b.qh);
  const __m512i q[2] = {_mm512_unpacklo_epi64(x, y), _mm512_unpackhi_epi64(x, y)};
  const __m512i tops[2] = {_mm512_permutexvar_epi64(_mm512_setr_epi64(0, 4, 2, 6, 0, 4, 2, 6), top),
                           _mm512_permutexvar_epi64(_mm512_setr_epi64(1, 5, 3, 7, 1, 5, 3, 7), top)};
  Chunk6 r;
  for (int i = 0; i < 2; ++i) {
    const __m512i low_top = _mm512_gf2p8affine_epi64_epi8(tops[i], bits_to_top(0, 2), 0);
    r.low[i] = _mm512_ternarylogic_epi32(q[i], low4, low_top, 0xea);  // (q & low4) | low_top
    r.high[i] = _mm512_or_si512(_mm512_gf2p8affine_epi64_epi8(q[i], to_low, 0),
                                _mm512_gf2p8affine_epi64_epi8(tops[i], bits_to_top(4, 6), 0));
  }
  // Lane i: the scales of i i 8+i 8+i 4+i 4+i 12+i 12+i, as the products are packed.
  const __m512i order = _mm512_setr_epi64(w4(0, 8), w4(4, 12), w4(1, 9), w4(5, 13), w4(2, 10), w4(6, 14), w4(3, 11),
                                          w4(7, 15));
  r.scale = _mm512_permutexvar_epi16(order, _mm512_castsi256_si512(_mm256_cvtepi8_epi16(load128(b.scales))));
  r.scale16 = _mm512_slli_epi16(r.scale, 4);
  r.d = _mm_cvtph_ps(_mm_cvtsi32_si128(load_u16(b.d)));
  return r;
}

template <int T, bool Nibbles>
RLX_INLINE void add6(const Chunk6& w, const RowsTask& task, size_t c, F* total) {
  for (int t = 0; t < T; ++t) {
    const size_t at = task.t0 + static_cast<size_t>(t);
    const int8_t* planes = task.act.planes(c, at);
    // -2 * (sum of the values that share the lane): minus 32 of every quant, in units of the high plane.
    const int8_t* offsets = planes + (Nibbles ? kNibblePlanes : kBytePlanes);
    const Sums low = dot_half<Nibbles>(_mm512_cvtepi16_epi32(load256(offsets)), w.low, planes, 0);
    const Sums high = dot_half<Nibbles>(_mm512_cvtepi16_epi32(load256(offsets + 32)), w.high, planes, 1);
    const __m512i acc = scaled(low, high, w.scale, w.scale16);
    const __m128 ds = _mm_mul_ss(w.d, _mm_load_ss(task.act.scales(c) + at));
    total[t] = ffma(_mm512_cvtepi32_ps(acc), _mm512_broadcastss_ps(ds), total[t]);
  }
}

template <int T, bool Nibbles>
RLX_INLINE void row_q6(const RowsTask& task, const uint8_t* row, F* total) {
  const BlockQ6K* b = reinterpret_cast<const BlockQ6K*>(row);
  for (int t = 0; t < T; ++t) total[t] = fzero();
  each_chunk(
      task.k / kChunk, [b](size_t c) RLX_LAMBDA { return unpack6(b[c]); },
      [&](const Chunk6& chunk, size_t c) RLX_LAMBDA { add6<T, Nibbles>(chunk, task, c, total); });
}

}  // namespace rlx::kernels::RLX_ISA
