// Pools, window by window of rows: first the rows of a window become one, then the taps along it.
// Both steps join whole runs of memory with the vector kernels. In f64, and over volumes, they are
// plain loops.
#include <limits>
#include <type_traits>

#include "doubles.h"
#include "numbers.h"
#include "tables.h"
#include "windows.h"

namespace rlx {
namespace {

enum class How { max, mean, sum, min, prod };

// What both kinds know of their windows; an item is some rows of the result.
class PoolBase : public Op {
 public:
  PoolBase(const OpContext& context, DType type) : Op(context) {
    arity(1, 1, 1);
    expect_type(c.in[0], type, "image");
    expect_type(c.out[0], type, "result");
  }

  void bind() override {
    const Tensor& x = in(0);
    const Tensor& y = out();
    const std::vector<int64_t> kernel = c.params.list("kernel");
    expect(kernel.size() + 2 == x.rank && kernel.size() <= 3, "the window has another number of axes than the image");
    size_t taps[3] = {1, 1, 1};
    for (size_t d = 0; d < kernel.size(); d++) {
      expect(kernel[d] >= 1 && kernel[d] <= INT32_MAX, "a window without taps");
      taps[d] = static_cast<size_t>(kernel[d]);
    }
    if (const char* wrong = bind_windows(c.params, x, y, taps, false, &w_)) reject(Code::ir_shape, "%s", wrong);
    for (const Axis& axis : {w_.depth, w_.rows, w_.columns})
      expect(axis.padding < axis.taps, "a window that is all padding");
    expect(x.shape[0] == y.shape[0] && x.shape[1] == y.shape[1], "the result has other images");
    expect(y.count == 0 || w_.plane() > 0, "an image without places");
    rows_ = y.shape[0] * y.shape[1] * w_.window_rows();
    grain_ = std::max<size_t>(1, kGrain / std::max<size_t>(1, w_.columns.size * w_.tap_rows()));
  }
  size_t items(size_t) const override { return out().count == 0 ? 0 : ceil_div(rows_, grain_); }

 protected:
  Windows w_;
  size_t rows_ = 0, grain_ = 1;
};

template <How kHow>
class Pool final : public PoolBase {
 public:
  explicit Pool(const OpContext& context) : PoolBase(context, DType::f32) {}

  void bind() override {
    PoolBase::bind();
    thread_bytes = (w_.columns.size + StridedRow::floats(w_.columns)) * sizeof(float);
  }

  void run(size_t, size_t item, Thread& thread) override {
    float* joined = reinterpret_cast<float*>(thread.scratch);
    for (size_t row = item * grain_; row < std::min(rows_, (item + 1) * grain_); row++) {
      const float* image = in(0).f32() + row / w_.rows.windows * w_.plane();
      float* y = out().f32() + row * w_.columns.windows;
      const float* source = join_rows(image, row % w_.rows.windows, joined);
      join_columns(StridedRow(w_.columns, source, joined + w_.columns.size), y);
    }
  }

 private:
  static constexpr kernels::Binary kJoin = kHow == How::max    ? kernels::Binary::max
                                           : kHow == How::min  ? kernels::Binary::min
                                           : kHow == How::prod ? kernels::Binary::mul
                                                               : kernels::Binary::add;
  static constexpr float kNothing = kHow == How::max    ? -std::numeric_limits<float>::infinity()
                                    : kHow == How::min  ? std::numeric_limits<float>::infinity()
                                    : kHow == How::prod ? 1
                                                        : 0;

  // All rows of the image that a window touches, as one; the row itself when it is alone.
  const float* join_rows(const float* image, size_t window, float* joined) const {
    const size_t width = w_.columns.size;
    const float* first = nullptr;
    bool many = false;
    for (size_t tap = 0; tap < w_.rows.taps; tap++) {
      size_t at;
      if (!w_.rows.place(window, tap, &at)) continue;
      const float* row = image + at * width;
      if (first == nullptr) {
        first = row;
        continue;
      }
      c.kernels.binary(kJoin, many ? joined : first, 1, row, 1, joined, width);
      many = true;
    }
    return many ? joined : first;
  }

  void join_columns(const StridedRow& row, float* y) const {
    const size_t windows = w_.columns.windows;
    std::fill(y, y + windows, kNothing);
    for (size_t tap = 0; tap < w_.columns.taps; tap++) {
      size_t first, last;
      w_.columns.inside(tap, &first, &last);
      if (first < last) c.kernels.binary(kJoin, y + first, 1, row.tap(tap, first), 1, y + first, last - first);
    }
    if (kHow != How::mean) return;
    const float count = static_cast<float>(w_.taps());
    c.kernels.binary(kernels::Binary::div, y, 1, &count, 0, y, windows);
  }
};

// Tap by tap.
template <How kHow, class T>
class PlainPool final : public PoolBase {
 public:
  explicit PlainPool(const OpContext& context)
      : PoolBase(context, std::is_same_v<T, double> ? DType::f64 : DType::f32) {}

  void run(size_t, size_t item, Thread&) override {
    const size_t windows = w_.columns.windows;
    for (size_t row = item * grain_; row < std::min(rows_, (item + 1) * grain_); row++) {
      const T* image = in(0).template as<T>() + row / w_.window_rows() * w_.plane();
      T* y = out().template as<T>() + row * windows;
      std::fill(y, y + windows, kNothing);
      for (size_t tap = 0; tap < w_.tap_rows(); tap++) {
        size_t at;
        if (w_.row(row % w_.window_rows(), tap, &at)) join(image + at * w_.columns.size, y);
      }
      if (kHow == How::mean)
        for (size_t i = 0; i < windows; i++) y[i] /= static_cast<T>(w_.taps());
    }
  }

 private:
  static constexpr T kNothing = kHow == How::max    ? -std::numeric_limits<T>::infinity()
                                : kHow == How::min  ? std::numeric_limits<T>::infinity()
                                : kHow == How::prod ? 1
                                                    : 0;

  static T joined(T a, T b) {
    if constexpr (kHow == How::max)
      return Max::of(a, b);
    else if constexpr (kHow == How::min)
      return Min::of(a, b);
    else if constexpr (kHow == How::prod)
      return a * b;
    else
      return a + b;
  }

  void join(const T* row, T* y) const {
    const Axis& axis = w_.columns;
    for (size_t tap = 0; tap < axis.taps; tap++) {
      size_t first, last;
      axis.inside(tap, &first, &last);
      for (size_t i = first; i < last; i++)
        y[i] = joined(y[i], row[static_cast<int64_t>(i * axis.stride) + axis.offset(tap)]);
    }
  }
};

template <How kHow>
std::unique_ptr<Op> make_pool(const OpContext& context) {
  if (is_volume(context.params)) return make_real<PlainPool<kHow, float>, PlainPool<kHow, double>>(context);
  return make_real<Pool<kHow>, PlainPool<kHow, double>>(context);
}

constexpr KernelEntry kTable[] = {
    {"pool_max", make_pool<How::max>}, {"pool_mean", make_pool<How::mean>}, {"pool_sum", make_pool<How::sum>},
    {"pool_min", make_pool<How::min>}, {"pool_prod", make_pool<How::prod>},
};

}  // namespace

std::span<const KernelEntry> pool_kernels() { return kTable; }

}  // namespace rlx
