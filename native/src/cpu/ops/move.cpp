// Data movement. Transpose, expand, narrow and slice are one kernel: the output is read from the
// input with a base and a stride per output dim, after dims that lie behind one another are joined.
// Data is moved by size of element, so any plain dtype goes.
#include <cstring>
#include <vector>

#include "tables.h"

namespace rlx {
namespace {

size_t element_bytes(const Op& op, const Tensor& tensor) {
  if (is_packed(tensor.dtype))
    throw Error(Code::ir_type, std::string("[") + op.c.name + "] operand is packed: expected a plain dtype");
  return dtype_bytes(tensor.dtype);
}

class Copy final : public Op {
 public:
  explicit Copy(const OpContext& context) : Op(context) {
    arity(1, 1, 1);
    expect_type(c.in[0], out().dtype, "operand");
    element_bytes(*this, out());
  }
  void bind() override { expect(in(0).bytes == out().bytes, "the result has another size"); }
  size_t items(size_t) const override { return in(0).data == out().data ? 0 : ceil_div(out().bytes, kPiece); }
  void run(size_t, size_t item, Thread&) override {
    const size_t begin = item * kPiece;
    std::memcpy(out().data + begin, in(0).data + begin, std::min(kPiece, out().bytes - begin));
  }

 private:
  static constexpr size_t kPiece = 256 * 1024;
};

class Strided : public Op {
 public:
  explicit Strided(const OpContext& context) : Op(context) {
    arity(1, 1, 1);
    expect_type(c.in[0], out().dtype, "operand");
    width_ = element_bytes(*this, out());
  }
  size_t items(size_t) const override { return ceil_div(out().count, kGrain); }
  void run(size_t, size_t item, Thread&) override {
    const size_t begin = item * kGrain;
    const size_t end = std::min(out().count, begin + kGrain);
    switch (width_) {
      case 1: return move<uint8_t>(begin, end);
      case 2: return move<uint16_t>(begin, end);
      case 4: return move<uint32_t>(begin, end);
      default: return move<uint64_t>(begin, end);
    }
  }

 protected:
  // Call after base and strides are set: every element that will be read must be inside the input.
  void check() {
    dims_ = 0;
    if (out().count == 0) return;
    int64_t low = base;
    int64_t high = base;
    for (size_t d = 0; d < out().rank; d++) {
      const int64_t reach = strides[d] * static_cast<int64_t>(out().shape[d] - 1);
      (reach < 0 ? low : high) += reach;
    }
    expect(low >= 0 && high < static_cast<int64_t>(in(0).count), "the result reaches outside the operand");
    join();
  }
  int64_t input_stride(size_t dim) const { return static_cast<int64_t>(in(0).span(dim + 1, in(0).rank)); }

  int64_t base = 0;
  int64_t strides[kMaxRank] = {};

 private:
  // A dim of the result after joining.
  struct Dim {
    size_t size;
    int64_t stride;
  };
  // Elements of a line that are moved before the next line, where the operand's lines lie across.
  static constexpr size_t kAcross = 16;

  // Dims of one element go; two dims are one where a step of the outer is a whole run of the inner.
  void join() {
    for (size_t d = 0; d < out().rank; d++) {
      const Dim dim{out().shape[d], strides[d]};
      if (dim.size == 1) continue;
      if (dims_ > 0 && joined_[dims_ - 1].stride == dim.stride * static_cast<int64_t>(dim.size)) {
        joined_[dims_ - 1] = {joined_[dims_ - 1].size * dim.size, dim.stride};
      } else {
        joined_[dims_++] = dim;
      }
    }
    if (dims_ == 0) joined_[dims_++] = {1, 1};
  }
  // Where the operand has element `index` of the result.
  int64_t source(size_t index) const {
    int64_t at = base;
    for (size_t d = dims_; d-- > 0; index /= joined_[d].size)
      at += static_cast<int64_t>(index % joined_[d].size) * joined_[d].stride;
    return at;
  }

  template <class T>
  void move(size_t begin, size_t end) const {
    const T* x = in(0).as<T>();
    T* y = out().as<T>();
    const auto [length, step] = joined_[dims_ - 1];
    // Lines of the result are columns of the operand: neighbours share its cache lines.
    const bool crosses = dims_ > 1 && joined_[dims_ - 2].stride == 1;
    while (begin < end) {
      const size_t line = begin / length, column = begin % length;
      if (crosses && column == 0 && end - begin >= 2 * length) {
        const size_t left = joined_[dims_ - 2].size - line % joined_[dims_ - 2].size;
        const size_t lines = std::min((end - begin) / length, left);
        move_across(x + source(begin), step, lines, length, y + begin);
        begin += lines * length;
        continue;
      }
      const size_t n = std::min(end - begin, length - column);
      move_line(x + source(begin), step, n, y + begin);
      begin += n;
    }
  }
  template <class T>
  static void move_line(const T* x, int64_t step, size_t n, T* y) {
    if (step == 1) return void(std::memcpy(y, x, n * sizeof(T)));
    if (step == 0) return void(std::fill_n(y, n, *x));
    for (size_t i = 0; i < n; i++, x += step) y[i] = *x;
  }
  // Lines whose elements lie `step` apart, each one element behind the line before.
  template <class T>
  static void move_across(const T* x, int64_t step, size_t lines, size_t length, T* y) {
    for (size_t from = 0; from < length; from += kAcross) {
      const size_t n = std::min(kAcross, length - from);
      const T* column = x + static_cast<int64_t>(from) * step;
      for (size_t line = 0; line < lines; line++) move_line(column + line, step, n, y + line * length + from);
    }
  }

