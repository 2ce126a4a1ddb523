// Before a decoder's attention: rope and its tables, appending to the cache, and both in one
// instruction.
#include <cmath>

#include "attention_base.h"

namespace rlx {
namespace {

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
    if (in(0).data != out().data)
      std::memcpy(out().f32() + t0 * row_, in(0).f32() + t0 * row_, (t1 - t0) * row_ * sizeof(float));
    rotate(rotary_, out().f32(), row_, in(0).shape[2], in(0).shape[1], in(0).shape[2], t0, t1);
  }

 private:
  Rotary rotary_;
  size_t row_ = 0, grain_ = 1;
};

// (positions i32[T], factors?) {frequencies, magnitude} → cos, sin [T, rotary/2]. The angle is
// computed in double: at position 100 000 a float has lost five digits of it.
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
    as_ggml_ = follows_ggml();
    if (!as_ggml_) return;
    ratio_ =
        std::pow(static_cast<float>(c.params.number("base", 1)), -2.0F / static_cast<float>(2 * frequencies_.size()));
    stretch_ = static_cast<float>(c.params.number("stretch", 1));
    kept_ = c.params.numbers("kept");
    if (!kept_.empty() && kept_.size() != frequencies_.size())
      reject(Code::ir_structure, "kept: got %zu numbers, expected %zu", kept_.size(), frequencies_.size());
  }
  void bind() override {
    const size_t cells = in(0).count * frequencies_.size();
    expect(out(0).count == cells && out(1).count == cells, "a result has another size");
    if (maybe(1) != nullptr) expect(in(1).count == frequencies_.size(), "the factors do not fit the frequencies");
  }
  size_t items(size_t) const override { return frequencies_.empty() ? 0 : ceil_div(in(0).count, kTokens); }
  void run(size_t, size_t item, Thread&) override {
    const size_t half = frequencies_.size();
    const size_t last = std::min(in(0).count, (item + 1) * kTokens);
    if (as_ggml_) return angles_as_ggml(item * kTokens, last);
    for (size_t t = item * kTokens; t < last; t++)
      for (size_t i = 0; i < half; i++) {
        const double factor = maybe(1) == nullptr ? 1 : static_cast<double>(in(1).f32()[i]);
        const double angle = in(0).i32()[t] * frequencies_[i] / factor;
        out(0).f32()[t * half + i] = static_cast<float>(magnitude_ * std::cos(angle));
        out(1).f32()[t * half + i] = static_cast<float>(magnitude_ * std::sin(angle));
      }
  }

 private:
  static constexpr size_t kTokens = 16;

  // ggml's angles, in f32 and each from the one before it: nearly as good for short texts, and bit
  // for bit its own.
  void angles_as_ggml(size_t t0, size_t t1) const {
    const size_t half = frequencies_.size();
    const auto magnitude = static_cast<float>(magnitude_);
    for (size_t t = t0; t < t1; t++) {
      auto plain = static_cast<float>(in(0).i32()[t]);
      for (size_t i = 0; i < half; i++, plain *= ratio_) {
        const float whole = maybe(1) == nullptr ? plain : plain / in(1).f32()[i];
        const float stretched = stretch_ * whole;
        const float keep = kept_.empty() ? 0.0F : static_cast<float>(kept_[i]);
        const float angle = keep == 0.0F ? stretched : std::fma(stretched, 1 - keep, whole * keep);
        out(0).f32()[t * half + i] = std::cos(angle) * magnitude;
        out(1).f32()[t * half + i] = std::sin(angle) * magnitude;
      }
    }
  }

  std::vector<double> frequencies_;
  bool as_ggml_ = false;
  float ratio_ = 1, stretch_ = 1;
  std::vector<double> kept_;
  double magnitude_ = 1;
};

// Rows of the cache's own type are moved; those of f32 are rounded to a cache of f16.
class KvAppend final : public AttentionBase {
 public:
  explicit KvAppend(const OpContext& context) : AttentionBase(context) {
    arity(3, 3, 1);
    packing_ = packing();
    alike_ = packing_ == kernels::Type::f32 && in(0).dtype == in(1).dtype && !is_packed(in(0).dtype);
    if (!alike_) {
      check_cache_type(c.in[0]);
      expect_type(c.in[1], DType::f32, "new rows");
    }
    expect_type(c.in[2], DType::i32, "past");
    expect_type(c.out[0], in(0).dtype, "result");
  }
  void bind() override {
    expect(in(0).rank == 3 && in(1).rank == 3 && in(2).count == 1,
           "operands are not [heads, capacity, dim], [tokens, heads, dim] and a scalar");
    expect(in(1).shape[1] == in(0).shape[0] && row_of(in(1).shape[2]) == in(0).shape[2],
           "the new rows do not fit the cache");
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
    const size_t heads = in(0).shape[0], capacity = in(0).shape[1];
    const int64_t past = past_of(in(2), in(1).shape[0], capacity);
    if (past < 0) return;
    const size_t dim = in(1).shape[2], row = in(0).shape[2];
    const size_t width = dtype_bytes(out().dtype);
    for (size_t h = 0; h < heads; h++) {
      const size_t to = (h * capacity + row_at(static_cast<size_t>(past) + item, capacity)) * row;
      const size_t from = (item * heads + h) * dim;
      if (alike_)
        std::memcpy(out().data + to * width, in(1).data + from * width, dim * width);
      else if (packing_ != kernels::Type::f32)
        pack(in(1).f32() + from, dim, out().data + to);
      else
        store(out(), to, in(1).f32() + from, dim);
    }
  }
  size_t traffic() const override { return in(1).bytes * 2; }

 private:
  size_t row_of(size_t dim) const { return packing_ == kernels::Type::f32 ? dim : packed_bytes(packing_, dim); }
  void pack(const float* x, size_t n, uint8_t* to) const {
    kernels::PackSums sums{};
    c.kernels.pack({packing_, x, 1, n, nullptr, to}, &sums);
  }

  kernels::Type packing_ = kernels::Type::f32;
  bool in_place_ = true, alike_ = true;
};

constexpr KernelEntry kTable[] = {
    {"rope", make_op<Rope>},
    {"rope_tables", make_op<RopeTables>},
    {"kv_append", make_op<KvAppend>},
};

}  // namespace

std::span<const KernelEntry> rope_kernels() { return kTable; }

}  // namespace rlx
