// Attention, caches, and the tables that turn positions.
#include "family.h"

#include <mlx/fast.h>

#include <cmath>
#include <numbers>
#include <optional>

namespace rlx::gpu {
namespace {

Arrays attention(const Invocation& c) {
  const Attribute* mode = c.find("mode");
  const std::optional<array> mask = c.has(3) ? std::optional<array>(c.in(3)) : std::nullopt;
  return {mx::fast::scaled_dot_product_attention(c.in(0), c.in(1), c.in(2), static_cast<float>(c.number("scale")),
                                                 mode == nullptr ? "" : mode->text, mask)};
}

// The keys 0, 1, 2 … of rows that follow each other.
array in_order(int keys) { return mx::arange(0, keys, 1); }
// The positions that the rows of a ring hold behind the step that ends at `newest`; negative where
// nothing was written yet. MLX's remainder is that of the divisor's sign.
array in_ring(const array& newest, int keys) {
  const array size = whole(keys, mx::int32);
  return mx::subtract(newest, mx::remainder(mx::subtract(newest, in_order(keys)), size));
}
// Rows see keys up to their own position, and with a window only the last `window + 1` of them.
array visible(const array& positions, const array& keys, double window) {
  const array rows = mx::reshape(positions, {positions.shape(0), 1});
  const array columns = mx::reshape(keys, {1, keys.shape(0)});
  const array up_to = mx::less_equal(columns, rows);
  if (window < 0) return up_to;
  return mx::logical_and(
      up_to, mx::greater_equal(columns, mx::subtract(rows, whole(static_cast<int64_t>(window), mx::int32))));
}
array distances(const array& positions, const array& keys) {
  return mx::abs(mx::subtract(mx::reshape(keys, {1, -1}), mx::reshape(positions, {-1, 1})));
}
// The keys that the rows of a cache hold behind a step of so many tokens.
array cached_keys(const Invocation& c, int tokens, int keys) {
  return c.flag("ring") ? in_ring(mx::add(c.in(0), whole(tokens - 1, mx::int32)), keys) : in_order(keys);
}
Arrays cache_mask(const Invocation& c) {
  const mx::Shape shape = c.shape();
  const array positions = mx::add(mx::arange(0, shape.at(0), 1), c.in(0));
  const array keys = cached_keys(c, shape[0], shape.at(1));
  const array seen = visible(positions, keys, c.number("window", -1));
  if (!c.flag("ring")) return {seen};
  return {mx::logical_and(seen, mx::greater_equal(mx::reshape(keys, {1, -1}), whole(0, mx::int32)))};
}
Arrays window_mask(const Invocation& c) {
  const mx::Shape shape = c.shape();
  const int offset = shape.at(1) - shape.at(0);
  const array positions = mx::arange(offset, offset + shape[0], 1);
  if (!c.flag("symmetric")) return {visible(positions, in_order(shape[1]), c.number("window"))};
  return {mx::less_equal(distances(positions, in_order(shape[1])),
                         whole(static_cast<int64_t>(c.number("window")), mx::int32))};
}
// ALiBi: what each head's scores [heads, rows, keys] lose with the distance of row and key.
Arrays distance_bias(const Invocation& c) {
  const Attribute* slopes = c.find("slopes");
  const mx::Shape shape = c.shape();
  std::vector<float> numbers;
  if (slopes != nullptr)
    for (const Attribute::Item& item : slopes->items) numbers.push_back(-static_cast<float>(item.number));
  if (static_cast<int>(numbers.size()) != shape.at(0))
    fail(Code::ir_structure, "[distance_bias] slopes: one for each head");
  const int offset = c.has(0) ? 0 : shape.at(2) - shape.at(1);
  array positions = mx::arange(offset, offset + shape[1], 1);
  if (c.has(0)) positions = mx::add(positions, c.in(0));
  const array each = array(numbers.data(), {shape[0], 1, 1}, mx::float32);
  const array keys = c.has(0) ? cached_keys(c, shape[1], shape[2]) : in_order(shape[2]);
  return {mx::astype(mx::multiply(each, mx::astype(distances(positions, keys), mx::float32)), c.dtype())};
}
// Nothing where the mask is true, elsewhere half of the lowest number of the type: a row that sees
// no key stays a number, for a score that is added to the lowest one in float16 may be -∞ already.
Arrays additive_mask(const Invocation& c) {
  const mx::Dtype type = c.dtype();
  return {mx::where(c.in(0), array(0.0f, type), array(static_cast<float>(mx::finfo(type).min / 2), type))};
}
Arrays append(const Invocation& c) {
  const array& cache = c.in(0);
  const array rows = as_float(mx::transpose(c.in(1), {1, 0, 2}), cache.dtype());
  const int room = cache.shape(1) - rows.shape(1);
  if (c.flag("ring") && room >= 0) {
    const array places =
        mx::remainder(mx::add(mx::arange(0, rows.shape(1), 1), c.in(2)), whole(cache.shape(1), mx::int32));
    return {mx::scatter(cache, places, mx::expand_dims(mx::transpose(rows, {1, 0, 2}), 2), 1)};
  }
  if (room < 0) fail(Code::run_context_full, "[kv_append] %d rows: the cache holds %d", rows.shape(1), cache.shape(1));
  array start = c.in(2);
  if (!c.flag("checked")) start = mx::minimum(mx::maximum(start, whole(0, mx::int32)), whole(room, mx::int32));
  return {mx::slice_update(cache, rows, mx::reshape(start, {1}), {1})};
}

// Angles are turned in 64-bit fixed point, a whole turn being 2^64: exact at every position, on
// devices without float64 too.
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
  const array phase = mx::multiply(mx::astype(mx::astype(positions, mx::int64), mx::uint64),
                                   array(turns.data(), {1, half}, mx::uint64));
  const array turned = mx::astype(mx::right_shift(phase, array(uint64_t{32}, mx::uint64)), mx::uint32);
  const array signed_turn = mx::view(turned, mx::int32);
  return tables(
      mx::multiply(mx::astype(signed_turn, mx::float32), scalar(2 * std::numbers::pi * 0x1p-32, mx::float32)));
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
  array turned =
      pairs ? mx::reshape(mx::stack({first, second}, 3), {tokens, heads, dims}) : mx::concatenate({first, second}, 2);
  if (dims < size) turned = mx::concatenate({turned, mx::slice(x, {0, 0, dims}, {tokens, heads, size})}, 2);
  return {turned};
}
// The same from positions that follow each other, by MLX's own kernel; MLX wants periods where we
// have frequencies.
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

const Function kTable[] = {
    {"attention", 3, 4, attention},         {"cache_mask", 1, 1, cache_mask},       {"window_mask", 0, 0, window_mask},
    {"distance_bias", 0, 1, distance_bias}, {"additive_mask", 1, 1, additive_mask}, {"append", 3, 3, append},
    {"rope_tables", 1, 2, rope_tables},     {"rope", 3, 3, rope, Joins::rows},      {"rope_fast", 2, 3, rope_fast},
};

}  // namespace

std::span<const Function> attention_calls() { return kTable; }

}  // namespace rlx::gpu