  size_t width_, dims_ = 0;
  Dim joined_[kMaxRank] = {};
};

class Transpose final : public Strided {
 public:
  using Strided::Strided;
  void bind() override {
    const std::vector<int64_t> perm = c.params.list("perm");
    expect(perm.size() == in(0).rank && out().rank == in(0).rank, "perm does not fit the rank");
    std::vector<uint8_t> seen(perm.size(), 0);
    for (size_t d = 0; d < perm.size(); d++) {
      const int64_t from = perm[d];
      expect(from >= 0 && static_cast<size_t>(from) < perm.size() && seen[static_cast<size_t>(from)] == 0,
             "perm is no permutation");
      seen[static_cast<size_t>(from)] = 1;
      expect(out().shape[d] == in(0).shape[from], "the result has another shape");
      strides[d] = input_stride(static_cast<size_t>(from));
    }
    check();
  }
};

class Expand final : public Strided {
 public:
  using Strided::Strided;
  void bind() override {
    expect(in(0).rank <= out().rank, "the operand has more dims than the result");
    const size_t lead = out().rank - in(0).rank;
    for (size_t d = 0; d < out().rank; d++) {
      const size_t size = d < lead ? 1 : in(0).shape[d - lead];
      expect(size == 1 || size == out().shape[d], "the operand does not broadcast to the result");
      strides[d] = size == 1 ? 0 : input_stride(d - lead);
    }
    check();
  }
};

class Narrow final : public Strided {
 public:
  using Strided::Strided;
  void bind() override {
    expect(in(0).rank == out().rank && in(0).rank > 0, "the ranks differ");
    const size_t axis = static_cast<size_t>(c.params.integer("axis", 0, 0, static_cast<int64_t>(in(0).rank) - 1));
    const size_t start = c.params.size("start", 0);
    for (size_t d = 0; d < out().rank; d++) {
      expect(d == axis ? out().shape[d] + start <= in(0).shape[d] : out().shape[d] == in(0).shape[d],
             "the slice is outside the operand");
      strides[d] = input_stride(d);
    }
    base = static_cast<int64_t>(start) * strides[axis];
    check();
  }
};

class Slice final : public Strided {
 public:
  using Strided::Strided;
  void bind() override {
    const std::vector<int64_t> starts = c.params.list("starts");
    const std::vector<int64_t> steps = c.params.list("steps");
    expect(starts.size() == in(0).rank && steps.size() == in(0).rank && out().rank == in(0).rank,
           "starts and steps do not fit the rank");
    if (out().count == 0) return;  // an empty axis has no last element to start from
    base = 0;
    for (size_t d = 0; d < out().rank; d++) {
      const auto size = static_cast<int64_t>(in(0).shape[d]);
      expect(starts[d] >= -size && starts[d] <= size && steps[d] >= -size && steps[d] <= size,
             "starts or steps are outside the operand");
      strides[d] = steps[d] * input_stride(d);
      base += starts[d] * input_stride(d);
      const int64_t last = starts[d] + steps[d] * static_cast<int64_t>(out().shape[d] - 1);
      expect(starts[d] >= 0 && starts[d] < size && last >= 0 && last < size, "the slice is outside the operand");
    }
    check();
  }
};

class Concat final : public Op {
 public:
  explicit Concat(const OpContext& context) : Op(context) {
    arity(1, 4096, 1);
    width_ = element_bytes(*this, out());
    for (const Tensor* tensor : c.in) expect_type(tensor, out().dtype, "operand");
  }
  void bind() override {
    expect(out().rank > 0, "a scalar has no axis");
    const size_t axis = static_cast<size_t>(c.params.integer("axis", 0, 0, static_cast<int64_t>(out().rank) - 1));
    outer_ = out().span(0, axis);
    row_ = out().span(axis, out().rank) * width_;
    size_t total = 0;
    for (const Tensor* tensor : c.in) {
      expect(tensor->rank == out().rank, "the ranks differ");
      for (size_t d = 0; d < out().rank; d++)
        expect(d == axis || tensor->shape[d] == out().shape[d], "the shapes differ beside the axis");
      total += tensor->shape[axis];
    }
    expect(total == out().shape[axis], "the sizes on the axis do not add up");
    grain_ = std::max<size_t>(1, kGrain * 4 / std::max<size_t>(1, row_));
  }
  size_t items(size_t) const override { return ceil_div(outer_, grain_); }
  void run(size_t, size_t item, Thread&) override {
    for (size_t o = item * grain_; o < std::min(outer_, (item + 1) * grain_); o++) {
      uint8_t* to = out().data + o * row_;
      for (const Tensor* tensor : c.in) {
        const size_t bytes = tensor->bytes / outer_;
        std::memcpy(to, tensor->data + o * bytes, bytes);
        to += bytes;
      }
    }
  }

