// Reductions over any axes, arg-max, cumulative sums, top-k. A reduction of the last dims in f32
// goes through the vector kernels; everything else is a plain loop with the accumulator in double
// (floats) or modulo 2^64 (whole numbers).
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "numbers.h"
#include "tables.h"

namespace rlx {
namespace {

// The axes of x in two groups: kept (in order) and reduced, each with sizes and strides.
struct Split {
  size_t kept_rank = 0, reduced_rank = 0;
  size_t kept[kMaxRank], kept_stride[kMaxRank];
  size_t reduced[kMaxRank], reduced_stride[kMaxRank];
  size_t outputs = 1, terms = 1;
  bool trailing = true;  // the reduced axes are the last ones

  void bind(const Tensor& x, const std::vector<uint8_t>& is_reduced) {
    *this = Split{};
    for (size_t d = 0; d < x.rank; d++) {
      const size_t stride = x.span(d + 1, x.rank);
      if (is_reduced[d] != 0) {
        reduced[reduced_rank] = x.shape[d];
        reduced_stride[reduced_rank++] = stride;
        terms *= x.shape[d];
      } else {
        kept[kept_rank] = x.shape[d];
        kept_stride[kept_rank++] = stride;
        outputs *= x.shape[d];
        if (reduced_rank > 0 && x.shape[d] != 1) trailing = false;
      }
    }
  }
  static size_t offset(size_t index, size_t rank, const size_t* shape, const size_t* stride) {
    size_t at = 0;
    for (size_t d = rank; d-- > 0;) {
      at += index % shape[d] * stride[d];
      index /= shape[d];
    }
    return at;
  }
  size_t base(size_t output) const { return offset(output, kept_rank, kept, kept_stride); }
  template <class Visit>
  void each_term(size_t base, Visit&& visit) const {
    if (reduced_rank == 0) return visit(base);
    const size_t inner = reduced[reduced_rank - 1];
    const size_t step = reduced_stride[reduced_rank - 1];
    for (size_t term = 0; term < terms; term += inner) {
      const size_t at = base + offset(term, reduced_rank, reduced, reduced_stride);
      for (size_t i = 0; i < inner; i++) visit(at + i * step);
    }
  }
};

enum class How { sum, mean, max, min, prod };

template <How kHow>
class Reduction final : public Op {
 public:
  explicit Reduction(const OpContext& context) : Op(context) {
    arity(1, 1, 1);
    if (!is_number(in(0).dtype))
      reject(Code::ir_type, "element type: got %s, expected a number", dtype_name(in(0).dtype));
    expect_type(c.out[0], in(0).dtype, "result");
  }
  void bind() override {
    std::vector<uint8_t> reduced(in(0).rank, 0);
    for (const int64_t axis : c.params.list("axes")) {
      if (axis < 0 || static_cast<size_t>(axis) >= in(0).rank)
        reject(Code::ir_shape, "axis out of range: got %lld, rank %zu", static_cast<long long>(axis), in(0).rank);
      reduced[static_cast<size_t>(axis)] = 1;
    }
    split_.bind(in(0), reduced);
    expect(split_.outputs == out().count, "the result has another size");
    if ((kHow == How::max || kHow == How::min) && split_.terms == 0)
      expect(out().count == 0, "an axis is empty: expected an element");
    grain_ = std::max<size_t>(1, kGrain / std::max<size_t>(1, split_.terms));
  }
  size_t items(size_t) const override { return ceil_div(out().count, grain_); }
  void run(size_t, size_t item, Thread&) override {
    const size_t begin = item * grain_;
    const size_t end = std::min(out().count, begin + grain_);
    if (in(0).dtype == DType::f32 && split_.trailing && kHow != How::prod && split_.terms > 0) {
      constexpr kernels::Reduce kind = kHow == How::max   ? kernels::Reduce::max
                                       : kHow == How::min ? kernels::Reduce::min
                                                          : kernels::Reduce::sum;
      c.kernels.reduce(kind, in(0).f32(), split_.terms, out().f32(), begin, end, split_.terms);
      if (kHow == How::mean)
        for (size_t i = begin; i < end; i++) out().f32()[i] /= static_cast<float>(split_.terms);
    } else {
      with_number(in(0).dtype, [&]<class T>(T) {
        if constexpr (std::floating_point<T>)
          reals<T>(begin, end);
        else
          for (size_t i = begin; i < end; i++) out().template as<T>()[i] = integer<T>(split_.base(i));
      });
    }
  }

 private:
  // Results that lie side by side, in the operand too, are made together: they share its cache lines.
  static constexpr size_t kTogether = 16;

