// Reductions, running sums and orders along axes.
#include "family.h"

#include <algorithm>

namespace rlx::gpu {
namespace {

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
  if (x.shape(axis) == 0)
    fail(Code::ir_shape, "[%s] axis %d is empty: expected an element", c.call.function->name, axis);
  if (x.size() == 0) return {mx::zeros(c.shape(), mx::int32)};
  const array best = F(x, axis, false, {});
  if (!is_real(x.dtype())) return {mx::astype(best, mx::int32)};
  const array nan = mx::isnan(x);
  return {mx::astype(mx::where(mx::any(nan, axis, false), mx::argmax(nan, axis, false), best), mx::int32)};
}
Arrays cumsum(const Invocation& c) {
  return {mx::astype(mx::cumsum(c.in(0), c.whole("axis"), c.flag("reverse"), !c.flag("exclusive")), c.dtype())};
}
Arrays cumprod(const Invocation& c) {
  return {mx::astype(mx::cumprod(c.in(0), c.whole("axis"), c.flag("reverse"), true), c.dtype())};
}
// From the first NaN on there is no largest.
Arrays cummax(const Invocation& c) {
  const array& x = c.in(0);
  const int axis = c.whole("axis");
  const bool reverse = c.flag("reverse");
  if (!is_real(x.dtype())) return {mx::cummax(x, axis, reverse, true)};
  const array nan = mx::isnan(x);
  const array seen = mx::greater(mx::cumsum(mx::astype(nan, mx::int32), axis, reverse, true), whole(0, mx::int32));
  const array clean = mx::where(nan, like(-std::numeric_limits<double>::infinity(), x), x);
  const array none = like(std::numeric_limits<double>::quiet_NaN(), x);
  return {mx::where(seen, none, mx::cummax(clean, axis, reverse, true))};
}

array turned(const array& x, int axis) {
  mx::Shape from(x.ndim(), 0), to = x.shape(), steps(x.ndim(), 1);
  from.at(axis) = x.shape(axis) - 1;
  to.at(axis) = -x.shape(axis) - 1;
  steps.at(axis) = -1;
  return mx::slice(x, from, to, steps);
}
// Smallest first, equals in their order, NaN last; the other way round it is the order of the line
// from its end, from its end.
array order(const array& x, int axis, bool descending) {
  if (!descending) return mx::astype(mx::argsort(x, axis), mx::int32);
  const array last = whole(x.shape(axis) - 1, mx::int32);
  return mx::subtract(last, turned(mx::astype(mx::argsort(turned(x, axis), axis), mx::int32), axis));
}
Arrays argsort(const Invocation& c) { return {order(c.in(0), c.whole("axis"), c.flag("descending"))}; }
Arrays sort(const Invocation& c) {
  const int axis = c.whole("axis");
  return {mx::take_along_axis(c.in(0), order(c.in(0), axis, c.flag("descending")), axis)};
}
Arrays softmax(const Invocation& c) { return {mx::softmax(c.in(0), c.whole("axis"), true)}; }
// argsort is stable, so of equals the first comes first; ~x turns the order of whole numbers round
// without overflow.
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

const Function kTable[] = {
    {"sum", 1, 1, reduce<mx::sum>},
    {"mean", 1, 1, reduce<mx::mean>},
    {"max", 1, 1, extreme<mx::max>},
    {"min", 1, 1, extreme<mx::min>},
    {"prod", 1, 1, reduce<mx::prod>},
    {"argmax", 1, 1, position<mx::argmax>},
    {"argmin", 1, 1, position<mx::argmin>},
    {"cumsum", 1, 1, cumsum},
    {"cumprod", 1, 1, cumprod},
    {"cummax", 1, 1, cummax},
    {"sort", 1, 1, sort},
    {"argsort", 1, 1, argsort},
    {"softmax", 1, 1, softmax},
    {"topk", 1, 1, topk},
};

}  // namespace

std::span<const Function> reductions_calls() { return kTable; }

}  // namespace rlx::gpu
