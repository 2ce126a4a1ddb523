// Few tokens against rows of K blocks with AVX-512: Q4_K, Q5_K, Q6_K and types of whole scales, a
// chunk of 256 quants at a time.
//
// The quants of a sub-block lie in the same lanes of two registers (Q6_K: of one), so that its
// scale is applied once for a lane, with the factor of the activations there: a chunk is one exact
// integer per lane. Speed here is the number of vector operations.
// Over 500 lines: the types share these layouts and differ in their loads only.
#pragma once

#include "avx512_rows.h"
#include "coded.h"

namespace rlx::kernels::RLX_ISA {

template <class Block>
inline constexpr bool kFive = sizeof(Block) == sizeof(BlockQ5K);

// The 256 quants of a chunk of Q4_K or Q5_K as bytes. Each lane of 128 bits belongs to one
// sub-block: `even` holds the first and the last 16 quants of sub-blocks 0 2 4 6, `odd` those of 1
// 3 5 7.
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

// Their products with one token in lanes of 16 bits, each of which is a group of activations: those
// of sub-block 0, of 1, and so on.
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

// Four chunks of a row whose products with the only token there is are known but not yet scaled,
// and what stands before their quants: in each lane of 128 bits d, dmin, and the scales and mins of
// a chunk.
struct Four45 {
  __m512i products[4];
  __m512i heads;
};

// As unpack_scales, for four chunks: first scales, then mins, as bytes in each 128-bit lane.
RLX_INLINE __m512i scales_and_mins(__m512i heads) {
  const __m512i words = _mm512_shuffle_epi32(heads, static_cast<_MM_PERM_ENUM>(1 | 3 << 2 | 2 << 4 | 3 << 6));
  const long long whole_low = 0x3830282018100800, whole_high = 0x3c342c2418100800, two_up = 0x1a120a021a120a02;
  const __m512i lower = _mm512_multishift_epi64_epi8(
      _mm512_setr_epi64(whole_low, whole_high, whole_low, whole_high, whole_low, whole_high, whole_low, whole_high),
      words);
  const __m512i upper = _mm512_multishift_epi64_epi8(_mm512_set1_epi64(two_up), words);
  const __m512i of_lower = _mm512_set1_epi64(0x0f0f0f0fffffffff);
  const __m512i bytes = _mm512_ternarylogic_epi64(of_lower, lower, upper, 0xca);  // of_lower ? lower : upper
  return _mm512_and_si512(bytes, _mm512_set1_epi8(0x3f));
}
// d and dmin of the first chunk, of the second, and so on.
RLX_INLINE __m256 factors_of(__m512i heads) {
  const __m512i firsts = _mm512_castsi128_si512(_mm_setr_epi32(0, 4, 8, 12));
  return _mm256_cvtph_ps(_mm512_castsi512_si128(_mm512_permutexvar_epi32(firsts, heads)));
}

// For vpermb with every second byte zero: lanes of 16 bits with the scales of a chunk of four, each
// four times; and with one half of the mins of each chunk in its lane of 128 bits, each twice.
RLX_INLINE __m512i scales_of(__m512i bytes, int chunk) {
  const auto q = [chunk](int i) RLX_LAMBDA { return 0x0001000100010001ll * (16 * chunk + i); };
  return _mm512_maskz_permutexvar_epi8(0x5555555555555555,
                                       _mm512_setr_epi64(q(0), q(1), q(2), q(3), q(4), q(5), q(6), q(7)), bytes);
}
RLX_INLINE __m512i mins_of(__m512i bytes, int half) {
  const auto q = [half](int i) RLX_LAMBDA {
    const long long at = 16 * (i / 2) + 8 + 4 * half + 2 * (i % 2);
    return 0x00010001ll * at | (0x00010001ll * (at + 1)) << 32;
  };
  return _mm512_maskz_permutexvar_epi8(0x5555555555555555,
                                       _mm512_setr_epi64(q(0), q(1), q(2), q(3), q(4), q(5), q(6), q(7)), bytes);
}

// Chunk i of them.
template <class Block, int i>
RLX_INLINE void multiply45(const Block* blocks, const ActView& act, size_t c, Four45& four) {
  const __m128i head = load128(&blocks[i]);
  if constexpr (i == 0)
    four.heads = _mm512_zextsi128_si512(head);
  else
    four.heads = _mm512_inserti32x4(four.heads, head, i);
  four.products[i] = products45(quants45(blocks[i]), act.planes(c + i, 0));
}

// Scales four chunks, while `also(i)` does something else between them: the vector units then have
// work of all kinds.
template <class Also>
RLX_INLINE void scale45(const Four45& four, const ActView& act, size_t c, F* total, Also also) {
  const __m256 scales = _mm256_castps128_ps256(_mm_loadu_ps(act.scales(c)));
  const __m256 ds = _mm256_mul_ps(factors_of(four.heads),
                                  _mm256_permutevar8x32_ps(scales, _mm256_setr_epi32(0, 0, 1, 1, 2, 2, 3, 3)));
  const __m512i bytes = scales_and_mins(four.heads);
  // Through memory, whose side can spread them and has the time.
  alignas(32) float each[8];
  _mm256_store_ps(each, ds);
  __asm__("" : "+m"(each));
  unrolled<4>([&](auto i) RLX_LAMBDA {
    also(i);
    const __m512i factors = _mm512_mullo_epi16(scales_of(bytes, i), load512(act.planes(c + i, 0) + kChunk));
    *total = ffma(_mm512_cvtepi32_ps(_mm512_dpwssd_epi32(_mm512_setzero_si512(), four.products[i], factors)),
                  fset(each[2 * i]), *total);
  });
  const __m512i first = load512(act.sums16(c)), last = load512(act.sums16(c + 2));
  const __m512i low = _mm512_dpwssd_epi32(_mm512_madd_epi16(mins_of(bytes, 0), starts_of(first, last)),
                                          mins_of(bytes, 1), ends_of(first, last));
  const __m512i which = _mm512_setr_epi32(1, 1, 1, 1, 3, 3, 3, 3, 5, 5, 5, 5, 7, 7, 7, 7);  // dmin of these
  *total = ffma(_mm512_cvtepi32_ps(low), _mm512_permutexvar_ps(which, _mm512_castps256_ps512(ds)), *total);
}

// Rows of `Fours` times four chunks, or of any number of them, against the only token there is;
// totals of each row. Each four is multiplied while the one before it is scaled, and memory is
// still walked in order.
inline constexpr size_t kAnyFours = 0;
template <class Block, size_t Fours>
RLX_INLINE void rows_in_fours45(const RowsTask& task, const uint8_t* row, size_t rows, F* totals) {
  const size_t fours = Fours == kAnyFours ? task.k / (4 * kChunk) : Fours;
  const auto multiply = [&](const uint8_t* of_row, size_t f, auto i, Four45& four) RLX_LAMBDA {
    const uint8_t* piece = of_row + f * 4 * sizeof(Block);
    if constexpr (i == 0) prefetch_ahead<4 * sizeof(Block)>(task.prefetch, piece);
    multiply45<Block, i>(reinterpret_cast<const Block*>(piece), task.act, 4 * f, four);
  };
  Four45 four;
  unrolled<4>([&](auto i) RLX_LAMBDA { multiply(row, 0, i, four); });
  for (size_t r = 0; r < rows; ++r) {
    if (task.prefetch != Prefetch::near) touch_next_pages(row, task.row_bytes);
    F total = fzero();
    const auto step = [&](size_t f) RLX_LAMBDA {
      const bool ends_row = f + 1 == fours;
      if (ends_row && r + 1 == rows) return scale45(four, task.act, 4 * f, &total, [](auto) RLX_LAMBDA {});
      const uint8_t* next_row = ends_row ? row + task.row_bytes : row;
      Four45 next;
      scale45(four, task.act, 4 * f, &total,
              [&](auto i) RLX_LAMBDA { multiply(next_row, ends_row ? 0 : f + 1, i, next); });
      four = next;
    };
    if constexpr (Fours == kAnyFours) {
      for (size_t f = 0; f < fours; ++f) step(f);
    } else {
      unrolled<Fours>(step);
    }
    totals[r] = total;
    row += task.row_bytes;
  }
}

// A row of whole fours against T of several tokens, whose sums are those of each token alone, bit
// for bit.
template <class Block, int T>
RLX_INLINE void row_in_fours45(const RowsTask& task, const uint8_t* row, F* total) {
  const Block* blocks = reinterpret_cast<const Block*>(row);
  const ActView& act = task.act;
  for (int t = 0; t < T; ++t) total[t] = fzero();
  for (size_t c = 0; c < task.k / kChunk; c += 4) {
    prefetch_ahead<4 * sizeof(Block)>(task.prefetch, reinterpret_cast<const uint8_t*>(blocks + c));
    __m512i heads = _mm512_zextsi128_si512(load128(&blocks[c]));
    heads = _mm512_inserti32x4(heads, load128(&blocks[c + 1]), 1);
    heads = _mm512_inserti32x4(heads, load128(&blocks[c + 2]), 2);
    heads = _mm512_inserti32x4(heads, load128(&blocks[c + 3]), 3);
    const __m512i bytes = scales_and_mins(heads);
    const __m256 factors = factors_of(heads);
    // d and dmin times the scale of the activations, through memory, whose side can spread them.
    alignas(32) float each[T][8];
    unrolled<T>([&](auto t) RLX_LAMBDA {
      const size_t at = task.t0 + t;
      const auto of = [&](size_t i) RLX_LAMBDA { return act.scales(c + i)[at]; };
      const __m256 scales = _mm256_setr_ps(of(0), of(0), of(1), of(1), of(2), of(2), of(3), of(3));
      _mm256_store_ps(each[t], _mm256_mul_ps(factors, scales));
    });
    __asm__("" : "+m"(each));
    unrolled<4>([&](auto i) RLX_LAMBDA {
      const Quants45 quants = quants45(blocks[c + i]);
      const __m512i scale = scales_of(bytes, i);
      unrolled<T>([&](auto t) RLX_LAMBDA {
        const int8_t* x = act.planes(c + i, task.t0 + t);
        const __m512i words = _mm512_mullo_epi16(scale, load512(x + kChunk));
        const __m512i sum = _mm512_dpwssd_epi32(_mm512_setzero_si512(), products45(quants, x), words);
        total[t] = ffma(_mm512_cvtepi32_ps(sum), fset(each[t][2 * i]), total[t]);
      });
    });
    const __m512i mins[2] = {mins_of(bytes, 0), mins_of(bytes, 1)};
    unrolled<T>([&](auto t) RLX_LAMBDA {
      const auto sums = [&](size_t i) RLX_LAMBDA {
        const int16_t* of = act.sums16(c + i) + 16 * (task.t0 + t);
        return _mm512_inserti64x4(_mm512_castsi256_si512(load256(of)), load256(of + 16 * act.tokens), 1);
      };
      const __m512i first = sums(0), last = sums(2);
      const __m512i low =
          _mm512_dpwssd_epi32(_mm512_madd_epi16(mins[0], starts_of(first, last)), mins[1], ends_of(first, last));
      const __m512i which = _mm512_setr_epi32(1, 1, 1, 1, 3, 3, 3, 3, 5, 5, 5, 5, 7, 7, 7, 7);  // dmin of these
      const F dmin = _mm512_permutexvar_ps(which, _mm512_castps256_ps512(_mm256_load_ps(each[t])));
      total[t] = ffma(_mm512_cvtepi32_ps(low), dmin, total[t]);
    });
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
        if (c % 4 == 0) prefetch_ahead<4 * sizeof(Block)>(task.prefetch, row + c * sizeof(Block));
        return unpack45(b[c]);
      },
      [&](const Chunk45& chunk, size_t c) RLX_LAMBDA { add45<T>(chunk, task, c, total, low); });
  for (int t = 0; t < T; ++t) total[t] = total[t] - _mm512_zextps256_ps512(low[t]);
}