 private:
  size_t width_, outer_ = 0, row_ = 0, grain_ = 1;
};

class Pad final : public Op {
 public:
  explicit Pad(const OpContext& context) : Op(context) {
    arity(2, 2, 1);
    width_ = element_bytes(*this, out());
    expect_type(c.in[0], out().dtype, "operand");
    expect_type(c.in[1], out().dtype, "fill value");
  }
  void bind() override {
    before_ = c.params.list("before");
    const std::vector<int64_t> after = c.params.list("after");
    expect(in(1).count == 1, "the fill value is no scalar");
    expect(before_.size() == in(0).rank && after.size() == in(0).rank && out().rank == in(0).rank,
           "the padding does not fit the rank");
    for (size_t d = 0; d < out().rank; d++) {
      expect(before_[d] >= 0 && after[d] >= 0, "negative padding");
      expect(static_cast<uint64_t>(before_[d]) + in(0).shape[d] + static_cast<uint64_t>(after[d]) == out().shape[d],
             "the result has another shape");
    }
  }
  size_t items(size_t) const override { return ceil_div(out().rows(), grain()); }
  void run(size_t, size_t item, Thread&) override {
    const size_t last = out().last();
    for (size_t row = item * grain(); row < std::min(out().rows(), (item + 1) * grain()); row++) {
      size_t source = 0;
      bool inside = true;
      size_t rest = row;
      size_t scale = 1;
      for (size_t d = out().rank == 0 ? 0 : out().rank - 1; d-- > 0;) {
        const int64_t at = static_cast<int64_t>(rest % out().shape[d]) - before_[d];
        rest /= out().shape[d];
        inside = inside && at >= 0 && at < static_cast<int64_t>(in(0).shape[d]);
        if (inside) source += static_cast<size_t>(at) * scale;
        scale *= in(0).shape[d];
      }
      uint8_t* to = out().data + row * last * width_;
      const size_t lead = out().rank == 0 ? 0 : static_cast<size_t>(before_[out().rank - 1]);
      const size_t copied = inside ? in(0).last() : 0;
      if (copied > 0) std::memcpy(to + lead * width_, in(0).data + source * in(0).last() * width_, copied * width_);
      for (size_t i = 0; i < last; i++)
        if (copied == 0 || i < lead || i >= lead + copied) std::memcpy(to + i * width_, in(1).data, width_);
    }
  }

 private:
  size_t grain() const { return std::max<size_t>(1, kGrain / out().last()); }
  std::vector<int64_t> before_;
  size_t width_;
};

class Iota final : public Op {
 public:
  explicit Iota(const OpContext& context) : Op(context) {
    arity(0, 0, 1);
    if (out().dtype != DType::f32 && out().dtype != DType::i32)
      reject(Code::ir_type, "element type: got %s, expected f32 or i32", dtype_name(out().dtype));
  }
  void bind() override {
    expect(out().rank > 0, "a scalar has no axis");
    const size_t axis = static_cast<size_t>(c.params.integer("axis", 0, 0, static_cast<int64_t>(out().rank) - 1));
    length_ = out().shape[axis];
    inner_ = out().span(axis + 1, out().rank);
  }
  size_t items(size_t) const override { return ceil_div(out().count, kGrain); }
  void run(size_t, size_t item, Thread&) override {
    for (size_t i = item * kGrain; i < std::min(out().count, (item + 1) * kGrain); i++) {
      const size_t value = i / inner_ % length_;
      if (out().dtype == DType::f32)
        out().f32()[i] = static_cast<float>(value);
      else
        out().i32()[i] = static_cast<int32_t>(value);
    }
  }

 private:
  size_t length_ = 1, inner_ = 1;
};

class Fill final : public Op {
 public:
  explicit Fill(const OpContext& context) : Op(context) {
    arity(1, 1, 1);
    expect_type(c.in[0], out().dtype, "value");
    width_ = element_bytes(*this, out());
  }
  void bind() override { expect(in(0).count == 1, "the value is no scalar"); }
  size_t items(size_t) const override { return ceil_div(out().count, kGrain); }
  void run(size_t, size_t item, Thread&) override {
    for (size_t i = item * kGrain; i < std::min(out().count, (item + 1) * kGrain); i++)
      std::memcpy(out().data + i * width_, in(0).data, width_);
  }

 private:
  size_t width_;
};

constexpr KernelEntry kTable[] = {
    {"copy", make_op<Copy>},     {"transpose", make_op<Transpose>}, {"expand", make_op<Expand>},
    {"narrow", make_op<Narrow>}, {"concat", make_op<Concat>},       {"pad", make_op<Pad>},
    {"slice", make_op<Slice>},   {"iota", make_op<Iota>},           {"fill", make_op<Fill>},
};

}  // namespace

std::span<const KernelEntry> move_kernels() { return kTable; }

}  // namespace rlx
