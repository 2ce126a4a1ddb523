// Element-wise kernels with two operands, comparisons, logic, bits, and where.
#include <cmath>
#include <cstring>

#include "broadcast.h"
#include "numbers.h"
#include "steps.h"
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

// The same on one stretch.
template <class In, class Out, class F>
void pairs(const Stretch& s, F f) {
  const In* a = s.operand<In>(0);
  const In* b = s.operand<In>(1);
  Out* y = s.result<Out>();
  for (size_t i = 0; i < s.n; i++) y[i] = f(a[i * s.step[0]], b[i * s.step[1]]);
}

template <class F>
void arithmetic_step(const Stretch& s) {
  with_number(s.type, [&]<class T>(T) { pairs<T, T>(s, [](T a, T b) { return F::of(a, b); }); });
}

template <kernels::Binary kKind, class F>
void vector_step(const Stretch& s) {
  if (s.type != DType::f32) return arithmetic_step<F>(s);
  s.kernels.binary(kKind, s.operand<float>(0), s.step[0], s.operand<float>(1), s.step[1], s.result<float>(), s.n);
}

void atan2_step(const Stretch& s) {
  if (s.type == DType::f64) return pairs<double, double>(s, [](double a, double b) { return std::atan2(a, b); });
  pairs<float, float>(s, [](float a, float b) { return std::atan2(a, b); });
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
void compare_step(const Stretch& s) {
  if (s.type == DType::boolean)
    return pairs<uint8_t, uint8_t>(s, [](uint8_t a, uint8_t b) { return uint8_t{holds<kHow>(a != 0, b != 0)}; });
  with_number(s.type, [&]<class T>(T) { pairs<T, uint8_t>(s, [](T a, T b) { return uint8_t{holds<kHow>(a, b)}; }); });
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
uint8_t joined(uint8_t a, uint8_t b) {
  const bool x = a != 0;
  const bool y = b != 0;
  return uint8_t{kHow == Logic::conjunction ? x && y : kHow == Logic::disjunction ? x || y : x != y};
}

template <Logic kHow>
void logic_step(const Stretch& s) {
  pairs<uint8_t, uint8_t>(s, joined<kHow>);
}

template <Logic kHow>
class Logical final : public BroadcastOp<2> {
 public:
  explicit Logical(const OpContext& context) : BroadcastOp(context) {
    expect_type(c.in[0], DType::boolean, "first operand");
    expect_type(c.in[1], DType::boolean, "second operand");
    expect_type(c.out[0], DType::boolean, "result");
  }
  void stretch(size_t begin, size_t end) override { two<uint8_t, uint8_t>(*this, loop, begin, end, joined<kHow>); }
};

template <class T>
void choose(const Stretch& s) {
  const T* a = s.operand<T>(1);
  const T* b = s.operand<T>(2);
  T* y = s.result<T>();
  for (size_t i = 0; i < s.n; i++) y[i] = s.in[0][i * s.step[0]] != 0 ? a[i * s.step[1]] : b[i * s.step[2]];
}

void where_step(const Stretch& s) {
  switch (dtype_bytes(s.type)) {
    case 1: return choose<uint8_t>(s);
    case 2: return choose<uint16_t>(s);
    case 4: return choose<uint32_t>(s);
    default: return choose<uint64_t>(s);
  }
}

class Where final : public BroadcastOp<3> {
 public:
  explicit Where(const OpContext& context) : BroadcastOp(context) {
    expect_type(c.in[0], DType::boolean, "condition");
    expect_type(c.in[1], out().dtype, "second operand");
    expect_type(c.in[2], out().dtype, "third operand");
  }
  void stretch(size_t begin, size_t end) override {
    const size_t bytes = dtype_bytes(out().dtype);
    loop.run(begin, end, [&](const size_t(&at)[3], size_t to, size_t n) {
      where_step({c.kernels,
                  out().dtype,
                  false,
                  {in(0).data + at[0], in(1).data + at[1] * bytes, in(2).data + at[2] * bytes},
                  {loop.step(0), loop.step(1), loop.step(2)},
                  out().data + to * bytes,
                  n});
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

constexpr StepEntry kSteps[] = {
    {"add", 2, StepTypes::numbers, vector_step<kernels::Binary::add, Add>},
    {"sub", 2, StepTypes::numbers, vector_step<kernels::Binary::sub, Sub>},
    {"mul", 2, StepTypes::numbers, vector_step<kernels::Binary::mul, Mul>},
    {"div", 2, StepTypes::numbers, vector_step<kernels::Binary::div, Div>},
    {"max", 2, StepTypes::numbers, vector_step<kernels::Binary::max, Max>},
    {"min", 2, StepTypes::numbers, vector_step<kernels::Binary::min, Min>},
    {"pow", 2, StepTypes::numbers, arithmetic_step<Pow>},
    {"mod", 2, StepTypes::numbers, arithmetic_step<Mod>},
    {"atan2", 2, StepTypes::reals, atan2_step},
    {"eq", 2, StepTypes::compare, compare_step<Compare::eq>},
    {"ne", 2, StepTypes::compare, compare_step<Compare::ne>},
    {"lt", 2, StepTypes::compare, compare_step<Compare::lt>},
    {"le", 2, StepTypes::compare, compare_step<Compare::le>},
    {"gt", 2, StepTypes::compare, compare_step<Compare::gt>},
    {"ge", 2, StepTypes::compare, compare_step<Compare::ge>},
    {"logical_and", 2, StepTypes::logic, logic_step<Logic::conjunction>},
    {"logical_or", 2, StepTypes::logic, logic_step<Logic::disjunction>},
    {"logical_xor", 2, StepTypes::logic, logic_step<Logic::exclusive>},
    {"where", 3, StepTypes::choose, where_step},
};

}  // namespace

std::span<const KernelEntry> binary_kernels() { return kTable; }
std::span<const StepEntry> binary_steps() { return kSteps; }

}  // namespace rlx