  template <class T>
  void reals(size_t begin, size_t end) const {
    const size_t last = split_.kept_rank == 0 ? 0 : split_.kept_rank - 1;
    const bool neighbours = split_.kept_rank > 0 && split_.kept_stride[last] == 1;
    while (begin < end) {
      const size_t in_row = neighbours ? split_.kept[last] - begin % split_.kept[last] : 1;
      const size_t n = std::min({kTogether, end - begin, in_row});
      real<T>(split_.base(begin), n, out().template as<T>() + begin);
      begin += n;
    }
  }
  template <class T>
  void real(size_t base, size_t n, T* y) const {
    double totals[kTogether];
    bool nan[kTogether] = {};
    std::fill_n(totals, n, kHow == How::prod ? 1 : kHow == How::max ? -INFINITY : kHow == How::min ? INFINITY : 0);
    split_.each_term(base, [&](size_t at) {
      const T* terms = in(0).template as<T>() + at;
      for (size_t i = 0; i < n; i++) {
        const double x = terms[i];
        nan[i] = nan[i] || std::isnan(x);
        if (kHow == How::prod)
          totals[i] *= x;
        else if (kHow == How::max)
          totals[i] = std::max(totals[i], x);
        else if (kHow == How::min)
          totals[i] = std::min(totals[i], x);
        else
          totals[i] += x;
      }
    });
    for (size_t i = 0; i < n; i++) {
      const double total = kHow == How::mean ? totals[i] / static_cast<double>(split_.terms) : totals[i];
      y[i] = static_cast<T>(nan[i] ? NAN : total);
    }
  }
  template <class T>
  T integer(size_t base) const {
    uint64_t total = kHow == How::prod ? 1 : 0;
    T most = kHow == How::max ? std::numeric_limits<T>::min() : std::numeric_limits<T>::max();
    split_.each_term(base, [&](size_t at) {
      const T x = in(0).template as<T>()[at];
      if (kHow == How::max)
        most = std::max(most, x);
      else if (kHow == How::min)
        most = std::min(most, x);
      else if (kHow == How::prod)
        total *= bits_of(x);
      else
        total += bits_of(x);
    });
    if (kHow == How::max || kHow == How::min) return split_.terms == 0 ? T{0} : most;
    if (kHow == How::mean)
      return split_.terms == 0 ? T{0}
                               : static_cast<T>(static_cast<int64_t>(total) / static_cast<int64_t>(split_.terms));
    return static_cast<T>(total);
  }

  Split split_;
  size_t grain_ = 1;
};

// One axis of x: outer blocks, the axis, inner elements.
class AxisOp : public Op {
 public:
  using Op::Op;
  void bind() override {
    const size_t axis = static_cast<size_t>(c.params.integer("axis", 0, 0, static_cast<int64_t>(in(0).rank) - 1));
    length = in(0).shape[axis];
    inner = in(0).span(axis + 1, in(0).rank);
    lanes = in(0).span(0, axis) * inner;
    grain = std::max<size_t>(1, kGrain / std::max<size_t>(1, length));
  }
  size_t items(size_t) const override { return ceil_div(lanes, grain); }
  void run(size_t, size_t item, Thread&) override {
    for (size_t i = item * grain; i < std::min(lanes, (item + 1) * grain); i++)
      lane(i, i / inner * length * inner + i % inner);
  }

 protected:
  virtual void lane(size_t index, size_t base) = 0;
  size_t length = 0, inner = 1, lanes = 0, grain = 1;
};

template <bool kLargest>
class ArgBest final : public AxisOp {
 public:
  explicit ArgBest(const OpContext& context) : AxisOp(context) {
    arity(1, 1, 1);
    if (!is_number(in(0).dtype))
      reject(Code::ir_type, "element type: got %s, expected a number", dtype_name(in(0).dtype));
    expect_type(c.out[0], DType::i32, "result");
  }
  void bind() override {
    AxisOp::bind();
    expect(out().count == lanes, "the result has another size");
    expect(length > 0, "the axis is empty: expected an element");
  }

 protected:
  void lane(size_t index, size_t base) override {
    with_number(in(0).dtype, [&]<class T>(T) { out().i32()[index] = best(in(0).template as<T>(), base); });
  }

