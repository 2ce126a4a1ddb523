// Few tokens (decode) against packed rows with AVX-512 VNNI: the speed of memory is the aim.
//
// K blocks: a 64-byte vector of quants (unsigned) meets the two int8 planes of the activations in two vpdpbusd;
// the 6- or 8-bit sub-block scales multiply in int32, so a chunk of 256 is one exact integer per lane.
// 32-blocks: quants widen to int16 and meet the int16 activations; one f32 scale per block.
#include "blocks.h"
#include "internal.h"

namespace rlx::kernels::RLX_ISA {
namespace {

RLX_INLINE __m256i load256(const void* p) { return _mm256_loadu_si256(static_cast<const __m256i*>(p)); }
RLX_INLINE __m512i load512(const void* p) { return _mm512_loadu_si512(p); }
// One load kept in a register: the compiler would rather load twice than spend a move, and a 64-byte load that
// crosses a cache line is dear.
RLX_INLINE __m512i load512_once(const void* p) {
  __m512i v = load512(p);
  __asm__("" : "+v"(v));
  return v;
}
RLX_INLINE __m512i twice(const void* p) { return _mm512_broadcast_i64x4(load256(p)); }
// Constants written lane by lane become one load; built from broadcasts they would be rebuilt in the loops.
// 32-bit lanes of the lower and the upper half.
RLX_INLINE __m512i halves32(int a, int b) { return _mm512_setr_epi32(a, a, a, a, a, a, a, a, b, b, b, b, b, b, b, b); }
// The same for 16-bit lanes.
RLX_INLINE __m512i halves16(int a, int b) { return halves32(a << 16 | a, b << 16 | b); }

// a, a + 1, a + 2, a + 3, each four times.
RLX_INLINE __m512i quarters32(int a) {
  return _mm512_setr_epi32(a, a, a, a, a + 1, a + 1, a + 1, a + 1, a + 2, a + 2, a + 2, a + 2, a + 3, a + 3, a + 3, a + 3);
}

// acc + scale * (16 * high + low) of 64 quants of at most 63. Both plane sums of a lane share 32 bits, the high one
// in the upper half: |high| <= 4 * 63 * 128 < 2^15, and 0 <= low <= 4 * 63 * 15 < 2^15, so nothing borrows. One
// vpdpwssd with the pairs (scale, 16 * scale) then scales and adds both.
RLX_INLINE __m512i add_planes(__m512i acc, __m512i quants, __m512i scale_pairs, const int8_t* planes, int group) {
  __m512i p = _mm512_dpbusd_epi32(_mm512_setzero_si512(), quants, load512(planes + 64 * group));
  p = _mm512_slli_epi32(p, 16);
  p = _mm512_dpbusd_epi32(p, quants, load512(planes + kChunk + 64 * group));
  return _mm512_dpwssd_epi32(acc, p, scale_pairs);
}

template <class Block>
inline constexpr bool kFive = sizeof(Block) == sizeof(BlockQ5K);

// The fifth bits of sub-blocks J and J + 2 (bit J for the lower half, J + 2 for the upper), moved to bit 4.
template <int J>
RLX_INLINE __m512i fifth_bits(__m512i high) {
  return _mm512_and_si512(_mm512_rolv_epi32(high, halves32((36 - J) & 31, (34 - J) & 31)), _mm512_set1_epi8(16));
}

// Sub-blocks 4H .. 4H + 3 (64 bytes of quants): the low nibbles are 4H and 4H + 2, the high ones 4H + 1 and 4H + 3.
template <int H, class Block, int T>
RLX_INLINE void half_q45(const Block& b, __m512i pairs, const int8_t* const* planes, __m512i* acc) {
  const __m512i q = load512_once(b.qs + 64 * H), low4 = _mm512_set1_epi8(15);
  __m512i even = _mm512_and_si512(q, low4), odd = _mm512_and_si512(_mm512_srli_epi16(q, 4), low4);
  if constexpr (kFive<Block>) {
    const __m512i high = twice(b.qh);
    even = _mm512_or_si512(even, fifth_bits<4 * H>(high));
    odd = _mm512_or_si512(odd, fifth_bits<4 * H + 1>(high));
  }
  const __m512i even_scale = _mm512_permutexvar_epi32(halves32(4 * H, 4 * H + 2), pairs);
  const __m512i odd_scale = _mm512_permutexvar_epi32(halves32(4 * H + 1, 4 * H + 3), pairs);
  for (int t = 0; t < T; ++t) {
    acc[t] = add_planes(acc[t], even, even_scale, planes[t], 2 * H);
    acc[t] = add_planes(acc[t], odd, odd_scale, planes[t], 2 * H + 1);
  }
}

// Q4_K and Q5_K share everything but the fifth bit.
template <class Block, int T>
RLX_INLINE void row_q45(const RowsTask& task, const uint8_t* row, F* total) {
  const size_t chunks = task.k / kChunk;
  __m256 low[T];
  for (int t = 0; t < T; ++t) {
    total[t] = fzero();
    low[t] = _mm256_setzero_ps();
  }
  for (size_t c = 0; c < chunks; ++c) {
    const Block& b = reinterpret_cast<const Block*>(row)[c];
    const PackedScales s = unpack_scales(b.scales);
    const __m256i scale = _mm256_cvtepu8_epi32(_mm_cvtsi64_si128(static_cast<int64_t>(s.scale)));
    const __m512i pairs = _mm512_castsi256_si512(_mm256_or_si256(scale, _mm256_slli_epi32(scale, 20)));
    const __m256 mins = _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(_mm_cvtsi64_si128(static_cast<int64_t>(s.min))));
    const int8_t* planes[T];
    __m512i acc[2][T];
    for (int t = 0; t < T; ++t) {
      planes[t] = task.act.planes(c, task.t0 + static_cast<size_t>(t));
      acc[0][t] = acc[1][t] = _mm512_setzero_si512();
    }
    half_q45<0, Block, T>(b, pairs, planes, acc[0]);
    half_q45<1, Block, T>(b, pairs, planes, acc[1]);
    const __m128 d = _mm_cvtph_ps(_mm_cvtsi32_si128(static_cast<int>(load_u32(b.d))));  // d, dmin
    for (int t = 0; t < T; ++t) {
      const size_t at = task.t0 + static_cast<size_t>(t);
      const __m128 ds = _mm_mul_ps(d, _mm_set1_ps(task.act.scales(c)[at]));
      total[t] = ffma(_mm512_cvtepi32_ps(_mm512_add_epi32(acc[0][t], acc[1][t])), _mm512_broadcastss_ps(ds), total[t]);
      const __m256 min = _mm256_mul_ps(mins, _mm256_loadu_ps(task.act.sums(c) + 8 * at));
      low[t] = _mm256_fmadd_ps(min, _mm256_broadcastss_ps(_mm_movehdup_ps(ds)), low[t]);
    }
  }
  for (int t = 0; t < T; ++t) total[t] = total[t] - _mm512_zextps256_ps512(low[t]);
}

template <int T>
RLX_INLINE void row_q6(const RowsTask& task, const uint8_t* row, F* total) {
  const size_t chunks = task.k / kChunk;
  const __m512i low4 = _mm512_set1_epi8(15), bits45 = _mm512_set1_epi8(0x30);
  for (int t = 0; t < T; ++t) total[t] = fzero();
  for (size_t c = 0; c < chunks; ++c) {
    const BlockQ6K& b = reinterpret_cast<const BlockQ6K*>(row)[c];
    const __m128i packed = _mm_loadu_si128(reinterpret_cast<const __m128i*>(b.scales));
    const __m256i scales16 = _mm256_cvtepi8_epi16(packed);
    // (scale, 16 * scale) in each lane: 16 * scale in the upper half, the low 16 bits of scale in the lower.
    const __m512i wide = _mm512_cvtepu16_epi32(scales16);
    const __m512i pairs = _mm512_or_si512(wide, _mm512_slli_epi32(wide, 20));
    const int8_t* planes[T];
    __m512i acc[2][T];
    for (int t = 0; t < T; ++t) {
      const size_t at = task.t0 + static_cast<size_t>(t);
      planes[t] = task.act.planes(c, at) + 2 * kChunk;  // in order
      // Quants are stored with 32 added: minus 32 * sum(scale_j * sum of activations_j).
      const __m256i offset = _mm256_madd_epi16(scales16, load256(task.act.sums16(c) + 16 * at));
      acc[0][t] = _mm512_zextsi256_si512(_mm256_sub_epi32(_mm256_setzero_si256(), _mm256_slli_epi32(offset, 5)));
      acc[1][t] = _mm512_setzero_si512();
    }
    for (int half = 0; half < 2; ++half) {
      const __m512i ql = load512_once(b.ql + 64 * half), qh = twice(b.qh + 32 * half);
      // (top & bits45) | nibble
      const __m512i first = _mm512_ternarylogic_epi32(_mm512_sllv_epi16(qh, halves16(4, 2)), bits45,
                                                      _mm512_and_si512(ql, low4), 0xea);
      const __m512i second = _mm512_ternarylogic_epi32(_mm512_srlv_epi16(qh, halves16(0, 2)), bits45,
                                                       _mm512_and_si512(_mm512_srli_epi16(ql, 4), low4), 0xea);
      const __m512i scale0 = _mm512_permutexvar_epi32(quarters32(8 * half), pairs);
      const __m512i scale1 = _mm512_permutexvar_epi32(quarters32(8 * half + 4), pairs);
      for (int t = 0; t < T; ++t) {
        acc[0][t] = add_planes(acc[0][t], first, scale0, planes[t], 2 * half);
        acc[1][t] = add_planes(acc[1][t], second, scale1, planes[t], 2 * half + 1);
      }
    }
    const F d = _mm512_cvtph_ps(_mm256_set1_epi16(static_cast<short>(load_u16(b.d))));
    for (int t = 0; t < T; ++t) {
      const F ds = d * fset(task.act.scales(c)[task.t0 + static_cast<size_t>(t)]);
      total[t] = ffma(_mm512_cvtepi32_ps(_mm512_add_epi32(acc[0][t], acc[1][t])), ds, total[t]);
    }
  }
}

// ---- 32-blocks: the 32 quants as int16, and their scale (and minimum) ----

RLX_INLINE __m256i nibbles(const uint8_t* qs) {  // 32 bytes in order
  const __m256i x = _mm256_broadcastsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(qs)));
  const __m256i shift = _mm256_inserti128_si256(_mm256_setzero_si256(), _mm_set1_epi16(4), 1);
  return _mm256_and_si256(_mm256_srlv_epi16(x, shift), _mm256_set1_epi8(15));
}
RLX_INLINE __m256i with_fifth(__m256i low, const uint8_t* qh) {
  return _mm256_or_si256(low, _mm256_maskz_set1_epi8(load_u32(qh), 16));
}
RLX_INLINE __m512i quants(const BlockQ8_0& b) { return _mm512_cvtepi8_epi16(load256(b.qs)); }
RLX_INLINE __m512i quants(const BlockQ4_0& b) {
  return _mm512_cvtepi8_epi16(_mm256_sub_epi8(nibbles(b.qs), _mm256_set1_epi8(8)));
}
RLX_INLINE __m512i quants(const BlockQ4_1& b) { return _mm512_cvtepi8_epi16(nibbles(b.qs)); }
RLX_INLINE __m512i quants(const BlockQ5_0& b) {
  return _mm512_cvtepi8_epi16(_mm256_sub_epi8(with_fifth(nibbles(b.qs), b.qh), _mm256_set1_epi8(16)));
}
RLX_INLINE __m512i quants(const BlockQ5_1& b) { return _mm512_cvtepi8_epi16(with_fifth(nibbles(b.qs), b.qh)); }

