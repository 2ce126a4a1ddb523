// The decoder's attention: rope, appending to the cache, attention over the cache, and the block that does all of it
// (with the norms of q and k) in one instruction. Layouts: q, k, v [T, heads, head_dim], caches [kv_heads, capacity,
// head_dim] in f32 or f16, `past` the number of positions that the cache already holds.
//
// The block with few tokens needs one barrier at most: an item (kv head, range of keys) rotates its own queries,
// appends the new keys of its range, and attends. With many tokens everything is rotated and appended first.
#include <cmath>
#include <cstring>

#include "tables.h"

namespace rlx {
namespace {

size_t rounded(size_t bytes) { return (bytes + 63) / 64 * 64; }

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

  void rotate(const Rotary& rotary, float* x, size_t token_stride, size_t head_stride, size_t heads, size_t head_dim, size_t t0,
              size_t t1) const {
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

  // n floats into the cache's element type.
  void store(const Tensor& cache, size_t at, const float* x, size_t n) const {
    if (cache.dtype == DType::f32) std::memcpy(cache.f32() + at, x, n * sizeof(float));
    else c.kernels.f32_to_f16(x, cache.as<uint16_t>() + at, n);
  }

  int64_t past_of(const Tensor& past, size_t tokens, size_t capacity) const {
    const int64_t value = past.i32()[0];
    if (value >= 0 && static_cast<uint64_t>(value) + tokens <= capacity) return value;
    stop("the context is full: the cache has no room for these tokens", Code::run_context_full);
    return -1;
  }

  void check_cache_type(const Tensor* cache) const {
    if (cache == nullptr || (cache->dtype != DType::f32 && cache->dtype != DType::f16))
      reject(Code::ir_type, "cache: got %s, expected f32 or f16", cache == nullptr ? "nothing" : dtype_name(cache->dtype));
  }
};

class Rope final : public AttentionBase {
 public:
  explicit Rope(const OpContext& context) : AttentionBase(context) {
    arity(3, 3, 1);
    for (const Tensor* tensor : c.in) expect_type(tensor, DType::f32, "operand");
    expect_type(c.out[0], DType::f32, "result");
    rotary_.cos = c.in[1];
    rotary_.sin = c.in[2];
    rotary_.interleaved = c.params.flag("interleaved");
  }
  void bind() override {
    expect(in(0).rank == 3 && out().count == in(0).count, "the operand is not [tokens, heads, head_dim]");
    check_rotary(rotary_, in(0).shape[0], in(0).shape[2]);
    row_ = in(0).shape[1] * in(0).shape[2];
    grain_ = std::max<size_t>(1, kGrain / 4 / std::max<size_t>(1, row_));
  }
  size_t items(size_t) const override { return ceil_div(in(0).shape[0], grain_); }
  void run(size_t, size_t item, Thread&) override {
    const size_t t0 = item * grain_;
    const size_t t1 = std::min(in(0).shape[0], t0 + grain_);
    if (in(0).data != out().data) std::memcpy(out().f32() + t0 * row_, in(0).f32() + t0 * row_, (t1 - t0) * row_ * sizeof(float));
    rotate(rotary_, out().f32(), row_, in(0).shape[2], in(0).shape[1], in(0).shape[2], t0, t1);
  }

 private:
  Rotary rotary_;
  size_t row_ = 0, grain_ = 1;
};

// (positions i32[T], factors?) {frequencies, magnitude} → cos, sin [T, rotary/2]. The angle is computed in double: at
// position 100 000 a float has lost five digits of it.
class RopeTables final : public Op {
 public:
  explicit RopeTables(const OpContext& context) : Op(context) {
    arity(1, 2, 2);
    expect_type(c.in[0], DType::i32, "positions");
    if (maybe(1) != nullptr) expect_type(c.in[1], DType::f32, "factors");
    expect_type(c.out[0], DType::f32, "cos");
    expect_type(c.out[1], DType::f32, "sin");
    frequencies_ = c.params.numbers("frequencies");
    magnitude_ = c.params.number("magnitude", 1);
  }
  void bind() override {
    const size_t cells = in(0).count * frequencies_.size();
    expect(out(0).count == cells && out(1).count == cells, "a result has another size");
    if (maybe(1) != nullptr) expect(in(1).count == frequencies_.size(), "the factors do not fit the frequencies");
  }
  size_t items(size_t) const override { return frequencies_.empty() ? 0 : ceil_div(in(0).count, kTokens); }
  void run(size_t, size_t item, Thread&) override {
    const size_t half = frequencies_.size();
    for (size_t t = item * kTokens; t < std::min(in(0).count, (item + 1) * kTokens); t++)
      for (size_t i = 0; i < half; i++) {
        const double factor = maybe(1) == nullptr ? 1 : static_cast<double>(in(1).f32()[i]);
        const double angle = in(0).i32()[t] * frequencies_[i] / factor;
        out(0).f32()[t * half + i] = static_cast<float>(magnitude_ * std::cos(angle));
        out(1).f32()[t * half + i] = static_cast<float>(magnitude_ * std::sin(angle));
      }
  }

