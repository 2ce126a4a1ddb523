// Shared by the attention kernels: sizes, key loads for f16 and f32 caches, visible key ranges.
#pragma once

#include "vecmath.h"

namespace rlx::kernels::RLX_ISA {

inline constexpr size_t kKeyTile = 64;

RLX_INLINE size_t group_of(const AttentionArgs& a) { return a.heads / a.kv_heads; }

// Keys [first, last) that token t sees.
struct KeyRange {
  size_t first, last;
};
RLX_INLINE KeyRange visible(const AttentionArgs& a, size_t t) {
  const size_t keys = a.past + a.tokens, place = a.past + t;
  if (a.reach != 0) return {place < a.reach ? 0 : place - a.reach + 1, min_size(place + a.reach, keys)};
  const size_t last = a.causal ? place + 1 : keys;
  const size_t first = a.window != 0 && last > a.window ? last - a.window : 0;
  const size_t begin = a.chunk != 0 ? place / a.chunk * a.chunk : 0;
  return {begin > first ? begin : first, last};
}

using KeysF16 = Halves;
using KeysF32 = Floats;

RLX_INLINE F softcapped(const AttentionArgs& a, F s) {
  return a.softcap != 0.0f ? fset(a.softcap) * ftanh(s * fset(1.0f / a.softcap)) : s;
}

// ALiBi: what the scores of the keys [key0, key0 + count) lose with their distance from the token.
RLX_INLINE void fall(const AttentionArgs& a, size_t head, size_t t, size_t key0, size_t count, float* s) {
  if (a.slopes == nullptr) return;
  const float slope = a.slopes[head], place = static_cast<float>(a.past + t);
  for (size_t j = 0; j < count; ++j) s[j] -= slope * __builtin_fabsf(static_cast<float>(key0 + j) - place);
}

inline constexpr float kMinusInfinity = -__builtin_inff();

// What a row's maximum and total are before its first key.
struct RowStart {
  float top, total;
};
RLX_INLINE RowStart row_start(const AttentionArgs& a, size_t head) {
  return a.sinks == nullptr ? RowStart{kMinusInfinity, 0.0f} : RowStart{a.sinks[head], 1.0f};
}

}  // namespace rlx::kernels::RLX_ISA
