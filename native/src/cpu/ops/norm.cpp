// Normalisation: RMS and layer norm over the last axis, in f32 or f64; group norm over channels in
// groups.
#include <cmath>

#include "tables.h"

namespace rlx {
namespace {

class RowNorm : public Op {
 public:
  using Op::Op;
  void bind() override {
    expect(out().count == in(0).count && in(0).rank > 0, "the result has another size");
    for (size_t i = 1; i < c.in.size(); i++)
      if (c.in[i] != nullptr) expect(in(i).count == in(0).last(), "weight or bias do not fit the last dim");
    grain_ = std::max<size_t>(1, 4096 / std::max<size_t>(1, in(0).last()));
  }
  size_t items(size_t) const override { return ceil_div(in(0).rows(), grain_); }

 protected:
  void check_types(size_t operands) {
    wide_ = in(0).dtype == DType::f64;
    const DType type = wide_ ? DType::f64 : DType::f32;
    for (size_t i = 0; i < operands; i++)
      if (maybe(i) != nullptr) expect_type(c.in[i], type, "operand");
    expect_type(c.out[0], type, "result");
    precise_eps_ = c.params.number("eps", 1e-5);
    eps_ = static_cast<float>(precise_eps_);
  }
  const float* data(size_t i) const { return maybe(i) == nullptr ? nullptr : in(i).f32(); }
  // f64: the rows of an item about their mean, or about zero; operand 1 is the weight, operand 2
  // the bias.
  void rows_in_double(size_t item, bool centred) const {
    const size_t n = in(0).last();
    const double* weight = maybe(1) == nullptr ? nullptr : in(1).as<double>();
    const double* bias = maybe(2) == nullptr ? nullptr : in(2).as<double>();
    for (size_t row = item * grain_; row < std::min(in(0).rows(), (item + 1) * grain_); row++) {
      const double* x = in(0).as<double>() + row * n;
      double* y = out().as<double>() + row * n;
      double mean = 0;
      if (centred)
        for (size_t i = 0; i < n; i++) mean += x[i];
      mean /= static_cast<double>(n);
      double squares = 0;
      for (size_t i = 0; i < n; i++) squares += (x[i] - mean) * (x[i] - mean);
      const double scale = 1 / std::sqrt(squares / static_cast<double>(n) + precise_eps_);
      for (size_t i = 0; i < n; i++)
        y[i] = (x[i] - mean) * scale * (weight == nullptr ? 1 : weight[i]) + (bias == nullptr ? 0 : bias[i]);
    }
  }
  bool wide_ = false;
  size_t grain_ = 1;
  float eps_ = 0;
  double precise_eps_ = 0;
};

class RmsNorm final : public RowNorm {
 public:
  explicit RmsNorm(const OpContext& context) : RowNorm(context) {
    arity(1, 2, 1);
    check_types(2);
  }
  void run(size_t, size_t item, Thread&) override {
    if (wide_) return rows_in_double(item, false);
    const size_t n = in(0).last();
    c.kernels.rms_norm(in(0).f32(), n, data(1), eps_, out().f32(), n, item * grain_,
                       std::min(in(0).rows(), (item + 1) * grain_), n);
  }
};

class LayerNorm final : public RowNorm {
 public:
  explicit LayerNorm(const OpContext& context) : RowNorm(context) {
    arity(1, 3, 1);
    check_types(3);
  }
  void run(size_t, size_t item, Thread&) override {
    if (wide_) return rows_in_double(item, true);
    const size_t n = in(0).last();
    c.kernels.layer_norm(in(0).f32(), n, data(1), data(2), eps_, out().f32(), n, item * grain_,
                         std::min(in(0).rows(), (item + 1) * grain_), n);
  }
};

class GroupNorm final : public Op {
 public:
  explicit GroupNorm(const OpContext& context) : Op(context) {
    arity(1, 3, 1);
    for (const Tensor* tensor : c.in)
      if (tensor != nullptr) expect_type(tensor, DType::f32, "operand");
    expect_type(c.out[0], DType::f32, "result");
    eps_ = c.params.number("eps", 1e-5);
  }
  void bind() override {
    expect(in(0).rank >= 2 && out().count == in(0).count, "the operand needs a batch and a channel axis");
    groups_ = c.params.size("groups", 1);
    channels_ = in(0).shape[1];
    expect(groups_ > 0 && channels_ % groups_ == 0, "channels do not divide into groups");
    for (size_t i = 1; i < c.in.size(); i++)
      if (c.in[i] != nullptr) expect(in(i).count == channels_, "weight or bias do not fit the channels");
    plane_ = in(0).span(2, in(0).rank);
  }
  size_t items(size_t) const override { return in(0).count == 0 ? 0 : in(0).shape[0] * groups_; }
  void run(size_t, size_t item, Thread&) override {
    const size_t width = channels_ / groups_;
    const size_t n = width * plane_;
    const float* x = in(0).f32() + item * n;
    float* y = out().f32() + item * n;
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += x[i];
    const double mean = sum / static_cast<double>(n);
    double squares = 0;
    for (size_t i = 0; i < n; i++) squares += (x[i] - mean) * (x[i] - mean);
    const double scale = 1 / std::sqrt(squares / static_cast<double>(n) + eps_);
    for (size_t w = 0; w < width; w++) {
      const size_t channel = item % groups_ * width + w;
      const double weight = maybe(1) == nullptr ? 1 : in(1).f32()[channel];
      const double bias = maybe(2) == nullptr ? 0 : in(2).f32()[channel];
      for (size_t i = w * plane_; i < (w + 1) * plane_; i++)
        y[i] = static_cast<float>((x[i] - mean) * scale * weight + bias);
    }
  }

 private:
  double eps_;
  size_t groups_ = 1, channels_ = 0, plane_ = 1;
};

constexpr KernelEntry kTable[] = {
    {"rms_norm", make_op<RmsNorm>},
    {"layer_norm", make_op<LayerNorm>},
    {"group_norm", make_op<GroupNorm>},
};

}  // namespace

std::span<const KernelEntry> norm_kernels() { return kTable; }

}  // namespace rlx