 private:
  static constexpr size_t kTokens = 16;
  std::vector<double> frequencies_;
  double magnitude_ = 1;
};

class KvAppend final : public AttentionBase {
 public:
  explicit KvAppend(const OpContext& context) : AttentionBase(context) {
    arity(3, 3, 1);
    check_cache_type(c.in[0]);
    expect_type(c.in[1], DType::f32, "new rows");
    expect_type(c.in[2], DType::i32, "past");
    expect_type(c.out[0], in(0).dtype, "result");
  }
  void bind() override {
    expect(in(0).rank == 3 && in(1).rank == 3 && in(2).count == 1, "operands are not [heads, capacity, dim], [tokens, heads, dim] and a scalar");
    expect(in(1).shape[1] == in(0).shape[0] && in(1).shape[2] == in(0).shape[2], "the new rows do not fit the cache");
    expect(out().bytes == in(0).bytes, "the result has another size");
    in_place_ = in(0).data == out().data;
  }
  size_t phases() const override { return in_place_ ? 1 : 2; }
  size_t items(size_t phase) const override { return !in_place_ && phase == 0 ? in(0).shape[0] : in(1).shape[0]; }
  void run(size_t phase, size_t item, Thread&) override {
    if (!in_place_ && phase == 0) {
      const size_t bytes = in(0).bytes / in(0).shape[0];
      std::memcpy(out().data + item * bytes, in(0).data + item * bytes, bytes);
      return;
    }
    const int64_t past = past_of(in(2), in(1).shape[0], in(0).shape[1]);
    if (past < 0) return;
    const size_t heads = in(0).shape[0];
    const size_t dim = in(0).shape[2];
    for (size_t h = 0; h < heads; h++)
      store(out(), (h * in(0).shape[1] + static_cast<size_t>(past) + item) * dim, in(1).f32() + (item * heads + h) * dim, dim);
  }
  size_t traffic() const override { return in(1).bytes * 2; }

 private:
  bool in_place_ = true;
};

// Attention over caches; the way depends on the number of tokens and keys.
class CacheAttention : public AttentionBase {
 public:
  using AttentionBase::AttentionBase;

 protected:
  // q lies in `q_shape` [tokens, heads, head_dim].
  void bind_attention(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& past, const Tensor& y) {
    expect(q.rank == 3 && k.rank == 3 && v.rank == 3 && past.count == 1, "operands are not [tokens, heads, dim] and [kv heads, capacity, dim]");
    expect(k.shape[0] == v.shape[0] && k.shape[1] == v.shape[1] && k.shape[2] == q.shape[2], "the caches do not fit");
    expect(y.count == q.shape[0] * q.shape[1] * v.shape[2], "the result has another size");
    tokens_ = q.shape[0];
    heads_ = q.shape[1];
    dim_ = q.shape[2];
    value_dim_ = v.shape[2];
    k_type_ = k.dtype;
    v_type_ = v.dtype;
    kv_heads_ = k.shape[0];
    capacity_ = k.shape[1];
    expect(kv_heads_ > 0 && heads_ > 0 && heads_ % kv_heads_ == 0, "heads are no multiple of kv heads");
    group_ = heads_ / kv_heads_;
    base_ = kernels::AttentionArgs{};
    base_.q_token_stride = heads_ * dim_;
    base_.out_token_stride = heads_ * value_dim_;
    base_.q_head_stride = dim_;
    base_.out_head_stride = value_dim_;
    base_.kv_type = k.dtype == DType::f32 ? kernels::Type::f32 : kernels::Type::f16;
    base_.k = k.data;
    base_.v = v.data;
    base_.kv_head_stride = capacity_ * dim_;
    base_.heads = heads_;
    base_.kv_heads = kv_heads_;
    base_.head_dim = dim_;
    base_.tokens = tokens_;
    base_.scale = static_cast<float>(c.params.number("scale", 1 / std::sqrt(static_cast<double>(dim_))));
    base_.softcap = static_cast<float>(c.params.number("softcap", 0));
    base_.window = c.params.size("window", 0);
    base_.causal = c.params.number("causal", 1) != 0;
    base_.out = y.f32();
    plain_ = value_dim_ != dim_ || k_type_ != v_type_ || dim_ % 8 != 0 || dim_ > kernels::kMaxHeadDim || dim_ == 0;
    decode_ = tokens_ <= 4;
    scratch_bytes_ = rounded(plain_ ? capacity_ * sizeof(float) : kernels::attention_scratch_bytes(dim_, group_));
    partial_bytes_ = 0;
    if (!plain_ && decode_) partial_bytes_ = rounded(kernels::attention_partial_floats(base_) * sizeof(float));
  }