// A chunk of Q6_K, Q3_K or Q2_K with its 256 quants as bytes, in the places of Chunk45. Their
// sub-blocks have 16 quants, so the first and the last of each 32 have a scale of their own.
struct Chunk6 {
  __m512i even[2], odd[2];
  __m512i scale[2];  // of every lane of 16 bits, as the products are packed
  __m256i scales;    // of the sub-blocks in order, 16 bits; of Q2_K the minimums
  __m128 d;          // and dmin
};
// What is added to the quants, as a power of two.
template <class Block>
inline constexpr int kOffsetBits = sizeof(Block) == sizeof(BlockQ6K) ? 5 : 2;
template <class Block>
inline constexpr bool kIsQ2 = sizeof(Block) == sizeof(BlockQ2K);

// Two bits of each byte moved to bits 4 and 5: those from `first` on, in every second lane of 128
// bits four further up.
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
  // Low and high nibbles in turn by lanes of 128 bits.
  const __m512i counts = _mm512_setr_epi64(0, 0, 4, 4, 0, 0, 4, 4), low4 = _mm512_set1_epi8(15);
  const __m512i x = load512_once(b.ql), y = load512_once(b.ql + 64), top = load512_once(b.qh);
  const __m512i tops[2] = {_mm512_shuffle_i64x2(top, top, 0xa0), _mm512_shuffle_i64x2(top, top, 0xf5)};
  const auto quants = [&](__m512i q, __m512i of_top, int first) RLX_LAMBDA {
    const __m512i two_bits = _mm512_gf2p8affine_epi64_epi8(of_top, bits_to_top(first), 0);
    return _mm512_ternarylogic_epi64(_mm512_srlv_epi64(q, counts), low4, two_bits, 0xea);  // nibble & 15 | two_bits
  };
  Chunk6 r;
  r.scales = _mm256_cvtepi8_epi16(load128(b.scales));
  r.even[0] = quants(_mm512_shuffle_i64x2(x, y, 0x00), tops[0], 0);
  r.even[1] = quants(_mm512_shuffle_i64x2(x, y, 0x55), tops[1], 0);
  r.odd[0] = quants(_mm512_shuffle_i64x2(x, y, 0xaa), tops[0], 2);
  r.odd[1] = quants(_mm512_shuffle_i64x2(x, y, 0xff), tops[1], 2);
  for (int i = 0; i < 2; ++i) r.scale[i] = scales_at(r.scales, i);
  r.d = _mm_cvtph_ps(_mm_cvtsi32_si128(load_u16(b.d)));
  return r;
}

