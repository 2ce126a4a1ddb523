// Few tokens (decode) against packed rows with AVX2. Memory is the limit only if the instructions
// are few: two threads share one core's issue slots.
//
// K blocks: unsigned quants meet bytes of activations in vpmaddubsw, whose int16 pairs cannot
// saturate (2 * 63 * 126 and, two of them added, 4 * 31 * 126); the sub-block's scale and the
// factor of eight activations multiply in vpmaddwd, so a chunk of 256 is exact in int32. 32-blocks:
// of a word of two quants each becomes a word, 256 times its value, and meets int16 activations;
// what counts 256 times too much is taken from the scale, exactly.
#include "blocks.h"
#include "coded.h"
#include "internal.h"

namespace rlx::kernels::RLX_ISA {
namespace {

RLX_INLINE __m256i load256(const void* p) { return _mm256_loadu_si256(static_cast<const __m256i*>(p)); }
RLX_INLINE __m128i load128(const void* p) { return _mm_loadu_si128(static_cast<const __m128i*>(p)); }

// The 16 bytes at p twice, those of the upper half shifted right by 4.
RLX_INLINE __m256i both_nibbles(const uint8_t* p) {
  return _mm256_srlv_epi32(_mm256_broadcastsi128_si256(load128(p)), _mm256_setr_epi32(0, 0, 0, 0, 4, 4, 4, 4));
}

// Numbers that meet whole vectors one by one: a load brings each to all lanes, which costs the
// vector side nothing. (Compilers would shuffle registers instead.)
struct alignas(32) Scales {
  float of[8];
  __attribute__((always_inline)) F everywhere(int i) const {
    F v;
    __asm__("vbroadcastss %1, %0" : "=x"(v) : "m"(of[i]));
    return v;
  }
};
RLX_INLINE Scales scales_of(F v) {
  Scales s;
  fstore(s.of, v);
  return s;
}

// ---- K blocks ----

// Bytes a and b of each half as 16-bit scales, one per half of the result.
RLX_INLINE __m256i two_bytes(__m256i scales, int a, int b) {
  const __m128i low = _mm_set1_epi16(static_cast<short>(0x8000 | a)),
                top = _mm_set1_epi16(static_cast<short>(0x8000 | b));
  return _mm256_shuffle_epi8(scales, _mm256_inserti128_si256(_mm256_castsi128_si256(low), top, 1));
}

// The eight 6-bit scales of Q4_K and Q5_K and behind them the eight minimums as bytes:
// unpack_scales, of all at once.
template <class Block>
RLX_INLINE __m128i scales_and_mins(const Block& b) {
  const __m128i x = load128(&b);  // d, dmin, twelve bytes
  const __m128i low = _mm_srlv_epi32(_mm_shuffle_epi32(x, _MM_SHUFFLE(3, 2, 3, 1)), _mm_setr_epi32(0, 0, 0, 4));
  const __m128i top = _mm_srli_epi32(_mm_shuffle_epi32(x, _MM_SHUFFLE(2, 2, 1, 1)), 2);
  const __m128i low_bits = _mm_setr_epi32(0x3f3f3f3f, 0x0f0f0f0f, 0x3f3f3f3f, 0x0f0f0f0f);
  return _mm_or_si128(_mm_and_si128(low, low_bits), _mm_and_si128(top, _mm_setr_epi32(0, 0x30303030, 0, 0x30303030)));
}

// Bit a of the bytes in the lower half, a + 2 of those in the upper, as 16.
RLX_INLINE __m256i fifth_bits(__m128i bytes, int a) {
  const __m256i bits = _mm256_inserti128_si256(_mm256_set1_epi8(static_cast<char>(1 << a)),
                                               _mm_set1_epi8(static_cast<char>(1 << (a + 2))), 1);
  const __m256i set = _mm256_cmpeq_epi8(_mm256_and_si256(_mm256_broadcastsi128_si256(bytes), bits), bits);
  return _mm256_and_si256(set, _mm256_set1_epi8(16));
}

// A quarter of a chunk of Q4_K or Q5_K as bytes: the first and the last 16 quants of two sub-blocks
// that share lanes.
struct Quarter45 {
  __m256i first, last, scale;
};
// Of half h (sub-blocks 4h ..): the even ones, then the odd ones.
template <class Block>
RLX_INLINE void unpack_half(const Block& b, __m256i scales, int h, Quarter45 out[2]) {
  const __m256i low4 = _mm256_set1_epi8(15);
  const __m256i x = load256(b.qs + 64 * h), y = load256(b.qs + 64 * h + 32);
  const __m256i first = _mm256_permute2x128_si256(x, y, 0x20), last = _mm256_permute2x128_si256(x, y, 0x31);
  out[0] = {_mm256_and_si256(first, low4), _mm256_and_si256(last, low4), two_bytes(scales, 4 * h, 4 * h + 2)};
  out[1] = {_mm256_and_si256(_mm256_srli_epi16(first, 4), low4), _mm256_and_si256(_mm256_srli_epi16(last, 4), low4),
            two_bytes(scales, 4 * h + 1, 4 * h + 3)};
  if constexpr (sizeof(Block) == sizeof(BlockQ5K)) {
    for (int odd = 0; odd < 2; ++odd) {
      out[odd].first = _mm256_or_si256(out[odd].first, fifth_bits(load128(b.qh), 4 * h + odd));
      out[odd].last = _mm256_or_si256(out[odd].last, fifth_bits(load128(b.qh + 16), 4 * h + odd));
    }
  }
}

// d and dmin of a chunk times the scale of a token's activations, in all lanes.
struct TwoScales {
  F d, min;
};
template <class Block, int T>
RLX_INLINE void add45(const Block& b, const RowsTask& task, size_t c, const TwoScales* scales, F* total) {
  prefetch_ahead<sizeof(Block)>(task.prefetch, reinterpret_cast<const uint8_t*>(&b));
  const __m128i small = scales_and_mins(b);
  const __m256i scale_bytes = _mm256_broadcastq_epi64(small);
  const F mins = _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(_mm_srli_si128(small, 8)));
  __m256i sums[T];
  for (int t = 0; t < T; ++t) sums[t] = _mm256_setzero_si256();
  unrolled<2>([&](auto h) RLX_LAMBDA {
    Quarter45 quarters[2];
    unpack_half(b, scale_bytes, h, quarters);
    for (int odd = 0; odd < 2; ++odd) {
      const Quarter45& q = quarters[odd];
      for (int t = 0; t < T; ++t) {
        const int8_t* x = task.act.planes(c, task.t0 + static_cast<size_t>(t)) + 32 * h;
        const __m256i words = _mm256_add_epi16(_mm256_maddubs_epi16(q.first, load256(x + 128 * odd)),
                                               _mm256_maddubs_epi16(q.last, load256(x + 128 * odd + 64)));
        const __m256i factors = _mm256_mullo_epi16(q.scale, load256(x + kChunk + 64 * odd));
        sums[t] = _mm256_add_epi32(sums[t], _mm256_madd_epi16(words, factors));
      }
    }
  });
  for (int t = 0; t < T; ++t) {
    const F min = _mm256_mul_ps(mins, _mm256_loadu_ps(task.act.sums(c) + 8 * (task.t0 + static_cast<size_t>(t))));
    total[t] = ffma(_mm256_cvtepi32_ps(sums[t]), scales[t].d, total[t]);
    total[t] = _mm256_fnmadd_ps(min, scales[t].min, total[t]);
  }
}

template <class Block, int T, bool kOneToken>
RLX_INLINE void row_q45(const RowsTask& task, const uint8_t* row, float* out) {
  const Block* b = reinterpret_cast<const Block*>(row);
  const size_t chunks = task.k / kChunk;
  F total[T];
  for (int t = 0; t < T; ++t) total[t] = fzero();
  size_t c = 0;
  if constexpr (kOneToken) {
    for (; c + 4 <= chunks; c += 4) {
      // d and dmin of chunk i are 32 bits at place i of a load that begins 4 i bytes before them.
      const auto at = [&](int i) RLX_LAMBDA { return load128(reinterpret_cast<const uint8_t*>(b + c + i) - 4 * i); };
      const __m128i halfs = _mm_blend_epi32(_mm_blend_epi32(at(0), at(1), 2), _mm_blend_epi32(at(2), at(3), 8), 12);
      const F act = _mm256_permutevar8x32_ps(_mm256_castps128_ps256(_mm_loadu_ps(task.act.scales(c))),
                                             _mm256_setr_epi32(0, 0, 1, 1, 2, 2, 3, 3));
      const Scales scales = scales_of(_mm256_cvtph_ps(halfs) * act);
      unrolled<4>([&](auto i) RLX_LAMBDA {
        const TwoScales two = {scales.everywhere(2 * i), scales.everywhere(2 * i + 1)};
        add45<Block, T>(b[c + i], task, c + i, &two, total);
      });
    }
  }
  for (; c < chunks; ++c) {
    TwoScales scales[T];
    for (int t = 0; t < T; ++t) {
      const float act = task.act.scales(c)[task.t0 + static_cast<size_t>(t)];
      scales[t] = {fset(load_half(b[c].d) * act), fset(load_half(b[c].dmin) * act)};
    }
    add45<Block, T>(b[c], task, c, scales, total);
  }
  for (int t = 0; t < T; ++t) out[static_cast<size_t>(t) * kRowStep] = fsum(total[t]);
}

// The 16-bit scales a and b, one per half of a vector, of a register that holds eight of them
// twice.
RLX_INLINE __m256i two_scales(__m256i scales, int a, int b) {
  const __m128i low = _mm_set1_epi16(static_cast<short>((2 * a + 1) << 8 | (2 * a)));
  const __m128i top = _mm_set1_epi16(static_cast<short>((2 * b + 1) << 8 | (2 * b)));
  return _mm256_shuffle_epi8(scales, _mm256_inserti128_si256(_mm256_castsi128_si256(low), top, 1));
}

// scales: d of this chunk times the scale of each token's activations.
template <int T>
RLX_INLINE void add6(const BlockQ6K& b, const RowsTask& task, size_t c, const float* scales, F* total) {
  prefetch_ahead<sizeof(BlockQ6K)>(task.prefetch, b.ql);
  const __m256i low4 = _mm256_set1_epi8(15), bits45 = _mm256_set1_epi8(0x30);
  const __m256i words16 = _mm256_cvtepi8_epi16(load128(b.scales));
  __m256i sums[T];
  for (int t = 0; t < T; ++t) {
    // Quants are stored with 32 added.
    const __m256i minus = load256(task.act.sums16(c) + 16 * (task.t0 + static_cast<size_t>(t)));
    sums[t] = _mm256_slli_epi32(_mm256_madd_epi16(words16, minus), 5);
  }
  const __m256i scale_half[2] = {_mm256_permute4x64_epi64(words16, 0x44), _mm256_permute4x64_epi64(words16, 0xee)};
  // Two sub-blocks of 16 that share bytes, as the activations have them: see Quarter45.
  unrolled<2>([&](auto h) RLX_LAMBDA {
    unrolled<2>([&](auto part) RLX_LAMBDA {
      const __m256i top = both_nibbles(b.qh + 32 * h + 16 * part);
      const __m256i tops[2] = {_mm256_and_si256(_mm256_slli_epi16(top, 4), bits45),
                               _mm256_and_si256(_mm256_slli_epi16(top, 2), bits45)};
      unrolled<2>([&](auto odd) RLX_LAMBDA {
        const __m256i low = _mm256_and_si256(both_nibbles(b.ql + 64 * h + 32 * odd + 16 * part), low4);
        const __m256i quants = _mm256_or_si256(low, tops[odd]);
        const __m256i scale = two_scales(scale_half[h], 2 * odd + part, 2 * odd + part + 4);
        for (int t = 0; t < T; ++t) {
          const int8_t* x = task.act.planes(c, task.t0 + static_cast<size_t>(t)) + 32 * h;
          const __m256i words = _mm256_maddubs_epi16(quants, load256(x + 128 * odd + 64 * part));
          const __m256i factors = _mm256_mullo_epi16(scale, load256(x + kChunk + 64 * odd));
          sums[t] = _mm256_add_epi32(sums[t], _mm256_madd_epi16(words, factors));
        }
      });
    });
  });
  for (int t = 0; t < T; ++t) total[t] = ffma(_mm256_cvtepi32_ps(sums[t]), fset(scales[t]), total[t]);
}

template <int T>
RLX_INLINE void row_q6(const RowsTask& task, const uint8_t* row, float* out) {
  const BlockQ6K* b = reinterpret_cast<const BlockQ6K*>(row);
  const size_t chunks = task.k / kChunk;
  F total[T];
  for (int t = 0; t < T; ++t) total[t] = fzero();
  for (size_t c = 0; c < chunks; ++c) {
    float scales[T];
    for (int t = 0; t < T; ++t) scales[t] = load_half(b[c].d) * task.act.scales(c)[task.t0 + static_cast<size_t>(t)];
    add6<T>(b[c], task, c, scales, total);
  }
  for (int t = 0; t < T; ++t) out[static_cast<size_t>(t) * kRowStep] = fsum(total[t]);
}

// Whole scales: as Q6_K, but codes have signs, which move to the activations, and no offset. Whole
// minimums meet minus the sums of the activations.
template <int T>
RLX_INLINE void add_whole(const WholeChunk& w, const RowsTask& task, size_t c, F* total) {
  const __m256i words16 = _mm256_cvtepi8_epi16(load128(w.scales));
  const __m256i scale_half[2] = {_mm256_permute4x64_epi64(words16, 0x44), _mm256_permute4x64_epi64(words16, 0xee)};
  __m256i sums[T];
  for (int t = 0; t < T; ++t) sums[t] = _mm256_setzero_si256();
  unrolled<2>([&](auto h) RLX_LAMBDA {
    unrolled<2>([&](auto part) RLX_LAMBDA {
      unrolled<2>([&](auto odd) RLX_LAMBDA {
        const int8_t* q = w.codes + 128 * h + 32 * odd + 16 * part;
        const __m256i codes = _mm256_inserti128_si256(_mm256_castsi128_si256(load128(q)), load128(q + 64), 1);
        const __m256i sizes = _mm256_abs_epi8(codes);
        const __m256i scale = two_scales(scale_half[h], 2 * odd + part, 2 * odd + part + 4);
        for (int t = 0; t < T; ++t) {
          const int8_t* x = task.act.planes(c, task.t0 + static_cast<size_t>(t)) + 32 * h;
          const __m256i signed_x = _mm256_sign_epi8(load256(x + 128 * odd + 64 * part), codes);
          const __m256i words = _mm256_maddubs_epi16(sizes, signed_x);
          const __m256i factors = _mm256_mullo_epi16(scale, load256(x + kChunk + 64 * odd));
          sums[t] = _mm256_add_epi32(sums[t], _mm256_madd_epi16(words, factors));
        }
      });
    });
  });
  for (int t = 0; t < T; ++t) {
    const float scale = w.factor * task.act.scales(c)[task.t0 + static_cast<size_t>(t)];
    total[t] = ffma(_mm256_cvtepi32_ps(sums[t]), fset(scale), total[t]);
    if (has_minimums16(task.type)) {
      const size_t at = task.t0 + static_cast<size_t>(t);
      const __m256i low =
          _mm256_madd_epi16(_mm256_cvtepi8_epi16(load128(w.minimums)), load256(task.act.sums16(c) + 16 * at));
      total[t] = ffma(_mm256_cvtepi32_ps(low), fset(w.unit * task.act.scales(c)[at]), total[t]);
    }
  }
}

template <int T>
RLX_INLINE void row_whole(const RowsTask& task, ReadWhole read, const uint8_t* row, float* out) {
  F total[T];
  for (int t = 0; t < T; ++t) total[t] = fzero();
  each_read_chunk<WholeChunk>(
      task, read, row, [&](const WholeChunk& chunk, size_t c) RLX_LAMBDA { add_whole<T>(chunk, task, c, total); });
  for (int t = 0; t < T; ++t) out[static_cast<size_t>(t) * kRowStep] = fsum(total[t]);
}

// ---- 32-blocks: 32 signed bytes, their scale and minimum ----

// One half of each of eight blocks: that of block i is at place i of a load that begins 2 i bytes
// before it.
template <class Block>
RLX_INLINE F eight_halfs(const Block* b, size_t offset) {
  const auto at = [&](int i) RLX_LAMBDA { return load128(reinterpret_cast<const uint8_t*>(b + i) + offset - 2 * i); };
  const __m128i low = _mm_blend_epi16(_mm_blend_epi16(at(0), at(1), 0x02), _mm_blend_epi16(at(2), at(3), 0x08), 0x0c);
  const __m128i top = _mm_blend_epi16(_mm_blend_epi16(at(4), at(5), 0x20), _mm_blend_epi16(at(6), at(7), 0x80), 0xc0);
  return _mm256_cvtph_ps(_mm_blend_epi16(low, top, 0xf0));
}

RLX_INLINE __m256i nibbles(const uint8_t* qs) {  // 32 bytes in order
  return _mm256_and_si256(both_nibbles(qs), _mm256_set1_epi8(15));
}
// Bit i of qh as 16 in byte i.
RLX_INLINE __m256i fifth_bits(const uint8_t* qh) {
  const __m256i spread = _mm256_setr_epi64x(0, 0x0101010101010101, 0x0202020202020202, 0x0303030303030303);
  const __m256i bytes = _mm256_shuffle_epi8(_mm256_set1_epi32(static_cast<int>(load_u32(qh))), spread);
  const __m256i bit = _mm256_set1_epi64x(static_cast<int64_t>(0x8040201008040201ULL));
  const __m256i set = _mm256_cmpeq_epi8(_mm256_and_si256(bytes, bit), bit);
  return _mm256_and_si256(set, _mm256_set1_epi8(16));
}
RLX_INLINE __m256i quants(const BlockQ8_0& b) { return load256(b.qs); }
RLX_INLINE __m256i quants(const BlockQ4_0& b) { return _mm256_sub_epi8(nibbles(b.qs), _mm256_set1_epi8(8)); }
RLX_INLINE __m256i quants(const BlockQ4_1& b) { return nibbles(b.qs); }
RLX_INLINE __m256i quants(const BlockQ5_0& b) {
  return _mm256_sub_epi8(_mm256_or_si256(nibbles(b.qs), fifth_bits(b.qh)), _mm256_set1_epi8(16));
}
RLX_INLINE __m256i quants(const BlockQ5_1& b) { return _mm256_or_si256(nibbles(b.qs), fifth_bits(b.qh)); }

RLX_INLINE __m256i quants(const CodedBlock& b) { return load256(b.qs); }
struct FineBlock : CodedBlock {};

template <class Block>
RLX_INLINE F eight_scales(const Block* b) {
  return eight_halfs(b, 0);
}
RLX_INLINE F eight_scales(const CodedBlock* b) { return _mm256_loadu_ps(chunk_of(b).scales); }

// The scale of a block in all lanes; of each half of it in those that its products are in.
template <class Block>
struct BlockScales {
  Scales d;
  explicit BlockScales(const Block* b) : d(scales_of(eight_scales(b) * fset(1.0f / 256))) {}
  __attribute__((always_inline)) F of(int i) const { return d.everywhere(i); }
};
template <>
struct BlockScales<FineBlock> {
  const float* d;
  explicit BlockScales(const FineBlock* b) : d(chunk_of(b).scales) {}
  __attribute__((always_inline)) F of(int i) const {
    const F both = _mm256_set_m128(_mm_set1_ps(d[2 * i + 1]), _mm_set1_ps(d[2 * i]));
    return both * fset(1.0f / 256);
  }
};

// Eight blocks. Bytes at even places move to the top of their words, those at odd places are there:
// both count 256 times (see kActMax32).
template <class Block, int T>
RLX_INLINE void add32(const Block* b, const RowsTask& task, size_t c, F* total) {
  const BlockScales<Block> d(b);
  F part[T];
  for (int t = 0; t < T; ++t) part[t] = fzero();
  unrolled<8>([&](auto i) RLX_LAMBDA {
    const __m256i q = quants(b[i]);
    const __m256i even = _mm256_slli_epi16(q, 8), odd = _mm256_and_si256(q, _mm256_set1_epi16(-256));
    for (int t = 0; t < T; ++t) {
      const int16_t* x = task.act.words(c, task.t0 + static_cast<size_t>(t)) + 32 * i;
      const __m256i p = _mm256_add_epi32(_mm256_madd_epi16(even, load256(x)), _mm256_madd_epi16(odd, load256(x + 16)));
      part[t] = ffma(_mm256_cvtepi32_ps(p), d.of(i), part[t]);
    }
  });
  for (int t = 0; t < T; ++t) {
    const size_t at = task.t0 + static_cast<size_t>(t);
    if constexpr (kHasMin<Block>) part[t] = ffma(eight_halfs(b, 2), fload(task.act.sums(c) + 8 * at), part[t]);
    total[t] = ffma(part[t], fset(task.act.scales(c)[at]), total[t]);
  }
}

template <class Block, int T>
RLX_INLINE void row_block32(const RowsTask& task, const uint8_t* row, float* out) {
  const size_t chunks = task.k / kChunk, rest = task.k / 32 % 8;
  const Block* b = reinterpret_cast<const Block*>(row);
  F total[T];
  for (int t = 0; t < T; ++t) total[t] = fzero();
  for (size_t c = 0; c < chunks; ++c) {
    prefetch_ahead<8 * sizeof(Block)>(task.prefetch, row + 8 * c * sizeof(Block));
    add32<Block, T>(b + 8 * c, task, c, total);
  }
  if (rest != 0) {
    Block last[8] = {};
    memcpy(last, b + 8 * chunks, rest * sizeof(Block));
    add32<Block, T>(last, task, chunks, total);
  }
  for (int t = 0; t < T; ++t) out[static_cast<size_t>(t) * kRowStep] = fsum(total[t]);
}

template <class Block, int T>
RLX_INLINE void row_coded(const RowsTask& task, ReadChunk read, const uint8_t* row, float* out) {
  F total[T];
  for (int t = 0; t < T; ++t) total[t] = fzero();
  each_read_chunk<CodedChunk>(task, read, row, [&](const CodedChunk& chunk, size_t c) RLX_LAMBDA {
    add32<Block, T>(static_cast<const Block*>(chunk.blocks()), task, c, total);
  });
  for (int t = 0; t < T; ++t) out[static_cast<size_t>(t) * kRowStep] = fsum(total[t]);
}

template <class Row>
RLX_INLINE void each_row(const RowsTask& task, Row one_row) {
  for (size_t r = 0; r < task.rows; ++r) {
    const uint8_t* row = task.w + r * task.row_bytes;
    if (task.prefetch != Prefetch::near) touch_next_pages(row, task.row_bytes);
    one_row(row, task.out + r);
  }
}

// kOneToken tells the compiler that there is only one token.
template <int T, bool kOneToken>
void rows_of(const RowsTask& shared) {
  RowsTask task = shared;
  if constexpr (kOneToken) {
    task.t0 = 0;
    task.act.tokens = 1;
  }
  const auto of_32 = [&]<class Block>(Block) RLX_LAMBDA {
    each_row(task, [&](const uint8_t* row, float* out) RLX_LAMBDA { row_block32<Block, T>(task, row, out); });
  };
  const auto of_45 = [&]<class Block>(Block) RLX_LAMBDA {
    each_row(task, [&](const uint8_t* row, float* out) RLX_LAMBDA { row_q45<Block, T, kOneToken>(task, row, out); });
  };
  switch (task.type) {
    case Type::q8_0: return of_32(BlockQ8_0{});
    case Type::q4_0: return of_32(BlockQ4_0{});
    case Type::q4_1: return of_32(BlockQ4_1{});
    case Type::q5_0: return of_32(BlockQ5_0{});
    case Type::q5_1: return of_32(BlockQ5_1{});
    case Type::q4_k: return of_45(BlockQ4K{});
    case Type::q5_k: return of_45(BlockQ5K{});
    case Type::q6_k:
      return each_row(task, [&](const uint8_t* row, float* out) RLX_LAMBDA { row_q6<T>(task, row, out); });
    default: break;
  }
  if (const ReadWhole read = whole_reader(task.type)) {
    return each_row(task, [&](const uint8_t* row, float* out) RLX_LAMBDA { row_whole<T>(task, read, row, out); });
  }
  const ReadChunk read = chunk_reader(task.type);
  if (read == nullptr) return;
  if (has_fine_scales(task.type)) {
    each_row(task, [&](const uint8_t* row, float* out) RLX_LAMBDA { row_coded<FineBlock, T>(task, read, row, out); });
  } else {
    each_row(task, [&](const uint8_t* row, float* out) RLX_LAMBDA { row_coded<CodedBlock, T>(task, read, row, out); });
  }
}

}  // namespace

void rows_packed(const RowsTask& task) {
  for_few_tokens(task, [](auto tokens, const RowsTask& part) RLX_LAMBDA {
    if constexpr (tokens == 1) {
      if (part.act.tokens == 1) return rows_of<1, true>(part);
    }
    rows_of<tokens, false>(part);
  });
}

}  // namespace rlx::kernels::RLX_ISA