  kernels::AttentionArgs args_at(int64_t past, const float* q) const {
    kernels::AttentionArgs args = base_;
    args.past = static_cast<size_t>(past);
    args.q = q;
    return args;
  }

  // One query row after another, for head sizes and mixes of types that the kernels do not take.
  void attend_plainly(const kernels::AttentionArgs& args, size_t head, size_t t, float* scores) const {
    const size_t kv = head / group_;
    const size_t keys = args.causal ? args.past + t + 1 : args.past + tokens_;
    const size_t first = args.window != 0 && keys > args.window ? keys - args.window : 0;
    const float* q = args.q + t * args.q_token_stride + head * args.q_head_stride;
    const auto value = [&](const void* cache, DType type, size_t dim, size_t key, size_t d) {
      const size_t at = (kv * capacity_ + key) * dim + d;
      if (type == DType::f32) return static_cast<const float*>(cache)[at];
      float wide;
      c.kernels.f16_to_f32(static_cast<const uint16_t*>(cache) + at, &wide, 1);
      return wide;
    };
    float largest = -INFINITY;
    for (size_t key = first; key < keys; key++) {
      double dot = 0;
      for (size_t d = 0; d < dim_; d++) dot += static_cast<double>(q[d]) * value(args.k, k_type_, dim_, key, d);
      auto score = static_cast<float>(dot * args.scale);
      if (args.softcap != 0) score = args.softcap * std::tanh(score / args.softcap);
      scores[key] = score;
      largest = std::fmax(largest, score);
    }
    double total = 0;
    for (size_t key = first; key < keys; key++) total += scores[key] = std::exp(scores[key] - largest);
    float* out = args.out + t * args.out_token_stride + head * args.out_head_stride;
    for (size_t d = 0; d < value_dim_; d++) {
      double sum = 0;
      for (size_t key = first; key < keys; key++) sum += static_cast<double>(scores[key]) * value(args.v, v_type_, value_dim_, key, d);
      out[d] = static_cast<float>(sum / total);
    }
  }

