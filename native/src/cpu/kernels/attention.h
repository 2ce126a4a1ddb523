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
  const size_t last = a.causal ? a.past + t + 1 : a.past + a.tokens;
  return {a.window != 0 && last > a.window ? last - a.window : 0, last};
}

using KeysF16 = Halves;
using KeysF32 = Floats;

RLX_INLINE F softcapped(const AttentionArgs& a, F s) {
  return a.softcap != 0.0f ? fset(a.softcap) * ftanh(s * fset(1.0f / a.softcap)) : s;
}

inline constexpr float kMinusInfinity = -__builtin_inff();

}  // namespace rlx::kernels::RLX_ISA
