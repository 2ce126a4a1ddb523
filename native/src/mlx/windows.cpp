#include "windows.h"

#include <mlx/ops.h>

#include <limits>

#include "../core/error.h"
#include "weights.h"

namespace rlx::gpu {

using mx::array;
using Numbers = std::vector<int>;

namespace {

// [N, C, ...] as [N, ..., C], and back.
array channels_last(const array& x) { return mx::moveaxis(x, 1, -1); }
array channels_first(const array& x) { return mx::moveaxis(x, -1, 1); }

// Far below the limit of their sums.
constexpr int kMost = 1 << 28;

Numbers per_axis(const Invocation& call, const char* name, size_t axes, int least = 1) {
  Numbers list = call.list(name);
  if (list.size() != axes)
    fail(Code::ir_structure, "[mlx] %s: attribute %s has %zu numbers, expected %zu", call.call.function->name, name,
         list.size(), axes);
  for (const int number : list)
    if (number < least || number > kMost)
      fail(Code::ir_structure, "[mlx] %s: attribute %s: got %d, expected %d to %d", call.call.function->name, name,
           number, least, kMost);
  return list;
}

struct Geometry {
  Numbers strides, padding, dilations;
  int groups;
};
Geometry geometry_of(const Invocation& call, size_t axes) {
  Geometry result{per_axis(call, "strides", axes), per_axis(call, "padding", axes, 0),
                  per_axis(call, "dilations", axes), call.whole("groups")};
  // MLX divides by it before it checks it.
  if (result.groups < 1)
    fail(Code::ir_structure, "[mlx] %s: got %d groups, expected at least 1", call.call.function->name, result.groups);
  return result;
}

// Images are [batch, channels, ...], and so are results.
void check_rank(const Invocation& call, const mx::Shape& shape) {
  const size_t rank = call.in(0).ndim();
  if (rank < 2 || shape.size() != rank)
    fail(Code::ir_shape, "[mlx] %s: got an image of %zu axes and a result or kernel of %zu", call.call.function->name,
         rank, shape.size());
}

// A sum over no positions: MLX's kernels need at least one.
bool is_empty(const mx::Shape& shape) {
  for (const int size : shape)
    if (size == 0) return true;
  return false;
}

// Intermediate images can be far larger than the result.
void check_image(const array& x, int channels, double places) {
  const double bytes = static_cast<double>(x.itemsize()) * x.shape(0) * channels * places;
  check_memory(bytes < 9e18 ? static_cast<size_t>(bytes) : std::numeric_limits<size_t>::max(),
               "an image with its padding");
}

double padded_places(const array& x, const Numbers& padding) {
  double places = 1;
  for (size_t axis = 0; axis < padding.size(); axis++)
    places *= 2.0 * padding[axis] + x.shape(static_cast<int>(2 + axis));
  return places;
}

struct Steps {
  Numbers strides, before, after, dilations, apart;
};

// Images and kernels with channels last. MLX has no groups in three dimensions: there each group is
// a convolution of its own.
array convolve_groups(const array& image, const array& kernel, const Steps& s, int groups, bool flip) {
  if (groups == 1 || s.strides.size() < 3)
    return mx::conv_general(image, kernel, s.strides, s.before, s.after, s.dilations, s.apart, groups, flip);
  const std::vector<array> images = mx::split(image, groups, -1), kernels = mx::split(kernel, groups, 0);
  std::vector<array> made;
  for (size_t i = 0; i < images.size(); i++)
    made.push_back(
        mx::conv_general(images[i], kernels[i], s.strides, s.before, s.after, s.dilations, s.apart, 1, flip));
  return mx::concatenate(made, -1);
}

}  // namespace

std::vector<array> convolve(const Invocation& call) {
  const array& x = call.in(0);
  const array weight = mx::astype(call.in(1), x.dtype());
  check_rank(call, weight.shape());
  if (is_empty(call.shape()) || is_empty(x.shape()) || is_empty(weight.shape()))
    return {mx::zeros(call.shape(), x.dtype())};
  const Geometry g = geometry_of(call, x.ndim() - 2);
  check_image(x, x.shape(1), padded_places(x, g.padding));
  const Numbers once(x.ndim() - 2, 1);
  const Steps steps{g.strides, g.padding, g.padding, g.dilations, once};
  return {channels_first(convolve_groups(channels_last(x), channels_last(weight), steps, g.groups, false))};
}

// Zeros between the places of the image, and a convolution with the mirrored kernel. The padding is
// cut off afterwards, so it may be wider than the kernel.
std::vector<array> convolve_transposed(const Invocation& call) {
  const array& x = call.in(0);
  const array weight = mx::astype(call.in(1), x.dtype());
  const mx::Shape shape = call.shape();
  check_rank(call, shape);
  check_rank(call, weight.shape());
  if (is_empty(shape) || is_empty(x.shape()) || is_empty(weight.shape())) return {mx::zeros(shape, x.dtype())};
  const size_t axes = x.ndim() - 2;
  const Geometry g = geometry_of(call, axes);
  // [groups · channels, filters, taps] → [groups · filters, taps, channels]
  mx::Shape apart = weight.shape();
  if (apart[0] % g.groups != 0) fail(Code::ir_shape, "[conv_transpose] %d groups of %d channels", g.groups, apart[0]);
  apart[0] /= g.groups;
  apart.insert(apart.begin(), g.groups);
  mx::Shape joined(apart.begin() + 2, apart.end());
  joined[0] *= g.groups;
  joined.push_back(apart[1]);
  const array kernel = mx::reshape(mx::moveaxis(mx::reshape(weight, apart), 1, -1), joined);
  Numbers before, after;
  double places = 1;
  mx::Shape from(x.ndim(), 0), to = shape;
  for (size_t axis = 0; axis < axes; axis++) {
    const int64_t far = int64_t{g.dilations[axis]} * (kernel.shape(1 + axis) - 1);
    const int64_t all = int64_t{x.shape(2 + axis) - 1} * g.strides[axis] + far + 1;
    if (far > kMost || all > kMost) fail(Code::ir_shape, "[conv_transpose] the image is too large");
    const int reach = static_cast<int>(far), whole = static_cast<int>(all);
    from[2 + axis] = g.padding[axis];
    to[2 + axis] += g.padding[axis];
    before.push_back(reach);
    after.push_back(reach + std::max(0, to[2 + axis] - whole));
    places *= static_cast<double>(before.back()) + whole + after.back();
  }
  check_image(x, std::max(x.shape(1), kernel.shape(0)), places);
  const Numbers once(axes, 1);
  const array full =
      convolve_groups(channels_last(x), kernel, {once, before, after, g.dilations, g.strides}, g.groups, true);
  return {mx::slice(channels_first(full), from, to)};
}

// All windows as a view of the padded image, joined along their taps.
std::vector<array> pool(const Invocation& call, Pool kind) {
  const array& x = call.in(0);
  const mx::Shape shape = call.shape();
  check_rank(call, shape);
  // The view below trusts the plan's sizes, so they must be right.
  if (shape[0] != x.shape(0) || shape[1] != x.shape(1))
    fail(Code::ir_shape, "[pool] the windows do not fit into the image");
  const size_t axes = x.ndim() - 2;
  const Numbers kernel = per_axis(call, "kernel", axes), strides = per_axis(call, "strides", axes),
                padding = per_axis(call, "padding", axes, 0);
  const double infinity = std::numeric_limits<double>::infinity();
  const double nothing = kind == Pool::max ? -infinity : kind == Pool::min ? infinity : kind == Pool::prod ? 1 : 0;
  if (is_empty(shape)) return {mx::zeros(shape, x.dtype())};
  std::vector<std::pair<int, int>> around(x.ndim(), {0, 0});
  for (size_t axis = 0; axis < axes; axis++) around[2 + axis] = {padding[axis], padding[axis]};
  check_image(x, x.shape(1), padded_places(x, padding));
  const array image = mx::contiguous(mx::pad(x, around, array(nothing, x.dtype())));
  mx::Strides steps(x.ndim() + axes, 1);
  mx::Shape windows = shape;
  Numbers taps;
  int64_t step = 1;
  for (size_t axis = x.ndim(); axis-- > 0;) {
    steps[axis] = axis < 2 ? step : step * strides[axis - 2];
    if (axis >= 2) {
      steps[axis + axes] = step;
      if (int64_t{shape[axis] - 1} * strides[axis - 2] + kernel[axis - 2] > image.shape(axis))
        fail(Code::ir_shape, "[pool] the windows do not fit into the image");
    }
    step *= image.shape(axis);
  }
  for (size_t axis = 0; axis < axes; axis++) {
    windows.push_back(kernel[axis]);
    taps.push_back(static_cast<int>(x.ndim() + axis));
  }
  const array seen = mx::as_strided(image, windows, steps, 0);
  switch (kind) {
    case Pool::max: return {mx::max(seen, taps)};
    case Pool::min: return {mx::min(seen, taps)};
    case Pool::sum: return {mx::sum(seen, taps)};
    case Pool::prod: return {mx::prod(seen, taps)};
    case Pool::mean: break;
  }
  return {mx::mean(seen, taps)};
}

}  // namespace rlx::gpu
