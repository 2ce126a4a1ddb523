// Shared by the attention kernels: sizes, key loads for f16 and f32 caches, visible key ranges.
#pragma once

#include "../../core/formats/all.h"
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

// The row of the cache that a key lies in.
RLX_INLINE size_t row_of_key(const AttentionArgs& a, size_t key) { return a.ring == 0 ? key : key % a.ring; }
// The end of the keys from `key` on whose rows follow each other: `end`, or where a ring begins again.
RLX_INLINE size_t run_end(const AttentionArgs& a, size_t key, size_t end) {
  return a.ring == 0 ? end : min_size(end, key + a.ring - key % a.ring);
}

using KeysF16 = Halves;
using KeysF32 = Floats;

// Rows of packed blocks; an element is a byte. They become floats, a tile at a time.
template <class Block, void (*kUnpack)(const Block&, float*)>
struct PackedKeys {
  using Element = uint8_t;
  static size_t row(size_t head_dim) { return head_dim / 32 * sizeof(Block); }
  static void unpack(const uint8_t* from, size_t n, float* to) {
    for (size_t i = 0; i < n; i += 32, from += sizeof(Block)) kUnpack(*reinterpret_cast<const Block*>(from), to + i);
  }
};
using KeysQ8 = PackedKeys<formats::q8_0::Block, formats::q8_0::unpack>;
using KeysQ4 = PackedKeys<formats::q4_0::Block, formats::q4_0::unpack>;
template <class Keys>
inline constexpr bool kIsPacked = __is_same(typename Keys::Element, uint8_t);

// Elements of the cache from one key to the next.
template <class Keys>
RLX_INLINE size_t row_of(size_t head_dim) {
  if constexpr (kIsPacked<Keys>) return Keys::row(head_dim);
  return head_dim;
}

// visit(Keys) for the type of the caches.
template <class Visit>
RLX_INLINE void by_keys(Type type, Visit visit) {
  if (type == Type::f16) return visit(KeysF16{});
  if (type == Type::q8_0) return visit(KeysQ8{});
  if (type == Type::q4_0) return visit(KeysQ4{});
  visit(KeysF32{});
}

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
