// Rows by index: gather (of plain and packed tables), scatter-add, and dequantise.
#include <cstring>

#include "numbers.h"
#include "tables.h"

namespace rlx {
namespace {

// out[outer, i, inner] = table[outer, index[i], inner]. A packed or half table under an f32 result
// is widened.
class Gather final : public Op {
 public:
  explicit Gather(const OpContext& context) : Op(context) {
    arity(2, 2, 1);
    expect_type(c.in[1], DType::i32, "indices");
    widen_ = in(0).dtype != out().dtype;
    if (widen_ && (out().dtype != DType::f32 || !kernel_type(in(0).dtype, &type_)))
      reject(Code::ir_type, "result: got %s from a table of %s", dtype_name(out().dtype), dtype_name(in(0).dtype));
    if (!widen_ && is_packed(out().dtype)) reject(Code::ir_type, "the result cannot be packed");
  }
  void bind() override {
    expect(in(0).rank > 0, "the table is a scalar");
    const size_t axis = static_cast<size_t>(c.params.integer("axis", 0, 0, static_cast<int64_t>(in(0).rank) - 1));
    if (widen_) expect(axis == 0 && in(0).rank >= 2, "a packed table is read along its first axis only");
    size_ = in(0).shape[axis];
    inner_ = in(0).span(axis + 1, in(0).rank);
    outer_ = in(0).span(0, axis);
    expect(out().count == outer_ * in(1).count * inner_, "the result has another size");
    if (widen_) {
      row_bytes_ = kernels::row_bytes(type_, inner_);
      expect(inner_ % kernels::type_info(type_).block == 0, "a row is not whole blocks");
    } else {
      row_bytes_ = inner_ * dtype_bytes(in(0).dtype);
    }
    grain_ = std::max<size_t>(1, kGrain / std::max<size_t>(1, inner_));
  }
  size_t items(size_t) const override { return out().count == 0 ? 0 : ceil_div(outer_ * in(1).count, grain_); }
  void run(size_t, size_t item, Thread&) override {
    const size_t rows = outer_ * in(1).count;
    for (size_t row = item * grain_; row < std::min(rows, (item + 1) * grain_); row++) {
      const int32_t index = in(1).i32()[row % in(1).count];
      if (index < 0 || static_cast<size_t>(index) >= size_) return stop("an index is outside the table");
      const uint8_t* from = in(0).data + (row / in(1).count * size_ + static_cast<size_t>(index)) * row_bytes_;
      if (widen_)
        c.kernels.dequantize(type_, from, out().f32() + row * inner_, inner_);
      else
        std::memcpy(out().data + row * row_bytes_, from, row_bytes_);
    }
  }
  size_t traffic() const override { return out().bytes * 2; }

 private:
  bool widen_;
  kernels::Type type_ = kernels::Type::f32;
  size_t size_ = 0, inner_ = 1, outer_ = 1, row_bytes_ = 0, grain_ = 1;
};

// Zeros, plus updates [before, indices, after] at the places that the indices name on `axis`:
// gather turned round. One thread does a stretch of one outer block, so the order of additions is
// fixed.
class ScatterAdd final : public Op {
 public:
  explicit ScatterAdd(const OpContext& context) : Op(context) {
    arity(2, 2, 1);
    if (!is_number(out().dtype))
      reject(Code::ir_type, "element type: got %s, expected a number", dtype_name(out().dtype));
    expect_type(c.in[0], out().dtype, "updates");
    expect_type(c.in[1], DType::i32, "indices");
  }
  void bind() override {
    expect(out().rank > 0, "the result is a scalar");
    const size_t axis = static_cast<size_t>(c.params.integer("axis", 0, 0, static_cast<int64_t>(out().rank) - 1));
    size_ = out().shape[axis];
    inner_ = out().span(axis + 1, out().rank);
    outer_ = out().span(0, axis);
    expect(in(0).count == outer_ * in(1).count * inner_, "updates do not fit indices and result");
    grain_ = std::max<size_t>(16, kGrain / std::max<size_t>(1, size_ + in(1).count));
    stretches_ = ceil_div(inner_, grain_);
  }
  size_t items(size_t) const override { return outer_ * stretches_; }
  void run(size_t, size_t item, Thread&) override {
    with_number(out().dtype, [&]<class T>(T) { add<T>(item); });
  }

 private:
  template <class T>
  void add(size_t item) const {
    const size_t outer = item / stretches_;
    const size_t begin = item % stretches_ * grain_;
    const size_t n = std::min(grain_, inner_ - begin);
    for (size_t row = 0; row < size_; row++)
      std::fill_n(out().as<T>() + (outer * size_ + row) * inner_ + begin, n, T{0});
    for (size_t i = 0; i < in(1).count; i++) {
      const int32_t row = in(1).i32()[i];
      if (row < 0 || static_cast<size_t>(row) >= size_) return stop("an index is outside the result");
      const size_t to = (outer * size_ + static_cast<size_t>(row)) * inner_ + begin;
      const size_t from = (outer * in(1).count + i) * inner_ + begin;
      for (size_t j = 0; j < n; j++) out().as<T>()[to + j] = Add::of(out().as<T>()[to + j], in(0).as<T>()[from + j]);
    }
  }

  size_t size_ = 0, inner_ = 1, outer_ = 1, grain_ = 1, stretches_ = 0;
};

class Dequantize final : public Op {
 public:
  explicit Dequantize(const OpContext& context) : Op(context) {
    arity(1, 1, 1);
    expect_type(c.out[0], DType::f32, "result");
    if (!kernel_type(in(0).dtype, &type_))
      reject(Code::unsupported_tensor_type, "no kernel reads %s", dtype_name(in(0).dtype));
  }
  void bind() override {
    expect(in(0).count == out().count, "the result has another size");
    block_ = kernels::type_info(type_).block;
  }
  size_t items(size_t) const override { return ceil_div(out().count, kGrain); }
  void run(size_t, size_t item, Thread&) override {
    const size_t begin = item * kGrain;  // a whole number of blocks of any type
    c.kernels.dequantize(type_, in(0).data + begin / block_ * kernels::type_info(type_).bytes, out().f32() + begin,
                         std::min(kGrain, out().count - begin));
  }

 private:
  kernels::Type type_ = kernels::Type::f32;
  size_t block_ = 1;
};

constexpr KernelEntry kTable[] = {
    {"gather", make_op<Gather>},
    {"scatter_add", make_op<ScatterAdd>},
    {"dequantize", make_op<Dequantize>},
};

}  // namespace

std::span<const KernelEntry> gather_kernels() { return kTable; }

}  // namespace rlx
