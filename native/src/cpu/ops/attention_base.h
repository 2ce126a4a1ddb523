// Shared by the attention ops: rotary tables, the cache's element type, and how much of the cache
// is in use. Layouts: q, k, v [T, heads, head_dim], caches [kv_heads, capacity, head_dim] in f32 or
// f16, `past` the number of positions that the cache already holds.
#pragma once

#include <cstring>

#include "tables.h"

namespace rlx {

class AttentionBase : public Op {
 public:
  using Op::Op;

 protected:
  struct Rotary {
    const Tensor* cos = nullptr;
    const Tensor* sin = nullptr;
    size_t half = 0;
    bool interleaved = false;
  };

  void check_rotary(Rotary& rotary, size_t tokens, size_t head_dim) const {
    expect(rotary.cos->rank >= 1 && rotary.cos->count == rotary.sin->count, "cos and sin differ");
    rotary.half = rotary.cos->last();
    expect(rotary.cos->count == tokens * rotary.half, "cos and sin do not fit the tokens");
    expect(rotary.half * 2 <= head_dim, "more dims are rotated than there are");
  }

  void rotate(const Rotary& rotary, float* x, size_t token_stride, size_t head_stride, size_t heads, size_t head_dim,
              size_t t0, size_t t1) const {
    kernels::RopeArgs args{};
    args.x = x;
    args.token_stride = token_stride;
    args.head_stride = head_stride;
    args.heads = heads;
    args.head_dim = head_dim;
    args.rotary_dim = rotary.half * 2;
    args.cos = rotary.cos->f32();
    args.sin = rotary.sin->f32();
    args.t0 = t0;
    args.t1 = t1;
    args.interleaved = rotary.interleaved;
    c.kernels.rope(args);
  }

  // What rows of bytes are packed in; f32 where the cache has floats.
  kernels::Type packing() const {
    constexpr kernels::Type kTypes[] = {kernels::Type::f32, kernels::Type::q8_0, kernels::Type::q4_0};
    return kTypes[c.params.integer("packing", 0, 0, 2)];
  }
  static size_t packed_bytes(kernels::Type type, size_t n) {
    const kernels::TypeInfo& info = kernels::kTypeInfo[static_cast<size_t>(type)];
    return n / info.block * info.bytes;
  }

  // n floats into the cache's element type.
  void store(const Tensor& cache, size_t at, const float* x, size_t n) const {
    if (cache.dtype == DType::f32)
      std::memcpy(cache.f32() + at, x, n * sizeof(float));
    else
      c.kernels.f32_to_f16(x, cache.as<uint16_t>() + at, n);
  }

  // A ring takes any position once it has the rows of a step and those that are read before it; one
  // that does not get to its end needs fewer.
  bool has_room(int64_t past, size_t tokens, size_t capacity) const {
    if (past < 0) return false;
    const bool is_within = static_cast<uint64_t>(past) + tokens <= capacity;
    return is_within || (is_ring_ && tokens <= capacity && reach_ <= capacity - tokens);
  }
  int64_t past_of(const Tensor& past, size_t tokens, size_t capacity) const {
    const int64_t value = past.i32()[0];
    if (has_room(value, tokens, capacity)) return value;
    stop("the context is full: the cache has no room for these tokens", Code::run_context_full);
    return -1;
  }

  // The row of a position in a cache.
  size_t row_at(size_t position, size_t capacity) const { return is_ring_ ? position % capacity : position; }

  const bool is_ring_ = c.params.flag("ring");
  size_t reach_ = 0;  // keys before a token's own that are read, at most

  // ALiBi's, one for each head, or none.
  std::vector<float> slopes() const {
    if (!c.params.has("slopes")) return {};
    const std::vector<double> given = c.params.numbers("slopes");
    return {given.begin(), given.end()};
  }

  void check_cache_type(const Tensor* cache) const {
    if (packing() != kernels::Type::f32) return expect_type(cache, DType::u8, "packed cache");
    if (cache == nullptr || (cache->dtype != DType::f32 && cache->dtype != DType::f16))
      reject(Code::ir_type, "cache: got %s, expected f32 or f16",
             cache == nullptr ? "nothing" : dtype_name(cache->dtype));
  }
};

}  // namespace rlx