template <class Block>
inline constexpr bool kHasMin = sizeof(Block) == sizeof(BlockQ4_1) || sizeof(Block) == sizeof(BlockQ5_1);

// f32 scales of up to 8 blocks, one per lane.
template <class Block>
RLX_INLINE __m256 scales_of(const Block* b, size_t n) {
  alignas(16) uint16_t h[8] = {};
  for (size_t i = 0; i < n; ++i) h[i] = load_u16(b[i].d);
  return _mm256_cvtph_ps(_mm_load_si128(reinterpret_cast<const __m128i*>(h)));
}
template <class Block>
RLX_INLINE __m256 mins_of(const Block* b, size_t n) {
  alignas(16) uint16_t h[8] = {};
  for (size_t i = 0; i < n; ++i) h[i] = load_u16(b[i].m);
  return _mm256_cvtph_ps(_mm_load_si128(reinterpret_cast<const __m128i*>(h)));
}
template <class Block>
RLX_INLINE __m256 all_scales(const Block* b) {
  const auto h = [b](int i) RLX_LAMBDA { return static_cast<short>(load_u16(b[i].d)); };
  return _mm256_cvtph_ps(_mm_setr_epi16(h(0), h(1), h(2), h(3), h(4), h(5), h(6), h(7)));
}

// Blocks [0, n) of one chunk; n is 8 but at the end of a row.
template <class Block, int T, bool Whole>
RLX_INLINE void chunk_block32(const RowsTask& task, const Block* b, size_t n, size_t c, F* total) {
  const int16_t* x = task.act.words(c, task.t0);
  const F scales = _mm512_castps256_ps512(Whole ? all_scales(b) : scales_of(b, n));
  F part[T][2];
  for (int t = 0; t < T; ++t) part[t][0] = part[t][1] = fzero();
  const auto one = [&](size_t i, int which) RLX_LAMBDA {
    const __m512i q = quants(b[i]);
    const F d = _mm512_permutexvar_ps(_mm512_set1_epi32(static_cast<int>(i)), scales);
    for (int t = 0; t < T; ++t) {
      const __m512i p = _mm512_madd_epi16(q, load512(x + static_cast<size_t>(t) * kChunk + 32 * i));
      part[t][which] = ffma(_mm512_cvtepi32_ps(p), d, part[t][which]);
    }
  };
  if constexpr (Whole) {
    unrolled<8>([&](auto i) RLX_LAMBDA { one(i, i % 2); });
  } else {
    for (size_t i = 0; i < n; ++i) one(i, 0);
  }
  __m256 mins = _mm256_setzero_ps();
  if constexpr (kHasMin<Block>) mins = mins_of(b, n);
  for (int t = 0; t < T; ++t) {
    const size_t at = task.t0 + static_cast<size_t>(t);
    F sum = part[t][0] + part[t][1];
    if constexpr (kHasMin<Block>) {
      sum = sum + _mm512_zextps256_ps512(_mm256_mul_ps(mins, _mm256_loadu_ps(task.act.sums(c) + 8 * at)));
    }
    total[t] = ffma(sum, fset(task.act.scales(c)[at]), total[t]);
  }
}

