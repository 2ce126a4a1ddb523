// Gathers and scatters by positions along several axes: the last axis of the indices is a position
// along the first axes of the table, or each index is its own element's place along one axis.
#include <cstring>

#include "numbers.h"
#include "tables.h"

namespace rlx {
namespace {

// Operand 0 is the table, operand 1 the indices. A place is a row of the table: one element where
// indices stand along one axis, what lies behind the named axes otherwise.
class ByPosition : public Op {
 public:
  ByPosition(const OpContext& context, size_t operands, bool along) : Op(context), along_(along) {
    arity(operands, operands, 1);
    expect_type(c.in[1], DType::i32, "indices");
    if (out().dtype != in(0).dtype)
      reject(Code::ir_type, "result: got %s, expected %s", dtype_name(out().dtype), dtype_name(in(0).dtype));
    if (is_packed(out().dtype)) reject(Code::ir_type, "the result cannot be packed");
  }

 protected:
  static constexpr size_t kNowhere = SIZE_MAX;

  void bind_places() {
    const Tensor &table = in(0), &indices = in(1);
    expect(table.rank > 0 && indices.rank > 0, "the table or the indices are a scalar");
    if (along_) {
      const size_t axis = static_cast<size_t>(c.params.integer("axis", 0, 0, static_cast<int64_t>(table.rank) - 1));
      expect(indices.rank == table.rank, "the indices have another rank than the table");
      for (size_t i = 0; i < table.rank; i++)
        expect(i == axis || indices.shape[i] == table.shape[i], "the indices have another size beside the axis");
      size_ = table.shape[axis];
      lines_ = indices.shape[axis];
      inner_ = table.span(axis + 1, table.rank);
      row_ = 1;
    } else {
      named_ = indices.shape[indices.rank - 1];
      expect(named_ > 0 && named_ <= table.rank, "the indices name more axes than there are");
      row_ = table.span(named_, table.rank);
    }
    count_ = along_ ? indices.count : indices.count / named_;
    places_ = table.span(0, along_ ? table.rank : named_);
  }

  // The place that index number i names, kNowhere outside of the table.
  size_t place(size_t i) const {
    const int32_t* indices = in(1).i32();
    if (along_) {
      const int32_t index = indices[i];
      if (index < 0 || static_cast<size_t>(index) >= size_) return kNowhere;
      return (i / (lines_ * inner_) * size_ + static_cast<size_t>(index)) * inner_ + i % inner_;
    }
    size_t at = 0;
    for (size_t axis = 0; axis < named_; axis++) {
      const int32_t index = indices[i * named_ + axis];
      if (index < 0 || static_cast<size_t>(index) >= in(0).shape[axis]) return kNowhere;
      at = at * in(0).shape[axis] + static_cast<size_t>(index);
    }
    return at;
  }

  // Elements of a place; how many indices and places there are.
  size_t row_ = 1, count_ = 0, places_ = 0;

 private:
  bool along_;
  size_t named_ = 1, size_ = 0, lines_ = 0, inner_ = 1;
};

template <bool kAlong>
class GatherPositions final : public ByPosition {
 public:
  explicit GatherPositions(const OpContext& context) : ByPosition(context, 2, kAlong) {}
  void bind() override {
    bind_places();
    expect(out().count == count_ * row_, "the result has another size");
    grain_ = std::max<size_t>(1, kGrain / std::max<size_t>(1, row_));
  }
  size_t items(size_t) const override { return out().count == 0 ? 0 : ceil_div(count_, grain_); }
  void run(size_t, size_t item, Thread&) override {
    switch (dtype_bytes(out().dtype)) {
      case 1: return copy<uint8_t>(item);
      case 2: return copy<uint16_t>(item);
      case 4: return copy<uint32_t>(item);
      default: return copy<uint64_t>(item);
    }
  }
  size_t traffic() const override { return out().bytes * 2; }

 private:
  template <class T>
  void copy(size_t item) const {
    for (size_t i = item * grain_; i < std::min(count_, (item + 1) * grain_); i++) {
      const size_t from = place(i);
      if (from == kNowhere) return stop("an index is outside the table");
      if (row_ == 1)
        out().template as<T>()[i] = in(0).template as<T>()[from];
      else
        std::memcpy(out().template as<T>() + i * row_, in(0).template as<T>() + from * row_, row_ * sizeof(T));
    }
  }

  size_t grain_ = 1;
};

// The data with updates at places, in their stead or added {add}; updates of one place are added to
// one another, in their order. First all indices become places; then each item walks all of them
// for a run of places that no other item writes.
template <bool kAlong>
class ScatterPositions final : public ByPosition {
 public:
  explicit ScatterPositions(const OpContext& context) : ByPosition(context, 3, kAlong), add_(c.params.flag("add")) {
    if (!is_number(out().dtype))
      reject(Code::ir_type, "element type: got %s, expected a number", dtype_name(out().dtype));
    expect_type(c.in[2], out().dtype, "updates");
  }
  void bind() override {
    bind_places();
    expect(out().count == in(0).count, "the result has another size than the data");
    expect(in(2).count == count_ * row_, "updates do not fit the indices");
    runs_ = std::min(std::max<size_t>(1, c.threads), std::max<size_t>(1, ceil_div(out().count, kGrain)));
    shared_bytes = count_ * sizeof(size_t);
  }
  size_t phases() const override { return 2; }
  size_t items(size_t phase) const override {
    if (out().count == 0 && count_ == 0) return 0;
    return phase == 0 ? ceil_div(count_, kGrain) : runs_;
  }
  void run(size_t phase, size_t item, Thread&) override {
    if (phase == 0) return find(item);
    with_number(out().dtype, [&]<class T>(T) { fill<T>(places_ * item / runs_, places_ * (item + 1) / runs_); });
  }

 private:
  size_t* found() const { return reinterpret_cast<size_t*>(shared); }
  void find(size_t item) const {
    for (size_t i = item * kGrain; i < std::min(count_, (item + 1) * kGrain); i++) {
      found()[i] = place(i);
      if (found()[i] == kNowhere) stop("an index is outside the data");
    }
  }
  // The places [first, last).
  template <class T>
  void fill(size_t first, size_t last) const {
    T* to = out().template as<T>();
    if (to != in(0).template as<T>())
      std::memcpy(to + first * row_, in(0).template as<T>() + first * row_, (last - first) * row_ * sizeof(T));
    for (size_t i = 0; i < count_ && !add_; i++)
      if (found()[i] >= first && found()[i] < last) std::fill_n(to + found()[i] * row_, row_, T{0});
    const T* updates = in(2).template as<T>();
    for (size_t i = 0; i < count_; i++, updates += row_) {
      if (found()[i] < first || found()[i] >= last) continue;
      T* row = to + found()[i] * row_;
      for (size_t k = 0; k < row_; k++) row[k] = Add::of(row[k], updates[k]);
    }
  }

  bool add_;
  size_t runs_ = 1;
};

constexpr KernelEntry kTable[] = {
    {"gather_nd", make_op<GatherPositions<false>>},
    {"gather_elements", make_op<GatherPositions<true>>},
    {"scatter_nd", make_op<ScatterPositions<false>>},
    {"scatter_elements", make_op<ScatterPositions<true>>},
};

}  // namespace

std::span<const KernelEntry> position_kernels() { return kTable; }

}  // namespace rlx
