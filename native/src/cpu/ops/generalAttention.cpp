// Attention without a cache, any mask: q [.., Hq, Sq, D], k [.., Hkv, Sk, D], v [.., Hkv, Sk, Dv].
// Masks are aligned at the bottom right (query i stands at key i + Sk - Sq). An item is a block of
// queries for a key head, through the kernel of prompts. Row by row goes what that does not take
// (values of another size than keys, queries before the first key), and a bias: it may hide keys
// anywhere, and where they lie, which depends on a session's capacity, must not change a bit.
#include <cmath>
#include <cstring>

#include "attention_base.h"

namespace rlx {
namespace {

enum class Mask { none, causal, window, keep, bias, symmetric };

class GeneralAttention final : public AttentionBase {
 public:
  explicit GeneralAttention(const OpContext& context) : AttentionBase(context) {
    arity(3, 4, 1);
    for (size_t i = 0; i < 3; i++) expect_type(c.in[i], DType::f32, "operand");
    expect_type(c.out[0], DType::f32, "result");
    mask_ = static_cast<Mask>(c.params.integer("mask", 0, 0, 5));
    const bool wants_mask = mask_ == Mask::keep || mask_ == Mask::bias;
    if (mask_ != Mask::symmetric && wants_mask != (maybe(3) != nullptr))
      reject(Code::ir_structure, "the mask operand and the kind of mask do not go together");
    if (mask_ == Mask::bias) expect_type(c.in[3], DType::f32, "bias");
    has_kept_ = maybe(3) != nullptr && mask_ != Mask::bias;
    if (has_kept_ && in(3).dtype != DType::boolean && in(3).dtype != DType::f32)
      reject(Code::ir_type, "mask: got %s, expected bool or f32", dtype_name(in(3).dtype));
  }
  void bind() override {
    const Tensor& q = in(0);
    const Tensor& k = in(1);
    const Tensor& v = in(2);
    const size_t rank = q.rank;
    expect(rank >= 3 && k.rank == rank && v.rank == rank, "operands need [.., heads, length, dim]");
    batch_ = q.span(0, rank - 3);
    expect(k.span(0, rank - 3) == batch_ && v.span(0, rank - 3) == batch_, "batch dims differ");
    heads_ = q.shape[rank - 3];
    kv_heads_ = k.shape[rank - 3];
    expect(kv_heads_ > 0 && heads_ % kv_heads_ == 0 && v.shape[rank - 3] == kv_heads_,
           "heads are no multiple of kv heads");
    queries_ = q.shape[rank - 2];
    keys_ = k.shape[rank - 2];
    dim_ = q.shape[rank - 1];
    value_dim_ = v.shape[rank - 1];
    expect(k.shape[rank - 1] == dim_ && v.shape[rank - 2] == keys_, "k or v do not fit q");
    expect(out().count == batch_ * heads_ * queries_ * value_dim_, "the result has another size");
    if (has_kept_) expect(in(3).count == batch_ * keys_, "the mask is not [batch, keys]");
    if (mask_ == Mask::bias) {
      expect(in(3).rank <= 4 && in(3).rank >= 2, "the bias is not [B, H, Sq, Sk]");
      const Tensor& m = in(3);
      expect(m.shape[m.rank - 1] == keys_ && m.shape[m.rank - 2] == queries_, "the bias does not fit");
      bias_heads_ = m.rank > 2 ? m.shape[m.rank - 3] : 1;
      bias_batch_ = m.rank > 3 ? m.shape[0] : 1;
      expect((bias_heads_ == 1 || bias_heads_ == heads_) && (bias_batch_ == 1 || bias_batch_ == batch_),
             "the bias does not fit");
    }
    scale_ = c.params.number("scale", 1 / std::sqrt(static_cast<double>(dim_)));
    softcap_ = c.params.number("softcap", 0);
    window_ = c.params.size("window", 0);
    expect(slopes_.empty() || slopes_.size() == heads_, "slopes: one for each head");
    const bool is_aligned =
        mask_ == Mask::causal || mask_ == Mask::window || mask_ == Mask::symmetric || !slopes_.empty();
    in_blocks_ = mask_ != Mask::bias && dim_ == value_dim_ && dim_ > 0 && dim_ <= kernels::kMaxHeadDim &&
                 (!is_aligned || keys_ >= queries_);
    shared_bytes = in_blocks_ && has_kept_ ? in(3).count * sizeof(float) : 0;
    if (in_blocks_) {
      thread_bytes = kernels::attention_scratch_bytes(dim_, heads_ / kv_heads_);
      blocks_ = ceil_div(queries_, kernels::kAttentionTokenStep);
      return;
    }
    thread_bytes = keys_ * sizeof(double);
    grain_ = std::max<size_t>(1, 2 * kGrain / std::max<size_t>(1, keys_ * (dim_ + value_dim_)));
  }
  size_t most_phases() const override { return 2; }
  size_t phases() const override { return shared_bytes == 0 ? 1 : 2; }
  size_t items(size_t phase) const override {
    if (out().count == 0) return 0;
    if (phase + 1 < phases()) return batch_;
    return in_blocks_ ? batch_ * kv_heads_ * blocks_ : ceil_div(batch_ * heads_ * queries_, grain_);
  }
  void run(size_t phase, size_t item, Thread& thread) override {
    if (phase + 1 < phases()) return spread_mask(item);
    if (in_blocks_) return attend_block(item, thread);
    const size_t rows = batch_ * heads_ * queries_;
    for (size_t row = item * grain_; row < std::min(rows, (item + 1) * grain_); row++)
      attend(row, reinterpret_cast<double*>(thread.scratch));
  }

