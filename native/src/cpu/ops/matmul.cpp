// Batched matrix product with broadcasting, in f32 or f64. In f32 a b that lies in rows of k ([k][n])
// is multiplied where it is (gemm); one in rows of n ([n][k]) as weights are, by prepared rows of a.
// Columns are handed out, batch by batch.
#include <algorithm>
#include <cstring>

#include "doubles.h"
#include "tables.h"

namespace rlx {
namespace {

constexpr size_t kTile = 64;

size_t rounded(size_t bytes) { return (bytes + 63) / 64 * 64; }

// The shapes of both kinds.
class MatmulBase : public Op {
 public:
  MatmulBase(const OpContext& context, DType type) : Op(context) {
    arity(2, 2, 1);
    for (const Tensor* tensor : c.in) expect_type(tensor, type, "operand");
    expect_type(c.out[0], type, "result");
    turned_a_ = c.params.flag("transposeA");
    turned_b_ = !c.params.flag("transposeB");
  }

  void bind() override {
    const Tensor& a = in(0);
    const Tensor& b = in(1);
    const Tensor& y = out();
    expect(a.rank >= 2 && b.rank >= 2 && y.rank >= 2, "operands need two dims at least");
    expect(y.rank >= a.rank && y.rank >= b.rank, "the result has too few dims");
    m_ = y.shape[y.rank - 2];
    n_ = y.shape[y.rank - 1];
    k_ = a.shape[a.rank - (turned_a_ ? 2 : 1)];
    expect(a.shape[a.rank - (turned_a_ ? 1 : 2)] == m_, "rows of a and of the result differ");
    expect(b.shape[b.rank - (turned_b_ ? 1 : 2)] == n_, "columns of b and of the result differ");
    expect(b.shape[b.rank - (turned_b_ ? 2 : 1)] == k_, "inner dims differ");
    batches_ = y.span(0, y.rank - 2);
    a_batches_ = a.span(0, a.rank - 2);
    for (size_t d = 0; d + 2 < y.rank; d++) {
      for (const Tensor* operand : {&a, &b}) {
        const size_t lead = y.rank - operand->rank;
        expect(d < lead || operand->shape[d - lead] == 1 || operand->shape[d - lead] == y.shape[d],
               "batch dims do not broadcast");
      }
    }
  }

 protected:
  // Which batch of an operand belongs to a batch of the result.
  size_t source(const Tensor& operand, size_t batch) const {
    const Tensor& y = out();
    size_t at = 0;
    size_t scale = 1;
    for (size_t d = y.rank - 2; d-- > 0;) {
      const size_t index = batch % y.shape[d];
      batch /= y.shape[d];
      const size_t lead = y.rank - operand.rank;
      if (d < lead) continue;
      const size_t size = operand.shape[d - lead];
      if (size != 1) at += index * scale;
      scale *= size;
    }
    return at;
  }

  // from [batch][k][n] to [batch][n][k], one tile of columns.
  static void turn(const float* from, float* to, size_t item, size_t k, size_t n) {
    const size_t tiles = ceil_div(n, kTile);
    const size_t base = item / tiles * k * n;
    const size_t begin = item % tiles * kTile;
    const size_t end = std::min(n, begin + kTile);
    for (size_t row = 0; row < k; row++)
      for (size_t column = begin; column < end; column++) to[base + column * k + row] = from[base + row * n + column];
  }

  bool turned_a_, turned_b_;
  size_t m_ = 0, n_ = 0, k_ = 0, batches_ = 0, a_batches_ = 0;
};

// b lies in rows of k.
class Matmul final : public MatmulBase {
 public:
  explicit Matmul(const OpContext& context) : MatmulBase(context, DType::f32) {}

  void bind() override {
    MatmulBase::bind();
    shared_bytes = turned_a_ ? in(0).bytes : 0;
    thread_bytes = kernels::kGemmScratchBytes;
    // Few rows read b once and in long runs.
    width_ = m_ < kernels::kGemmLeastTokens ? kFewWidth : kWidth;
    strips_ = ceil_div(n_, width_);
  }
  size_t most_phases() const override { return 2; }
  size_t phases() const override { return turned_a_ ? 2 : 1; }
  size_t items(size_t phase) const override {
    if (out().count == 0) return 0;
    return phase + 1 < phases() ? a_batches_ * ceil_div(m_, kTile) : batches_ * strips_;
  }
  void run(size_t phase, size_t item, Thread& thread) override {
    auto* turned = reinterpret_cast<float*>(shared);
    if (phase + 1 < phases()) return turn(in(0).f32(), turned, item, k_, m_);
    const size_t batch = item / strips_, begin = item % strips_ * width_;
    kernels::GemmArgs args{};
    args.a = (turned_a_ ? turned : in(0).f32()) + source(in(0), batch) * m_ * k_;
    args.lda = args.k = k_;
    args.rows = m_;
    args.b = in(1).f32() + source(in(1), batch) * k_ * n_ + begin;
    args.ldb = args.ldy = n_;
    args.columns = std::min(width_, n_ - begin);
    args.y = out().f32() + batch * m_ * n_ + begin;
    c.kernels.gemm(args, thread.scratch);
  }