 private:
  // The first NaN, else the first of the best.
  template <class T>
  int32_t best(const T* x, size_t base) const {
    size_t found = 0;
    for (size_t i = 0; i < length; i++) {
      const T a = x[base + i * inner];
      if (is_nan(a)) return static_cast<int32_t>(i);
      const T b = x[base + found * inner];
      if (kLargest ? a > b : a < b) found = i;
    }
    return static_cast<int32_t>(found);
  }
};

// A lane of numbers becomes one of as many, from either end.
class AlongAxis : public AxisOp {
 public:
  explicit AlongAxis(const OpContext& context) : AxisOp(context), reverse_(context.params.flag("reverse")) {
    arity(1, 1, 1);
    if (!is_number(in(0).dtype))
      reject(Code::ir_type, "element type: got %s, expected a number", dtype_name(in(0).dtype));
    expect_type(c.out[0], in(0).dtype, "result");
  }
  void bind() override {
    AxisOp::bind();
    expect(out().count == in(0).count, "the result has another size");
  }

 protected:
  size_t place(size_t base, size_t i) const { return base + (reverse_ ? length - 1 - i : i) * inner; }

 private:
  bool reverse_;
};

class Cumsum final : public AlongAxis {
 public:
  explicit Cumsum(const OpContext& context) : AlongAxis(context), exclusive_(context.params.flag("exclusive")) {}

 protected:
  void lane(size_t, size_t base) override {
    with_number(in(0).dtype, [&]<class T>(T) {
      sums<T, std::conditional_t<std::floating_point<T>, double, uint64_t>>(in(0).as<T>(), out().as<T>(), base);
    });
  }

 private:
  template <class T, class Sum>
  void sums(const T* x, T* y, size_t base) const {
    Sum total = 0;
    for (size_t i = 0; i < length; i++) {
      const size_t at = place(base, i);
      const Sum before = total;
      total += static_cast<Sum>(x[at]);
      y[at] = static_cast<T>(exclusive_ ? before : total);
    }
  }
  bool exclusive_;
};

// Running products and largest numbers.
template <bool kProduct>
class Running final : public AlongAxis {
 public:
  explicit Running(const OpContext& context) : AlongAxis(context) {}

 protected:
  void lane(size_t, size_t base) override {
    with_number(in(0).dtype, [&]<class T>(T) { folds(in(0).template as<T>(), out().template as<T>(), base); });
  }

 private:
  template <class T>
  void folds(const T* x, T* y, size_t base) const {
    // Products of floats keep their digits, as sums do.
    using Made = std::conditional_t<kProduct && std::floating_point<T>, double, T>;
    Made made{1};
    for (size_t i = 0; i < length; i++) {
      const size_t at = place(base, i);
      const Made next = x[at];
      if constexpr (kProduct)
        made = Mul::of(made, next);
      else
        made = i == 0 ? next : Max::of(made, next);
      y[at] = static_cast<T>(made);
    }
  }
};

// One axis in order, equals in theirs; NaN is larger than every number.
template <bool kPlaces>
class Sorted final : public AxisOp {
 public:
  explicit Sorted(const OpContext& context) : AxisOp(context) {
    arity(1, 1, 1);
    if (!is_number(in(0).dtype))
      reject(Code::ir_type, "element type: got %s, expected a number", dtype_name(in(0).dtype));
    expect_type(c.out[0], kPlaces ? DType::i32 : in(0).dtype, "result");
    descending_ = c.params.flag("descending");
  }
  void bind() override {
    AxisOp::bind();
    expect(out().count == in(0).count, "the result has another size");
    thread_bytes = length * sizeof(int32_t);
  }
  void run(size_t, size_t item, Thread& thread) override {
    auto* order = reinterpret_cast<int32_t*>(thread.scratch);
    for (size_t i = item * grain; i < std::min(lanes, (item + 1) * grain); i++) {
      const size_t base = i / inner * length * inner + i % inner;
      with_number(in(0).dtype, [&]<class T>(T) { line(in(0).template as<T>() + base, base, order); });
    }
  }

 protected:
  void lane(size_t, size_t) override {}