 private:
  // What the mask adds to the scores of a batch's keys.
  void spread_mask(size_t batch) const {
    auto* added = reinterpret_cast<float*>(shared) + batch * keys_;
    for (size_t key = 0; key < keys_; key++) added[key] = keeps(batch, key) ? 0 : -INFINITY;
  }

  bool keeps(size_t batch, size_t key) const {
    const size_t cell = batch * keys_ + key;
    return in(3).dtype == DType::boolean ? in(3).data[cell] != 0 : in(3).f32()[cell] >= 0.5f;
  }

  void attend_block(size_t item, Thread& thread) const {
    const size_t kv = item / blocks_ % kv_heads_, batch = item / blocks_ / kv_heads_;
    const size_t t0 = item % blocks_ * kernels::kAttentionTokenStep;
    kernels::AttentionArgs args{};
    args.q = in(0).f32() + batch * heads_ * queries_ * dim_;
    args.q_token_stride = args.out_token_stride = dim_;
    args.q_head_stride = args.out_head_stride = queries_ * dim_;
    args.kv_type = kernels::Type::f32;
    args.k = in(1).f32() + batch * kv_heads_ * keys_ * dim_;
    args.v = in(2).f32() + batch * kv_heads_ * keys_ * dim_;
    args.kv_head_stride = keys_ * dim_;
    args.heads = heads_;
    args.kv_heads = kv_heads_;
    args.head_dim = dim_;
    args.causal = mask_ == Mask::causal || mask_ == Mask::window;
    // More queries than keys only where every query sees as many keys as there are.
    args.tokens = keys_ >= queries_ ? queries_ : keys_;
    args.past = keys_ - args.tokens;
    args.scale = static_cast<float>(scale_);
    args.softcap = static_cast<float>(softcap_);
    args.window = mask_ == Mask::window ? window_ : 0;
    args.reach = mask_ == Mask::symmetric ? window_ : 0;
    if (!slopes_.empty()) args.slopes = slopes_.data();
    if (has_kept_) args.bias = reinterpret_cast<const float*>(shared) + batch * keys_;
    args.out = out().f32() + batch * heads_ * queries_ * dim_;
    c.kernels.attention_prompt(args, kv, t0, std::min(queries_, t0 + kernels::kAttentionTokenStep), thread.scratch);
  }

