// Element-wise kernels with two operands, comparisons, logic, bits, and where.
#include <cmath>
#include <cstring>

#include "broadcast.h"
#include "numbers.h"
#include "tables.h"

namespace rlx {
namespace {

// What all of these share: operands broadcast to the output; an item is a stretch of output
// elements.
template <size_t kOperands>
class BroadcastOp : public Op {
 public:
  explicit BroadcastOp(const OpContext& context) : Op(context) { arity(kOperands, kOperands, 1); }
  void bind() override {
    const Tensor* operands[kOperands];
    for (size_t i = 0; i < kOperands; i++) operands[i] = c.in[i];
    expect(loop.bind(out(), operands), "operands do not broadcast to the result");
  }
  size_t items(size_t) const override { return ceil_div(out().count, kGrain); }
  void run(size_t, size_t item, Thread&) override {
    const size_t begin = item * kGrain;
    stretch(begin, std::min(out().count, begin + kGrain));
  }

 protected:
  virtual void stretch(size_t begin, size_t end) = 0;
  Broadcast<kOperands> loop;
};

// Two operands of type In, a result of type Out.
template <class In, class Out, class F>
void two(const Op& op, const Broadcast<2>& loop, size_t begin, size_t end, F f) {
  const In* a = op.c.in[0]->as<In>();
  const In* b = op.c.in[1]->as<In>();
  Out* y = op.c.out[0]->as<Out>();
  const size_t step_a = loop.step(0);
  const size_t step_b = loop.step(1);
  loop.run(begin, end, [&](const size_t(&at)[2], size_t out, size_t n) {
    for (size_t i = 0; i < n; i++) y[out + i] = f(a[at[0] + i * step_a], b[at[1] + i * step_b]);
  });
}

// Numbers of any type by `F`; f32 through the vector kernels where they have it.
template <class F>
class Arithmetic : public BroadcastOp<2> {
 public:
  explicit Arithmetic(const OpContext& context) : BroadcastOp(context) {
    if (!is_number(out().dtype))
      reject(Code::ir_type, "element type: got %s, expected a number", dtype_name(out().dtype));
    expect_type(c.in[0], out().dtype, "first operand");
    expect_type(c.in[1], out().dtype, "second operand");
  }
  void stretch(size_t begin, size_t end) override {
    with_number(out().dtype,
                [&]<class T>(T) { two<T, T>(*this, loop, begin, end, [](T a, T b) { return F::of(a, b); }); });
  }
};

template <kernels::Binary kKind, class F>
class Vector final : public Arithmetic<F> {
 public:
  using Arithmetic<F>::Arithmetic;
  void stretch(size_t begin, size_t end) override {
    if (this->out().dtype != DType::f32) return Arithmetic<F>::stretch(begin, end);
    this->loop.run(begin, end, [&](const size_t(&at)[2], size_t to, size_t n) {
      this->c.kernels.binary(kKind, this->in(0).f32() + at[0], this->loop.step(0), this->in(1).f32() + at[1],
                             this->loop.step(1), this->out().f32() + to, n);
    });
  }
};

class Atan2 final : public BroadcastOp<2> {
 public:
  explicit Atan2(const OpContext& context) : BroadcastOp(context) {
    const DType type = out().dtype;
    if (type != DType::f32 && type != DType::f64)
      reject(Code::ir_type, "element type: got %s, expected f32 or f64", dtype_name(type));
    expect_type(c.in[0], type, "first operand");
    expect_type(c.in[1], type, "second operand");
  }
  void stretch(size_t begin, size_t end) override {
    if (out().dtype == DType::f64)
      return two<double, double>(*this, loop, begin, end, [](double a, double b) { return std::atan2(a, b); });
    two<float, float>(*this, loop, begin, end, [](float a, float b) { return std::atan2(a, b); });
  }
};

template <class F>
class Bits final : public BroadcastOp<2> {
 public:
  explicit Bits(const OpContext& context) : BroadcastOp(context) {
    const DType type = out().dtype;
    if (!is_number(type) || type == DType::f32 || type == DType::f64)
      reject(Code::ir_type, "element type: got %s, expected whole numbers", dtype_name(type));
    expect_type(c.in[0], type, "first operand");
    expect_type(c.in[1], type, "second operand");
  }
  void stretch(size_t begin, size_t end) override {
    with_number(out().dtype, [&]<class T>(T) {
      if constexpr (std::integral<T>) two<T, T>(*this, loop, begin, end, [](T a, T b) { return F::of(a, b); });
    });
  }
};

enum class Compare { eq, ne, lt, le, gt, ge };

template <Compare kHow, class T>
bool holds(T a, T b) {
  switch (kHow) {
    case Compare::eq: return a == b;
    case Compare::ne: return a != b;
    case Compare::lt: return a < b;
    case Compare::le: return a <= b;
    case Compare::gt: return a > b;
    case Compare::ge: return a >= b;
  }
  return false;
}

template <Compare kHow>
class Comparison final : public BroadcastOp<2> {
 public:
  explicit Comparison(const OpContext& context) : BroadcastOp(context) {
    expect_type(c.out[0], DType::boolean, "result");
    const DType type = in(0).dtype;
    if (!is_number(type) && type != DType::boolean)
      reject(Code::ir_type, "element type: got %s, expected a number or bool", dtype_name(type));
    expect_type(c.in[1], type, "second operand");
  }
  void stretch(size_t begin, size_t end) override {
    if (in(0).dtype == DType::boolean)
      return two<uint8_t, uint8_t>(*this, loop, begin, end,
                                   [](uint8_t a, uint8_t b) { return uint8_t{holds<kHow>(a != 0, b != 0)}; });
    with_number(in(0).dtype, [&]<class T>(T) {
      two<T, uint8_t>(*this, loop, begin, end, [](T a, T b) { return uint8_t{holds<kHow>(a, b)}; });
    });
  }
};

enum class Logic { conjunction, disjunction, exclusive };

template <Logic kHow>
class Logical final : public BroadcastOp<2> {
 public:
  explicit Logical(const OpContext& context) : BroadcastOp(context) {
    expect_type(c.in[0], DType::boolean, "first operand");
    expect_type(c.in[1], DType::boolean, "second operand");
    expect_type(c.out[0], DType::boolean, "result");
  }
  void stretch(size_t begin, size_t end) override {
    two<uint8_t, uint8_t>(*this, loop, begin, end, [](uint8_t a, uint8_t b) {
      const bool x = a != 0;
      const bool y = b != 0;
      return uint8_t{kHow == Logic::conjunction ? x && y : kHow == Logic::disjunction ? x || y : x != y};
    });
  }
};

class Where final : public BroadcastOp<3> {
 public:
  explicit Where(const OpContext& context) : BroadcastOp(context) {
    expect_type(c.in[0], DType::boolean, "condition");
    expect_type(c.in[1], out().dtype, "second operand");
    expect_type(c.in[2], out().dtype, "third operand");
  }
  void stretch(size_t begin, size_t end) override {
    switch (dtype_bytes(out().dtype)) {
      case 1: return choose<uint8_t>(begin, end);
      case 2: return choose<uint16_t>(begin, end);
      case 4: return choose<uint32_t>(begin, end);
      default: return choose<uint64_t>(begin, end);
    }
  }