 private:
  template <class T>
  void line(const T* x, size_t base, int32_t* order) const {
    for (size_t i = 0; i < length; i++) order[i] = static_cast<int32_t>(i);
    std::sort(order, order + length, [&](int32_t i, int32_t j) {
      const T a = x[static_cast<size_t>(i) * inner];
      const T b = x[static_cast<size_t>(j) * inner];
      const bool before = is_nan(b) ? !is_nan(a) : a < b;
      const bool behind = is_nan(a) ? !is_nan(b) : b < a;
      return before == behind ? i < j : before != descending_;
    });
    for (size_t i = 0; i < length; i++) {
      if constexpr (kPlaces)
        out().i32()[base + i * inner] = order[i];
      else
        out().template as<T>()[base + i * inner] = x[static_cast<size_t>(order[i]) * inner];
    }
  }
  bool descending_ = false;
};

class TopK final : public Op {
 public:
  explicit TopK(const OpContext& context) : Op(context) {
    arity(1, 1, 2);
    if (!is_number(in(0).dtype))
      reject(Code::ir_type, "element type: got %s, expected a number", dtype_name(in(0).dtype));
    expect_type(c.out[0], in(0).dtype, "values");
    expect_type(c.out[1], DType::i32, "indices");
  }
  void bind() override {
    k_ = c.params.size("k", 0);
    any_ = c.params.flag("anyOfEquals") && in(0).dtype == DType::f32;
    expect(in(0).rank > 0 && k_ >= 1 && k_ <= in(0).last(), "k is not between 1 and the last dim");
    expect(out(0).count == in(0).rows() * k_ && out(1).count == out(0).count, "a result has another size");
    thread_bytes = in(0).dtype == DType::f32 && !any_ ? k_ * sizeof(kernels::TopEntry) : in(0).last() * sizeof(int32_t);
  }
  size_t items(size_t) const override { return in(0).rows(); }
  void run(size_t, size_t row, Thread& thread) override {
    if (in(0).dtype != DType::f32)
      return with_number(in(0).dtype, [&]<class T>(T) { sorted<T>(row, reinterpret_cast<int32_t*>(thread.scratch)); });
    const size_t n = in(0).last();
    const float* x = in(0).f32() + row * n;
    if (any_) {
      if (std::none_of(x, x + n, [](float value) { return is_nan(value); }))
        return sorted_as_it_comes(row, reinterpret_cast<int32_t*>(thread.scratch));
      return sorted<float>(row, reinterpret_cast<int32_t*>(thread.scratch));
    }
    float* values = out(0).f32() + row * k_;
    int32_t* places = out(1).i32() + row * k_;
    // NaN is larger than every number; the kernel passes over it.
    size_t made = 0;
    for (size_t i = 0; i < n && made < k_; i++)
      if (is_nan(x[i])) values[made] = x[i], places[made++] = static_cast<int32_t>(i);
    auto* entries = reinterpret_cast<kernels::TopEntry*>(thread.scratch);
    const size_t found = c.kernels.top_k(x, n, entries, k_ - made);
    for (size_t i = 0; i < found; i++, made++)
      values[made] = entries[i].value, places[made] = static_cast<int32_t>(entries[i].index);
  }

 private:
  // Which of equals are taken is as the library's sort leaves them: ggml sorts in the same way.
  void sorted_as_it_comes(size_t row, int32_t* order) const {
    const size_t n = in(0).last();
    const float* x = in(0).f32() + row * n;
    for (size_t i = 0; i < n; i++) order[i] = static_cast<int32_t>(i);
    std::partial_sort(order, order + k_, order + n, [x](int32_t a, int32_t b) { return x[a] > x[b]; });
    for (size_t i = 0; i < k_; i++) {
      out(0).f32()[row * k_ + i] = x[order[i]];
      out(1).i32()[row * k_ + i] = order[i];
    }
  }
  template <class T>
  void sorted(size_t row, int32_t* order) const {
    const size_t n = in(0).last();
    const T* x = in(0).as<T>() + row * n;
    for (size_t i = 0; i < n; i++) order[i] = static_cast<int32_t>(i);
    std::partial_sort(order, order + k_, order + n, [x](int32_t a, int32_t b) {
      if (is_nan(x[a]) != is_nan(x[b])) return is_nan(x[a]);  // NaN is first, as in f32
      return x[a] > x[b] || (!(x[b] > x[a]) && a < b);
    });
    for (size_t i = 0; i < k_; i++) {
      out(0).as<T>()[row * k_ + i] = x[order[i]];
      out(1).i32()[row * k_ + i] = order[i];
    }
  }
  size_t k_ = 0;
  bool any_ = false;
};

constexpr KernelEntry kTable[] = {
    {"reduce_sum", make_op<Reduction<How::sum>>},
    {"reduce_mean", make_op<Reduction<How::mean>>},
    {"reduce_max", make_op<Reduction<How::max>>},
    {"reduce_min", make_op<Reduction<How::min>>},
    {"reduce_prod", make_op<Reduction<How::prod>>},
    {"argmax", make_op<ArgBest<true>>},
    {"argmin", make_op<ArgBest<false>>},
    {"cumsum", make_op<Cumsum>},
    {"cumprod", make_op<Running<true>>},
    {"cummax", make_op<Running<false>>},
    {"sort", make_op<Sorted<false>>},
    {"argsort", make_op<Sorted<true>>},
    {"topk", make_op<TopK>},
};

}  // namespace

std::span<const KernelEntry> reduce_kernels() { return kTable; }

}  // namespace rlx