  kernels::AttentionArgs base_{};
  size_t tokens_ = 0, heads_ = 0, kv_heads_ = 0, dim_ = 0, value_dim_ = 0, capacity_ = 0, group_ = 1;
  DType k_type_ = DType::f32, v_type_ = DType::f32;
  bool plain_ = false, decode_ = false;
  size_t scratch_bytes_ = 0, partial_bytes_ = 0;
};

// (q, k cache, v cache, past)
class Attention final : public CacheAttention {
 public:
  explicit Attention(const OpContext& context) : CacheAttention(context) {
    arity(4, 4, 1);
    expect_type(c.in[0], DType::f32, "q");
    check_cache_type(c.in[1]);
    check_cache_type(c.in[2]);
    expect_type(c.in[3], DType::i32, "past");
    expect_type(c.out[0], DType::f32, "result");
  }
  void bind() override {
    bind_attention(in(0), in(1), in(2), in(3), out());
    thread_bytes = scratch_bytes_;
    shared_bytes = decode_ ? kv_heads_ * kernels::key_splits(capacity_) * partial_bytes_ : 0;
  }
  size_t most_phases() const override { return 2; }
  size_t phases() const override { return decode_ && !plain_ && splits() > 1 ? 2 : 1; }
  size_t items(size_t phase) const override {
    if (tokens_ == 0) return 0;
    if (plain_) return heads_ * tokens_;
    if (!decode_) return kv_heads_ * ceil_div(tokens_, kernels::kAttentionTokenStep);
    return phase == 0 ? kv_heads_ * splits() : kv_heads_;
  }
  void run(size_t phase, size_t item, Thread& thread) override {
    const int64_t past = past_of(in(3), tokens_, capacity_);
    if (past < 0) return;
    const kernels::AttentionArgs args = args_at(past, in(0).f32());
    if (plain_) return attend_plainly(args, item % heads_, item / heads_, reinterpret_cast<float*>(thread.scratch));
    if (!decode_) {
      const size_t t0 = item / kv_heads_ * kernels::kAttentionTokenStep;
      return c.kernels.attention_prompt(args, item % kv_heads_, t0, std::min(tokens_, t0 + kernels::kAttentionTokenStep), thread.scratch);
    }
    const size_t count = splits();
    const auto partial = [&](size_t head, size_t split) { return reinterpret_cast<float*>(shared + (head * count + split) * partial_bytes_); };
    if (phase == 1) return c.kernels.attention_combine(args, item, partial(item, 0), count);
    const size_t head = item / count;
    const size_t split = item % count;
    const size_t keys = args.past + tokens_;
    c.kernels.attention_decode(args, head, split * kernels::kKeySplit, std::min(keys, (split + 1) * kernels::kKeySplit),
                               count == 1 ? nullptr : partial(head, split), thread.scratch);
  }
  size_t traffic() const override {
    const auto past = static_cast<size_t>(std::max(0, in(3).i32()[0]));
    return in(0).bytes + out().bytes + 2 * (past + tokens_) * kv_heads_ * dim_ * dtype_bytes(in(1).dtype);
  }

 private:
  size_t splits() const {
    const int64_t past = in(3).i32()[0];
    if (past < 0 || static_cast<uint64_t>(past) + tokens_ > capacity_) return 1;
    return kernels::key_splits(static_cast<size_t>(past) + tokens_);
  }
};

// (q, k, v, q norm?, k norm?, cos?, sin?, k cache, v cache, past) → result, k cache, v cache (in place)
class AttentionBlock final : public CacheAttention {
 public:
  explicit AttentionBlock(const OpContext& context) : CacheAttention(context) {
    if (c.in.size() != 10 || c.out.size() != 3) reject(Code::ir_structure, "operands: got %zu in and %zu out, expected 10 and 3", c.in.size(), c.out.size());
    for (size_t i = 0; i < 7; i++)
      if (c.in[i] != nullptr) expect_type(c.in[i], DType::f32, "operand");
      else if (i < 3) reject(Code::ir_structure, "operand %zu is missing", i);
    check_cache_type(c.in[7]);
    check_cache_type(c.in[8]);
    expect_type(c.in[9], DType::i32, "past");
    expect_type(c.out[0], DType::f32, "result");
    expect_type(c.out[1], in(7).dtype, "k cache");
    expect_type(c.out[2], in(8).dtype, "v cache");
    if ((c.in[5] == nullptr) != (c.in[6] == nullptr)) reject(Code::ir_structure, "cos without sin");
    rotary_.cos = c.in[5];
    rotary_.sin = c.in[6];
    rotary_.interleaved = c.params.flag("interleaved");
    norm_q_ = c.params.flag("normQ");
    norm_k_ = c.params.flag("normK");
    eps_ = static_cast<float>(c.params.number("eps", 1e-6));
  }

