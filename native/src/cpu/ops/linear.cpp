// y = x·wᵀ for packed and float weights, alone or as a block: an RMS norm in front, several
// matrices that read the same rows, a gated pair, bias, and a residual added at the end.
//
// One token: every thread makes its own copy of the prepared activations, which costs less than a
// barrier; then rows are handed out. Many tokens: first all threads prepare into shared memory,
// then tiles of rows are handed out. Joined, the tokens are those of several sessions, each with
// operands and results of its own.
#include <algorithm>
#include <cstring>
#include <iterator>

#include "tables.h"

namespace rlx {
namespace {

using kernels::ActKind;

struct Matrix {
  const Tensor* w = nullptr;
  const Tensor* bias = nullptr;
  const Tensor* gate_w = nullptr;  // with a gate: y = act(gate·x + gate_bias) * (w·x + bias)
  const Tensor* gate_bias = nullptr;
  const Tensor* y = nullptr;
  kernels::Type type = kernels::Type::f32;
  kernels::Type gate_type = kernels::Type::f32;
  size_t rows = 0, chunk = 0, first_item = 0;
};

class LinearBase : public Op {
 public:
  using Op::Op;

  void bind() override {
    const Tensor& x = in(0);
    expect(x.rank > 0, "the operand is a scalar");
    k_ = x.last();
    take_rows();
    if (norm_ != nullptr) expect(norm_->count == k_, "the norm's weight does not fit the last dim");
    std::fill(std::begin(kinds_), std::end(kinds_), false);
    items_ = 0;
    for (Matrix& m : matrices_) bind_matrix(m);
    if (add_ != nullptr && !is_joined()) expect(add_->count == matrices_[0].y->count, "the residual has another size");
    alone_ = tokens_ <= 1;
    // The prepared copies, one for each kind of weight, and the rows themselves where they are
    // normalised or come from several sessions.
    size_t bytes = 0;
    for (size_t kind = 0; kind < kernels::kActKinds; kind++) {
      act_at_[kind] = bytes;
      if (kinds_[kind]) bytes += (c.kernels.act_bytes(static_cast<ActKind>(kind), k_, tokens_) + 63) / 64 * 64;
    }
    const size_t matmul_scratch = (kernels::matmul_scratch_bytes(tokens_) + 63) / 64 * 64;
    normed_at_ = bytes;
    if (alone_) {
      scratch_at_ = bytes + (normalise_ ? (k_ * sizeof(float) + 63) / 64 * 64 : 0);
      thread_bytes = scratch_at_ + matmul_scratch;
    } else {
      scratch_at_ = 0;
      shared_bytes = bytes + (normalise_ || is_joined() ? tokens_ * k_ * sizeof(float) : 0);
      thread_bytes = matmul_scratch;
    }
    prepare_grain_ = std::max<size_t>(1, 8192 / std::max<size_t>(1, k_));
  }
  size_t phases() const override { return alone_ ? 1 : 2; }
  size_t items(size_t phase) const override {
    if (tokens_ == 0) return 0;
    return !alone_ && phase == 0 ? ceil_div(tokens_, prepare_grain_) : items_;
  }
  void begin(size_t, Thread& thread) override {
    if (alone_) prepare(0, 1, thread.scratch);
  }
  void run(size_t phase, size_t item, Thread& thread) override {
    if (!alone_ && phase == 0) {
      prepare(item * prepare_grain_, std::min(tokens_, (item + 1) * prepare_grain_), shared);
      return;
    }
    size_t i = matrices_.size() - 1;
    while (matrices_[i].first_item > item) i--;
    Matrix& m = matrices_[i];
    item -= m.first_item;
    uint8_t* scratch = thread.scratch + scratch_at_;
    const uint8_t* prepared = alone_ ? thread.scratch : shared;
    multiply(m, item, prepared, scratch, thread.tuning);
  }
  bool joins(const std::vector<bool>& shared) const override {
    for (size_t i = 1; i < shared.size(); i++)
      if (!shared[i] && !(i == 2 && add_ != nullptr)) return false;
    return true;
  }
  std::vector<TunedProduct> products() const override {
    std::vector<TunedProduct> products;
    if (!alone_) return products;
    for (const Matrix& m : matrices_) {
      // A time of two types together would say nothing about either.
      if (m.gate_w != nullptr && m.gate_type != m.type) continue;
      products.push_back({m.type, k_, m.rows, m.chunk, m.first_item});
    }
    return products;
  }

 protected:
  void check_matrix(Matrix& m) {
    expect_type(m.y, DType::f32, "result");
    if (m.bias != nullptr) expect_type(m.bias, DType::f32, "bias");
    if (m.gate_bias != nullptr) expect_type(m.gate_bias, DType::f32, "bias");
    if (!kernel_type(m.w->dtype, &m.type))
      reject(Code::unsupported_tensor_type, "no kernel reads weights of %s", dtype_name(m.w->dtype));
    if (m.gate_w != nullptr && !kernel_type(m.gate_w->dtype, &m.gate_type))
      reject(Code::unsupported_tensor_type, "no kernel reads weights of %s", dtype_name(m.gate_w->dtype));
  }