template <class Block, int T>
RLX_INLINE void row_block32(const RowsTask& task, const uint8_t* row, F* total) {
  const size_t count = task.k / 32;
  const Block* b = reinterpret_cast<const Block*>(row);
  for (int t = 0; t < T; ++t) total[t] = fzero();
  size_t c = 0;
  for (; 8 * c + 8 <= count; ++c) chunk_block32<Block, T, true>(task, b + 8 * c, 8, c, total);
  if (8 * c < count) chunk_block32<Block, T, false>(task, b + 8 * c, count - 8 * c, c, total);
}

// Sixteen rows at a time share the sum of their lanes.
template <int T, class Row>
RLX_INLINE void by_sixteen(const RowsTask& task, Row one_row) {
  for (size_t r0 = 0; r0 < task.rows; r0 += W) {
    const size_t n = min_size(W, task.rows - r0);
    F totals[T][W];
    for (size_t r = 0; r < n; ++r) {
      F total[T];
      const uint8_t* row = task.w + (r0 + r) * task.row_bytes;
      touch_next_pages(row, task.row_bytes);
      one_row(row, total);
      for (int t = 0; t < T; ++t) totals[t][r] = total[t];
    }
    for (size_t r = n; r < W; ++r) {
      for (int t = 0; t < T; ++t) totals[t][r] = fzero();
    }
    for (int t = 0; t < T; ++t) fstore(task.out + static_cast<size_t>(t) * kRowStep + r0, fsum_each(totals[t]));
  }
}

