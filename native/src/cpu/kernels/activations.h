// Prepared activations: how they lie in memory. `act_layout` is the one description; prepare writes
// by it, kernels read by it, and act_bytes counts by it.
//
// Arrays, one behind the other, each with an entry per chunk of 256 values:
//   values  [tokens][value_bytes] in one of the forms below
//   lanes   [tokens][lane_bytes]  Form::lanes32 only: i32 [8], minus the sums of the blocks
//   sums    [tokens][8] f32       sum of the values of each 32 (whole numbers, exact)
//   scales  [tokens] f32          x = scale * value
//   sums16  [tokens][16] i16      i8_groups256 only: minus the sum of the values of each 16
// Float forms have values only.
#pragma once

#include "base.h"
#include "kernels.h"
#include "simd/half.h"

namespace rlx::kernels::RLX_ISA {

enum class Form {
  floats,     // f32, zero behind the end of the row
  words,      // i16, zero behind the end of the row
  pairs,      // i16: of each 32 those at even places, then those at odd ones
  groups,     // i8 quants, then i16 [8][4] factors: value = factor * quant (below)
  planes16,   // i8 high, i8 low: value = 16 * high + low, low in 0..15
  planes64,   // value = 64 * high + low, signed low
  planes128,  // value = 128 * high + low, signed low
  planes256,  // value = 256 * high + low, signed low
  lanes32,    // as planes128, in the order of AVX-512's registers (avx512_lanes.h)
};

// i8_groups256: factor and quant are whole, with a factor for every 8 values: those with i / 32 and
// i % 16 / 4 in common, which are added up first wherever 32 bytes meet 32 quants in lanes of 128
// bits. On AVX2 and AVX-512 the quants are the first and the last 16 of sub-blocks 0 2 4 6, then of
// 1 3 5 7; on AVX2 the factors have that order, each twice.

// Bits of the signed low planes of AMX.
inline constexpr int kPlaneBits32 = 7, kPlaneBits256 = 6;

// A chunk as two signed planes of bytes, value = 2^kBits * high + low.
template <int kBits>
RLX_INLINE void split_planes(const int16_t* values, int8_t* high, int8_t* low) {
  constexpr int half = 1 << (kBits - 1), mask = 2 * half - 1;
  for (size_t i = 0; i < kChunk; ++i) {
    const int l = ((values[i] + half) & mask) - half;
    low[i] = static_cast<int8_t>(l);
    high[i] = static_cast<int8_t>((values[i] - l) >> kBits);
  }
}

// Largest magnitude of an int16 activation. With K blocks a chunk of 256 products must fit int32,
// |scale * quant| <= 128 * 32 (Q6_K) and 4096 * 2016 * 256 < 2^31. Sums of products that share a
// lane must fit int16: at most 4 * 63 * 126 = 31752 (Q6_K) and 8 * 31 * 126 = 31248 (Q5_K). Types
// of whole scales stay below Q6_K: 31 * 43 and 4 * 43 * 126 (IQ2_XS, IQ2_S).
inline constexpr int kActMax256 = 2016;
inline constexpr int kGroupFactor = 16, kGroupQuant = kActMax256 / kGroupFactor;
// 127 * 128: a plane of units of 128 is int8. All paths round alike.
inline constexpr int kActMax32 = 16256;
// Four products of 256 times a byte fit int32 (matvec_avx2.cpp).
static_assert(int64_t{4} * 128 * 256 * kActMax32 < int64_t{1} << 31);

RLX_INLINE constexpr bool holds_floats(ActKind kind) { return kind == ActKind::f32 || kind == ActKind::f16; }
RLX_INLINE constexpr bool is_k_block(Type t) { return act_kind(t) == ActKind::i8_groups256; }

// From this many tokens on rows go through panels. Unpacking one pays off late on x86, where
// products of five tokens at a time are faster up to ten (docs/performance/batching.md). On arm64
// that is not measured.
#if defined(RLX_ISA_NEON)
inline constexpr size_t kPanelMinTokens = kGemmLeastTokens;
#else
inline constexpr size_t kPanelMinTokens = kGemmMinTokens;
#endif

struct ActLayout {
  Form form;
  size_t value_bytes;      // of a chunk of one token
  size_t lane_bytes = 0;   // the same of `lanes`
  size_t gap = 0;          // bytes between the values and lanes and what follows
  bool backwards = false;  // the values of the last chunk come first
  bool has_sums16 = false;