  void bind() override {
    bind_attention(in(0), in(7), in(8), in(9), out());
    expect(in(1).rank == 3 && in(1).shape[0] == tokens_ && in(1).shape[1] == kv_heads_ && in(1).shape[2] == dim_, "k has another shape");
    expect(value_dim_ == dim_, "k and v have different heads");
    expect(in(2).rank == 3 && in(2).count == in(1).count && in(2).shape[0] == tokens_ && in(2).shape[1] == kv_heads_, "v has another shape");
    expect(in(7).data == out(1).data && in(8).data == out(2).data, "the caches are not in place");
    expect(c.in[3] == nullptr || in(3).count == dim_, "the norm of q does not fit");
    expect(c.in[4] == nullptr || in(4).count == dim_, "the norm of k does not fit");
    if (rotary_.cos != nullptr) check_rotary(rotary_, tokens_, dim_);
    together_ = decode_ && !plain_;
    if (together_) {
      q_bytes_ = rounded(group_ * tokens_ * dim_ * sizeof(float));
      k_bytes_ = rounded(tokens_ * dim_ * sizeof(float));
      thread_bytes = q_bytes_ + k_bytes_ + scratch_bytes_;
      shared_bytes = kv_heads_ * kernels::key_splits(capacity_) * partial_bytes_;
    } else {
      // Rotated queries of all tokens, and one rotated key row a thread.
      shared_bytes = tokens_ * heads_ * dim_ * sizeof(float);
      k_bytes_ = rounded(kv_heads_ * dim_ * sizeof(float));
      thread_bytes = std::max(k_bytes_, scratch_bytes_);
    }
  }

  size_t most_phases() const override { return 2; }
  size_t phases() const override { return together_ && splits() == 1 ? 1 : 2; }
  size_t items(size_t phase) const override {
    if (tokens_ == 0) return 0;
    if (together_) return phase == 0 ? kv_heads_ * splits() : kv_heads_;
    if (phase == 0) return ceil_div(tokens_, kTokens);
    return plain_ ? heads_ * tokens_ : kv_heads_ * ceil_div(tokens_, kernels::kAttentionTokenStep);
  }

  void run(size_t phase, size_t item, Thread& thread) override {
    const int64_t past = past_of(in(9), tokens_, capacity_);
    if (past < 0) return;
    if (together_) return few(phase, item, static_cast<size_t>(past), thread);
    if (phase == 0) return spread(item, static_cast<size_t>(past), thread);
    const kernels::AttentionArgs args = args_at(past, reinterpret_cast<const float*>(shared));
    if (plain_) return attend_plainly(args, item % heads_, item / heads_, reinterpret_cast<float*>(thread.scratch));
    // Late tokens see more keys: the longest items go first.
    const size_t blocks = ceil_div(tokens_, kernels::kAttentionTokenStep);
    const size_t t0 = (blocks - 1 - item / kv_heads_) * kernels::kAttentionTokenStep;
    c.kernels.attention_prompt(args, item % kv_heads_, t0, std::min(tokens_, t0 + kernels::kAttentionTokenStep), thread.scratch);
  }

  size_t traffic() const override {
    const auto past = static_cast<size_t>(std::max(0, in(9).i32()[0]));
    return in(0).bytes + in(1).bytes + in(2).bytes + out().bytes + 2 * (past + tokens_) * kv_heads_ * dim_ * dtype_bytes(in(7).dtype);
  }

 private:
  static constexpr size_t kTokens = 16;

  size_t splits() const {
    const int64_t past = in(9).i32()[0];
    if (past < 0 || static_cast<uint64_t>(past) + tokens_ > capacity_) return 1;
    return kernels::key_splits(static_cast<size_t>(past) + tokens_);
  }

  // Norm and rotation of `heads` heads of the tokens [t0, t1), in place; x points at token 0.
  void finish(float* x, size_t token_stride, size_t heads, const Tensor* weight, bool norm, size_t t0, size_t t1) const {
    if (norm)
      for (size_t t = t0; t < t1; t++)
        c.kernels.rms_norm(x + t * token_stride, dim_, weight == nullptr ? nullptr : weight->f32(), eps_, x + t * token_stride, dim_, 0, heads, dim_);
    if (rotary_.cos != nullptr) rotate(rotary_, x, token_stride, dim_, heads, dim_, t0, t1);
  }