 private:
  static constexpr size_t kWidth = 128, kFewWidth = 2048;
  size_t width_ = kWidth, strips_ = 0;
};

// b lies in rows of n.
class RowMatmul final : public MatmulBase {
 public:
  explicit RowMatmul(const OpContext& context) : MatmulBase(context, DType::f32) {}

  void bind() override {
    MatmulBase::bind();
    const Tensor& a = in(0);
    act_bytes_ = rounded(c.kernels.act_bytes(kernels::ActKind::f32, k_, m_));
    act_at_ = 0;
    size_t total = act_bytes_ * a_batches_;
    a_at_ = total;
    if (turned_a_) total += rounded(a.bytes);
    shared_bytes = total;
    thread_bytes = rounded(kernels::matmul_scratch_bytes(m_));
    tiles_ = ceil_div(n_, kTile);
    turns_a_ = turned_a_ ? a_batches_ * ceil_div(m_, kTile) : 0;
  }

  size_t phases() const override { return 3; }
  size_t items(size_t phase) const override {
    if (out().count == 0) return 0;
    if (phase == 0) return turns_a_;
    return phase == 1 ? a_batches_ : batches_ * tiles_;
  }

  void run(size_t phase, size_t item, Thread& thread) override {
    if (phase == 0) return turn(in(0).f32(), floats(a_at_), item, k_, m_);
    if (phase == 1) {
      const float* a = (turned_a_ ? floats(a_at_) : in(0).f32()) + item * m_ * k_;
      c.kernels.prepare({kernels::ActKind::f32, a, k_, k_, m_, 0, m_, 0, kernels::chunks_of(k_),
                         shared + act_at_ + item * act_bytes_});
      return;
    }
    const size_t batch = item / tiles_;
    kernels::MatmulArgs args{};
    args.type = kernels::Type::f32;
    args.w = in(1).f32() + source(in(1), batch) * n_ * k_;
    args.row_bytes = k_ * sizeof(float);
    args.k = k_;
    args.n0 = item % tiles_ * kTile;
    args.n1 = std::min(n_, args.n0 + kTile);
    args.act = shared + act_at_ + source(in(0), batch) * act_bytes_;
    args.tokens = args.t1 = m_;
    args.y = out().f32() + batch * m_ * n_;
    args.ldy = n_;
    c.kernels.matmul(args, thread.scratch);
  }

 private:
  float* floats(size_t offset) const { return reinterpret_cast<float*>(shared + offset); }

  size_t act_bytes_ = 0, act_at_ = 0, a_at_ = 0, tiles_ = 0, turns_a_ = 0;
};

// An item is a block of rows by a tile of columns, which the caches hold while all of k goes by.
class DoubleMatmul final : public MatmulBase {
 public:
  explicit DoubleMatmul(const OpContext& context) : MatmulBase(context, DType::f64) {}

  size_t items(size_t) const override { return batches_ * ceil_div(m_, kRows) * ceil_div(n_, kTile); }
  void run(size_t, size_t item, Thread&) override {
    const size_t tiles = ceil_div(n_, kTile);
    const size_t blocks = ceil_div(m_, kRows);
    const size_t batch = item / tiles / blocks;
    const size_t n0 = item % tiles * kTile;
    const size_t n1 = std::min(n_, n0 + kTile);
    const size_t r0 = item / tiles % blocks * kRows;
    for (size_t row = r0; row < std::min(m_, r0 + kRows); row++) multiply(batch, row, n0, n1);
  }

 private:
  static constexpr size_t kRows = 16;

  void multiply(size_t batch, size_t row, size_t n0, size_t n1) const {
    const double* a = in(0).as<double>() + source(in(0), batch) * m_ * k_ + row * (turned_a_ ? 1 : k_);
    const double* b = in(1).as<double>() + source(in(1), batch) * n_ * k_;
    const size_t step = turned_a_ ? m_ : 1;
    double* y = out().as<double>() + (batch * m_ + row) * n_;
    std::fill(y + n0, y + n1, 0.0);
    if (turned_b_) {
      for (size_t k = 0; k < k_; k++)
        for (size_t n = n0; n < n1; n++) y[n] += a[k * step] * b[k * n_ + n];
      return;
    }
    for (size_t n = n0; n < n1; n++)
      for (size_t k = 0; k < k_; k++) y[n] += a[k * step] * b[n * k_ + k];
  }
};

std::unique_ptr<Op> make_matmul(const OpContext& context) {
  if (context.params.flag("transposeB")) return make_real<RowMatmul, DoubleMatmul>(context);
  return make_real<Matmul, DoubleMatmul>(context);
}

constexpr KernelEntry kTable[] = {{"matmul", make_matmul}};

}  // namespace

std::span<const KernelEntry> matmul_kernels() { return kTable; }

}  // namespace rlx