  std::vector<Matrix> matrices_;
  const Tensor* norm_ = nullptr;
  bool normalise_ = false;
  const Tensor* add_ = nullptr;
  kernels::Glu glu_ = kernels::Glu::none;
  float eps_ = 0;

 private:
  ActKind kind_of(kernels::Type type) const {
    return as_ggml_ && type == kernels::Type::f16 ? ActKind::f16 : kernels::act_kind(type);
  }

  void bind_matrix(Matrix& m) {
    expect(m.w->rank == 2 && m.w->shape[1] == k_, "the matrix does not fit the operand");
    m.rows = m.w->shape[0];
    // The rows of others are checked where they are bound.
    if (!is_joined()) expect(m.y->count == tokens_ * m.rows && m.y->last() == m.rows, "the result has another shape");
    expect(k_ % kernels::type_info(m.type).block == 0, "a row is not whole blocks");
    if (m.bias != nullptr) expect(m.bias->count == m.rows, "the bias does not fit");
    kinds_[static_cast<size_t>(kind_of(m.type))] = true;
    if (m.gate_w != nullptr) {
      expect(m.gate_w->rank == 2 && m.gate_w->shape[0] == m.rows && m.gate_w->shape[1] == k_, "the gate does not fit");
      expect(k_ % kernels::type_info(m.gate_type).block == 0, "a row is not whole blocks");
      if (m.gate_bias != nullptr) expect(m.gate_bias->count == m.rows, "the bias does not fit");
      kinds_[static_cast<size_t>(kind_of(m.gate_type))] = true;
    }
    // Enough items that all threads end together, not so many that handing them out costs: about 64
    // KB of weights each for one token, 64 rows for many.
    const size_t row = kernels::row_bytes(m.type, k_);
    size_t chunk = tokens_ > 1 ? 64 : std::max<size_t>(1, 65536 / std::max<size_t>(1, row));
    chunk = std::min(chunk, ceil_div(m.rows, c.threads * 4));
    m.chunk = std::max(kernels::kRowStep, ceil_div(chunk, kernels::kRowStep) * kernels::kRowStep);
    m.first_item = items_;
    items_ += ceil_div(m.rows, m.chunk);
  }

  // Counts the tokens, and of joined ops notes where each one's rows are.
  void take_rows() {
    tokens_ = 0;
    x_rows_.clear();
    add_rows_.clear();
    y_rows_.assign(matrices_.size(), {});
    each_member([&](const Op& op) {
      const auto& member = static_cast<const LinearBase&>(op);
      const Tensor& x = *member.c.in[0];
      // Of rows without numbers there are as many as the other axes say.
      const size_t rows = x.span(0, x.rank - 1);
      tokens_ += rows;
      if (!is_joined()) return;
      expect(x.last() == k_, "the operands of sessions have other sizes");
      for (const Matrix& m : member.matrices_)
        expect(m.y->count == rows * m.w->shape[0], "the results of sessions have other sizes");
      if (add_ != nullptr) expect(member.add_->count == member.matrices_[0].y->count, "a residual has another size");
      for (size_t row = 0; row < rows; row++) {
        x_rows_.push_back(x.f32() + row * k_);
        if (add_ != nullptr) add_rows_.push_back(member.add_->f32() + row * matrices_[0].w->shape[0]);
        for (size_t i = 0; i < matrices_.size(); i++) {
          const Tensor& y = *member.matrices_[i].y;
          y_rows_[i].push_back(y.f32() + row * matrices_[i].w->shape[0]);
        }
      }
    });
  }

  // The rows of several sessions, normalised or as they are, one behind the other.
  void gather(size_t t0, size_t t1, float* rows) {
    for (size_t t = t0; t < t1; t++) {
      float* row = rows + t * k_;
      if (normalise_)
        c.kernels.rms_norm(x_rows_[t], k_, norm_ == nullptr ? nullptr : norm_->f32(), eps_, row, k_, 0, 1, k_);
      else
        std::memcpy(row, x_rows_[t], k_ * sizeof(float));
    }
  }

  void prepare(size_t t0, size_t t1, uint8_t* base) {
    const float* x = in(0).f32();
    if (is_joined()) {
      auto* rows = reinterpret_cast<float*>(base + normed_at_);
      gather(t0, t1, rows);
      x = rows;
    } else if (normalise_) {
      auto* normed = reinterpret_cast<float*>(base + normed_at_);
      c.kernels.rms_norm(x, k_, norm_ == nullptr ? nullptr : norm_->f32(), eps_, normed, k_, t0, t1, k_);
      x = normed;
    }
    for (size_t kind = 0; kind < kernels::kActKinds; kind++)
      if (kinds_[kind])
        c.kernels.prepare(
            {static_cast<ActKind>(kind), x, k_, k_, tokens_, t0, t1, 0, kernels::chunks_of(k_), base + act_at_[kind]});
  }

