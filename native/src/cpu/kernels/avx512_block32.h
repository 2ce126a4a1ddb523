// Few tokens against rows of 32-blocks with AVX-512: Q8_0, Q4_0, Q4_1, Q5_0, Q5_1 and coded types,
// eight blocks at a time.
//
// Quants become unsigned bytes by adding 128; the activations bring what that adds, 128 * (sum of
// the values of a block), with the other sign, for one lane of 32 bits. Lane i of 128 bits belongs
// to block i of four: one exact integer per lane meets its f32 scale. It fits: 128 * 32 * kActMax32
// + 8 * 255 * (127 * 128 + 64) < 2^31. Codes up to 15 get 16 instead: then every lane is below 2^24
// and exact in f32 too, where an offset of 128 would be rounded with digits that small codes need.
#pragma once

#include "avx512_rows.h"
#include "coded.h"

namespace rlx::kernels::RLX_ISA {

inline constexpr int kBiasBits = 7, kSmallBiasBits = 4;
inline constexpr int kBias = 1 << kBiasBits;
inline constexpr int kSmallLargest = (1 << kSmallBiasBits) - 1;
// Magnitude of a lane: the offset without what the lane itself adds to it, and its eight products.
static_assert((24 * (1 << kSmallBiasBits) + 8 * kSmallLargest) * kActMax32 < 1 << 24);

// Coded blocks with codes up to kSmallLargest.
struct SmallBlock : CodedBlock {};
template <class Block>
inline constexpr bool kIsSmall = false;
template <>
inline constexpr bool kIsSmall<SmallBlock> = true;

// The first and the last 16 quants of four blocks, 128 added.
struct Four {
  __m512i first, last;
};

template <class Block, class Between>
RLX_INLINE Four biased_bytes(const Block* b, Between between) {
  const auto two = [b](int i) RLX_LAMBDA {
    const __m512i x = _mm512_inserti64x4(_mm512_castsi256_si512(load256(b[i].qs)), load256(b[i + 1].qs), 1);
    return _mm512_xor_si512(x, _mm512_set1_epi8(static_cast<char>(kBias)));
  };
  const __m512i x = two(0);
  between();
  const __m512i y = two(2);
  return {starts_of(x, y), ends_of(x, y)};
}
template <class Between>
RLX_INLINE Four biased(const BlockQ8_0* b, Between between) {
  return biased_bytes(b, between);
}
template <class Between>
RLX_INLINE Four biased(const CodedBlock* b, Between between) {
  return biased_bytes(b, between);
}
template <class Between>
RLX_INLINE Four biased(const SmallBlock* b, Between between) {
  const Four q = biased_bytes(b, between);
  const __m512i less = _mm512_set1_epi8(static_cast<char>(kBias - (1 << kSmallBiasBits)));
  return {_mm512_sub_epi8(q.first, less), _mm512_sub_epi8(q.last, less)};
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

// Halfs of four blocks through the integer side: inserting them one by one would cost the vector
// side as many operations. (The barrier keeps the compiler from doing just that.)
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
RLX_INLINE __m256 eight_scales(const Block* b) {
  return eight_halfs([b](int i) RLX_LAMBDA { return b[i].d; });
}
RLX_INLINE __m256 eight_scales(const CodedBlock* b) { return _mm256_loadu_ps(chunk_of(b).scales); }
RLX_INLINE __m256 eight_scales(const SmallBlock* b) { return _mm256_loadu_ps(chunk_of(b).scales); }

template <class Block>
RLX_INLINE Four with_fifth(Four q, const Block* b) {
  const __m512i worth = _mm512_set1_epi8(16);
  const uint64_t first = four_halfs([b](int i) RLX_LAMBDA { return b[i].qh; });
  const uint64_t last = four_halfs([b](int i) RLX_LAMBDA { return b[i].qh + 2; });
  return {_mm512_mask_add_epi8(q.first, first, q.first, worth), _mm512_mask_add_epi8(q.last, last, q.last, worth)};
}
template <class Between>
RLX_INLINE Four biased(const BlockQ4_0* b, Between between) {
  between();
  const Four q = nibbles<0>(b);
  const __m512i add = _mm512_set1_epi8(kBias - 8);
  return {_mm512_add_epi8(q.first, add), _mm512_add_epi8(q.last, add)};
}
template <class Between>
RLX_INLINE Four biased(const BlockQ4_1* b, Between between) {
  between();
  return nibbles<kBias>(b);
}
template <class Between>
RLX_INLINE Four biased(const BlockQ5_0* b, Between between) {
  between();
  return with_fifth(nibbles<kBias - 16>(b), b);
}
template <class Between>
RLX_INLINE Four biased(const BlockQ5_1* b, Between between) {
  between();
  return with_fifth(nibbles<kBias>(b), b);
}

// Sums of the blocks 4 * half and on, each in the first of its four lanes of 32 bits.
RLX_INLINE __m512i firsts_of(const int8_t* sums, int half) {
  return _mm512_maskz_permutexvar_epi32(0x1111, quarters32(4 * half), _mm512_castsi256_si512(load256(sums)));
}

// Eight blocks against T tokens.
template <class Block, int T, class Between>
RLX_INLINE void add32(const Block* b, const RowsTask& task, size_t c, F* total, Between between) {
  const F scales = _mm512_castps256_ps512(eight_scales(b));
  F part[T];
  for (int t = 0; t < T; ++t) part[t] = fzero();
  unrolled<2>([&](auto h) RLX_LAMBDA {
    between(Index<2 * h>{});
    const Four four = biased(b + 4 * h, [&]() RLX_LAMBDA { between(Index<2 * h + 1>{}); });
    const __m512i q[2] = {four.first, four.last};
    const F d = _mm512_permutexvar_ps(quarters32(4 * h), scales);
    for (int t = 0; t < T; ++t) {
      const int8_t* planes = task.act.planes(c, task.t0 + static_cast<size_t>(t));
      const int8_t *high = planes + 128 * h, *low = high + kChunk;
      const __m512i start = firsts_of(task.act.lane_planes(c, task.t0 + static_cast<size_t>(t)), h);
      __m512i whole = dot_two(kIsSmall<Block> ? _mm512_setzero_si512() : start, q, load512(high), load512(high + 64));
      whole = _mm512_slli_epi32(whole, kBiasBits);
      if constexpr (kIsSmall<Block>) whole = _mm512_add_epi32(whole, _mm512_slli_epi32(start, kSmallBiasBits));
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
  add32<Block, T>(last, task, c, total, [](auto) RLX_LAMBDA {});
}

template <class Block, int T>
RLX_INLINE void row_block32(const RowsTask& task, const uint8_t* row, F* total) {
  const size_t count = task.k / 32;
  const Block* b = reinterpret_cast<const Block*>(row);
  for (int t = 0; t < T; ++t) total[t] = fzero();
  const auto add = [&](size_t c) RLX_LAMBDA {
    if (c % 4 == 0) prefetch_ahead<32 * sizeof(Block)>(task.prefetch, row + 8 * c * sizeof(Block));
    add32<Block, T>(b + 8 * c, task, c, total, [](auto) RLX_LAMBDA {});
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

template <class Block, int T>
RLX_INLINE void row_coded(const RowsTask& task, ReadChunk read, const uint8_t* row, F* total) {
  for (int t = 0; t < T; ++t) total[t] = fzero();
  each_read_chunk<CodedChunk>(task, read, row, [&](const CodedChunk& chunk, size_t c) RLX_LAMBDA {
    add32<Block, T>(static_cast<const Block*>(chunk.blocks()), task, c, total, [](auto) RLX_LAMBDA {});
  });
}

// Two rows against one token, a chunk of each in turn. Each prefetches the next lines of its own
// place, and behind the end of that in the next one, which lies behind that of the other row.
struct Place {
  const uint8_t *row, *end;
  F* total;
};

// Four chunks are whole lines, and so are rows of whole fours: distances in fours never cross the
// end of such a row's place.
template <class Block>
inline constexpr size_t kFour = 32 * sizeof(Block);
template <class Block>
constexpr size_t in_fours(size_t bytes) {
  return (bytes + kFour<Block> - 1) / kFour<Block> * kFour<Block>;
}

// A line is prefetched twice: into the second cache, then into the first. Prefetches stand between
// the loads, two at a time, and the compiler must keep that order: bursts are slower
// (bench/support/walk.cpp, docs/performance/kernels.md).
RLX_INLINE void ask_for_lines(const uint8_t* far, const uint8_t* near) {
  __asm__ volatile("prefetcht1 %0" : : "m"(*far) : "memory");
  __asm__ volatile("prefetcht0 %0" : : "m"(*near) : "memory");
}

template <class Block, bool kWhole>
RLX_INLINE void pair_block32(const RowsTask& shared, const Place (&places)[2]) {
  constexpr size_t part = 8 * sizeof(Block), near_by = in_fours<Block>(1024), far_by = in_fours<Block>(3072);
  const RowsTask task = shared;  // a copy: the compiler would read it again after each prefetch
  const size_t count = task.k / 32, skipped = static_cast<size_t>(places[1].end - places[0].end);
  const auto ahead = [&](size_t j, const uint8_t* at) RLX_LAMBDA { return at < places[j].end ? at : at + skipped; };
  F total[2] = {fzero(), fzero()};
  size_t c = 0;
  for (; 8 * c + 32 <= count; c += 4) {
    const uint8_t *piece[2], *near[2], *far[2];
    for (size_t j = 0; j < 2; ++j) {
      piece[j] = places[j].row + c * part;
      near[j] = kWhole ? ahead(j, piece[j] + near_by) : piece[j] + near_by;
      far[j] = kWhole ? ahead(j, piece[j] + far_by) : piece[j] + far_by;
    }
    unrolled<4>([&](auto i) RLX_LAMBDA {
      unrolled<2>([&](auto j) RLX_LAMBDA {
        add32<Block, 1>(reinterpret_cast<const Block*>(piece[j]) + 8 * i, task, c + i, &total[j],
                        [&](auto step) RLX_LAMBDA {
                          constexpr size_t from = (4 * i + step) * part / 4, to = (4 * i + step + 1) * part / 4;
                          for (size_t line = (from + 63) / 64 * 64; line < to; line += 64) {
                            if constexpr (kWhole)
                              ask_for_lines(far[j] + line, near[j] + line);
                            else
                              ask_for_lines(ahead(j, far[j] + line), ahead(j, near[j] + line));
                          }
                        });
      });
    });
  }
  for (size_t j = 0; j < 2; ++j) {
    if constexpr (!kWhole) {
      const uint8_t* piece = places[j].row + c * part;
      for (size_t line = 0; line < count * sizeof(Block) - c * part; line += 64)
        ask_for_lines(ahead(j, piece + far_by + line), ahead(j, piece + near_by + line));
      const Block* row = reinterpret_cast<const Block*>(places[j].row);
      size_t rest = c;
      for (; 8 * rest + 8 <= count; ++rest)
        add32<Block, 1>(row + 8 * rest, task, rest, &total[j], [](auto) RLX_LAMBDA {});
      add_rest32<Block, 1>(row, task, rest, &total[j]);
    }
    *places[j].total = total[j];
  }
}

}  // namespace rlx::kernels::RLX_ISA
