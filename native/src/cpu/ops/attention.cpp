// The decoder's attention over the cache, and the block that also rotates (with the norms of q and
// k) and appends, in one instruction.
//
// The block with few tokens needs one barrier at most: an item (kv head, range of keys) rotates its
// own queries, appends the new keys of its range, and attends. With many tokens everything is
// rotated and appended first.
#include <cmath>
#include <cstring>

#include "attention_base.h"

namespace rlx {
namespace {

size_t rounded(size_t bytes) { return (bytes + 63) / 64 * 64; }

// Attention over caches; the way depends on the number of tokens and keys.
class CacheAttention : public AttentionBase {
 public:
  using AttentionBase::AttentionBase;

 protected:
  // q lies in `q_shape` [tokens, heads, head_dim].
  void bind_attention(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& past, const Tensor& y) {
    expect(q.rank == 3 && k.rank == 3 && v.rank == 3 && past.count == 1,
           "operands are not [tokens, heads, dim] and [kv heads, capacity, dim]");
    packing_ = packing();
    const bool packed = packing_ != kernels::Type::f32;
    value_dim_ = packed ? numbers_of(v.shape[2]) : v.shape[2];
    expect(k.shape[0] == v.shape[0] && k.shape[1] == v.shape[1] &&
               (packed ? numbers_of(k.shape[2]) : k.shape[2]) == q.shape[2],
           "the caches do not fit");
    expect(y.count == q.shape[0] * q.shape[1] * value_dim_, "the result has another size");
    tokens_ = q.shape[0];
    heads_ = q.shape[1];
    dim_ = q.shape[2];
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
    base_.kv_type = packed ? packing_ : k.dtype == DType::f32 ? kernels::Type::f32 : kernels::Type::f16;
    base_.k = k.data;
    base_.v = v.data;
    base_.kv_head_stride = capacity_ * k.shape[2];
    base_.heads = heads_;
    base_.kv_heads = kv_heads_;
    base_.head_dim = dim_;
    base_.tokens = tokens_;
    base_.scale = static_cast<float>(c.params.number("scale", 1 / std::sqrt(static_cast<double>(dim_))));
    base_.softcap = static_cast<float>(c.params.number("softcap", 0));
    base_.window = c.params.size("window", 0);
    base_.chunk = c.params.size("chunk", 0);
    reach_ = reach();
    expect(slopes_.empty() || slopes_.size() == heads_, "slopes: one for each head");
    base_.slopes = slopes_.empty() ? nullptr : slopes_.data();
    base_.causal = c.params.number("causal", 1) != 0;
    base_.out = y.f32();
    const bool alike = value_dim_ == dim_ && k_type_ == v_type_ && dim_ <= kernels::kMaxHeadDim && dim_ > 0;
    as_ggml_ = alike && k_type_ == DType::f32 && follows_ggml();
    plain_ = !as_ggml_ && !alike;
    decode_ = tokens_ <= 4 && !as_ggml_;
    scratch_bytes_ = rounded(plain_     ? (capacity_ + dim_ + value_dim_) * sizeof(float)
                             : as_ggml_ ? kernels::attention_ggml_scratch_bytes(capacity_ + kernels::kGgmlTile, dim_)
                                        : kernels::attention_scratch_bytes(dim_, group_, packed));
    // Where such a ring goes around its end.
    if (as_ggml_ && !has_tiles())
      scratch_bytes_ = std::max(scratch_bytes_, rounded(kernels::attention_scratch_bytes(dim_, group_, packed)));
    partial_bytes_ = 0;
    if (!plain_ && decode_) partial_bytes_ = rounded(kernels::attention_partial_floats(base_) * sizeof(float));
  }

  // After bind_attention.
  void bind_sinks(const Tensor* sinks) {
    if (sinks == nullptr) return;
    expect(sinks->count == heads_, "sinks: one for each head");
    base_.sinks = sinks->f32();
  }

