// Few tokens (decode) against packed rows with AVX2: the speed of memory is the aim.
//
// K blocks: unsigned quants meet bytes of activations in vpmaddubsw, whose int16 pairs cannot saturate (2 * 63 * 126 and,
// two of them added, 4 * 31 * 126); the sub-block's scale and the factor of eight activations multiply in vpmaddwd, so a
// chunk of 256 is exact in int32. 32-blocks: quants widen to int16 and meet int16 activations.
#include "blocks.h"
#include "internal.h"

namespace rlx::kernels::RLX_ISA {
namespace {

RLX_INLINE __m256i load256(const void* p) { return _mm256_loadu_si256(static_cast<const __m256i*>(p)); }
RLX_INLINE __m128i load128(const void* p) { return _mm_loadu_si128(static_cast<const __m128i*>(p)); }

// The 16-bit scales a and b, one per half of a vector, of a register that holds eight of them twice.
RLX_INLINE __m256i two_scales(__m256i scales, int a, int b) {
  const __m128i low = _mm_set1_epi16(static_cast<short>((2 * a + 1) << 8 | (2 * a)));
  const __m128i top = _mm_set1_epi16(static_cast<short>((2 * b + 1) << 8 | (2 * b)));
  return _mm256_shuffle_epi8(scales, _mm256_inserti128_si256(_mm256_castsi128_si256(low), top, 1));
}

// Bit a of the bytes in the lower half, a + 2 of those in the upper, as 16.
RLX_INLINE __m256i fifth_bits(__m128i bytes, int a) {
  const __m256i bits = _mm256_inserti128_si256(_mm256_set1_epi8(static_cast<char>(1 << a)),
                                               _mm_set1_epi8(static_cast<char>(1 << (a + 2))), 1);
  const __m256i set = _mm256_cmpeq_epi8(_mm256_and_si256(_mm256_broadcastsi128_si256(bytes), bits), bits);
  return _mm256_and_si256(set, _mm256_set1_epi8(16));
}

// A quarter of a chunk of Q4_K or Q5_K as bytes: the first and the last 16 quants of two sub-blocks that share lanes.
struct Quarter45 {
  __m256i first, last, scale;
};
// Of half h (sub-blocks 4h ..): the even ones, then the odd ones.
template <class Block>
RLX_INLINE void unpack_half(const Block& b, __m256i scales, int h, Quarter45 out[2]) {
  const __m256i low4 = _mm256_set1_epi8(15);
  const __m256i x = load256(b.qs + 64 * h), y = load256(b.qs + 64 * h + 32);
  const __m256i first = _mm256_permute2x128_si256(x, y, 0x20), last = _mm256_permute2x128_si256(x, y, 0x31);
  out[0] = {_mm256_and_si256(first, low4), _mm256_and_si256(last, low4), two_scales(scales, 4 * h, 4 * h + 2)};
  out[1] = {_mm256_and_si256(_mm256_srli_epi16(first, 4), low4), _mm256_and_si256(_mm256_srli_epi16(last, 4), low4),
            two_scales(scales, 4 * h + 1, 4 * h + 3)};
  if constexpr (sizeof(Block) == sizeof(BlockQ5K)) {
    for (int odd = 0; odd < 2; ++odd) {
      out[odd].first = _mm256_or_si256(out[odd].first, fifth_bits(load128(b.qh), 4 * h + odd));
      out[odd].last = _mm256_or_si256(out[odd].last, fifth_bits(load128(b.qh + 16), 4 * h + odd));
    }
  }
}

template <class Block, int T>
RLX_INLINE void row_q45(const RowsTask& task, const uint8_t* row, float* out) {
  const size_t chunks = task.k / kChunk;
  F total[T];
  for (int t = 0; t < T; ++t) total[t] = fzero();
  for (size_t c = 0; c < chunks; ++c) {
    const Block& b = reinterpret_cast<const Block*>(row)[c];
    ask_ahead<sizeof(Block)>(task.ask, row + c * sizeof(Block));
    const PackedScales s = unpack_scales(b.scales);
    const __m256i scales =
        _mm256_broadcastsi128_si256(_mm_cvtepu8_epi16(_mm_cvtsi64_si128(static_cast<int64_t>(s.scale))));
    const __m256 mins =
        _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(_mm_cvtsi64_si128(static_cast<int64_t>(s.min))));
    __m256i sums[T];
    for (int t = 0; t < T; ++t) sums[t] = _mm256_setzero_si256();
    for (int h = 0; h < 2; ++h) {
      Quarter45 quarters[2];
      unpack_half(b, scales, h, quarters);
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
    }
    const __m128 d = _mm_cvtph_ps(_mm_cvtsi32_si128(static_cast<int>(load_u32(b.d))));  // d, dmin
    for (int t = 0; t < T; ++t) {
      const size_t at = task.t0 + static_cast<size_t>(t);
      const __m128 ds = _mm_mul_ps(d, _mm_set1_ps(task.act.scales(c)[at]));
      total[t] = ffma(_mm256_cvtepi32_ps(sums[t]), _mm256_broadcastss_ps(ds), total[t]);
      const __m256 min = _mm256_mul_ps(mins, _mm256_loadu_ps(task.act.sums(c) + 8 * at));
      total[t] = _mm256_fnmadd_ps(min, _mm256_broadcastss_ps(_mm_movehdup_ps(ds)), total[t]);
    }
  }
  for (int t = 0; t < T; ++t) out[static_cast<size_t>(t) * kRowStep] = fsum(total[t]);
}

// The 16 bytes at p twice, those of the upper half shifted right by 4.
RLX_INLINE __m256i both_nibbles(const uint8_t* p) {
  return _mm256_srlv_epi32(_mm256_broadcastsi128_si256(load128(p)), _mm256_setr_epi32(0, 0, 0, 0, 4, 4, 4, 4));
}

template <int T>
RLX_INLINE void row_q6(const RowsTask& task, const uint8_t* row, float* out) {
  const size_t chunks = task.k / kChunk;
  const __m256i low4 = _mm256_set1_epi8(15), bits45 = _mm256_set1_epi8(0x30);
  F total[T];
  for (int t = 0; t < T; ++t) total[t] = fzero();
  for (size_t c = 0; c < chunks; ++c) {
    const BlockQ6K& b = reinterpret_cast<const BlockQ6K*>(row)[c];
    ask_ahead<sizeof(BlockQ6K)>(task.ask, row + c * sizeof(BlockQ6K));
    const __m256i scales = _mm256_cvtepi8_epi16(load128(b.scales));
    __m256i sums[T];
    for (int t = 0; t < T; ++t) {
      // Quants are stored with 32 added.
      const __m256i minus = load256(task.act.sums16(c) + 16 * (task.t0 + static_cast<size_t>(t)));
      sums[t] = _mm256_slli_epi32(_mm256_madd_epi16(scales, minus), 5);
    }
    const __m256i scale_half[2] = {_mm256_permute4x64_epi64(scales, 0x44), _mm256_permute4x64_epi64(scales, 0xee)};
    // Two sub-blocks of 16 that share bytes, as the activations have them: see Quarter45.
    for (int h = 0; h < 2; ++h) {
      for (int part = 0; part < 2; ++part) {
        const __m256i top = both_nibbles(b.qh + 32 * h + 16 * part);
        const __m256i tops[2] = {_mm256_and_si256(_mm256_slli_epi16(top, 4), bits45),
                                 _mm256_and_si256(_mm256_slli_epi16(top, 2), bits45)};
        for (int odd = 0; odd < 2; ++odd) {
          const __m256i low = _mm256_and_si256(both_nibbles(b.ql + 64 * h + 32 * odd + 16 * part), low4);
          const __m256i quants = _mm256_or_si256(low, tops[odd]);
          const __m256i scale = two_scales(scale_half[h], 2 * odd + part, 2 * odd + part + 4);
          for (int t = 0; t < T; ++t) {
            const int8_t* x = task.act.planes(c, task.t0 + static_cast<size_t>(t)) + 32 * h;
            const __m256i words = _mm256_maddubs_epi16(quants, load256(x + 128 * odd + 64 * part));
            const __m256i factors = _mm256_mullo_epi16(scale, load256(x + kChunk + 64 * odd));
            sums[t] = _mm256_add_epi32(sums[t], _mm256_madd_epi16(words, factors));
          }
        }
      }
    }
    const float d = load_half(b.d);
    for (int t = 0; t < T; ++t) {
      const float ds = d * task.act.scales(c)[task.t0 + static_cast<size_t>(t)];
      total[t] = ffma(_mm256_cvtepi32_ps(sums[t]), fset(ds), total[t]);
    }
  }
  for (int t = 0; t < T; ++t) out[static_cast<size_t>(t) * kRowStep] = fsum(total[t]);
}

// ---- 32-blocks: 32 signed bytes, their scale and minimum ----

RLX_INLINE F scale_of(const uint8_t* d) { return _mm256_cvtph_ps(_mm_set1_epi16(static_cast<short>(load_u16(d)))); }

RLX_INLINE __m256i nibbles(const uint8_t* qs) {  // 32 bytes in order
  const __m128i x = load128(qs);
  const __m256i both = _mm256_inserti128_si256(_mm256_castsi128_si256(x), _mm_srli_epi16(x, 4), 1);
  return _mm256_and_si256(both, _mm256_set1_epi8(15));
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

template <class Block>
inline constexpr bool kHasMin = sizeof(Block) == sizeof(BlockQ4_1) || sizeof(Block) == sizeof(BlockQ5_1);

template <class Block, int T>
RLX_INLINE void row_block32(const RowsTask& task, const uint8_t* row, float* out) {
  const size_t count = task.k / 32;
  const Block* b = reinterpret_cast<const Block*>(row);
  F total[T];
  for (int t = 0; t < T; ++t) total[t] = fzero();
  for (size_t c = 0; c * 8 < count; ++c) {
    F part[T];
    float low[T];
    for (int t = 0; t < T; ++t) {
      part[t] = fzero();
      low[t] = 0.0f;
    }
    const size_t n = min_size(8, count - c * 8);
    ask_ahead<8 * sizeof(Block)>(task.ask, row + 8 * c * sizeof(Block));
    for (size_t i = 0; i < n; ++i, ++b) {
      const __m256i q = quants(*b);
      const __m256i q0 = _mm256_cvtepi8_epi16(_mm256_castsi256_si128(q));
      const __m256i q1 = _mm256_cvtepi8_epi16(_mm256_extracti128_si256(q, 1));
      const F d = scale_of(b->d);
      for (int t = 0; t < T; ++t) {
        const int16_t* at = task.act.words(c, task.t0 + static_cast<size_t>(t)) + 32 * i;
        const __m256i p = _mm256_add_epi32(_mm256_madd_epi16(q0, load256(at)), _mm256_madd_epi16(q1, load256(at + 16)));
        part[t] = ffma(_mm256_cvtepi32_ps(p), d, part[t]);
        if constexpr (kHasMin<Block>) {
          low[t] += load_half(b->m) * task.act.sums(c)[8 * (task.t0 + static_cast<size_t>(t)) + i];
        }
      }
    }
    for (int t = 0; t < T; ++t) {
      const float scale = task.act.scales(c)[task.t0 + static_cast<size_t>(t)];
      if constexpr (kHasMin<Block>) part[t] = part[t] + _mm256_zextps128_ps256(_mm_set_ss(low[t]));
      total[t] = ffma(part[t], fset(scale), total[t]);
    }
  }
  for (int t = 0; t < T; ++t) out[static_cast<size_t>(t) * kRowStep] = fsum(total[t]);
}

template <int T>
void rows_of(const RowsTask& task) {
  for (size_t r = 0; r < task.rows; ++r) {
    const uint8_t* row = task.w + r * task.row_bytes;
    if (task.ask != Ask::near) touch_next_pages(row, task.row_bytes);
    float* out = task.out + r;
    switch (task.type) {
      case Type::q8_0: row_block32<BlockQ8_0, T>(task, row, out); break;
      case Type::q4_0: row_block32<BlockQ4_0, T>(task, row, out); break;
      case Type::q4_1: row_block32<BlockQ4_1, T>(task, row, out); break;
      case Type::q5_0: row_block32<BlockQ5_0, T>(task, row, out); break;
      case Type::q5_1: row_block32<BlockQ5_1, T>(task, row, out); break;
      case Type::q4_k: row_q45<BlockQ4K, T>(task, row, out); break;
      case Type::q5_k: row_q45<BlockQ5K, T>(task, row, out); break;
      case Type::q6_k: row_q6<T>(task, row, out); break;
      default: break;
    }
  }
}

}  // namespace

void rows_packed(const RowsTask& task) {
  for_few_tokens(task, [&](auto tokens) RLX_LAMBDA { rows_of<tokens>(task); });
}

}  // namespace rlx::kernels::RLX_ISA