// Bit `first` of each byte moved to bit 2, in the next lanes of 128 bits those two further up.
RLX_INLINE __m512i bits_to_third(int first) {
  const auto m = [](int bit) RLX_LAMBDA { return static_cast<long long>(1ull << (40 + bit)); };
  return _mm512_setr_epi64(m(first), m(first), m(first + 2), m(first + 2), m(first + 4), m(first + 4), m(first + 6),
                           m(first + 6));
}

// Six bits each: low halves in bytes 0-7, high ones in bytes 8-11. (16 bytes are loaded, from two
// before them on, which are of the same block.)
RLX_INLINE __m256i scales_of(const BlockQ3K& b) {
  const __m128i x = load128(b.scales - 2);
  const __m128i twice = _mm_shuffle_epi8(x, _mm_setr_epi8(2, 3, 4, 5, 6, 7, 8, 9, 2, 3, 4, 5, 6, 7, 8, 9));
  const __m128i fours =
      _mm_shuffle_epi8(x, _mm_setr_epi8(10, 11, 12, 13, 10, 11, 12, 13, 10, 11, 12, 13, 10, 11, 12, 13));
  const __m128i low = _mm_and_si128(_mm_srlv_epi64(twice, _mm_set_epi64x(4, 0)), _mm_set1_epi8(15));
  const __m128i top = _mm_and_si128(_mm_srlv_epi32(fours, _mm_setr_epi32(0, 2, 4, 6)), _mm_set1_epi8(3));
  const __m128i six = _mm_or_si128(low, _mm_slli_epi16(top, 4));
  return _mm256_cvtepi8_epi16(_mm_sub_epi8(six, _mm_set1_epi8(32)));
}