  kernels::AttentionArgs args_at(int64_t past, const float* q) const {
    kernels::AttentionArgs args = base_;
    args.past = static_cast<size_t>(past);
    args.q = q;
    args.ring = is_ring_ && args.past + tokens_ > capacity_ ? capacity_ : 0;
    args.begin = first_key(args.past) / kernels::kKeySplit * kernels::kKeySplit;
    return args;
  }

  bool has_tiles() const { return !is_ring_ || capacity_ % kernels::kGgmlTile == 0; }
  // Keys that a token sees before its own, at most; all of them without a window.
  size_t reach() const {
    const size_t window = base_.window == 0 ? SIZE_MAX : base_.window - 1;
    return base_.chunk == 0 ? window : std::min(window, base_.chunk - 1);
  }
  // The first key that a step behind `past` sees.
  size_t first_key(size_t past) const {
    const size_t in_window = base_.window != 0 && past + 1 > base_.window ? past + 1 - base_.window : 0;
    return std::max(in_window, base_.chunk == 0 ? 0 : past / base_.chunk * base_.chunk);
  }
  // Few tokens: the parts of the keys from the first that is seen, and the most there can be.
  size_t splits_of(const Tensor& past_tensor) const {
    const int64_t past = past_tensor.i32()[0];
    if (!has_room(past, tokens_, capacity_)) return 1;
    const auto at = static_cast<size_t>(past);
    return kernels::key_splits(at + tokens_) - first_key(at) / kernels::kKeySplit;
  }
  size_t most_splits() const { return kernels::key_splits(capacity_) + (is_ring_ ? 1 : 0); }
  // Keys that a step behind `past` reads.
  size_t keys_read(const Tensor& past) const {
    const size_t all = static_cast<size_t>(std::max(0, past.i32()[0])) + tokens_;
    return is_ring_ ? std::min(all, capacity_) : all;
  }

  // Many tokens: the block of them that begins at t0.
  void attend_block(const kernels::AttentionArgs& args, size_t kv_head, size_t t0, uint8_t* scratch) const {
    const auto attend =
        as_ggml_ && (args.ring == 0 || has_tiles()) ? c.kernels.attention_ggml : c.kernels.attention_prompt;
    attend(args, kv_head, t0, std::min(tokens_, t0 + kernels::kAttentionTokenStep), scratch);
  }

  // Numbers in a packed row of so many bytes.
  size_t numbers_of(size_t bytes) const {
    const size_t block = packed_bytes(packing_, 32);
    expect(bytes % block == 0, "a row is not whole blocks");
    return bytes / block * 32;
  }