 private:
  template <class T>
  void choose(size_t begin, size_t end) {
    const uint8_t* condition = in(0).as<uint8_t>();
    const T* a = in(1).as<T>();
    const T* b = in(2).as<T>();
    T* y = out().as<T>();
    const size_t s0 = loop.step(0);
    const size_t s1 = loop.step(1);
    const size_t s2 = loop.step(2);
    loop.run(begin, end, [&](const size_t(&at)[3], size_t to, size_t n) {
      for (size_t i = 0; i < n; i++) y[to + i] = condition[at[0] + i * s0] != 0 ? a[at[1] + i * s1] : b[at[2] + i * s2];
    });
  }
};

constexpr KernelEntry kTable[] = {
    {"add", make_op<Vector<kernels::Binary::add, Add>>},
    {"sub", make_op<Vector<kernels::Binary::sub, Sub>>},
    {"mul", make_op<Vector<kernels::Binary::mul, Mul>>},
    {"div", make_op<Vector<kernels::Binary::div, Div>>},
    {"max", make_op<Vector<kernels::Binary::max, Max>>},
    {"min", make_op<Vector<kernels::Binary::min, Min>>},
    {"pow", make_op<Arithmetic<Pow>>},
    {"mod", make_op<Arithmetic<Mod>>},
    {"atan2", make_op<Atan2>},
    {"bit_and", make_op<Bits<BitAnd>>},
    {"bit_or", make_op<Bits<BitOr>>},
    {"bit_xor", make_op<Bits<BitXor>>},
    {"shift_left", make_op<Bits<ShiftLeft>>},
    {"shift_right", make_op<Bits<ShiftRight>>},
    {"eq", make_op<Comparison<Compare::eq>>},
    {"ne", make_op<Comparison<Compare::ne>>},
    {"lt", make_op<Comparison<Compare::lt>>},
    {"le", make_op<Comparison<Compare::le>>},
    {"gt", make_op<Comparison<Compare::gt>>},
    {"ge", make_op<Comparison<Compare::ge>>},
    {"logical_and", make_op<Logical<Logic::conjunction>>},
    {"logical_or", make_op<Logical<Logic::disjunction>>},
    {"logical_xor", make_op<Logical<Logic::exclusive>>},
    {"where", make_op<Where>},
};

}  // namespace

std::span<const KernelEntry> binary_kernels() { return kTable; }

}  // namespace rlx