  void attend(size_t row, double* weights) const {
    const size_t query = row % queries_;
    const size_t head = row / queries_ % heads_;
    const size_t batch = row / queries_ / heads_;
    const size_t kv = batch * kv_heads_ + head / (heads_ / kv_heads_);
    const float* q = in(0).f32() + row * dim_;
    const float* k = in(1).f32() + kv * keys_ * dim_;
    const float* v = in(2).f32() + kv * keys_ * value_dim_;
    float* y = out().f32() + row * value_dim_;
    double largest = -INFINITY;
    for (size_t key = 0; key < keys_; key++) {
      weights[key] = score(batch, head, query, key, q, k + key * dim_);
      largest = std::fmax(largest, weights[key]);
    }
    double total = 0;
    for (size_t key = 0; key < keys_; key++)
      total += weights[key] = largest == -INFINITY ? 0 : std::exp(weights[key] - largest);
    for (size_t d = 0; d < value_dim_; d++) y[d] = 0;
    // A query that sees nothing gives zeros.
    if (total == 0) return;
    for (size_t key = 0; key < keys_; key++) {
      const auto weight = static_cast<float>(weights[key] / total);
      if (weight != 0)
        for (size_t d = 0; d < value_dim_; d++) y[d] += weight * v[key * value_dim_ + d];
    }
  }

  double score(size_t batch, size_t head, size_t query, size_t key, const float* q, const float* k) const {
    const int64_t place = static_cast<int64_t>(query + keys_) - static_cast<int64_t>(queries_);
    const auto at = static_cast<int64_t>(key);
    if ((mask_ == Mask::causal || mask_ == Mask::window) && at > place) return -INFINITY;
    // window w: w keys, the query's own among them.
    if (mask_ == Mask::window && at <= place - static_cast<int64_t>(window_)) return -INFINITY;
    const int64_t distance = std::abs(at - place);
    if (mask_ == Mask::symmetric && distance >= static_cast<int64_t>(window_)) return -INFINITY;
    if (has_kept_ && !keeps(batch, key)) return -INFINITY;
    double added = 0;
    if (mask_ == Mask::bias) {
      const size_t b = bias_batch_ == 1 ? 0 : batch;
      const size_t h = bias_heads_ == 1 ? 0 : head;
      added = in(3).f32()[((b * bias_heads_ + h) * queries_ + query) * keys_ + key];
      // Next to it a product is nothing: a window hides most keys of a long text.
      if (added <= kHidden) return added;
    }
    double value = product(q, k) * scale_;
    if (softcap_ != 0) value = softcap_ * std::tanh(value / softcap_);
    if (!slopes_.empty()) value -= static_cast<double>(slopes_[head]) * static_cast<double>(distance);
    return value + added;
  }

  // q · k in as many sums as the compiler has lanes for.
  double product(const float* q, const float* k) const {
    float sums[kLanes] = {};
    size_t d = 0;
    for (; d + kLanes <= dim_; d += kLanes)
      for (size_t i = 0; i < kLanes; i++) sums[i] += q[d + i] * k[d + i];
    double dot = 0;
    for (const float sum : sums) dot += static_cast<double>(sum);
    for (; d < dim_; d++) dot += static_cast<double>(q[d]) * static_cast<double>(k[d]);
    return dot;
  }

  static constexpr size_t kLanes = 16;
  static constexpr double kHidden = -1e29;

  Mask mask_;
  size_t batch_ = 0, heads_ = 0, kv_heads_ = 1, queries_ = 0, keys_ = 0, dim_ = 0, value_dim_ = 0;
  size_t bias_heads_ = 1, bias_batch_ = 1, window_ = 0, grain_ = 1, blocks_ = 0;
  const std::vector<float> slopes_ = slopes();
  bool in_blocks_ = false, has_kept_ = false;
  double scale_ = 1, softcap_ = 0;
};

constexpr KernelEntry kTable[] = {{"attention_general", make_op<GeneralAttention>}};

}  // namespace

std::span<const KernelEntry> general_attention_kernels() { return kTable; }

}  // namespace rlx