// Q2_K and Q3_K: quants of two bits, to which Q3_K adds a third.
template <class Block>
RLX_INLINE Chunk6 unpack23(const Block& b) {
  const __m512i even = _mm512_setr_epi64(0, 0, 4, 4, 0, 0, 4, 4), odd = _mm512_setr_epi64(2, 2, 6, 6, 2, 2, 6, 6);
  const __m512i low2 = _mm512_set1_epi8(3), x = load512_once(b.qs);
  const __m512i q[2] = {_mm512_shuffle_i64x2(x, x, 0xa0), _mm512_shuffle_i64x2(x, x, 0xf5)};
  Chunk6 r;
  for (int i = 0; i < 2; ++i) {
    r.even[i] = _mm512_and_si512(_mm512_srlv_epi64(q[i], even), low2);
    r.odd[i] = _mm512_and_si512(_mm512_srlv_epi64(q[i], odd), low2);
    if constexpr (!kIsQ2<Block>) {
      const __m512i high = _mm512_broadcast_i32x4(load128(b.hmask + 16 * i));
      r.even[i] = _mm512_or_si512(r.even[i], _mm512_gf2p8affine_epi64_epi8(high, bits_to_third(0), 0));
      r.odd[i] = _mm512_or_si512(r.odd[i], _mm512_gf2p8affine_epi64_epi8(high, bits_to_third(1), 0));
    }
  }
  __m256i scales;
  if constexpr (kIsQ2<Block>) {
    const __m128i both = load128(b.scales), low4 = _mm_set1_epi8(15);
    scales = _mm256_cvtepu8_epi16(_mm_and_si128(both, low4));
    r.scales = _mm256_cvtepu8_epi16(_mm_and_si128(_mm_srli_epi16(both, 4), low4));
    r.d = _mm_cvtph_ps(_mm_cvtsi32_si128(static_cast<int>(load_u32(b.d))));
  } else {
    scales = r.scales = scales_of(b);
    r.d = _mm_cvtph_ps(_mm_cvtsi32_si128(load_u16(b.d)));
  }
  for (int i = 0; i < 2; ++i) r.scale[i] = scales_at(scales, i);
  return r;
}
RLX_INLINE Chunk6 unpack_chunk6(const BlockQ6K& b) { return unpack6(b); }
template <class Block>
RLX_INLINE Chunk6 unpack_chunk6(const Block& b) {
  return unpack23(b);
}