  bool has_sums() const { return form != Form::floats; }
  // Room behind the arrays that vector loads of the last entries may touch.
  static constexpr size_t kBehind = 64;
  size_t bytes(size_t k, size_t tokens) const {
    const size_t sums = has_sums() ? 8 * sizeof(float) + sizeof(float) : 0;
    const size_t sums16 = has_sums16 ? 16 * sizeof(int16_t) : 0;
    const size_t all = chunks_of(k) * tokens * (value_bytes + lane_bytes + sums + sums16) + gap + kBehind;
    return (all + 63) / 64 * 64;
  }
};

// Few tokens on AVX2 and AVX-512: activations that miss the first cache break the walk through the
// weights that prefetchers follow. So a product touches few lines (arrays apart), 32-blocks go from
// the end of the row to its beginning, and groups leave half of their place empty where the cache
// has room, with a gap before the next array. Measurements: docs/performance/kernels.md.
#if defined(RLX_ISA_AVX2)
inline constexpr size_t kGroupPlane = kChunk + 128;
#else
inline constexpr size_t kGroupPlane = kChunk + 64;
#endif
inline constexpr size_t kActGap = 512;

RLX_INLINE ActLayout layout_of_values(ActKind kind, [[maybe_unused]] size_t k, [[maybe_unused]] size_t tokens) {
  if (holds_floats(kind)) return {Form::floats, kChunk * sizeof(float)};
  const bool is_groups = kind == ActKind::i8_groups256;
  [[maybe_unused]] const bool is_few = tokens < kPanelMinTokens;
#if defined(RLX_ISA_NEON)
  // Products of bytes only.
  if (is_groups && is_few) return {Form::groups, kGroupPlane};
  return {is_groups ? Form::planes16 : Form::planes256, 2 * kChunk};
#else
#if defined(RLX_ISA_AVX2) || defined(RLX_ISA_AVX512)
  if (is_groups && is_few) return {Form::groups, k >= kLongRow ? kGroupPlane : 2 * kGroupPlane, 0, kActGap};
#endif
#if defined(RLX_ISA_AVX512)
  if (is_few) return {Form::lanes32, 2 * kChunk, 8 * sizeof(int32_t), 0, true};
#elif defined(RLX_ISA_AVX2)
  if (is_few) return {Form::pairs, 2 * kChunk, 0, 0, true};
#endif
#if defined(RLX_ISA_AMX)
  return {is_groups ? Form::planes64 : Form::planes128, 2 * kChunk};
#else
  (void)is_groups;
  return {Form::words, 2 * kChunk};
#endif
#endif
}

RLX_INLINE ActLayout act_layout(ActKind kind, size_t k, size_t tokens) {
  ActLayout layout = layout_of_values(kind, k, tokens);
  layout.has_sums16 = kind == ActKind::i8_groups256;
  return layout;
}

}  // namespace rlx::kernels::RLX_ISA
namespace rlx::kernels::RLX_BASE {

// The arrays of one prepared buffer.
struct ActView {
  const uint8_t* values;  // of chunk 0
  const uint8_t* lanes;
  const float* sums_of_all;
  size_t chunks;
  size_t tokens;
  size_t value_bytes;
  size_t lane_bytes;
  ptrdiff_t value_step;  // from chunk to chunk

  const uint8_t* at(size_t chunk, size_t t) const {
    return values + static_cast<ptrdiff_t>(chunk) * value_step + t * value_bytes;
  }
  const int16_t* words(size_t chunk, size_t t) const { return reinterpret_cast<const int16_t*>(at(chunk, t)); }
  const int8_t* planes(size_t chunk, size_t t) const { return reinterpret_cast<const int8_t*>(at(chunk, t)); }
  const float* floats(size_t chunk, size_t t) const { return reinterpret_cast<const float*>(at(chunk, t)); }
  const int8_t* lane_planes(size_t chunk, size_t t) const {
    return reinterpret_cast<const int8_t*>(lanes + (chunk * tokens + t) * lane_bytes);
  }
  const float* sums(size_t chunk) const { return sums_of_all + chunk * tokens * 8; }
  const float* scales(size_t chunk) const { return sums(chunks) + chunk * tokens; }
  const int16_t* sums16(size_t chunk) const {
    return reinterpret_cast<const int16_t*>(scales(chunks)) + chunk * tokens * 16;
  }
};

}  // namespace rlx::kernels::RLX_BASE
namespace rlx::kernels::RLX_ISA {

RLX_INLINE ActView view_act(const ActLayout& layout, const void* act, size_t k, size_t tokens) {
  const size_t chunks = chunks_of(k);
  const auto step = static_cast<ptrdiff_t>(tokens * layout.value_bytes);
  const uint8_t* values = static_cast<const uint8_t*>(act);
  const uint8_t* lanes = values + chunks * tokens * layout.value_bytes;
  const float* sums = reinterpret_cast<const float*>(lanes + chunks * tokens * layout.lane_bytes + layout.gap);
  if (layout.backwards && chunks != 0) values += static_cast<ptrdiff_t>(chunks - 1) * step;
  return {values, lanes, sums, chunks, tokens, layout.value_bytes, layout.lane_bytes, layout.backwards ? -step : step};
}

}  // namespace rlx::kernels::RLX_ISA
