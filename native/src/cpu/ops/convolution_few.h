// Convolutions: the base of those in f32, and the one with few windows and many taps, which the
// gradient of a weight is: every window is copied out as one long row, and the product goes over
// pieces of its values, which are added up afterwards.
#pragma once

#include "convolution_shapes.h"

namespace rlx {

inline size_t rounded(size_t bytes) { return (bytes + 63) / 64 * 64; }

// The product of prepared weight rows with columns.
class ConvolutionBase : public ConvolutionShapes {
 public:
  ConvolutionBase(const OpContext& context, bool transposed) : ConvolutionShapes(context, transposed, DType::f32) {}

 protected:
  float* room(Thread& thread, size_t offset = 0) const { return reinterpret_cast<float*>(thread.scratch + offset); }

  // y[row][column] = prepared row · columns[column], over k.
  void multiply(const uint8_t* prepared, size_t rows, const float* columns, size_t count, size_t k, float* y,
                size_t ldy, uint8_t* scratch) const {
    kernels::MatmulArgs args{};
    args.type = kernels::Type::f32;
    args.w = columns;
    args.row_bytes = k * sizeof(float);
    args.k = k;
    args.n1 = count;
    args.act = prepared;
    args.tokens = args.t1 = rows;
    args.y = y;
    args.ldy = ldy;
    c.kernels.matmul(args, scratch);
  }
  void prepare(const float* rows, size_t count, size_t k, uint8_t* prepared) const {
    c.kernels.prepare({kernels::ActKind::f32, rows, k, k, count, 0, count, 0, kernels::chunks_of(k), prepared});
  }
};

// An item of the first phase is a piece of the sums of one group; of the second, a plane of the result.
class ConvolutionOfFewWindows : public ConvolutionBase {
 public:
  explicit ConvolutionOfFewWindows(const OpContext& context) : ConvolutionBase(context, false) {}

 protected:
  // Whether the windows are so few, and their rows of taps so long, that a row of taps is the longer run.
  bool has_few_windows() const {
    return w_.windows() <= kMostWindows && w_.columns.taps > w_.columns.windows && large_ * w_.taps() > kShallow;
  }
  void bind_few() {
    sum_ = large_ * w_.taps();
    pieces_ = ceil_div(sum_, kPiece);
    columns_ = batch_ * w_.windows();
    shared_bytes = groups_ * pieces_ * small_ * columns_ * sizeof(float);
    prepared_at_ = rounded(kColumns * kPiece * sizeof(float));
    scratch_at_ = prepared_at_ + rounded(c.kernels.act_bytes(kernels::ActKind::f32, kPiece, small_));
    thread_bytes = scratch_at_ + rounded(kernels::matmul_scratch_bytes(small_));
  }
  size_t few_items(size_t phase) const { return phase == 0 ? groups_ * pieces_ : batch_ * groups_ * small_; }
  void run_few(size_t phase, size_t item, Thread& thread) { phase == 0 ? add_piece(item, thread) : add_up(item); }

 private:
  // Sums of fewer values are not worth a second phase.
  static constexpr size_t kShallow = 256;
  static constexpr size_t kMostWindows = 128;
  // Values of one product, and windows that are copied out for it: both fit into the second cache.
  static constexpr size_t kPiece = 1024, kColumns = 64;

  // [group][piece][filter][image, window]
  float* sums(size_t item) const { return reinterpret_cast<float*>(shared) + item * small_ * columns_; }

  void add_piece(size_t item, Thread& thread) const {
    const size_t group = item / pieces_, from = item % pieces_ * kPiece, count = std::min(kPiece, sum_ - from);
    uint8_t* prepared = thread.scratch + prepared_at_;
    const float* weight = in(1).f32() + group * small_ * sum_ + from;
    c.kernels.prepare(
        {kernels::ActKind::f32, weight, sum_, count, small_, 0, small_, 0, kernels::chunks_of(count), prepared});
    for (size_t begin = 0; begin < columns_; begin += kColumns) {
      const size_t n = std::min(kColumns, columns_ - begin);
      for (size_t i = 0; i < n; i++) copy_window(group, begin + i, from, count, room(thread) + i * count);
      multiply(prepared, small_, room(thread), n, count, sums(item) + begin, columns_, thread.scratch + scratch_at_);
    }
  }

  // Values from .. from + count of a window, in the order of the weight.
  void copy_window(size_t group, size_t column, size_t from, size_t count, float* to) const {
    const size_t image = column / w_.windows(), window = column % w_.windows(), taps = w_.columns.taps;
    const size_t window_row = window / w_.columns.windows, window_column = window % w_.columns.windows;
    const float* x = in(0).f32() + (image * groups_ + group) * large_ * w_.plane();
    for (size_t k = from; k < from + count;) {
      const size_t channel = k / w_.taps(), tap_row = k % w_.taps() / taps, first = k % taps;
      const size_t n = std::min(taps - first, from + count - k);
      size_t at;
      if (w_.row(window_row, tap_row, &at))
        copy_taps(x + channel * w_.plane() + at * w_.columns.size, window_column, first, n, to);
      else
        std::memset(to, 0, n * sizeof(float));
      k += n;
      to += n;
    }
  }

  // What the taps first .. first + n of a window see of a row.
  void copy_taps(const float* row, size_t window, size_t first, size_t n, float* to) const {
    const Axis& axis = w_.columns;
    const auto step = static_cast<int64_t>(axis.dilation), size = static_cast<int64_t>(axis.size);
    const int64_t start = static_cast<int64_t>(window * axis.stride) + axis.offset(first);
    const int64_t reached = ceil_steps(size - start, step);
    const size_t from = std::min(n, static_cast<size_t>(ceil_steps(-start, step)));
    const size_t until = std::max(from, std::min(n, static_cast<size_t>(reached)));
    std::fill(to, to + from, 0.0f);
    std::fill(to + until, to + n, 0.0f);
    if (from == until) return;
    const float* seen = row + start + static_cast<int64_t>(from) * step;
    if (step == 1) return void(std::memcpy(to + from, seen, (until - from) * sizeof(float)));
    for (size_t i = from; i < until; i++, seen += step) to[i] = *seen;
  }
  // The fewest steps that cover a distance, none for one that is behind.
  static int64_t ceil_steps(int64_t distance, int64_t step) { return distance <= 0 ? 0 : (distance + step - 1) / step; }

  void add_up(size_t plane) const {
    const size_t image = plane / (groups_ * small_), group = plane / small_ % groups_, filter = plane % small_;
    float* y = out().f32() + plane * w_.windows();
    std::fill(y, y + w_.windows(), 0.0f);
    for (size_t piece = 0; piece < pieces_; piece++) {
      const float* part = sums(group * pieces_ + piece) + filter * columns_ + image * w_.windows();
      for (size_t i = 0; i < w_.windows(); i++) y[i] += part[i];
    }
  }

  size_t sum_ = 0, pieces_ = 0, columns_ = 0, prepared_at_ = 0, scratch_at_ = 0;
};

}  // namespace rlx
