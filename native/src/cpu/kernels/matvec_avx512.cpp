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
RLX_INLINE __m512i twice(const void* p) { return _mm512_broadcast_i64x4(load256(p)); }
// 16-bit lanes of the lower and the upper half.
RLX_INLINE __m512i halves16(short low, short high) {
  return _mm512_inserti64x4(_mm512_set1_epi16(low), _mm256_set1_epi16(high), 1);
}

// 64 quants against both planes of a token's chunk: 16 * high + low.
RLX_INLINE __m512i dot_planes(__m512i quants, const int8_t* planes, int group) {
  __m512i p = _mm512_dpbusd_epi32(_mm512_setzero_si512(), quants, load512(planes + 64 * group));
  p = _mm512_slli_epi32(p, 4);
  return _mm512_dpbusd_epi32(p, quants, load512(planes + kChunk + 64 * group));
}

RLX_INLINE const int8_t* planes_of(const ActView& act, size_t chunk, size_t t) {
  return reinterpret_cast<const int8_t*>(act.values(chunk) + t * kChunk);
}

// 64 quants of Q4_K, in order: the group's 32 bytes hold sub-block 2g low, 2g + 1 high.
RLX_INLINE __m512i quants_q4(const uint8_t* qs, int group) {
  const __m512i x = _mm512_srlv_epi16(twice(qs + 32 * group), halves16(0, 4));
  return _mm512_and_si512(x, _mm512_set1_epi8(15));
}

// The fifth bits of group g (bit 2g for the lower half, 2g + 1 for the upper) moved to bit 4.
template <int G>
RLX_INLINE __m512i fifth_bits(__m512i high) {
  __m512i x;
  if constexpr (G == 0) x = _mm512_sllv_epi16(high, halves16(4, 3));
  if constexpr (G == 1) x = _mm512_sllv_epi16(high, halves16(2, 1));
  if constexpr (G == 2) x = _mm512_srlv_epi16(high, halves16(0, 1));
  if constexpr (G == 3) x = _mm512_srlv_epi16(high, halves16(2, 3));
  return _mm512_and_si512(x, _mm512_set1_epi8(16));
}

template <bool Five, int G, int T>
RLX_INLINE void group_q45(const uint8_t* qs, __m512i high, __m512i scales, const int8_t* const* planes, __m512i* acc) {
  __m512i q = quants_q4(qs, G);
  if constexpr (Five) q = _mm512_or_si512(q, fifth_bits<G>(high));
  const __m512i lanes = _mm512_add_epi32(_mm512_set1_epi32(2 * G), _mm512_setr_epi32(0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1));
  const __m512i scale = _mm512_permutexvar_epi32(lanes, scales);
  for (int t = 0; t < T; ++t) {
    acc[t] = _mm512_add_epi32(acc[t], _mm512_mullo_epi32(dot_planes(q, planes[t], G), scale));
  }
}

// Q4_K and Q5_K share everything but the fifth bit.
template <class Block, int T>
RLX_INLINE void row_q45(const RowsTask& task, const uint8_t* row, float* out) {
  constexpr bool five = sizeof(Block) == sizeof(BlockQ5K);
  const size_t chunks = task.k / kChunk;
  F total[T];
  for (int t = 0; t < T; ++t) total[t] = fzero();
  for (size_t c = 0; c < chunks; ++c) {
    const Block& b = reinterpret_cast<const Block*>(row)[c];
    _mm_prefetch(reinterpret_cast<const char*>(&b) + 1536, _MM_HINT_T0);
    _mm_prefetch(reinterpret_cast<const char*>(&b) + 1600, _MM_HINT_T0);
    const PackedScales s = unpack_scales(b.scales);
    const __m512i scales = _mm512_castsi256_si512(_mm256_cvtepu8_epi32(_mm_cvtsi64_si128(static_cast<int64_t>(s.scale))));
    const __m256 mins = _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(_mm_cvtsi64_si128(static_cast<int64_t>(s.min))));
    __m512i high = _mm512_setzero_si512();
    if constexpr (five) high = twice(b.qh);
    const int8_t* planes[T];
    __m512i acc[T];
    for (int t = 0; t < T; ++t) {
      planes[t] = planes_of(task.act, c, task.t0 + static_cast<size_t>(t));
      acc[t] = _mm512_setzero_si512();
    }
    group_q45<five, 0, T>(b.qs, high, scales, planes, acc);
    group_q45<five, 1, T>(b.qs, high, scales, planes, acc);
    group_q45<five, 2, T>(b.qs, high, scales, planes, acc);
    group_q45<five, 3, T>(b.qs, high, scales, planes, acc);
    const __m128 d = _mm_cvtph_ps(_mm_cvtsi32_si128(static_cast<int>(load_u32(b.d))));  // d, dmin
    for (int t = 0; t < T; ++t) {
      const size_t at = task.t0 + static_cast<size_t>(t);
      const __m128 ds = _mm_mul_ps(d, _mm_set1_ps(task.act.scales(c)[at]));
      total[t] = ffma(_mm512_cvtepi32_ps(acc[t]), _mm512_broadcastss_ps(ds), total[t]);
      const __m256 min = _mm256_mul_ps(mins, _mm256_loadu_ps(task.act.sums(c) + 8 * at));
      total[t] = _mm512_fnmadd_ps(_mm512_zextps256_ps512(min), _mm512_broadcastss_ps(_mm_movehdup_ps(ds)), total[t]);
    }
  }
  for (int t = 0; t < T; ++t) out[static_cast<size_t>(t) * kRowStep] = fsum(total[t]);
}