template <class Block, int T>
RLX_INLINE void add6(const Chunk6& w, const RowsTask& task, size_t c, F* total) {
  const auto dot = [](__m512i quants, const int8_t* x)
                       RLX_LAMBDA { return _mm512_dpbusd_epi32(_mm512_setzero_si512(), quants, load512(x)); };
  for (int t = 0; t < T; ++t) {
    const size_t at = task.t0 + static_cast<size_t>(t);
    const int8_t* x = task.act.planes(c, at);
    // Minus what is added to every quant, or minimums times minus the sums.
    const __m256i sums = _mm256_madd_epi16(w.scales, load256(task.act.sums16(c) + 16 * at));
    __m512i acc = _mm512_setzero_si512();
    if constexpr (!kIsQ2<Block>) acc = _mm512_zextsi256_si512(_mm256_slli_epi32(sums, kOffsetBits<Block>));
    for (int i = 0; i < 2; ++i) {
      const __m512i words = _mm512_packs_epi32(dot(w.even[i], x + 64 * i), dot(w.odd[i], x + 128 + 64 * i));
      acc = _mm512_dpwssd_epi32(acc, words, _mm512_mullo_epi16(w.scale[i], load512(x + kChunk)));
    }
    const __m128 ds = _mm_mul_ps(w.d, _mm_set1_ps(task.act.scales(c)[at]));
    total[t] = ffma(_mm512_cvtepi32_ps(acc), _mm512_broadcastss_ps(ds), total[t]);
    if constexpr (kIsQ2<Block>) {
      const __m256 low = _mm256_mul_ps(_mm256_cvtepi32_ps(sums), second_everywhere(ds));
      total[t] = total[t] + _mm512_zextps256_ps512(low);
    }
  }
}

template <class Block, int T>
RLX_INLINE void row_q6(const RowsTask& task, const uint8_t* row, F* total) {
  const Block* b = reinterpret_cast<const Block*>(row);
  for (int t = 0; t < T; ++t) total[t] = fzero();
  each_chunk<T>(
      task.k / kChunk,
      [&](size_t c) RLX_LAMBDA {
        if (task.k < 4 * kChunk)
          prefetch_ahead<sizeof(Block)>(task.prefetch, row + c * sizeof(Block));
        else if (c % 4 == 0)
          prefetch_ahead<4 * sizeof(Block)>(task.prefetch, row + c * sizeof(Block));
        return unpack_chunk6(b[c]);
      },
      [&](const Chunk6& chunk, size_t c) RLX_LAMBDA { add6<Block, T>(chunk, task, c, total); });
}

// Whole scales: codes have signs, which move to the activations. So they need no offset, and the
// products of four fit 16 bits up to 64.
struct SizedChunk {
  __m512i sizes[4];  // in the places of Chunk6: even, then odd
  __mmask64 minus[4];
  __m512i scale[2];
  float factor;
};

template <int T>
RLX_INLINE void add_sized(const SizedChunk& w, const RowsTask& task, size_t c, F* total) {
  for (int t = 0; t < T; ++t) {
    const size_t at = task.t0 + static_cast<size_t>(t);
    const int8_t* x = task.act.planes(c, at);
    const auto dot = [&](int i) RLX_LAMBDA {
      const __m512i a = load512(x + 64 * i), zero = _mm512_setzero_si512();
      return _mm512_dpbusd_epi32(zero, w.sizes[i], _mm512_mask_sub_epi8(a, w.minus[i], zero, a));
    };
    __m512i acc = _mm512_setzero_si512();
    for (int i = 0; i < 2; ++i) {
      const __m512i words = _mm512_packs_epi32(dot(i), dot(i + 2));
      acc = _mm512_dpwssd_epi32(acc, words, _mm512_mullo_epi16(w.scale[i], load512(x + kChunk)));
    }
    total[t] = ffma(_mm512_cvtepi32_ps(acc), fset(w.factor * task.act.scales(c)[at]), total[t]);
  }
}

