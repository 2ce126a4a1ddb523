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
template <>
inline constexpr bool kIsSmall<BlockMxfp4> = true;

// Small coded blocks with a scale for each half.
struct FineBlock : SmallBlock {};
template <class Block>
inline constexpr bool kIsFine = false;
template <>
inline constexpr bool kIsFine<FineBlock> = true;
template <>
inline constexpr bool kIsSmall<FineBlock> = true;

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

// The same of four blocks; what is behind them does not count.
template <class Half>
RLX_INLINE __m256 first_halfs(Half half) {
  return _mm256_cvtph_ps(_mm_cvtsi64_si128(static_cast<int64_t>(four_halfs(half))));
}

template <class Block>
RLX_INLINE __m256 eight_scales(const Block* b) {
  return eight_halfs([b](int i) RLX_LAMBDA { return b[i].d; });
}
template <class Block>
RLX_INLINE __m256 first_scales(const Block* b) {
  return first_halfs([b](int i) RLX_LAMBDA { return b[i].d; });
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

// Values that nibbles stand for, with what is added to them.
template <int kAdd>
RLX_INLINE __m512i values_plus(const int8_t* values) {
  return _mm512_broadcast_i32x4(_mm_add_epi8(load128(values), _mm_set1_epi8(static_cast<char>(kAdd))));
}
RLX_INLINE Four look_up(__m512i values, Four q) {
  return {_mm512_shuffle_epi8(values, q.first), _mm512_shuffle_epi8(values, q.last)};
}
template <class Between>
RLX_INLINE Four biased(const BlockIq4Nl* b, Between between) {
  between();
  return look_up(values_plus<kBias>(formats::kIq4Values), nibbles<0>(b));
}
template <class Between>
RLX_INLINE Four biased(const BlockMxfp4* b, Between between) {
  between();
  return look_up(values_plus<1 << kSmallBiasBits>(formats::mxfp4::kValues), nibbles<0>(b));
}
RLX_INLINE __m256 factors_of(__m128i exponents) {
  const __m256i e = _mm256_cvtepu8_epi32(exponents), one = _mm256_set1_epi32(1);
  const __m256i normal = _mm256_slli_epi32(_mm256_sub_epi32(e, one), 23);
  const __m256i tiny = _mm256_sllv_epi32(_mm256_set1_epi32(0x00200000), e);
  return _mm256_castsi256_ps(_mm256_mask_blend_epi32(_mm256_cmpgt_epi32_mask(e, one), tiny, normal));
}
RLX_INLINE __m256 eight_scales(const BlockMxfp4* b) {
  const __m512i places = _mm512_castsi128_si512(_mm_cvtsi64_si128(0x7766554433221100));  // multiples of a block
  const __m512i all = _mm512_permutex2var_epi8(load512(b), places, load512(&b->exponent + 64));
  return factors_of(_mm512_castsi512_si128(all));
}
RLX_INLINE __m256 first_scales(const BlockMxfp4* b) {
  const auto at = [b](int i) RLX_LAMBDA { return b[i].exponent << (8 * i); };
  return factors_of(_mm_cvtsi32_si128(at(0) | at(1) | at(2) | at(3)));
}

// The four blocks from 4 * h on of a chunk at b.
template <class Block, class Between>
RLX_INLINE Four four_of(const Block* b, int h, Between between) {
  return biased(b + 4 * h, between);
}
template <class Between>
RLX_INLINE Four four_of(const BlockIq4Xs* b, int h, Between between) {
  between();
  const __m512i q = load512_once(b->qs + 64 * h), low4 = _mm512_set1_epi8(15);
  return look_up(values_plus<kBias>(formats::kIq4Values),
                 {_mm512_and_si512(q, low4), _mm512_and_si512(_mm512_srli_epi16(q, 4), low4)});
}
RLX_INLINE __m256 eight_scales(const BlockIq4Xs* b) {
  const __m256i places = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  const __m256i lows =
      _mm256_srlv_epi32(_mm256_set1_epi32(static_cast<int>(load_u32(b->low))), _mm256_slli_epi32(places, 2));
  const __m256i tops = _mm256_srlv_epi32(_mm256_set1_epi32(load_u16(b->high)), _mm256_slli_epi32(places, 1));
  const __m256i six = _mm256_or_si256(_mm256_and_si256(lows, _mm256_set1_epi32(15)),
                                      _mm256_slli_epi32(_mm256_and_si256(tops, _mm256_set1_epi32(3)), 4));
  return _mm256_mul_ps(_mm256_cvtepi32_ps(_mm256_sub_epi32(six, _mm256_set1_epi32(32))),
                       _mm256_set1_ps(load_half(b->d)));
}

// Sums of the blocks 4 * half and on, each in the first of its four lanes of 32 bits.
RLX_INLINE __m512i firsts_of(const int8_t* sums, int half) {
  return _mm512_maskz_permutexvar_epi32(0x1111, quarters32(4 * half), _mm512_castsi256_si512(load256(sums)));
}

// Four blocks with a scale for each half: the sums of what is added to their codes are those of the
// activations times a number, found on the way.
template <int T>
RLX_INLINE void add_halves(const Four& four, const float* scales, const RowsTask& task, size_t c, int h, F* part) {
  const __m512i offset = _mm512_set1_epi8(1 << kSmallBiasBits), q[2] = {four.first, four.last};
  const F all = _mm512_castps256_ps512(_mm256_loadu_ps(scales));
  for (int half = 0; half < 2; ++half) {
    const int i = half;
    const __m512i each = _mm512_setr_epi32(i, i, i, i, i + 2, i + 2, i + 2, i + 2, i + 4, i + 4, i + 4, i + 4, i + 6,
                                           i + 6, i + 6, i + 6);
    const F d = _mm512_permutexvar_ps(each, all);
    for (int t = 0; t < T; ++t) {
      const int8_t* high = task.act.planes(c, task.t0 + static_cast<size_t>(t)) + 128 * h + 64 * half;
      const auto dot = [&](const int8_t* plane) RLX_LAMBDA {
        const __m512i x = load512(plane), zero = _mm512_setzero_si512();
        return _mm512_sub_epi32(_mm512_dpbusd_epi32(zero, q[half], x), _mm512_dpbusd_epi32(zero, offset, x));
      };
      const __m512i whole = _mm512_add_epi32(_mm512_slli_epi32(dot(high), kBiasBits), dot(high + kChunk));
      part[t] = ffma(_mm512_cvtepi32_ps(whole), d, part[t]);
    }
  }
}

// Eight blocks, or with kFours = 1 four, against T tokens.
template <class Block, int T, int kFours = 2, class Between>
RLX_INLINE void add32(const Block* b, const RowsTask& task, size_t c, F* total, Between between) {
  F scales = fzero();
  if constexpr (kFours == 1)
    scales = _mm512_castps256_ps512(first_scales(b));
  else if constexpr (!kIsFine<Block>)
    scales = _mm512_castps256_ps512(eight_scales(b));
  F part[T];
  for (int t = 0; t < T; ++t) part[t] = fzero();
  unrolled<kFours>([&](auto h) RLX_LAMBDA {
    between(Index<2 * h>{});
    const Four four = four_of(b, h, [&]() RLX_LAMBDA { between(Index<2 * h + 1>{}); });
    const __m512i q[2] = {four.first, four.last};
    if constexpr (kIsFine<Block>) {
      add_halves<T>(four, chunk_of(b).scales + 8 * h, task, c, h, part);
      return;
    }
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
      const auto min = [b](int i) RLX_LAMBDA { return b[i].m; };
      __m256 mins;
      if constexpr (kFours == 1)
        mins = first_halfs(min);
      else
        mins = eight_halfs(min);
      part[t] = part[t] + _mm512_zextps256_ps512(_mm256_mul_ps(mins, _mm256_loadu_ps(task.act.sums(c) + 8 * at)));
    }
    total[t] = ffma(part[t], fset(task.act.scales(c)[at]), total[t]);
  }
}

template <int T>
RLX_INLINE void add_chunk(const BlockIq4Xs* b, const RowsTask& task, size_t c, F* total) {
  add32<BlockIq4Xs, T>(b, task, c, total, [](auto) RLX_LAMBDA {});
}

// TQ2_0: one scale for a chunk, so that all of it is one exact integer per lane. The quants of each
// 16 bytes belong to four blocks and stay where they are: they count 1, 4, 16 or 64 times.
template <int T>
RLX_INLINE void add_chunk(const BlockTq2* b, const RowsTask& task, size_t c, F* total) {
  const __m512i which = _mm512_set1_epi32(0x03030303);
  const __m512i mask = _mm512_sllv_epi32(which, _mm512_setr_epi32(0, 0, 0, 0, 2, 2, 2, 2, 4, 4, 4, 4, 6, 6, 6, 6));
  const F times = _mm512_setr_ps(1.0f, 1.0f, 1.0f, 1.0f, 0.25f, 0.25f, 0.25f, 0.25f, 0.0625f, 0.0625f, 0.0625f, 0.0625f,
                                 0.015625f, 0.015625f, 0.015625f, 0.015625f);
  __m512i q[4];
  unrolled<4>([&](auto i)
                  RLX_LAMBDA { q[i] = _mm512_and_si512(_mm512_broadcast_i32x4(load128(b->qs + 16 * i)), mask); });
  const F d = times * fset(load_half(b->d));
  for (int t = 0; t < T; ++t) {
    const size_t at = task.t0 + static_cast<size_t>(t);
    const int8_t* planes = task.act.planes(c, at);
    const auto dot = [&](__m512i sum, const int8_t* plane) RLX_LAMBDA {
      sum = dot_two(sum, q, load512(plane), load512(plane + 64));
      return dot_two(sum, q + 2, load512(plane + 128), load512(plane + 192));
    };
    const __m512i whole = _mm512_slli_epi32(dot(_mm512_setzero_si512(), planes), kBiasBits);
    // Minus one of every quant.
    const __m256i counts = _mm256_setr_epi32(0, 0, 0, 0, 2, 2, 2, 2);
    const __m512i start = _mm512_zextsi256_si512(_mm256_sllv_epi32(load256(task.act.lane_planes(c, at)), counts));
    const __m512i p = dot(_mm512_add_epi32(whole, start), planes + kChunk);
    total[t] = ffma(_mm512_cvtepi32_ps(p), d * fset(task.act.scales(c)[at]), total[t]);
  }
}

// What is behind the whole chunks of a row, fewer than eight blocks in chunk c.
template <class Block, int T>
RLX_INLINE void add_rest32(const Block* row, const RowsTask& task, size_t c, F* total) {
  const size_t rest = task.k / 32 - 8 * c;
  if (rest == 0) return;
  const auto nothing = [](auto) RLX_LAMBDA {};
  // Half a chunk is not copied: rows of 1152 values are common.
  if (rest == 4) return add32<Block, T, 1>(row + 8 * c, task, c, total, nothing);
  Block last[8] = {};
  memcpy(last, row + 8 * c, rest * sizeof(Block));
  add32<Block, T>(last, task, c, total, nothing);
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

// Rows of blocks that are chunks.
template <class Block, int T>
RLX_INLINE void row_chunks(const RowsTask& task, const uint8_t* row, F* total) {
  const Block* b = reinterpret_cast<const Block*>(row);
  const size_t chunks = task.k / kChunk;
  for (int t = 0; t < T; ++t) total[t] = fzero();
  const auto add = [&](size_t c) RLX_LAMBDA {
    if (c % 4 == 0) prefetch_ahead<4 * sizeof(Block)>(task.prefetch, row + c * sizeof(Block));
    add_chunk<T>(b + c, task, c, total);
  };
  size_t c = 0;
  if constexpr (T == 1) {
    for (; c + 4 <= chunks; c += 4) unrolled<4>([&](auto i) RLX_LAMBDA { add(c + i); });
  }
  for (; c < chunks; ++c) add(c);
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