template <int T>
RLX_INLINE void row_q6(const RowsTask& task, const uint8_t* row, float* out) {
  const size_t chunks = task.k / kChunk;
  const __m512i low4 = _mm512_set1_epi8(15), bits45 = _mm512_set1_epi8(0x30);
  F total[T];
  for (int t = 0; t < T; ++t) total[t] = fzero();
  for (size_t c = 0; c < chunks; ++c) {
    const BlockQ6K& b = reinterpret_cast<const BlockQ6K*>(row)[c];
    for (int i = 0; i < 4; ++i) _mm_prefetch(reinterpret_cast<const char*>(&b) + 1536 + 64 * i, _MM_HINT_T0);
    const __m128i packed = _mm_loadu_si128(reinterpret_cast<const __m128i*>(b.scales));
    const __m256i scales16 = _mm256_cvtepi8_epi16(packed);
    const __m512i scales = _mm512_cvtepi8_epi32(packed);
    const int8_t* planes[T];
    __m512i acc[T];
    for (int t = 0; t < T; ++t) {
      const size_t at = task.t0 + static_cast<size_t>(t);
      planes[t] = planes_of(task.act, c, at);
      // Quants are stored with 32 added: minus 32 * sum(scale_j * sum of activations_j).
      const __m256i offset = _mm256_madd_epi16(scales16, load256(task.act.sums16(c) + 16 * at));
      acc[t] = _mm512_zextsi256_si512(_mm256_sub_epi32(_mm256_setzero_si256(), _mm256_slli_epi32(offset, 5)));
    }
    const __m512i lanes = _mm512_setr_epi32(0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3);
    for (int half = 0; half < 2; ++half) {
      const __m512i ql = load512(b.ql + 64 * half);
      const __m512i qh = twice(b.qh + 32 * half);
      const __m512i first = _mm512_ternarylogic_epi32(_mm512_sllv_epi16(qh, halves16(4, 2)), bits45, _mm512_and_si512(ql, low4), 0xea);
      const __m512i second = _mm512_ternarylogic_epi32(_mm512_srlv_epi16(qh, halves16(0, 2)), bits45,
                                                       _mm512_and_si512(_mm512_srli_epi16(ql, 4), low4), 0xea);
      const __m512i scale0 = _mm512_permutexvar_epi32(_mm512_add_epi32(lanes, _mm512_set1_epi32(8 * half)), scales);
      const __m512i scale1 = _mm512_permutexvar_epi32(_mm512_add_epi32(lanes, _mm512_set1_epi32(8 * half + 4)), scales);
      for (int t = 0; t < T; ++t) {
        acc[t] = _mm512_add_epi32(acc[t], _mm512_mullo_epi32(dot_planes(first, planes[t], 2 * half), scale0));
        acc[t] = _mm512_add_epi32(acc[t], _mm512_mullo_epi32(dot_planes(second, planes[t], 2 * half + 1), scale1));
      }
    }
    const float d = load_half(b.d);
    for (int t = 0; t < T; ++t) {
      const float ds = d * task.act.scales(c)[task.t0 + static_cast<size_t>(t)];
      total[t] = ffma(_mm512_cvtepi32_ps(acc[t]), fset(ds), total[t]);
    }
  }
  for (int t = 0; t < T; ++t) out[static_cast<size_t>(t) * kRowStep] = fsum(total[t]);
}

// ---- 32-blocks: the 32 quants as int16, and their scale (and minimum) ----

RLX_INLINE F scale_of(const uint8_t* d) { return _mm512_cvtph_ps(_mm256_set1_epi16(static_cast<short>(load_u16(d)))); }

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
    const int16_t* x = task.act.values(c) + task.t0 * kChunk;
    for (size_t i = 0; i < n; ++i, ++b) {
      _mm_prefetch(reinterpret_cast<const char*>(b) + 1536, _MM_HINT_T0);
      const __m512i q = quants(*b);
      const F d = scale_of(b->d);
      for (int t = 0; t < T; ++t) {
        const __m512i p = _mm512_madd_epi16(q, load512(x + static_cast<size_t>(t) * kChunk + 32 * i));
        part[t] = ffma(_mm512_cvtepi32_ps(p), d, part[t]);
        if constexpr (kHasMin<Block>) {
          low[t] += load_half(b->m) * task.act.sums(c)[8 * (task.t0 + static_cast<size_t>(t)) + i];
        }
      }
    }
    for (int t = 0; t < T; ++t) {
      const float scale = task.act.scales(c)[task.t0 + static_cast<size_t>(t)];
      if constexpr (kHasMin<Block>) part[t] = part[t] + _mm512_zextps128_ps512(_mm_set_ss(low[t]));
      total[t] = ffma(part[t], fset(scale), total[t]);
    }
  }
  for (int t = 0; t < T; ++t) out[static_cast<size_t>(t) * kRowStep] = fsum(total[t]);
}

template <int T>
void rows_of(const RowsTask& task) {
  for (size_t r = 0; r < task.rows; ++r) {
    const uint8_t* row = task.w + r * task.row_bytes;
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
  static_assert(kGemmMinTokens == 6);
  switch (task.t1 - task.t0) {
    case 1: return rows_of<1>(task);
    case 2: return rows_of<2>(task);
    case 3: return rows_of<3>(task);
    case 4: return rows_of<4>(task);
    case 5: return rows_of<5>(task);
    default: return;
  }
}

}  // namespace rlx::kernels::RLX_ISA