template <int T>
RLX_INLINE void add_whole(const WholeChunk& w, const RowsTask& task, size_t c, F* total) {
  const __m512i q[4] = {load512(w.codes), load512(w.codes + 64), load512(w.codes + 128), load512(w.codes + 192)};
  const __m512i first[2] = {starts_of(q[0], q[1]), starts_of(q[2], q[3])};
  const __m512i last[2] = {ends_of(q[0], q[1]), ends_of(q[2], q[3])};
  // In the places of Chunk6: the first 16 of sub-blocks 0 2 4 6, the last, then those of 1 3 5 7.
  const __m512i codes[4] = {starts_of(first[0], first[1]), starts_of(last[0], last[1]), ends_of(first[0], first[1]),
                            ends_of(last[0], last[1])};
  SizedChunk sized;
  for (int i = 0; i < 4; ++i) {
    sized.sizes[i] = _mm512_abs_epi8(codes[i]);
    sized.minus[i] = _mm512_movepi8_mask(codes[i]);
  }
  const __m256i scales = _mm256_cvtepi8_epi16(load128(w.scales));
  for (int i = 0; i < 2; ++i) sized.scale[i] = scales_at(scales, i);
  sized.factor = w.factor;
  add_sized<T>(sized, task, c, total);
}

// IQ2_XS and IQ2_S: eights are brought to their places before they are looked up.
RLX_INLINE __m512i eights_in_place(__m512i places) {
  alignas(64) static constexpr uint16_t kOrder[32] = {0, 1, 8,  9,  16, 17, 24, 25, 2, 3, 10, 11, 18, 19, 26, 27,
                                                      4, 5, 12, 13, 20, 21, 28, 29, 6, 7, 14, 15, 22, 23, 30, 31};
  return _mm512_permutexvar_epi16(load512(kOrder), places);
}
RLX_INLINE void look_up2(const BlockIq2Xs& b, SizedChunk& out) {
  using namespace formats;
  const __m512i q = eights_in_place(load512_once(b.qs));
  const __m256i signs = grid::even_signs(_mm512_cvtepi16_epi8(_mm512_srli_epi16(q, 9)));
  grid::look_up_eights(grids::kIq2Xs, grids::kIq2XsValues, q, signs, out.sizes, out.minus);
}
RLX_INLINE void look_up2(const BlockIq2S& b, SizedChunk& out) {
  using namespace formats;
  const __m512i q = eights_in_place(iq2_s::places(b)), signs = eights_in_place(grid::places_of(b.signs));
  grid::look_up_eights(grids::kIq2S, grids::kIq2SValues, q, _mm512_cvtepi16_epi8(signs), out.sizes, out.minus);
}
template <class Block, int T>
RLX_INLINE void row_iq2(const RowsTask& task, const uint8_t* row, F* total) {
  const Block* b = reinterpret_cast<const Block*>(row);
  for (int t = 0; t < T; ++t) total[t] = fzero();
  for (size_t c = 0; c < task.k / kChunk; ++c) {
    if (c % 4 == 0) prefetch_ahead<4 * sizeof(Block)>(task.prefetch, row + c * sizeof(Block));
    SizedChunk chunk;
    look_up2(b[c], chunk);
    alignas(16) int8_t odd[16];
    formats::grid::store_odd_scales(b[c].scales, odd);
    const __m256i scales = _mm256_cvtepi8_epi16(load128(odd));
    for (int i = 0; i < 2; ++i) chunk.scale[i] = scales_at(scales, i);
    chunk.factor = load_half(b[c].d) * 0.125f;
    add_sized<T>(chunk, task, c, total);
  }
}

template <int T>
RLX_INLINE void row_whole(const RowsTask& task, ReadWhole read, const uint8_t* row, F* total) {
  for (int t = 0; t < T; ++t) total[t] = fzero();
  each_read_chunk<WholeChunk>(
      task, read, row, [&](const WholeChunk& chunk, size_t c) RLX_LAMBDA { add_whole<T>(chunk, task, c, total); });
}

}  // namespace rlx::kernels::RLX_ISA