  // One query row after another, for what the kernels do not take: values of another size or type
  // than the keys, enormous heads.
  void attend_plainly(const kernels::AttentionArgs& args, size_t head, size_t t, float* scores) const {
    const size_t kv = head / group_;
    const size_t keys = args.causal ? args.past + t + 1 : args.past + tokens_;
    const size_t in_window = args.window != 0 && keys > args.window ? keys - args.window : 0;
    const size_t first = std::max(in_window, args.chunk == 0 ? 0 : (args.past + t) / args.chunk * args.chunk);
    const float* q = args.q + t * args.q_token_stride + head * args.q_head_stride;
    float* row = scores + capacity_;  // of a packed cache
    const auto unpack = [&](const void* cache, size_t dim, size_t key) {
      if (packing_ == kernels::Type::f32) return;
      const size_t at = (kv * capacity_ + row_at(key, capacity_)) * packed_bytes(packing_, dim);
      c.kernels.dequantize(packing_, static_cast<const uint8_t*>(cache) + at, row, dim);
    };
    const auto value = [&](const void* cache, DType type, size_t dim, size_t key, size_t d) {
      if (packing_ != kernels::Type::f32) return row[d];
      const size_t at = (kv * capacity_ + row_at(key, capacity_)) * dim + d;
      if (type == DType::f32) return static_cast<const float*>(cache)[at];
      float wide;
      c.kernels.f16_to_f32(static_cast<const uint16_t*>(cache) + at, &wide, 1);
      return wide;
    };
    const float sink = args.sinks == nullptr ? -INFINITY : args.sinks[head];
    float largest = sink;
    for (size_t key = first; key < keys; key++) {
      double dot = 0;
      unpack(args.k, dim_, key);
      for (size_t d = 0; d < dim_; d++) dot += static_cast<double>(q[d]) * value(args.k, k_type_, dim_, key, d);
      auto score = static_cast<float>(dot * args.scale);
      if (args.softcap != 0) score = args.softcap * std::tanh(score / args.softcap);
      if (args.slopes != nullptr) score -= args.slopes[head] * static_cast<float>(args.past + t - key);
      scores[key - first] = score;
      largest = std::fmax(largest, score);
    }
    double total = args.sinks == nullptr ? 0 : std::exp(sink - largest);
    for (size_t i = 0; i < keys - first; i++) total += scores[i] = std::exp(scores[i] - largest);
    float* out = args.out + t * args.out_token_stride + head * args.out_head_stride;
    if (packing_ != kernels::Type::f32) return mix_packed(args.v, kv, {first, keys}, scores, total, out);
    for (size_t d = 0; d < value_dim_; d++) {
      double sum = 0;
      for (size_t key = first; key < keys; key++)
        sum += static_cast<double>(scores[key - first]) * value(args.v, v_type_, value_dim_, key, d);
      out[d] = static_cast<float>(sum / total);
    }
  }

  // The same sum, a row of values at a time.
  void mix_packed(const void* v, size_t kv, std::pair<size_t, size_t> keys, const float* scores, double total,
                  float* out) const {
    auto* row = const_cast<float*>(scores) + capacity_;
    const size_t bytes = packed_bytes(packing_, value_dim_);
    for (size_t d = 0; d < value_dim_; d++) out[d] = 0;
    for (size_t key = keys.first; key < keys.second; key++) {
      const size_t at = (kv * capacity_ + row_at(key, capacity_)) * bytes;
      c.kernels.dequantize(packing_, static_cast<const uint8_t*>(v) + at, row, value_dim_);
      const auto share = static_cast<float>(static_cast<double>(scores[key - keys.first]) / total);
      for (size_t d = 0; d < value_dim_; d++) out[d] += share * row[d];
    }
  }

  kernels::AttentionArgs base_{};
  kernels::Type packing_ = kernels::Type::f32;
  const std::vector<float> slopes_ = slopes();
  size_t tokens_ = 0, heads_ = 0, kv_heads_ = 0, dim_ = 0, value_dim_ = 0, capacity_ = 0, group_ = 1;
  DType k_type_ = DType::f32, v_type_ = DType::f32;
  bool plain_ = false, decode_ = false, as_ggml_ = false;
  size_t scratch_bytes_ = 0, partial_bytes_ = 0;
};

// (q, k cache, v cache, past, sinks?)
class Attention final : public CacheAttention {
 public:
  explicit Attention(const OpContext& context) : CacheAttention(context) {
    arity(4, 5, 1);
    expect_type(c.in[0], DType::f32, "q");
    check_cache_type(c.in[1]);
    check_cache_type(c.in[2]);
    expect_type(c.in[3], DType::i32, "past");
    if (maybe(4) != nullptr) expect_type(maybe(4), DType::f32, "sinks");
    expect_type(c.out[0], DType::f32, "result");
  }
  void bind() override {
    bind_attention(in(0), in(1), in(2), in(3), out());
    bind_sinks(maybe(4));
    thread_bytes = scratch_bytes_;
    shared_bytes = decode_ ? kv_heads_ * most_splits() * partial_bytes_ : 0;
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
    if (!decode_)
      return attend_block(args, item % kv_heads_, item / kv_heads_ * kernels::kAttentionTokenStep, thread.scratch);
    const size_t count = splits();
    const auto partial = [&](size_t head, size_t split) {
      return reinterpret_cast<float*>(shared + (head * count + split) * partial_bytes_);
    };
    if (phase == 1) return c.kernels.attention_combine(args, item, partial(item, 0), count);
    const size_t head = item / count;
    const size_t split = item % count;
    const size_t key0 = args.begin + split * kernels::kKeySplit;
    c.kernels.attention_decode(args, head, key0, std::min(args.past + tokens_, key0 + kernels::kKeySplit),
                               count == 1 ? nullptr : partial(head, split), thread.scratch);
  }
  size_t traffic() const override {
    return in(0).bytes + out().bytes + 2 * keys_read(in(3)) * kv_heads_ * in(1).shape[2] * dtype_bytes(in(1).dtype);
  }