  void few(size_t phase, size_t item, size_t past, Thread& thread) const {
    const size_t count = splits();
    const auto partial = [&](size_t head, size_t split) { return reinterpret_cast<float*>(shared + (head * count + split) * partial_bytes_); };
    if (phase == 1) return c.kernels.attention_combine(args_at(static_cast<int64_t>(past), nullptr), item, partial(item, 0), count);
    const size_t head = item / count;
    const size_t split = item % count;
    const size_t key0 = split * kernels::kKeySplit;
    const size_t key1 = std::min(past + tokens_, key0 + kernels::kKeySplit);

    auto* q = reinterpret_cast<float*>(thread.scratch);
    const size_t q_stride = group_ * dim_;
    for (size_t t = 0; t < tokens_; t++)
      std::memcpy(q + t * q_stride, in(0).f32() + (t * heads_ + head * group_) * dim_, q_stride * sizeof(float));
    finish(q, q_stride, group_, c.in[3], norm_q_, 0, tokens_);

    // The new keys that fall into this item's range.
    const size_t t0 = key0 > past ? key0 - past : 0;
    const size_t t1 = key1 > past ? key1 - past : 0;
    if (t0 < t1) {
      auto* k = reinterpret_cast<float*>(thread.scratch + q_bytes_);
      for (size_t t = t0; t < t1; t++) std::memcpy(k + t * dim_, in(1).f32() + (t * kv_heads_ + head) * dim_, dim_ * sizeof(float));
      finish(k, dim_, 1, c.in[4], norm_k_, t0, t1);
      for (size_t t = t0; t < t1; t++) {
        const size_t at = (head * capacity_ + past + t) * dim_;
        store(in(7), at, k + t * dim_, dim_);
        store(in(8), at, in(2).f32() + (t * kv_heads_ + head) * dim_, dim_);
      }
    }

    kernels::AttentionArgs args = args_at(static_cast<int64_t>(past), q - head * group_ * dim_);
    args.q_token_stride = q_stride;
    c.kernels.attention_decode(args, head, key0, key1, count == 1 ? nullptr : partial(head, split), thread.scratch + q_bytes_ + k_bytes_);
  }

  void spread(size_t item, size_t past, Thread& thread) const {
    const size_t t0 = item * kTokens;
    const size_t t1 = std::min(tokens_, t0 + kTokens);
    auto* q = reinterpret_cast<float*>(shared);
    const size_t q_row = heads_ * dim_;
    const size_t k_row = kv_heads_ * dim_;
    std::memcpy(q + t0 * q_row, in(0).f32() + t0 * q_row, (t1 - t0) * q_row * sizeof(float));
    finish(q, q_row, heads_, c.in[3], norm_q_, t0, t1);
    auto* k = reinterpret_cast<float*>(thread.scratch);
    for (size_t t = t0; t < t1; t++) {
      std::memcpy(k, in(1).f32() + t * k_row, k_row * sizeof(float));
      // `finish` counts tokens from its base: one row, at t.
      finish_row(k, t);
      for (size_t h = 0; h < kv_heads_; h++) {
        const size_t at = (h * capacity_ + past + t) * dim_;
        store(in(7), at, k + h * dim_, dim_);
        store(in(8), at, in(2).f32() + t * k_row + h * dim_, dim_);
      }
    }
  }

  void finish_row(float* k, size_t t) const {
    if (norm_k_) c.kernels.rms_norm(k, dim_, c.in[4] == nullptr ? nullptr : in(4).f32(), eps_, k, dim_, 0, kv_heads_, dim_);
    // A token stride of zero lets the tables advance to t while x stays on this row.
    if (rotary_.cos != nullptr) rotate(rotary_, k, 0, dim_, kv_heads_, dim_, t, t + 1);
  }