template <class Block, int T>
void rows_block32(const RowsTask& task) {
  by_sixteen<T>(task, [&](const uint8_t* row, F* total) RLX_LAMBDA { row_block32<Block, T>(task, row, total); });
}
template <class Block, int T>
void rows_q45(const RowsTask& task) {
  by_sixteen<T>(task, [&](const uint8_t* row, F* total) RLX_LAMBDA { row_q45<Block, T>(task, row, total); });
}
template <int T>
void rows_q6(const RowsTask& task) {
  by_sixteen<T>(task, [&](const uint8_t* row, F* total) RLX_LAMBDA { row_q6<T>(task, row, total); });
}

template <int T>
void rows_of(const RowsTask& task) {
  switch (task.type) {
    case Type::q8_0: return rows_block32<BlockQ8_0, T>(task);
    case Type::q4_0: return rows_block32<BlockQ4_0, T>(task);
    case Type::q4_1: return rows_block32<BlockQ4_1, T>(task);
    case Type::q5_0: return rows_block32<BlockQ5_0, T>(task);
    case Type::q5_1: return rows_block32<BlockQ5_1, T>(task);
    case Type::q4_k: return rows_q45<BlockQ4K, T>(task);
    case Type::q5_k: return rows_q45<BlockQ5K, T>(task);
    case Type::q6_k: return rows_q6<T>(task);
    default: return;
  }
}

}  // namespace

void rows_packed(const RowsTask& task) {
  for_few_tokens(task, [&](auto tokens) RLX_LAMBDA { rows_of<tokens>(task); });
}

}  // namespace rlx::kernels::RLX_ISA
