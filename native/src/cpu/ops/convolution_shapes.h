// Shapes of convolutions and their transposes; and both tap by tap, without a product: in f64.
#pragma once

#include <algorithm>
#include <type_traits>

#include "windows.h"

namespace rlx {

class ConvolutionShapes : public Op {
 public:
  ConvolutionShapes(const OpContext& context, bool transposed, DType type) : Op(context), transposed_(transposed) {
    arity(2, 2, 1);
    expect_type(c.in[0], type, "image");
    expect_type(c.in[1], type, "weight");
    expect_type(c.out[0], type, "result");
  }

  void bind() override {
    const Tensor& x = in(0);
    const Tensor& w = in(1);
    const Tensor& y = out();
    groups_ = static_cast<size_t>(c.params.integer("groups", 1, 1, INT32_MAX));
    expect(w.rank == x.rank && x.rank >= 3 && x.rank <= 5, "the weight has another number of axes than the image");
    const Tensor& large = transposed_ ? y : x;
    const Tensor& small = transposed_ ? x : y;
    if (const char* wrong = bind_windows(c.params, large, small, w.shape + 2, true, &w_))
      reject(Code::ir_shape, "%s", wrong);
    expect(x.shape[0] == y.shape[0], "the result has another batch");
    expect(w.shape[0] == small.shape[1] && large.shape[1] == w.shape[1] * groups_ && small.shape[1] % groups_ == 0,
           "the channels do not fit the weight");
    batch_ = x.shape[0];
    large_ = w.shape[1];
    small_ = small.shape[1] / groups_;
    thread_bytes = shared_bytes = 0;
  }

 protected:
  Windows w_;
  // Channels of one group: of the image that the windows lie in, and of the one with a place per
  // window.
  size_t batch_ = 0, groups_ = 1, large_ = 0, small_ = 0;

 private:
  bool transposed_;
};

template <class T>
inline constexpr DType kPlainType = std::is_same_v<T, double> ? DType::f64 : DType::f32;

// An item is a row of the result.
template <class T>
class PlainConvolution final : public ConvolutionShapes {
 public:
  explicit PlainConvolution(const OpContext& context) : ConvolutionShapes(context, false, kPlainType<T>) {}

  size_t items(size_t) const override { return out().count == 0 ? 0 : batch_ * groups_ * small_ * w_.window_rows(); }
  void run(size_t, size_t item, Thread&) override {
    const size_t plane = item / w_.window_rows();
    const size_t filter = plane % (groups_ * small_);
    const size_t image = plane / (groups_ * small_);
    const T* weight = in(1).template as<T>() + filter * large_ * w_.taps();
    const T* x = in(0).template as<T>() + (image * groups_ + filter / small_) * large_ * w_.plane();
    T* y = out().template as<T>() + item * w_.columns.windows;
    std::fill(y, y + w_.columns.windows, T{0});
    for (size_t channel = 0; channel < large_; channel++, x += w_.plane())
      for (size_t tap = 0; tap < w_.tap_rows(); tap++, weight += w_.columns.taps) {
        size_t at;
        if (w_.row(item % w_.window_rows(), tap, &at)) add_row(x + at * w_.columns.size, weight, y);
      }
  }

 private:
  void add_row(const T* row, const T* weight, T* y) const {
    const Axis& axis = w_.columns;
    for (size_t tap = 0; tap < axis.taps; tap++) {
      size_t first, last;
      axis.inside(tap, &first, &last);
      for (size_t i = first; i < last; i++)
        y[i] += weight[tap] * row[static_cast<int64_t>(i * axis.stride) + axis.offset(tap)];
    }
  }
};

// An item is a plane of the result: places of many windows add to the same row.
template <class T>
class PlainTransposedConvolution final : public ConvolutionShapes {
 public:
  explicit PlainTransposedConvolution(const OpContext& context) : ConvolutionShapes(context, true, kPlainType<T>) {}

  size_t items(size_t) const override { return out().count == 0 ? 0 : batch_ * groups_ * large_; }
  void run(size_t, size_t item, Thread&) override {
    const size_t group = item / large_;
    const T* x = in(0).template as<T>() + group * small_ * w_.windows();
    T* y = out().template as<T>() + item * w_.plane();
    std::fill(y, y + w_.plane(), T{0});
    for (size_t channel = 0; channel < small_; channel++) {
      const T* weight =
          in(1).template as<T>() + ((group % groups_ * small_ + channel) * large_ + item % large_) * w_.taps();
      for (size_t row = 0; row < w_.window_rows(); row++, x += w_.columns.windows)
        for (size_t tap = 0; tap < w_.tap_rows(); tap++) {
          size_t at;
          if (w_.row(row, tap, &at)) spread_row(x, weight + tap * w_.columns.taps, y + at * w_.columns.size);
        }
    }
  }

 private:
  void spread_row(const T* x, const T* weight, T* row) const {
    const Axis& axis = w_.columns;
    for (size_t tap = 0; tap < axis.taps; tap++) {
      size_t first, last;
      axis.inside(tap, &first, &last);
      for (size_t i = first; i < last; i++)
        row[static_cast<int64_t>(i * axis.stride) + axis.offset(tap)] += weight[tap] * x[i];
    }
  }
};

}  // namespace rlx
