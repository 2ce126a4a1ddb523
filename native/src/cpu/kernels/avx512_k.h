// Few tokens against rows of K blocks with AVX-512: Q4_K, Q5_K and Q6_K, a chunk of 256 quants at a time.
//
// The quants of a sub-block lie in the same lanes of two registers (Q6_K: of one), so that its scale is applied once for
// a lane, with the factor of the activations there: a chunk is one exact integer per lane. Speed here is the number of
// vector operations.
#pragma once

#include "avx512_rows.h"

namespace rlx::kernels::RLX_ISA {

template <class Block>
inline constexpr bool kFive = sizeof(Block) == sizeof(BlockQ5K);

// The 256 quants of a chunk of Q4_K or Q5_K as bytes. Each lane of 128 bits belongs to one sub-block: `even` holds
// the first and the last 16 quants of sub-blocks 0 2 4 6, `odd` those of 1 3 5 7.
struct Quants45 {
  __m512i even[2], odd[2];
};

struct Chunk45 {
  Quants45 quants;
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
RLX_INLINE Quants45 quants45(const Block& b) {
  const __m512i low4 = _mm512_set1_epi8(15), to_low = _mm512_set1_epi64(kHighNibble);
  const __m512i x = load512_once(b.qs), y = load512_once(b.qs + 64);
  const __m512i q[2] = {starts_of(x, y), ends_of(x, y)};
  Quants45 r;
  for (int i = 0; i < 2; ++i) {
    r.even[i] = _mm512_and_si512(q[i], low4);
    r.odd[i] = _mm512_gf2p8affine_epi64_epi8(q[i], to_low, 0);
    if constexpr (kFive<Block>) {
      const __m512i high = _mm512_broadcast_i32x4(load128(b.qh + 16 * i));
      r.even[i] = _mm512_or_si512(r.even[i], _mm512_gf2p8affine_epi64_epi8(high, bits_to_fifth(0), 0));
      r.odd[i] = _mm512_or_si512(r.odd[i], _mm512_gf2p8affine_epi64_epi8(high, bits_to_fifth(1), 0));
    }
  }
  return r;
}

// Their products with one token in lanes of 16 bits, each of which is a group of activations: those of sub-block 0, of 1, and so on.
RLX_INLINE __m512i products45(const Quants45& q, const int8_t* quants) {
  const __m512i even = dot_two(_mm512_setzero_si512(), q.even, load512(quants), load512(quants + 64));
  const __m512i odd = dot_two(_mm512_setzero_si512(), q.odd, load512(quants + 128), load512(quants + 192));
  return _mm512_packs_epi32(even, odd);
}

template <class Block>
RLX_INLINE Chunk45 unpack45(const Block& b) {
  Chunk45 r;
  r.quants = quants45(b);
  const PackedScales s = unpack_scales(b.scales);
  const __m512i scales = _mm512_set1_epi64(static_cast<int64_t>(s.scale));
  const __m512i order = _mm512_setr_epi64(w16(0), w16(1), w16(2), w16(3), w16(4), w16(5), w16(6), w16(7));
  r.scale = _mm512_shuffle_epi8(scales, order);
  r.mins = _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(_mm_cvtsi64_si128(static_cast<int64_t>(s.min))));
  r.d = _mm_cvtph_ps(_mm_cvtsi32_si128(static_cast<int>(load_u32(b.d))));
  return r;
}

RLX_INLINE __m256 second_everywhere(__m128 v) {
  return _mm256_permutevar8x32_ps(_mm256_castps128_ps256(v), _mm256_set1_epi32(1));
}

template <int T>
RLX_INLINE void add45(const Chunk45& w, const RowsTask& task, size_t c, F* total, __m256* low) {
  for (int t = 0; t < T; ++t) {
    const size_t at = task.t0 + static_cast<size_t>(t);
    const int8_t* quants = task.act.planes(c, at);
    // The factor of a group and the scale of its sub-block are one number.
    const __m512i factors = _mm512_mullo_epi16(w.scale, load512(quants + kChunk));
    const __m512i acc = _mm512_dpwssd_epi32(_mm512_setzero_si512(), products45(w.quants, quants), factors);
    const __m128 ds = _mm_mul_ps(w.d, _mm_set1_ps(task.act.scales(c)[at]));
    total[t] = ffma(_mm512_cvtepi32_ps(acc), _mm512_broadcastss_ps(ds), total[t]);
    const __m256 min = _mm256_mul_ps(w.mins, _mm256_loadu_ps(task.act.sums(c) + 8 * at));
    low[t] = _mm256_fmadd_ps(min, second_everywhere(ds), low[t]);
  }
}

// What stands before the quants of four chunks: in each lane of 128 bits the scales of a chunk, then its mins, as bytes.
struct Heads45 {
  __m512i scales;
  __m256 d;  // d and dmin of the first chunk, of the second, and so on
};
template <class Block>
RLX_INLINE Heads45 heads45(const Block* b) {
  __m512i all = _mm512_zextsi128_si512(load128(&b[0]));
  all = _mm512_inserti32x4(all, load128(&b[1]), 1);
  all = _mm512_inserti32x4(all, load128(&b[2]), 2);
  all = _mm512_inserti32x4(all, load128(&b[3]), 3);
  // The same as unpack_scales. Of its words a b c: a c b c, of which whole bytes, low and high nibbles and what lies two bits further
  // up are taken; the upper halves are composed of two of these.
  const __m512i words = _mm512_shuffle_epi32(all, static_cast<_MM_PERM_ENUM>(1 | 3 << 2 | 2 << 4 | 3 << 6));
  const long long whole_low = 0x3830282018100800, whole_high = 0x3c342c2418100800, two_up = 0x1a120a021a120a02;
  const __m512i lower = _mm512_multishift_epi64_epi8(
      _mm512_setr_epi64(whole_low, whole_high, whole_low, whole_high, whole_low, whole_high, whole_low, whole_high), words);
  const __m512i upper = _mm512_multishift_epi64_epi8(_mm512_set1_epi64(two_up), words);
  const __m512i of_lower = _mm512_set1_epi64(0x0f0f0f0fffffffff);
  const __m512i bytes = _mm512_ternarylogic_epi64(of_lower, lower, upper, 0xca);  // of_lower ? lower : upper
  const __m512i firsts = _mm512_castsi128_si512(_mm_setr_epi32(0, 4, 8, 12));
  return {_mm512_and_si512(bytes, _mm512_set1_epi8(0x3f)), _mm256_cvtph_ps(_mm512_castsi512_si128(_mm512_permutexvar_epi32(firsts, all)))};
}

// For vpermb with every second byte zero: lanes of 16 bits with the scales of a chunk of four, each four times; and with the mins of a
// pair of chunks, each twice.
RLX_INLINE __m512i scales_of(__m512i heads, int chunk) {
  const auto q = [chunk](int i) RLX_LAMBDA { return 0x0001000100010001ll * (16 * chunk + i); };
  return _mm512_maskz_permutexvar_epi8(0x5555555555555555, _mm512_setr_epi64(q(0), q(1), q(2), q(3), q(4), q(5), q(6), q(7)), heads);
}
RLX_INLINE __m512i mins_of(__m512i heads, int pair) {
  const auto q = [pair](int i) RLX_LAMBDA {
    const long long at = 16 * (2 * pair + i / 4) + 8 + 2 * (i % 4);
    return 0x00010001ll * at | (0x00010001ll * (at + 1)) << 32;
  };
  return _mm512_maskz_permutexvar_epi8(0x5555555555555555, _mm512_setr_epi64(q(0), q(1), q(2), q(3), q(4), q(5), q(6), q(7)), heads);
}

// Four chunks against the only token there is: what stands before their quants is unpacked at once, with half as many instructions. It
// comes last, though it lies first: a walk with steps back is read more slowly.
template <class Block>
RLX_INLINE void add_four45(const Block* blocks, const ActView& act, size_t c, F* total) {
  __m512i products[4];
  unrolled<4>([&](auto i) RLX_LAMBDA { products[i] = products45(quants45(blocks[i]), act.planes(c + i, 0)); });
  const Heads45 heads = heads45(blocks);
  const __m256 scales = _mm256_castps128_ps256(_mm_loadu_ps(act.scales(c)));
  const __m256 ds = _mm256_mul_ps(heads.d, _mm256_permutevar8x32_ps(scales, _mm256_setr_epi32(0, 0, 1, 1, 2, 2, 3, 3)));
  // Through memory, whose side can spread them and has the time.
  alignas(32) float each[8];
  _mm256_store_ps(each, ds);
  __asm__("" : : "r"(each) : "memory");
  unrolled<4>([&](auto i) RLX_LAMBDA {
    const __m512i factors = _mm512_mullo_epi16(scales_of(heads.scales, i), load512(act.planes(c + i, 0) + kChunk));
    *total = ffma(_mm512_cvtepi32_ps(_mm512_dpwssd_epi32(_mm512_setzero_si512(), products[i], factors)), fset(each[2 * i]), *total);
  });
  unrolled<2>([&](auto pair) RLX_LAMBDA {
    const __m512i low = _mm512_madd_epi16(mins_of(heads.scales, pair), load512(act.sums16(c + 2 * pair)));
    constexpr int a = 4 * pair + 1, b = a + 2;  // dmin of these
    const __m512i which = _mm512_setr_epi32(a, a, a, a, a, a, a, a, b, b, b, b, b, b, b, b);
    *total = ffma(_mm512_cvtepi32_ps(low), _mm512_permutexvar_ps(which, _mm512_castps256_ps512(ds)), *total);
  });
}

// A row of `Fours` times four chunks, or of any number of them.
inline constexpr size_t kAnyFours = 0;
template <class Block, size_t Fours>
RLX_INLINE void row_fours45(const RowsTask& task, const uint8_t* row, F* total) {
  *total = fzero();
  const auto add = [&](size_t four) RLX_LAMBDA {
    ask_ahead<4 * sizeof(Block)>(task.ask, row + four * 4 * sizeof(Block));
    add_four45(reinterpret_cast<const Block*>(row) + 4 * four, task.act, 4 * four, total);
  };
  if constexpr (Fours == kAnyFours) {
    for (size_t four = 0; four < task.k / (4 * kChunk); ++four) add(four);
  } else {
    unrolled<Fours>(add);
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
  each_chunk<T>(
      task.k / kChunk,
      [&](size_t c) RLX_LAMBDA {
        if (c % 4 == 0) ask_ahead<4 * sizeof(Block)>(task.ask, row + c * sizeof(Block));
        return unpack45(b[c]);
      },
      [&](const Chunk45& chunk, size_t c) RLX_LAMBDA { add45<T>(chunk, task, c, total, low); });
  for (int t = 0; t < T; ++t) total[t] = total[t] - _mm512_zextps256_ps512(low[t]);
}

// A chunk of Q6_K with its 256 quants (32 added) as bytes, in the places of Chunk45. Its sub-blocks have 16 quants, so the
// first and the last of each 32 have a scale of their own.
struct Chunk6 {
  __m512i even[2], odd[2];
  __m512i scale[2];  // of every lane of 16 bits, as the products are packed
  __m256i scales;    // of the sub-blocks in order, 16 bits
  __m128 d;
};

// Low and high nibbles, in turn by lanes of 128 bits.
RLX_INLINE __m512i nibbles_in_turn() {
  const long long l = kLowNibble, h = kHighNibble;
  return _mm512_setr_epi64(l, l, h, h, l, l, h, h);
}
// Two bits of each byte moved to bits 4 and 5: those from `first` on, in every second lane of 128 bits four further up.
RLX_INLINE __m512i bits_to_top(int first) {
  const auto m = [](int bit) RLX_LAMBDA { return static_cast<long long>(1ull << (24 + bit) | 1ull << (17 + bit)); };
  const long long l = m(first), h = m(first + 4);
  return _mm512_setr_epi64(l, l, h, h, l, l, h, h);
}
// Lanes of 16 bits: a a a a b b b b.
RLX_INLINE __m512i scales_at(__m256i scales, int first) {
  const auto w4 = [first](int i) RLX_LAMBDA { return 0x0001000100010001ll * (2 * i + first); };
  const __m512i order = _mm512_setr_epi64(w4(0), w4(1), w4(2), w4(3), w4(4), w4(5), w4(6), w4(7));
  return _mm512_permutexvar_epi16(order, _mm512_castsi256_si512(scales));
}

RLX_INLINE Chunk6 unpack6(const BlockQ6K& b) {
  const __m512i nibbles = nibbles_in_turn();
  const __m512i x = load512_once(b.ql), y = load512_once(b.ql + 64), top = load512_once(b.qh);
  const __m512i tops[2] = {_mm512_shuffle_i64x2(top, top, 0xa0), _mm512_shuffle_i64x2(top, top, 0xf5)};
  const __m512i q[4] = {_mm512_shuffle_i64x2(x, y, 0x00), _mm512_shuffle_i64x2(x, y, 0x55),
                        _mm512_shuffle_i64x2(x, y, 0xaa), _mm512_shuffle_i64x2(x, y, 0xff)};
  Chunk6 r;
  r.scales = _mm256_cvtepi8_epi16(load128(b.scales));
  for (int i = 0; i < 2; ++i) {
    r.even[i] = _mm512_or_si512(_mm512_gf2p8affine_epi64_epi8(q[i], nibbles, 0),
                                _mm512_gf2p8affine_epi64_epi8(tops[i], bits_to_top(0), 0));
    r.odd[i] = _mm512_or_si512(_mm512_gf2p8affine_epi64_epi8(q[2 + i], nibbles, 0),
                               _mm512_gf2p8affine_epi64_epi8(tops[i], bits_to_top(2), 0));
    r.scale[i] = scales_at(r.scales, i);
  }
  r.d = _mm_cvtph_ps(_mm_cvtsi32_si128(load_u16(b.d)));
  return r;
}

template <int T>
RLX_INLINE void add6(const Chunk6& w, const RowsTask& task, size_t c, F* total) {
  const auto dot = [](__m512i quants, const int8_t* x) RLX_LAMBDA {
    return _mm512_dpbusd_epi32(_mm512_setzero_si512(), quants, load512(x));
  };
  for (int t = 0; t < T; ++t) {
    const size_t at = task.t0 + static_cast<size_t>(t);
    const int8_t* x = task.act.planes(c, at);
    // Minus 32 of every quant.
    const __m256i offset = _mm256_slli_epi32(_mm256_madd_epi16(w.scales, load256(task.act.sums16(c) + 16 * at)), 5);
    __m512i acc = _mm512_zextsi256_si512(offset);
    for (int i = 0; i < 2; ++i) {
      const __m512i words = _mm512_packs_epi32(dot(w.even[i], x + 64 * i), dot(w.odd[i], x + 128 + 64 * i));
      acc = _mm512_dpwssd_epi32(acc, words, _mm512_mullo_epi16(w.scale[i], load512(x + kChunk)));
    }
    const __m128 ds = _mm_mul_ss(w.d, _mm_load_ss(task.act.scales(c) + at));
    total[t] = ffma(_mm512_cvtepi32_ps(acc), _mm512_broadcastss_ps(ds), total[t]);
  }
}

template <int T>
RLX_INLINE void row_q6(const RowsTask& task, const uint8_t* row, F* total) {
  const BlockQ6K* b = reinterpret_cast<const BlockQ6K*>(row);
  for (int t = 0; t < T; ++t) total[t] = fzero();
  each_chunk<T>(
      task.k / kChunk,
      [&](size_t c) RLX_LAMBDA {
        if (task.k < 4 * kChunk) ask_ahead<sizeof(BlockQ6K)>(task.ask, row + c * sizeof(BlockQ6K));
        else if (c % 4 == 0) ask_ahead<4 * sizeof(BlockQ6K)>(task.ask, row + c * sizeof(BlockQ6K));
        return unpack6(b[c]);
      },
      [&](const Chunk6& chunk, size_t c) RLX_LAMBDA { add6<T>(chunk, task, c, total); });
}

}  // namespace rlx::kernels::RLX_ISA
