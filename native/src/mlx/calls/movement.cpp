// Data that only moves: slices, joins, rows by index.
#include "family.h"

#include <algorithm>
#include <numeric>

namespace rlx::gpu {
namespace {

Arrays narrow(const Invocation& c) {
  const array& x = c.in(0);
  const int axis = c.whole("axis"), start = c.whole("start");
  mx::Shape from(x.ndim(), 0), to = c.shape();
  from.at(axis) = start;
  to.at(axis) += start;
  if (to[axis] > x.shape(axis)) fail(Code::ir_shape, "[narrow] the range ends at %d of %d", to[axis], x.shape(axis));
  return {mx::slice(x, from, to)};
}
// Where a step below 0 ends before the first position, the end is spelled from behind.
Arrays slice(const Invocation& c) {
  const array& x = c.in(0);
  const int axis = c.whole("axis"), start = c.whole("start"), step = c.whole("step");
  mx::Shape from(x.ndim(), 0), to = c.shape(), steps(x.ndim(), 1);
  const int length = to.at(axis), size = x.shape(axis);
  const int64_t last = start + (int64_t{length} - 1) * step;
  if (length == 0) return {mx::zeros(to, x.dtype())};
  if (start < 0 || start >= size || last < 0 || last >= size)
    fail(Code::ir_shape, "[slice] the range %d..%lld ends outside of %d", start, static_cast<long long>(last), size);
  from.at(axis) = start;
  const int end = static_cast<int>(last);
  to.at(axis) = step > 0 ? end + 1 : end > 0 ? end - 1 : -size - 1;
  steps.at(axis) = step;
  return {mx::slice(x, from, to, steps)};
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
  // MLX refuses no rows for an axis without any.
  if (updates.size() == 0) return {mx::zeros(shape, updates.dtype())};
  const array indices = within(c, c.in(1), shape.at(c.whole("axis")));
  const int axis = c.whole("axis"), named = static_cast<int>(indices.ndim());
  std::vector<int> order;
  mx::Shape spread;
  for (int i = 0; i < named; i++) order.push_back(axis + i), spread.push_back(updates.shape(axis + i));
  for (int i = 0; i < axis; i++) order.push_back(i), spread.push_back(updates.shape(i));
  spread.push_back(1);
  for (int i = axis + named; i < static_cast<int>(updates.ndim()); i++)
    order.push_back(i), spread.push_back(updates.shape(i));
  const array moved = mx::reshape(mx::transpose(updates, order), spread);
  return {mx::scatter_add(mx::zeros(shape, updates.dtype()), {indices}, moved, std::vector<int>{axis})};
}
// The indices of each of the first axes that the last axis of the indices names, inside of them.
Arrays indices_of_axes(const array& indices, const mx::Shape& table) {
  const int named = indices.shape(-1);
  Arrays parts;
  for (int axis = 0; axis < named; axis++) {
    const array part = mx::take(indices, axis, -1);
    parts.push_back(
        mx::minimum(mx::maximum(part, whole(0, part.dtype())), whole(std::max(0, table.at(axis) - 1), part.dtype())));
  }
  return parts;
}
std::vector<int> first_axes(size_t count) {
  std::vector<int> axes(count);
  std::iota(axes.begin(), axes.end(), 0);
  return axes;
}
Arrays take_places(const Invocation& c) {
  const array& table = c.in(0);
  if (c.in(1).size() == 0 || table.size() == 0) return {mx::zeros(c.shape(), table.dtype())};
  const Arrays places = indices_of_axes(c.in(1), table.shape());
  mx::Shape sizes = table.shape();
  std::fill_n(sizes.begin(), places.size(), 1);
  return {mx::reshape(mx::gather(table, places, first_axes(places.size()), sizes), c.shape())};
}
Arrays take_along(const Invocation& c) {
  const array& table = c.in(0);
  const int axis = c.whole("axis");
  if (c.in(1).size() == 0) return {mx::zeros(c.shape(), table.dtype())};
  return {mx::take_along_axis(table, within(c, c.in(1), table.shape(axis)), axis)};
}
// What is replaced is made zero first, so that updates of one place add up.
Arrays scatter_places(const Invocation& c) {
  const array &data = c.in(0), &updates = c.in(2);
  if (updates.size() == 0) return {data};
  const Arrays places = indices_of_axes(c.in(1), data.shape());
  // MLX wants unit axes where the indices point.
  const auto named = static_cast<int>(places.size());
  mx::Shape spread = places.front().shape();
  spread.insert(spread.end(), places.size(), 1);
  spread.insert(spread.end(), data.shape().begin() + named, data.shape().end());
  const std::vector<int> axes = first_axes(places.size());
  const array kept = c.flag("adds") ? data : mx::scatter(data, places, mx::zeros(spread, data.dtype()), axes);
  return {mx::scatter_add(kept, places, mx::reshape(updates, spread), axes)};
}
Arrays scatter_along(const Invocation& c) {
  const array &data = c.in(0), &updates = c.in(2);
  if (updates.size() == 0) return {data};
  const int axis = c.whole("axis");
  const array places = within(c, c.in(1), data.shape(axis));
  const array kept =
      c.flag("adds") ? data : mx::put_along_axis(data, places, mx::zeros(places.shape(), data.dtype()), axis);
  return {mx::scatter_add_axis(kept, places, updates, axis)};
}

const Function kTable[] = {
    {"reshape", 1, 1, [](const Invocation& c) -> Arrays { return {mx::reshape(c.in(0), c.shape())}; }, Joins::rows},
    {"transpose", 1, 1, [](const Invocation& c) -> Arrays { return {mx::transpose(c.in(0), c.list("perm"))}; }},
    {"broadcast", 1, 1, [](const Invocation& c) -> Arrays { return {mx::broadcast_to(c.in(0), c.shape())}; }},
    {"narrow", 1, 1, narrow},
    {"slice", 1, 1, slice},
    {"reverse", 1, 1, reverse},
    {"split", 1, 1, split},
    {"concatenate", 1, kAny, concatenate},
    {"iota", 0, 0, iota},
    {"take", 2, 2, take},
    {"scatter_add", 2, 2, scatter_add},
    {"take_places", 2, 2, take_places},
    {"take_along", 2, 2, take_along},
    {"scatter_places", 3, 3, scatter_places},
    {"scatter_along", 3, 3, scatter_along},
};

}  // namespace

std::span<const Function> movement_calls() { return kTable; }

}  // namespace rlx::gpu