  void multiply(const Matrix& m, size_t item, const uint8_t* base, uint8_t* scratch, const kernels::Tuning& tuning) {
    kernels::MatmulArgs args{};
    args.type = m.type;
    args.w = m.w->data;
    args.row_bytes = kernels::row_bytes(m.type, k_);
    args.k = k_;
    args.n0 = item * m.chunk;
    args.n1 = std::min(m.rows, args.n0 + m.chunk);
    args.as_ggml = as_ggml_;
    args.prefetch = tuning.prefetch(m.type, k_);
    args.rows = m.rows;
    args.act = base + act_at_[static_cast<size_t>(kind_of(m.type))];
    args.tokens = args.t1 = tokens_;
    args.y = m.y->f32();
    args.ldy = m.rows;
    args.bias = m.bias == nullptr ? nullptr : m.bias->f32();
    if (is_joined()) {
      args.y_rows = y_rows_[static_cast<size_t>(&m - matrices_.data())].data();
      args.add_rows = add_ == nullptr ? nullptr : add_rows_.data();
    } else if (add_ != nullptr) {
      args.add = add_->f32();
      args.ldadd = m.rows;
    }
    if (m.gate_w != nullptr) {
      // The kernel's first matrix is the gate.
      args.glu = glu_;
      args.w2 = args.w;
      args.type2 = args.type;
      args.row_bytes2 = args.row_bytes;
      args.act2 = args.act;
      args.prefetch2 = args.prefetch;
      args.bias2 = args.bias;
      args.type = m.gate_type;
      args.prefetch = tuning.prefetch(m.gate_type, k_);
      args.w = m.gate_w->data;
      args.row_bytes = kernels::row_bytes(m.gate_type, k_);
      args.act = base + act_at_[static_cast<size_t>(kind_of(m.gate_type))];
      args.bias = m.gate_bias == nullptr ? nullptr : m.gate_bias->f32();
    }
    c.kernels.matmul(args, scratch);
  }

  size_t k_ = 0, tokens_ = 0, items_ = 0, prepare_grain_ = 1;
  bool alone_ = true;
  const bool as_ggml_ = follows_ggml();
  // Of joined ops, for each token; results for each matrix.
  std::vector<const float*> x_rows_, add_rows_;
  std::vector<std::vector<float*>> y_rows_;
  bool kinds_[kernels::kActKinds] = {};
  size_t act_at_[kernels::kActKinds] = {};
  size_t normed_at_ = 0, scratch_at_ = 0;
};

constexpr kernels::Glu kActivations[] = {kernels::Glu::silu, kernels::Glu::gelu_tanh, kernels::Glu::gelu_erf,
                                         kernels::Glu::relu};

// (x, w, bias?)
class Linear final : public LinearBase {
 public:
  explicit Linear(const OpContext& context) : LinearBase(context) {
    arity(2, 3, 1);
    expect_type(c.in[0], DType::f32, "operand");
    Matrix m;
    m.w = c.in[1];
    m.bias = maybe(2);
    m.y = c.out[0];
    check_matrix(m);
    matrices_.push_back(m);
  }
};

// A block, as the fusions make it: (x, norm weight?, residual?, then for each output w and bias?;
// with a gate, gate and its bias come first) {normalise, eps, gated, activation}
class LinearBlock final : public LinearBase {
 public:
  explicit LinearBlock(const OpContext& context) : LinearBase(context) {
    const bool gated = c.params.flag("gated");
    const size_t each = gated ? 4 : 2;
    if (c.in.size() < 3 + each || c.in.size() != 3 + each * c.out.size() || c.in[0] == nullptr)
      reject(Code::ir_structure, "operands: got %zu in and %zu out", c.in.size(), c.out.size());
    expect_type(c.in[0], DType::f32, "operand");
    norm_ = maybe(1);
    if (norm_ != nullptr) expect_type(norm_, DType::f32, "norm weight");
    normalise_ = c.params.flag("normalise");
    if (norm_ != nullptr && !normalise_) reject(Code::ir_structure, "a norm weight without a norm");
    eps_ = static_cast<float>(c.params.number("eps", 0));
    add_ = maybe(2);
    if (add_ != nullptr) expect_type(add_, DType::f32, "residual");
    if (add_ != nullptr && c.out.size() != 1) reject(Code::ir_structure, "a residual needs exactly one result");
    glu_ = gated ? kActivations[c.params.integer("activation", 0, 0, 3)] : kernels::Glu::none;
    for (size_t i = 0; i < c.out.size(); i++) {
      const Tensor* const* operand = &c.in[3 + i * each];
      Matrix m;
      m.y = c.out[i];
      if (gated) {
        m.gate_w = operand[0];
        m.gate_bias = operand[1];
      }
      m.w = operand[each - 2];
      m.bias = operand[each - 1];
      if (m.w == nullptr || m.y == nullptr || (gated && m.gate_w == nullptr))
        reject(Code::ir_structure, "a matrix is missing");
      check_matrix(m);
      matrices_.push_back(m);
    }
  }
};

constexpr KernelEntry kTable[] = {
    {"linear", make_op<Linear>},
    {"linear_block", make_op<LinearBlock>},
};

}  // namespace

std::span<const KernelEntry> linear_kernels() { return kTable; }

}  // namespace rlx