 private:
  size_t splits() const { return splits_of(in(3)); }
};

// (q, k, v, q norm?, k norm?, cos?, sin?, k cache, v cache, past, sinks?) → result, k cache, v cache
// (in place)
class AttentionBlock final : public CacheAttention {
 public:
  explicit AttentionBlock(const OpContext& context) : CacheAttention(context) {
    if (c.in.size() != 11 || c.out.size() != 3)
      reject(Code::ir_structure, "operands: got %zu in and %zu out, expected 11 and 3", c.in.size(), c.out.size());
    for (size_t i = 0; i < 7; i++)
      if (c.in[i] != nullptr)
        expect_type(c.in[i], DType::f32, "operand");
      else if (i < 3)
        reject(Code::ir_structure, "operand %zu is missing", i);
    check_cache_type(c.in[7]);
    check_cache_type(c.in[8]);
    expect_type(c.in[9], DType::i32, "past");
    if (maybe(10) != nullptr) expect_type(maybe(10), DType::f32, "sinks");
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
    expect(in(1).rank == 3 && in(1).shape[0] == tokens_ && in(1).shape[1] == kv_heads_ && in(1).shape[2] == dim_,
           "k has another shape");
    expect(value_dim_ == dim_, "k and v have different heads");
    expect(in(2).rank == 3 && in(2).count == in(1).count && in(2).shape[0] == tokens_ && in(2).shape[1] == kv_heads_,
           "v has another shape");
    expect(in(7).data == out(1).data && in(8).data == out(2).data, "the caches are not in place");
    expect(c.in[3] == nullptr || in(3).count == dim_, "the norm of q does not fit");
    expect(c.in[4] == nullptr || in(4).count == dim_, "the norm of k does not fit");
    if (rotary_.cos != nullptr) check_rotary(rotary_, tokens_, dim_);
    bind_sinks(maybe(10));
    together_ = decode_ && !plain_;
    if (together_) {
      q_bytes_ = rounded(group_ * tokens_ * dim_ * sizeof(float));
      k_bytes_ = rounded(tokens_ * dim_ * sizeof(float));
      thread_bytes = q_bytes_ + k_bytes_ + scratch_bytes_;
      shared_bytes = kv_heads_ * most_splits() * partial_bytes_;
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
    attend_block(args, item % kv_heads_, (blocks - 1 - item / kv_heads_) * kernels::kAttentionTokenStep,
                 thread.scratch);
  }

  size_t traffic() const override {
    return in(0).bytes + in(1).bytes + in(2).bytes + out().bytes +
           2 * keys_read(in(9)) * kv_heads_ * dim_ * dtype_bytes(in(7).dtype);
  }

 private:
  static constexpr size_t kTokens = 16;

  size_t splits() const { return splits_of(in(9)); }

  // Norm and rotation of `heads` heads of the tokens [t0, t1), in place; x points at token 0.
  void finish(float* x, size_t token_stride, size_t heads, const Tensor* weight, bool norm, size_t t0,
              size_t t1) const {
    if (norm)
      for (size_t t = t0; t < t1; t++)
        c.kernels.rms_norm(x + t * token_stride, dim_, weight == nullptr ? nullptr : weight->f32(), eps_,
                           x + t * token_stride, dim_, 0, heads, dim_);
    if (rotary_.cos != nullptr) rotate(rotary_, x, token_stride, dim_, heads, dim_, t0, t1);
  }

  // Asks for the lines of an item's caches that are touched first. A layer's weights drive
  // everything out of the caches, the translations of pages, too: waiting for each of them in turn
  // takes longer than attending to some dozen keys.
  void fetch(size_t item, size_t count, size_t past) const {
    const size_t row = dim_ * dtype_bytes(in(7).dtype);
    const size_t head = item / count * capacity_ * row, first = first_key(past);
    const size_t key0 = first / kernels::kKeySplit * kernels::kKeySplit + item % count * kernels::kKeySplit;
    const size_t key = row_at(std::max(first, key0), capacity_), fresh = row_at(past, capacity_);
    for (const size_t cache : {size_t{7}, size_t{8}}) {
      const uint8_t* rows = in(cache).data + head;
      for (size_t i = 0; i < row; i += 64) {
        __builtin_prefetch(rows + key * row + i);
        __builtin_prefetch(rows + fresh * row + i, 1);
      }
    }
  }

  void few(size_t phase, size_t item, size_t past, Thread& thread) const {
    const size_t count = splits();
    const auto partial = [&](size_t head, size_t split) {
      return reinterpret_cast<float*>(shared + (head * count + split) * partial_bytes_);
    };
    if (phase == 1)
      return c.kernels.attention_combine(args_at(static_cast<int64_t>(past), nullptr), item, partial(item, 0), count);
    const size_t head = item / count;
    const size_t split = item % count;
    kernels::AttentionArgs args = args_at(static_cast<int64_t>(past), nullptr);
    const size_t key0 = args.begin + split * kernels::kKeySplit;
    const size_t key1 = std::min(past + tokens_, key0 + kernels::kKeySplit);

    fetch(item, count, past);
    if (item + 1 < kv_heads_ * count) fetch(item + 1, count, past);
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
      for (size_t t = t0; t < t1; t++)
        std::memcpy(k + t * dim_, in(1).f32() + (t * kv_heads_ + head) * dim_, dim_ * sizeof(float));
      finish(k, dim_, 1, c.in[4], norm_k_, t0, t1);
      for (size_t t = t0; t < t1; t++) {
        const size_t at = (head * capacity_ + row_at(past + t, capacity_)) * dim_;
        store(in(7), at, k + t * dim_, dim_);
        store(in(8), at, in(2).f32() + (t * kv_heads_ + head) * dim_, dim_);
      }
    }

    args.q = q - head * group_ * dim_;
    args.q_token_stride = q_stride;
    c.kernels.attention_decode(args, head, key0, key1, count == 1 ? nullptr : partial(head, split),
                               thread.scratch + q_bytes_ + k_bytes_);
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
        const size_t at = (h * capacity_ + row_at(past + t, capacity_)) * dim_;
        store(in(7), at, k + h * dim_, dim_);
        store(in(8), at, in(2).f32() + t * k_row + h * dim_, dim_);
      }
    }
  }

  void finish_row(float* k, size_t t) const {
    if (norm_k_)
      c.kernels.rms_norm(k, dim_, c.in[4] == nullptr ? nullptr : in(4).f32(), eps_, k, dim_, 0, kv_heads_, dim_);
    // A token stride of zero lets the tables advance to t while x stays on this row.
    if (rotary_.cos != nullptr) rotate(rotary_, k, 0, dim_, kv_heads_, dim_, t, t + 1);
  }

  Rotary rotary_;
  bool norm_q_ = false, norm_k_ = false, together_ = false;
  float eps_ = 0;
  size_t q_bytes_ = 0, k_bytes_ = 0;
};

constexpr KernelEntry kTable[] = {
    {"attention", make_op<Attention>},
    {"attention_block", make_op<AttentionBlock>},
};

}  // namespace

std::span<const KernelEntry> attention_kernels() { return kTable; }

}  // namespace rlx
