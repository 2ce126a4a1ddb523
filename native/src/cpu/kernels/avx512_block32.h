// Few tokens against rows of 32-blocks with AVX-512: Q8_0, Q4_0, Q4_1, Q5_0 and Q5_1, eight blocks at a time.
//
// Quants become unsigned bytes by adding 128; the activations bring what that adds, 128 * (sum of the values of a
// block), with the other sign, for one lane of 32 bits. Lane i of 128 bits belongs to block i of four: one exact integer
// per lane meets its f32 scale. It fits: 128 * 32 * kActMax32 + 8 * 255 * (127 * 128 + 64) < 2^31.
#pragma once

#include "avx512_rows.h"

namespace rlx::kernels::RLX_ISA {

inline constexpr int kBias = 128;

// The first and the last 16 quants of four blocks, 128 added.
struct Four {
  __m512i first, last;
};

RLX_INLINE Four biased(const BlockQ8_0* b) {
  const auto two = [b](int i) RLX_LAMBDA {
    const __m512i x = _mm512_inserti64x4(_mm512_castsi256_si512(load256(b[i].qs)), load256(b[i + 1].qs), 1);
    return _mm512_xor_si512(x, _mm512_set1_epi8(static_cast<char>(kBias)));
  };
  const __m512i x = two(0), y = two(2);
  return {starts_of(x, y), ends_of(x, y)};
}

// Add is added to each nibble by an exclusive or.
template <int Add, class Block>
RLX_INLINE Four nibbles(const Block* b) {
  static_assert((Add & 15) == 0);
  __m512i q = _mm512_zextsi128_si512(load128(b[0].qs));
  q = _mm512_mask_broadcast_i32x4(q, 0x00f0, load128(b[1].qs));
  q = _mm512_mask_broadcast_i32x4(q, 0x0f00, load128(b[2].qs));
  q = _mm512_mask_broadcast_i32x4(q, 0xf000, load128(b[3].qs));
  return {_mm512_gf2p8affine_epi64_epi8(q, _mm512_set1_epi64(kLowNibble), Add),
          _mm512_gf2p8affine_epi64_epi8(q, _mm512_set1_epi64(kHighNibble), Add)};
}

// Halfs of four blocks through the integer side: inserting them one by one would cost the vector side as many
// operations. (The barrier keeps the compiler from doing just that.)
template <class Half>
RLX_INLINE uint64_t four_halfs(Half half) {
  const auto at = [&](int i) RLX_LAMBDA { return static_cast<uint64_t>(load_u16(half(i))) << (16 * i); };
  uint64_t v = at(0) | at(1) | at(2) | at(3);
  __asm__("" : "+r"(v));
  return v;
}
template <class Half>
RLX_INLINE __m256 eight_halfs(Half half) {
  const auto later = [&](int i) RLX_LAMBDA { return half(i + 4); };
  const auto low = static_cast<int64_t>(four_halfs(half)), high = static_cast<int64_t>(four_halfs(later));
  return _mm256_cvtph_ps(_mm_set_epi64x(high, low));
}

template <class Block>
RLX_INLINE Four with_fifth(Four q, const Block* b) {
  const __m512i worth = _mm512_set1_epi8(16);
  const uint64_t first = four_halfs([b](int i) RLX_LAMBDA { return b[i].qh; });
  const uint64_t last = four_halfs([b](int i) RLX_LAMBDA { return b[i].qh + 2; });
  return {_mm512_mask_add_epi8(q.first, first, q.first, worth), _mm512_mask_add_epi8(q.last, last, q.last, worth)};
}
RLX_INLINE Four biased(const BlockQ4_0* b) {
  const Four q = nibbles<0>(b);
  const __m512i add = _mm512_set1_epi8(kBias - 8);
  return {_mm512_add_epi8(q.first, add), _mm512_add_epi8(q.last, add)};
}
RLX_INLINE Four biased(const BlockQ4_1* b) { return nibbles<kBias>(b); }
RLX_INLINE Four biased(const BlockQ5_0* b) { return with_fifth(nibbles<kBias - 16>(b), b); }
RLX_INLINE Four biased(const BlockQ5_1* b) { return with_fifth(nibbles<kBias>(b), b); }

// Sums of the blocks 4 * half and on, each in the first of its four lanes of 32 bits.
RLX_INLINE __m512i firsts_of(const int8_t* sums, int half) {
  return _mm512_maskz_permutexvar_epi32(0x1111, quarters32(4 * half), _mm512_castsi256_si512(load256(sums)));
}

template <class Block>
inline constexpr bool kHasMin = sizeof(Block) == sizeof(BlockQ4_1) || sizeof(Block) == sizeof(BlockQ5_1);

// Eight blocks against T tokens.
template <class Block, int T>
RLX_INLINE void add32(const Block* b, const RowsTask& task, size_t c, F* total) {
  const F scales = _mm512_castps256_ps512(eight_halfs([b](int i) RLX_LAMBDA { return b[i].d; }));
  F part[T];
  for (int t = 0; t < T; ++t) part[t] = fzero();
  unrolled<2>([&](auto h) RLX_LAMBDA {
    const Four four = biased(b + 4 * h);
    const __m512i q[2] = {four.first, four.last};
    const F d = _mm512_permutexvar_ps(quarters32(4 * h), scales);
    for (int t = 0; t < T; ++t) {
      const int8_t* planes = task.act.planes(c, task.t0 + static_cast<size_t>(t));
      const int8_t *high = planes + 128 * h, *low = high + kChunk;
      const __m512i start = firsts_of(task.act.lane_planes(c, task.t0 + static_cast<size_t>(t)), h);
      const __m512i whole = _mm512_slli_epi32(dot_two(start, q, load512(high), load512(high + 64)), 7);
      const __m512i p = dot_two(whole, q, load512(low), load512(low + 64));
      part[t] = ffma(_mm512_cvtepi32_ps(p), d, part[t]);
    }
  });
  for (int t = 0; t < T; ++t) {
    const size_t at = task.t0 + static_cast<size_t>(t);
    if constexpr (kHasMin<Block>) {
      const __m256 mins = eight_halfs([b](int i) RLX_LAMBDA { return b[i].m; });
      part[t] = part[t] + _mm512_zextps256_ps512(_mm256_mul_ps(mins, _mm256_loadu_ps(task.act.sums(c) + 8 * at)));
    }
    total[t] = ffma(part[t], fset(task.act.scales(c)[at]), total[t]);
  }
}

// What is behind the whole chunks of a row, fewer than eight blocks in chunk c.
template <class Block, int T>
RLX_INLINE void add_rest32(const Block* row, const RowsTask& task, size_t c, F* total) {
  const size_t rest = task.k / 32 - 8 * c;
  if (rest == 0) return;
  Block last[8] = {};
  memcpy(last, row + 8 * c, rest * sizeof(Block));
  add32<Block, T>(last, task, c, total);
}

template <class Block, int T>
RLX_INLINE void row_block32(const RowsTask& task, const uint8_t* row, F* total) {
  const size_t count = task.k / 32;
  const Block* b = reinterpret_cast<const Block*>(row);
  for (int t = 0; t < T; ++t) total[t] = fzero();
  const auto add = [&](size_t c) RLX_LAMBDA {
    if (c % 4 == 0) ask_ahead<32 * sizeof(Block)>(task.ask, row + 8 * c * sizeof(Block));
    add32<Block, T>(b + 8 * c, task, c, total);
  };
  size_t c = 0;
  if constexpr (T == 1) {  // see each_chunk
    if (count == 32) return unrolled<4>(add);
    if (count == 64) return unrolled<8>(add);
    for (; 8 * c + 32 <= count; c += 4) unrolled<4>([&](auto i) RLX_LAMBDA { add(c + i); });
  }
  for (; 8 * c + 8 <= count; ++c) add(c);
  add_rest32<Block, T>(b, task, c, total);
}

// Two rows against one token, a chunk of each in turn. Each asks for the lines that come in its own place, and behind the end of that in
// the next one, which lies behind that of the other row.
struct Place {
  const uint8_t *row, *end;
  F* total;
};
template <class Block>
RLX_INLINE void pair_block32(const RowsTask& task, const Place (&places)[2]) {
  const size_t count = task.k / 32, skipped = static_cast<size_t>(places[1].end - places[0].end);
  for (const Place& p : places) *p.total = fzero();
  // The lines that begin in these bytes of a piece, further on.
  const auto ask = [&](const Place& p, const uint8_t* piece, size_t from, size_t to) RLX_LAMBDA {
    for (size_t line = (from + 63) / 64 * 64; line < to; line += 64) {
      const uint8_t* at = piece + kNear + line;
      __builtin_prefetch(at < p.end ? at : at + skipped, 0, 3);
    }
  };
  // Four chunks are whole lines, of which each asks for its own.
  constexpr size_t part = 8 * sizeof(Block);
  const auto add = [&](size_t four, auto i) RLX_LAMBDA {
    for (const Place& p : places) {
      const uint8_t* piece = p.row + four * part;
      ask(p, piece, i * part, (i + 1) * part);
      add32<Block, 1>(reinterpret_cast<const Block*>(piece) + 8 * i, task, four + i, p.total);
    }
  };
  size_t c = 0;
  for (; 8 * c + 32 <= count; c += 4) unrolled<4>([&](auto i) RLX_LAMBDA { add(c, i); });
  for (; 8 * c + 8 <= count; ++c) add(c, Index<0>{});
  for (const Place& p : places) {
    ask(p, p.row + c * part, 0, (count - 8 * c) * sizeof(Block));
    add_rest32<Block, 1>(reinterpret_cast<const Block*>(p.row), task, c, p.total);
  }
}

}  // namespace rlx::kernels::RLX_ISA
