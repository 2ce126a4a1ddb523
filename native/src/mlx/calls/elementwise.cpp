// Element by element: one number in or two, one out.
#include "family.h"

#include <cmath>
#include <limits>
#include <numbers>

namespace rlx::gpu {
namespace {

// MLX's own sign of NaN is 0.
Arrays sign(const Invocation& c) {
  const array& x = c.in(0);
  return {is_real(x.dtype()) ? mx::where(mx::isnan(x), x, mx::sign(x)) : mx::sign(x)};
}
array silu(const array& x) { return mx::multiply(x, mx::sigmoid(x)); }
array gelu(const array& x) {
  const array integral = mx::add(like(1, x), mx::erf(mx::multiply(x, like(std::numbers::sqrt2 / 2, x))));
  return mx::multiply(mx::multiply(like(0.5, x), x), integral);
}
array gelu_tanh(const array& x) {
  const array cubic = mx::add(x, mx::multiply(like(0.044715, x), mx::multiply(x, mx::multiply(x, x))));
  const array bent = mx::tanh(mx::multiply(like(std::sqrt(2 / std::numbers::pi), x), cubic));
  return mx::multiply(mx::multiply(like(0.5, x), x), mx::add(like(1, x), bent));
}

// Towards zero; by zero it is 0. MLX's floor_divide would trap on both corners of the whole
// numbers.
array divide_whole(const array& a, const array& b) {
  const mx::Dtype type = mx::result_type(a, b);
  const array none = whole(0, type), one = whole(1, type);
  const array by_zero = mx::equal(b, none);
  if (mx::issubdtype(type, mx::unsignedinteger))
    return mx::where(by_zero, none, mx::floor_divide(a, mx::where(by_zero, one, b)));
  const array negated = mx::equal(b, whole(-1, type));
  const array safe = mx::where(mx::logical_or(by_zero, negated), one, b);
  const array floor = mx::floor_divide(a, safe);
  const array uneven = mx::not_equal(mx::multiply(floor, safe), a);
  const array signs = mx::not_equal(mx::less(a, none), mx::less(safe, none));
  const array towards = mx::add(floor, mx::astype(mx::logical_and(uneven, signs), type));
  return mx::where(by_zero, none, mx::where(negated, mx::negative(a), towards));
}
Arrays divide(const Invocation& c) {
  return {is_whole(c.dtype()) ? divide_whole(c.in(0), c.in(1)) : mx::divide(c.in(0), c.in(1))};
}

// The remainder has the sign of the first. By zero it is NaN, of whole numbers 0.
Arrays mod(const Invocation& c) {
  const array &a = c.in(0), &b = c.in(1);
  const array none = like(0, a);
  if (is_whole(a.dtype())) {
    const array rest = mx::subtract(a, mx::multiply(divide_whole(a, b), b));
    return {mx::where(mx::equal(b, none), none, rest)};
  }
  const array size = mx::remainder(mx::abs(a), mx::abs(b));
  return {mx::where(mx::less(a, none), mx::negative(size), size)};
}

// A count outside the bits of the type moves all of them out, which C++ leaves open.
array shifted(const array& a, const array& count, bool left) {
  const mx::Dtype type = a.dtype();
  const array none = whole(0, type);
  const array bits = whole(static_cast<int64_t>(8 * mx::size_of(type)), type);
  const array inside = mx::logical_and(mx::greater_equal(count, none), mx::less(count, bits));
  const array safe = mx::where(inside, count, none);
  if (left) return mx::where(inside, mx::left_shift(a, safe), none);
  const array sign = mx::negative(mx::astype(mx::less(a, none), type));
  return mx::where(inside, mx::right_shift(a, safe), sign);
}

struct Limits {
  double low, past;  // past: the first value above the range
  int64_t least, most;
};
Limits limits_of(mx::Dtype type) {
  if (type == mx::uint8) return {0, 256, 0, 255};
  if (type == mx::int8) return {-128, 128, -128, 127};
  if (type == mx::int16) return {-32768, 32768, -32768, 32767};
  if (type == mx::uint32) return {0, 4294967296.0, 0, 4294967295};
  if (type == mx::int32) return {-2147483648.0, 2147483648.0, -2147483648LL, 2147483647};
  return {-0x1p63, 0x1p63, std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max()};
}

// Floats to whole numbers truncate and saturate, NaN is 0; whole numbers to narrower ones wrap;
// anything but 0 is true.
array cast(const array& x, mx::Dtype to) {
  if (x.dtype() == to) return x;
  if (to == mx::bool_) return mx::not_equal(x, like(0, x));
  if (!is_whole(to) || !is_real(x.dtype())) return mx::astype(x, to);
  const array wide = x.dtype() == mx::float64 ? x : mx::astype(x, mx::float32);
  const Limits limits = limits_of(to);
  const array over = mx::greater_equal(wide, like(limits.past, wide));
  const array under = mx::less_equal(wide, like(limits.low, wide));
  const array outside = mx::logical_or(mx::logical_or(over, under), mx::isnan(wide));
  const array inside = mx::astype(mx::where(outside, like(0, wide), wide), to);
  return mx::where(over, whole(limits.most, to), mx::where(under, whole(limits.least, to), inside));
}
Arrays cast_call(const Invocation& c) { return {cast(c.in(0), c.dtype())}; }

const Function kTable[] = {
    {"abs", 1, 1, unary<mx::abs>},
    {"arccos", 1, 1, unary<mx::arccos>},
    {"arccosh", 1, 1, unary<mx::arccosh>},
    {"arcsin", 1, 1, unary<mx::arcsin>},
    {"arcsinh", 1, 1, unary<mx::arcsinh>},
    {"arctan", 1, 1, unary<mx::arctan>},
    {"arctanh", 1, 1, unary<mx::arctanh>},
    {"ceil", 1, 1, unary<mx::ceil>},
    {"cos", 1, 1, unary<mx::cos>},
    {"cosh", 1, 1, unary<mx::cosh>},
    {"erf", 1, 1, unary<mx::erf>},
    {"exp", 1, 1, unary<mx::exp>},
    {"expm1", 1, 1, unary<mx::expm1>},
    {"floor", 1, 1, unary<mx::floor>},
    {"isfinite", 1, 1, unary<mx::isfinite>},
    {"isnan", 1, 1, unary<mx::isnan>},
    {"log", 1, 1, unary<mx::log>},
    {"log1p", 1, 1, unary<mx::log1p>},
    {"negative", 1, 1, unary<mx::negative>},
    {"reciprocal", 1, 1, unary<mx::reciprocal>},
    {"rsqrt", 1, 1, unary<mx::rsqrt>},
    {"sigmoid", 1, 1, unary<mx::sigmoid>},
    {"sign", 1, 1, sign},
    {"sin", 1, 1, unary<mx::sin>},
    {"sinh", 1, 1, unary<mx::sinh>},
    {"sqrt", 1, 1, unary<mx::sqrt>},
    {"square", 1, 1, unary<mx::square>},
    {"tan", 1, 1, unary<mx::tan>},
    {"tanh", 1, 1, unary<mx::tanh>},
    {"trunc", 1, 1, unary<mx::trunc>},
    {"bitwise_invert", 1, 1, unary<mx::bitwise_invert>},
    {"logical_not", 1, 1, unary<mx::logical_not>},
    {"round", 1, 1, [](const Invocation& c) -> Arrays { return {mx::round(c.in(0), 0)}; }},
    {"relu", 1, 1, [](const Invocation& c) -> Arrays { return {mx::maximum(c.in(0), like(0, c.in(0)))}; }},
    {"silu", 1, 1, [](const Invocation& c) -> Arrays { return {silu(c.in(0))}; }},
    {"gelu", 1, 1, [](const Invocation& c) -> Arrays { return {gelu(c.in(0))}; }},
    {"gelu_tanh", 1, 1, [](const Invocation& c) -> Arrays { return {gelu_tanh(c.in(0))}; }},
    {"add", 2, 2, binary<mx::add>},
    {"subtract", 2, 2, binary<mx::subtract>},
    {"multiply", 2, 2, binary<mx::multiply>},
    {"divide", 2, 2, divide},
    {"power", 2, 2, binary<mx::power>},
    {"arctan2", 2, 2, binary<mx::arctan2>},
    {"mod", 2, 2, mod},
    {"bitwise_and", 2, 2, binary<mx::bitwise_and>},
    {"bitwise_or", 2, 2, binary<mx::bitwise_or>},
    {"bitwise_xor", 2, 2, binary<mx::bitwise_xor>},
    {"left_shift", 2, 2, [](const Invocation& c) -> Arrays { return {shifted(c.in(0), c.in(1), true)}; }},
    {"right_shift", 2, 2, [](const Invocation& c) -> Arrays { return {shifted(c.in(0), c.in(1), false)}; }},
    {"logical_and", 2, 2, binary<mx::logical_and>},
    {"logical_or", 2, 2, binary<mx::logical_or>},
    {"maximum", 2, 2, binary<mx::maximum>},
    {"minimum", 2, 2, binary<mx::minimum>},
    {"equal", 2, 2, binary<mx::equal>},
    {"not_equal", 2, 2, binary<mx::not_equal>},
    {"less", 2, 2, binary<mx::less>},
    {"less_equal", 2, 2, binary<mx::less_equal>},
    {"greater", 2, 2, binary<mx::greater>},
    {"greater_equal", 2, 2, binary<mx::greater_equal>},
    {"where", 3, 3, [](const Invocation& c) -> Arrays { return {mx::where(c.in(0), c.in(1), c.in(2))}; }},
    {"cast", 1, 1, cast_call},
};

}  // namespace

std::span<const Function> elementwise_calls() { return kTable; }

}  // namespace rlx::gpu