  Rotary rotary_;
  bool norm_q_ = false, norm_k_ = false, together_ = false;
  float eps_ = 0;
  size_t q_bytes_ = 0, k_bytes_ = 0;
};

// (q, k, v, cos, sin, k cache, v cache, past, q norm?, k norm?) → q, k cache, v cache: what stands before attention.
class RopeAppend final : public AttentionBase {
 public:
  explicit RopeAppend(const OpContext& context) : AttentionBase(context) {
    arity(8, 10, 3);
    for (size_t i = 0; i < 5; i++) expect_type(c.in[i], DType::f32, "operand");
    for (size_t i = 8; i < c.in.size(); i++)
      if (c.in[i] != nullptr) expect_type(c.in[i], DType::f32, "norm");
    check_cache_type(c.in[5]);
    check_cache_type(c.in[6]);
    expect_type(c.in[7], DType::i32, "past");
    expect_type(c.out[0], DType::f32, "q");
    expect_type(c.out[1], in(5).dtype, "k cache");
    expect_type(c.out[2], in(6).dtype, "v cache");
    rotary_.cos = c.in[3];
    rotary_.sin = c.in[4];
    rotary_.interleaved = c.params.flag("interleaved");
    eps_ = static_cast<float>(c.params.number("eps", 1e-6));
  }
  void bind() override {
    expect(in(0).rank == 3 && in(1).rank == 3 && in(2).rank == 3 && in(5).rank == 3 && in(6).rank == 3 && in(7).count == 1, "an operand has another rank");
    tokens_ = in(0).shape[0];
    heads_ = in(0).shape[1];
    dim_ = in(0).shape[2];
    kv_heads_ = in(5).shape[0];
    capacity_ = in(5).shape[1];
    value_dim_ = in(6).shape[2];
    expect(in(1).shape[0] == tokens_ && in(1).shape[1] == kv_heads_ && in(1).shape[2] == dim_ && in(5).shape[2] == dim_, "k does not fit");
    expect(in(2).shape[0] == tokens_ && in(2).shape[1] == kv_heads_ && in(2).shape[2] == value_dim_, "v does not fit");
    expect(in(6).shape[0] == kv_heads_ && in(6).shape[1] == capacity_, "the caches do not fit");
    expect(out(0).count == in(0).count && out(1).bytes == in(5).bytes && out(2).bytes == in(6).bytes, "a result has another size");
    for (size_t i = 8; i < c.in.size(); i++) expect(c.in[i] == nullptr || in(i).count == dim_, "a norm does not fit");
    check_rotary(rotary_, tokens_, dim_);
    copies_ = in(5).data != out(1).data || in(6).data != out(2).data;
    thread_bytes = kv_heads_ * dim_ * sizeof(float);
  }
  size_t phases() const override { return copies_ ? 2 : 1; }
  size_t items(size_t phase) const override { return copies_ && phase == 0 ? 2 : tokens_; }
  void run(size_t phase, size_t t, Thread& thread) override {
    if (copies_ && phase == 0) {
      if (in(5 + t).data != out(1 + t).data) std::memcpy(out(1 + t).data, in(5 + t).data, in(5 + t).bytes);
      return;
    }
    const int64_t past = past_of(in(7), tokens_, capacity_);
    if (past < 0) return;
    turn(in(0).f32() + t * heads_ * dim_, out(0).f32() + t * heads_ * dim_, heads_, maybe(8), t);
    auto* k = reinterpret_cast<float*>(thread.scratch);
    turn(in(1).f32() + t * kv_heads_ * dim_, k, kv_heads_, maybe(9), t);
    for (size_t h = 0; h < kv_heads_; h++) {
      const size_t row = h * capacity_ + static_cast<size_t>(past) + t;
      store(out(1), row * dim_, k + h * dim_, dim_);
      store(out(2), row * value_dim_, in(2).f32() + (t * kv_heads_ + h) * value_dim_, value_dim_);
    }
  }
  size_t traffic() const override { return 2 * (in(0).bytes + in(1).bytes + in(2).bytes); }

 private:
  void turn(const float* from, float* to, size_t heads, const Tensor* norm, size_t t) const {
    if (norm != nullptr) c.kernels.rms_norm(from, dim_, norm->f32(), eps_, to, dim_, 0, heads, dim_);
    else std::memcpy(to, from, heads * dim_ * sizeof(float));
    // A token stride of zero lets the tables advance to t while x stays on this row.
    rotate(rotary_, to, 0, dim_, heads, dim_, t, t + 1);
  }
  Rotary rotary_;
  float eps_ = 0;
  bool copies_ = false;
  size_t tokens_ = 0, heads_ = 0, kv_heads_ = 0, dim_ = 0, value_dim_ = 0, capacity_ = 0;
};

constexpr KernelEntry kTable[] = {
    {"rope", make_op<Rope>},
    {"rope_tables", make_op<RopeTables>},
    {"rope_append", make_op<RopeAppend>},
    {"kv_append", make_op<KvAppend>},
    {"attention", make_op<Attention>},
    {"attention_block", make_op<AttentionBlock>},
};

}  // namespace

std::span<const KernelEntry> attention_kernels() { return kTable; }

}  // namespace rlx
