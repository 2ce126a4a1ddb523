// One function per name of main/backends/mlx/functions.ts. Each builds MLX arrays; nothing is computed here.
// Long because it is a list: the functions share nothing but their signature, and are looked up by name in the table at its end.
#include "calls.h"

#include <mlx/fast.h>
#include <mlx/fft.h>
#include <mlx/ops.h>
#include <mlx/transforms.h>
#include <mlx/utils.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <unordered_map>

#include "../core/error.h"
#include "control.h"
#include "windows.h"

namespace rlx::gpu {

using mx::array;
using Arrays = std::vector<array>;

const array& Invocation::in(size_t index) const {
  if (index >= inputs.size() || inputs[index].array == nullptr)
    fail(Code::ir_type, "[mlx] %s: operand %zu is missing or packed", call.function->name, index);
  return *inputs[index].array;
}
static int to_int(double number) {
  if (!(number >= std::numeric_limits<int>::min() && number <= std::numeric_limits<int>::max()))
    fail(Code::ir_structure, "[mlx] %g is no whole number of 32 bits", number);
  return static_cast<int>(number);
}
const Attribute* Invocation::find(const char* name) const {
  for (const Attribute& attribute : call.attributes)
    if (attribute.name == name) return &attribute;
  return nullptr;
}
double Invocation::number(const char* name) const {
  const Attribute* attribute = find(name);
  if (attribute == nullptr || attribute->items.size() != 1)
    fail(Code::ir_structure, "[mlx] %s: attribute %s is missing", call.function->name, name);
  const Attribute::Item& item = attribute->items[0];
  return item.size == kNone ? item.number : static_cast<double>(sizes[item.size]);
}
double Invocation::number(const char* name, double otherwise) const {
  return find(name) == nullptr ? otherwise : number(name);
}
int Invocation::whole(const char* name) const { return to_int(number(name)); }
std::vector<int> Invocation::list(const char* name) const {
  const Attribute* attribute = find(name);
  if (attribute == nullptr) fail(Code::ir_structure, "[mlx] %s: attribute %s is missing", call.function->name, name);
  std::vector<int> result;
  for (const Attribute::Item& item : attribute->items)
    result.push_back(to_int(item.size == kNone ? item.number : static_cast<double>(sizes[item.size])));
  return result;
}
mx::Shape Invocation::shape(size_t output) const { return bind_shape(call.outputs.at(output), sizes); }
mx::Dtype Invocation::dtype(size_t output) const { return mlx_type(call.outputs.at(output).dtype); }

mx::Dtype mlx_type(DType type) {
  switch (type) {
    case DType::boolean: return mx::bool_;
    case DType::u8: return mx::uint8;
    case DType::i8: return mx::int8;
    case DType::i16: return mx::int16;
    case DType::bf16: return mx::bfloat16;
    case DType::f16: return mx::float16;
    case DType::u32: return mx::uint32;
    case DType::i32: return mx::int32;
    case DType::i64: return mx::int64;
    case DType::f32: return mx::float32;
    case DType::f64: return mx::float64;
    case DType::c64: return mx::complex64;
    default: fail(Code::ir_type, "[mlx] %s is packed", dtype_name(type));
  }
}

mx::Shape bind_shape(const Type& type, const std::vector<size_t>& sizes) {
  mx::Shape shape;
  for (const uint32_t size : type.sizes) {
    if (sizes[size] > 0x7fffffff) fail(Code::ir_shape, "[mlx] an axis of %zu elements is too long", sizes[size]);
    shape.push_back(static_cast<int>(sizes[size]));
  }
  return shape;
}

namespace {

array scalar(double value, mx::Dtype dtype) { return array(value, dtype); }
array like(double value, const array& x) { return scalar(value, x.dtype()); }
array whole(int64_t value, mx::Dtype dtype) { return array(value, dtype); }
bool is_whole(mx::Dtype dtype) { return mx::issubdtype(dtype, mx::integer); }
bool is_real(mx::Dtype dtype) { return mx::issubdtype(dtype, mx::floating); }

template <array (*F)(const array&, mx::StreamOrDevice)>
Arrays unary(const Invocation& c) {
  return {F(c.in(0), {})};
}
template <array (*F)(const array&, const array&, mx::StreamOrDevice)>
Arrays binary(const Invocation& c) {
  return {F(c.in(0), c.in(1), {})};
}

// --------------------------------------------------------------------------------------- element by element

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

// Towards zero; by zero it is 0. MLX's floor_divide would trap on both corners of the whole numbers.
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
  return {-9007199254740992.0, 9007199254740992.0, -9007199254740992LL, 9007199254740992LL};
}

// Floats to whole numbers truncate and saturate, NaN is 0; whole numbers to narrower ones wrap; anything but 0 is true.
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

// ------------------------------------------------------------------------------------------------ movement

Arrays narrow(const Invocation& c) {
  const array& x = c.in(0);
  const int axis = c.whole("axis"), start = c.whole("start");
  mx::Shape from(x.ndim(), 0), to = c.shape();
  from.at(axis) = start;
  to.at(axis) += start;
  if (to[axis] > x.shape(axis)) fail(Code::ir_shape, "[narrow] the range ends at %d of %d", to[axis], x.shape(axis));
  return {mx::slice(x, from, to)};
}
Arrays reverse(const Invocation& c) {
  const array& x = c.in(0);
  mx::Shape from(x.ndim(), 0), to = x.shape(), steps(x.ndim(), 1);
  for (const int axis : c.list("axes")) {
    from.at(axis) = x.shape(axis) - 1;
    to[axis] = -x.shape(axis) - 1;
    steps[axis] = -1;
  }
  return {mx::slice(x, from, to, steps)};
}
Arrays split(const Invocation& c) {
  const array& x = c.in(0);
  const int axis = c.whole("axis");
  Arrays parts;
  int start = 0;
  for (size_t i = 0; i < c.call.outputs.size(); i++) {
    mx::Shape from(x.ndim(), 0), to = c.shape(i);
    from.at(axis) = start;
    start = to.at(axis) += start;
    if (start > x.shape(axis)) fail(Code::ir_shape, "[split] the parts end at %d of %d", start, x.shape(axis));
    parts.push_back(mx::slice(x, from, to));
  }
  return parts;
}
Arrays concatenate(const Invocation& c) {
  Arrays parts;
  for (size_t i = 0; i < c.inputs.size(); i++) parts.push_back(c.in(i));
  return {mx::concatenate(std::move(parts), c.whole("axis"))};
}
Arrays iota(const Invocation& c) {
  const mx::Shape shape = c.shape();
  const int axis = c.whole("axis");
  mx::Shape line(shape.size(), 1);
  line.at(axis) = shape.at(axis);
  return {mx::broadcast_to(mx::reshape(mx::arange(0, shape[axis], 1), line), shape)};
}
array within(const Invocation& c, const array& indices, int size) {
  if (c.flag("checked")) return indices;
  return mx::minimum(mx::maximum(indices, whole(0, indices.dtype())), whole(std::max(0, size - 1), indices.dtype()));
}
Arrays take(const Invocation& c) {
  const int axis = c.whole("axis");
  const Held* held = c.inputs.at(0).weight;
  if (held == nullptr) {
    const array& table = c.in(0);
    const array rows = mx::take(table, within(c, c.in(1), table.shape(axis)), axis);
    return {mx::astype(rows, c.dtype())};
  }
  const array indices = within(c, c.in(1), held->rows);
  const auto picked = [&](const array& part) { return mx::take(part, indices, 0); };
  const array rows = mx::dequantize(picked(held->plain), picked(*held->scales), picked(*held->biases), 32, held->bits);
  return {mx::reshape(rows, c.shape())};
}
// The axes of the indices go to the front; MLX then wants a unit axis where the indices point.
Arrays scatter_add(const Invocation& c) {
  const array& updates = c.in(0);
  const mx::Shape shape = c.shape();
  const array indices = within(c, c.in(1), shape.at(c.whole("axis")));
  const int axis = c.whole("axis"), named = static_cast<int>(indices.ndim());
  std::vector<int> order;
  mx::Shape spread;
  for (int i = 0; i < named; i++) order.push_back(axis + i), spread.push_back(updates.shape(axis + i));
  for (int i = 0; i < axis; i++) order.push_back(i), spread.push_back(updates.shape(i));
  spread.push_back(1);
  for (int i = axis + named; i < static_cast<int>(updates.ndim()); i++) order.push_back(i), spread.push_back(updates.shape(i));
  const array moved = mx::reshape(mx::transpose(updates, order), spread);
  return {mx::scatter_add(mx::zeros(shape, updates.dtype()), {indices}, moved, std::vector<int>{axis})};
}

// --------------------------------------------------------------------------------------------- reductions

template <array (*F)(const array&, const std::vector<int>&, bool, mx::StreamOrDevice)>
Arrays reduce(const Invocation& c) {
  const std::vector<int> axes = c.list("axes");
  if (axes.empty()) return {c.in(0)};
  return {mx::reshape(mx::astype(F(c.in(0), axes, false, {}), c.dtype()), c.shape())};
}
// Nothing has no largest element.
template <array (*F)(const array&, const std::vector<int>&, bool, mx::StreamOrDevice)>
Arrays extreme(const Invocation& c) {
  const mx::Shape shape = c.shape();
  const bool has_results = std::find(shape.begin(), shape.end(), 0) == shape.end();
  if (c.in(0).size() == 0 && has_results) fail(Code::ir_shape, "[reduce] the %s of no elements", c.call.function->name);
  return reduce<F>(c);
}
// The first NaN, else the first of the best.
template <array (*F)(const array&, int, bool, mx::StreamOrDevice)>
Arrays position(const Invocation& c) {
  const array& x = c.in(0);
  const int axis = c.whole("axis");
  if (x.shape(axis) == 0) fail(Code::ir_shape, "[%s] axis %d is empty: expected an element", c.call.function->name, axis);
  if (x.size() == 0) return {mx::zeros(c.shape(), mx::int32)};
  const array best = F(x, axis, false, {});
  if (!is_real(x.dtype())) return {mx::astype(best, mx::int32)};
  const array nan = mx::isnan(x);
  return {mx::astype(mx::where(mx::any(nan, axis, false), mx::argmax(nan, axis, false), best), mx::int32)};
}
Arrays cumsum(const Invocation& c) {
  return {mx::astype(mx::cumsum(c.in(0), c.whole("axis"), c.flag("reverse"), !c.flag("exclusive")), c.dtype())};
}
Arrays softmax(const Invocation& c) { return {mx::softmax(c.in(0), c.whole("axis"), true)}; }
// argsort is stable, so of equals the first comes first; ~x turns the order of whole numbers round without overflow.
Arrays topk(const Invocation& c) {
  const array& x = c.in(0);
  const int k = c.whole("k"), size = x.shape(-1);
  const array order = mx::argsort(is_whole(x.dtype()) ? mx::bitwise_invert(x) : mx::negative(x), -1);
  mx::Shape to = x.shape();
  to.back() = k;
  array places = mx::slice(order, mx::Shape(x.ndim(), 0), to);
  if (is_real(x.dtype())) {
    // NaN is sorted to the end and belongs to the front: the order is read from its first NaN on.
    const array nans = mx::sum(mx::astype(mx::isnan(x), mx::int32), -1, true);
    const array from = mx::add(mx::arange(0, k, 1), mx::subtract(whole(size, mx::int32), nans));
    places = mx::take_along_axis(order, mx::broadcast_to(mx::remainder(from, whole(size, mx::int32)), to), -1);
  }
  return {mx::take_along_axis(x, places, -1), mx::astype(places, mx::int32)};
}

// ------------------------------------------------------------------------------------------ products, norms

array as_float(const array& x, mx::Dtype to) { return x.dtype() == to ? x : mx::astype(x, to); }

array product(const array& x, const Operand& weight, const mx::Shape& shape) {
  if (weight.weight != nullptr) {
    const Held& held = *weight.weight;
    const array rows = x.ndim() == 1 ? mx::reshape(x, {1, x.shape(0)}) : x;
    const array y = mx::quantized_matmul(rows, held.plain, *held.scales, held.biases, true, 32, held.bits);
    return mx::reshape(as_float(y, x.dtype()), shape);
  }
  return mx::matmul(x, mx::transpose(as_float(*weight.array, x.dtype()), {1, 0}));
}
Arrays linear(const Invocation& c) {
  const array y = product(c.in(0), c.inputs.at(1), c.shape());
  return {c.has(2) ? mx::add(y, c.in(2)) : y};
}
Arrays dequantize(const Invocation& c) {
  const Held* held = c.inputs.at(0).weight;
  if (held == nullptr) return {mx::astype(c.in(0), c.dtype())};
  return {mx::reshape(mx::dequantize(held->plain, *held->scales, held->biases, 32, held->bits), c.shape())};
}
Arrays rms_norm(const Invocation& c) {
  const array normed = mx::fast::rms_norm(c.in(0), c.in(1), static_cast<float>(c.number("eps")));
  return {c.has(2) ? mx::add(normed, c.in(2)) : normed};
}
Arrays layer_norm(const Invocation& c) {
  const std::optional<array> beta = c.has(2) ? std::optional<array>(c.in(2)) : std::nullopt;
  return {mx::fast::layer_norm(c.in(0), c.in(1), beta, static_cast<float>(c.number("eps")))};
}

// ---------------------------------------------------------------------------------------------- attention

Arrays attention(const Invocation& c) {
  const Attribute* mode = c.find("mode");
  const std::optional<array> mask = c.has(3) ? std::optional<array>(c.in(3)) : std::nullopt;
  return {mx::fast::scaled_dot_product_attention(c.in(0), c.in(1), c.in(2), static_cast<float>(c.number("scale")),
                                                 mode == nullptr ? "" : mode->text, mask)};
}

// Rows see keys up to their own position, and with a window only the last `window + 1` of them.
array visible(const array& positions, int keys, double window) {
  const array rows = mx::reshape(positions, {positions.shape(0), 1});
  const array columns = mx::reshape(mx::arange(0, keys, 1), {1, keys});
  const array up_to = mx::less_equal(columns, rows);
  if (window < 0) return up_to;
  return mx::logical_and(up_to, mx::greater_equal(columns, mx::subtract(rows, whole(static_cast<int64_t>(window), mx::int32))));
}
Arrays cache_mask(const Invocation& c) {
  const mx::Shape shape = c.shape();
  const array positions = mx::add(mx::arange(0, shape.at(0), 1), c.in(0));
  return {visible(positions, shape.at(1), c.number("window", -1))};
}
Arrays window_mask(const Invocation& c) {
  const mx::Shape shape = c.shape();
  const int offset = shape.at(1) - shape.at(0);
  return {visible(mx::arange(offset, offset + shape[0], 1), shape[1], c.number("window"))};
}
// Nothing where the mask is true, elsewhere half of the lowest number of the type: a row that sees no key stays a number,
// for a score that is added to the lowest one in float16 may be -∞ already.
Arrays additive_mask(const Invocation& c) {
  const mx::Dtype type = c.dtype();
  return {mx::where(c.in(0), array(0.0f, type), array(static_cast<float>(mx::finfo(type).min / 2), type))};
}
Arrays append(const Invocation& c) {
  const array& cache = c.in(0);
  const array rows = as_float(mx::transpose(c.in(1), {1, 0, 2}), cache.dtype());
  const int room = cache.shape(1) - rows.shape(1);
  if (room < 0) fail(Code::run_context_full, "[kv_append] %d rows: the cache holds %d", rows.shape(1), cache.shape(1));
  array start = c.in(2);
  if (!c.flag("checked")) start = mx::minimum(mx::maximum(start, whole(0, mx::int32)), whole(room, mx::int32));
  return {mx::slice_update(cache, rows, mx::reshape(start, {1}), {1})};
}

// Angles are turned in 64-bit fixed point, a whole turn being 2^64: exact at every position, on devices without float64 too.
Arrays rope_tables(const Invocation& c) {
  const Attribute* rates = c.find("frequencies");
  const double magnitude = c.number("magnitude");
  const int half = static_cast<int>(rates == nullptr ? 0 : rates->items.size());
  if (half == 0) fail(Code::ir_structure, "[rope_table] there are no frequencies");
  const array positions = mx::reshape(c.in(0), {c.in(0).shape(0), 1});
  const auto tables = [&](const array& angles) -> Arrays {
    const array cosines = mx::cos(angles), sines = mx::sin(angles);
    if (magnitude == 1) return {cosines, sines};
    return {mx::multiply(scalar(magnitude, mx::float32), cosines), mx::multiply(scalar(magnitude, mx::float32), sines)};
  };
  if (c.has(1)) {
    std::vector<float> numbers;
    for (const Attribute::Item& item : rates->items) numbers.push_back(static_cast<float>(item.number));
    const array row = mx::divide(array(numbers.data(), {1, half}, mx::float32), mx::reshape(c.in(1), {1, half}));
    return tables(mx::multiply(mx::astype(positions, mx::float32), row));
  }
  std::vector<uint64_t> turns;
  for (const Attribute::Item& item : rates->items) {
    const long double turn = static_cast<long double>(item.number) / (2 * std::numbers::pi_v<long double>);
    turns.push_back(static_cast<uint64_t>((turn - std::floor(turn)) * 0x1p64L));
  }
  const array phase = mx::multiply(mx::astype(mx::astype(positions, mx::int64), mx::uint64), array(turns.data(), {1, half}, mx::uint64));
  const array turned = mx::astype(mx::right_shift(phase, array(uint64_t{32}, mx::uint64)), mx::uint32);
  const array signed_turn = mx::view(turned, mx::int32);
  return tables(mx::multiply(mx::astype(signed_turn, mx::float32), scalar(2 * std::numbers::pi * 0x1p-32, mx::float32)));
}
Arrays rope(const Invocation& c) {
  const array& x = c.in(0);
  const int tokens = x.shape(0), heads = x.shape(1), size = x.shape(2), dims = c.whole("dims"), half = dims / 2;
  const array cosines = mx::reshape(c.in(1), {tokens, 1, half}), sines = mx::reshape(c.in(2), {tokens, 1, half});
  const bool pairs = c.flag("pairs");
  const auto part = [&](int which) {
    return pairs ? mx::slice(x, {0, 0, which}, {tokens, heads, dims}, {1, 1, 2})
                 : mx::slice(x, {0, 0, which * half}, {tokens, heads, which * half + half});
  };
  const array a = part(0), b = part(1);
  const array first = mx::subtract(mx::multiply(a, cosines), mx::multiply(b, sines));
  const array second = mx::add(mx::multiply(b, cosines), mx::multiply(a, sines));
  array turned = pairs ? mx::reshape(mx::stack({first, second}, 3), {tokens, heads, dims}) : mx::concatenate({first, second}, 2);
  if (dims < size) turned = mx::concatenate({turned, mx::slice(x, {0, 0, dims}, {tokens, heads, size})}, 2);
  return {turned};
}
// The same from positions that follow each other, by MLX's own kernel; MLX wants periods where we have frequencies.
Arrays rope_fast(const Invocation& c) {
  const Attribute* rates = c.find("frequencies");
  if (rates == nullptr) fail(Code::ir_structure, "[rope] there are no frequencies");
  std::vector<float> periods;
  for (const Attribute::Item& item : rates->items) periods.push_back(static_cast<float>(1 / item.number));
  array period(periods.data(), {static_cast<int>(periods.size())}, mx::float32);
  if (c.has(2)) period = mx::multiply(period, c.in(2));
  const array heads = mx::expand_dims(mx::transpose(c.in(0), {1, 0, 2}), 0);
  const array turned = mx::fast::rope(heads, c.whole("dims"), c.flag("pairs"), std::nullopt, 1.0f, c.in(1), period);
  return {mx::transpose(mx::squeeze(turned, 0), {1, 0, 2})};
}

// --------------------------------------------------------------------------------------------------- signal

Arrays fft(const Invocation& c) {
  const array& x = c.in(0);
  const int n = x.shape(-1) / 2;
  mx::Shape from(x.ndim(), 0), middle = x.shape(), to = x.shape();
  middle.back() = n;
  const array re = mx::astype(mx::slice(x, from, middle), mx::complex64);
  from.back() = n;
  const array im = mx::astype(mx::slice(x, from, to), mx::complex64);
  const array z = mx::add(re, mx::multiply(im, array(std::complex<float>(0, 1))));
  const Attribute* name = c.find("norm");
  const std::string norm = name == nullptr ? "backward" : name->text;
  const auto mode = norm == "ortho" ? mx::fft::FFTNorm::Ortho : norm == "forward" ? mx::fft::FFTNorm::Forward : mx::fft::FFTNorm::Backward;
  const array y = c.flag("inverse") ? mx::fft::ifft(z, n, -1, mode) : mx::fft::fft(z, n, -1, mode);
  return {mx::astype(mx::concatenate({mx::real(y), mx::imag(y)}, -1), c.dtype())};
}

// Gates in the order i, f, g, o; blocks of weights lie layer by layer, then by direction.
Arrays lstm(const Invocation& c) {
  const array& x = c.in(0);
  const int batch = x.shape(0), steps = x.shape(1), hidden = c.whole("hidden"), layers = c.whole("layers");
  const int directions = c.flag("bidirectional") ? 2 : 1, cells = layers * directions, gates = 4 * hidden;
  const array w = mx::reshape(c.in(1), {-1}), u = mx::reshape(c.in(2), {cells, gates, hidden}), bias = mx::reshape(c.in(3), {cells, gates});
  const auto slot = [](const array& packed, int index) {
    mx::Shape from(packed.ndim(), 0), to = packed.shape();
    from[0] = index;
    to[0] = index + 1;
    return mx::squeeze(mx::slice(packed, from, to), 0);
  };
  Arrays h_end, c_end, sides;
  array layer_in = x;
  int at = 0;
  for (int cell = 0; cell < cells; cell++) {
    const bool reverse = cell % directions == 1;
    const int width = layer_in.shape(2);
    const array own = mx::reshape(mx::slice(w, {at}, {at + gates * width}), {gates, width});
    at += gates * width;
    const array state_weights = mx::transpose(slot(u, cell), {1, 0});
    // The part that does not depend on the state: all steps at once.
    const array outer = mx::add(mx::matmul(layer_in, mx::transpose(own, {1, 0})), slot(bias, cell));
    array h = c.has(4) ? slot(c.in(4), cell) : mx::zeros({batch, hidden}, x.dtype());
    array memory = c.has(5) ? slot(c.in(5), cell) : mx::zeros({batch, hidden}, x.dtype());
    Arrays rows(steps, h);
    for (int step = 0; step < steps; step++) {
      const int t = reverse ? steps - 1 - step : step;
      const array now = mx::squeeze(mx::slice(outer, {0, t, 0}, {batch, t + 1, gates}), 1);
      const Arrays parts = mx::split(mx::add(now, mx::matmul(h, state_weights)), 4, 1);
      memory = mx::add(mx::multiply(mx::sigmoid(parts[1]), memory), mx::multiply(mx::sigmoid(parts[0]), mx::tanh(parts[2])));
      h = mx::multiply(mx::sigmoid(parts[3]), mx::tanh(memory));
      rows[t] = h;
    }
    h_end.push_back(h);
    c_end.push_back(memory);
    sides.push_back(mx::stack(rows, 1));
    if (static_cast<int>(sides.size()) == directions) {
      layer_in = directions == 1 ? sides[0] : mx::concatenate(sides, 2);
      sides.clear();
    }
  }
  return {layer_in, mx::stack(h_end, 0), mx::stack(c_end, 0)};
}

constexpr size_t kAny = std::numeric_limits<size_t>::max();

const Function kFunctions[] = {
    {"abs", 1, 1, unary<mx::abs>},
    {"cos", 1, 1, unary<mx::cos>},
    {"erf", 1, 1, unary<mx::erf>},
    {"exp", 1, 1, unary<mx::exp>},
    {"floor", 1, 1, unary<mx::floor>},
    {"log", 1, 1, unary<mx::log>},
    {"negative", 1, 1, unary<mx::negative>},
    {"rsqrt", 1, 1, unary<mx::rsqrt>},
    {"sigmoid", 1, 1, unary<mx::sigmoid>},
    {"sign", 1, 1, sign},
    {"sin", 1, 1, unary<mx::sin>},
    {"sqrt", 1, 1, unary<mx::sqrt>},
    {"tanh", 1, 1, unary<mx::tanh>},
    {"round", 1, 1, [](const Invocation& c) -> Arrays { return {mx::round(c.in(0), 0)}; }},
    {"relu", 1, 1, [](const Invocation& c) -> Arrays { return {mx::maximum(c.in(0), like(0, c.in(0)))}; }},
    {"silu", 1, 1, [](const Invocation& c) -> Arrays { return {silu(c.in(0))}; }},
    {"gelu", 1, 1, [](const Invocation& c) -> Arrays { return {gelu(c.in(0))}; }},
    {"gelu_tanh", 1, 1, [](const Invocation& c) -> Arrays { return {gelu_tanh(c.in(0))}; }},
    {"swiglu", 2, 2, [](const Invocation& c) -> Arrays { return {mx::multiply(silu(c.in(0)), c.in(1))}; }},
    {"add", 2, 2, binary<mx::add>},
    {"subtract", 2, 2, binary<mx::subtract>},
    {"multiply", 2, 2, binary<mx::multiply>},
    {"divide", 2, 2, divide},
    {"power", 2, 2, binary<mx::power>},
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
    {"reshape", 1, 1, [](const Invocation& c) -> Arrays { return {mx::reshape(c.in(0), c.shape())}; }},
    {"transpose", 1, 1, [](const Invocation& c) -> Arrays { return {mx::transpose(c.in(0), c.list("perm"))}; }},
    {"broadcast", 1, 1, [](const Invocation& c) -> Arrays { return {mx::broadcast_to(c.in(0), c.shape())}; }},
    {"narrow", 1, 1, narrow},
    {"reverse", 1, 1, reverse},
    {"split", 1, 1, split},
    {"concatenate", 1, kAny, concatenate},
    {"iota", 0, 0, iota},
    {"take", 2, 2, take},
    {"scatter_add", 2, 2, scatter_add},
    {"sum", 1, 1, reduce<mx::sum>},
    {"mean", 1, 1, reduce<mx::mean>},
    {"max", 1, 1, extreme<mx::max>},
    {"min", 1, 1, extreme<mx::min>},
    {"prod", 1, 1, reduce<mx::prod>},
    {"argmax", 1, 1, position<mx::argmax>},
    {"argmin", 1, 1, position<mx::argmin>},
    {"cumsum", 1, 1, cumsum},
    {"softmax", 1, 1, softmax},
    {"topk", 1, 1, topk},
    {"matmul", 2, 2, binary<mx::matmul>},
    {"linear", 2, 3, linear},
    {"dequantize", 1, 1, dequantize},
    {"conv", 2, 2, convolve},
    {"conv_transpose", 2, 2, convolve_transposed},
    {"pool_max", 1, 1, pool_call<Pool::max>},
    {"pool_mean", 1, 1, pool_call<Pool::mean>},
    {"pool_sum", 1, 1, pool_call<Pool::sum>},
    {"pool_min", 1, 1, pool_call<Pool::min>},
    {"pool_prod", 1, 1, pool_call<Pool::prod>},
    {"rms_norm", 2, 3, rms_norm},
    {"layer_norm", 2, 3, layer_norm},
    {"attention", 3, 4, attention},
    {"cache_mask", 1, 1, cache_mask},
    {"window_mask", 0, 0, window_mask},
    {"additive_mask", 1, 1, additive_mask},
    {"append", 3, 3, append},
    {"rope_tables", 1, 2, rope_tables},
    {"rope", 3, 3, rope},
    {"rope_fast", 2, 3, rope_fast},
    {"fft", 1, 1, fft},
    {"lstm", 4, 6, lstm},
    {"if", 1, kAny, branch},
    {"while", 1, kAny, loop},
};

}  // namespace

const Function* find_function(const std::string& name) {
  static const auto* table = [] {
    auto* made = new std::unordered_map<std::string, const Function*>();
    for (const Function& function : kFunctions) made->emplace(function.name, &function);
    return made;
  }();
  const auto found = table->find(name);
  return found == table->end() ? nullptr : found->second;
}

std::vector<const char*> function_names() {
  std::vector<const char*> names;
  for (const Function& function : kFunctions) names.push_back(function.name);
  return names;
}

}  // namespace rlx::gpu
