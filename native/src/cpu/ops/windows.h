// Windows over images [batch, channels, ((depth,) height,) width]: what convolutions and pools know
// of the axes. Along an axis window i begins at i * stride - padding, and its tap t lies t * dilation
// further. One dimension is two, of height 1, and two are three, of depth 1.
#pragma once

#include <algorithm>
#include <cstring>
#include <vector>

#include "../kernel.h"

namespace rlx {

struct Axis {
  size_t size = 1, taps = 1, windows = 1, stride = 1, padding = 0, dilation = 1;

  // Position of tap t of window 0; may lie before the image.
  int64_t offset(size_t tap) const { return static_cast<int64_t>(tap * dilation) - static_cast<int64_t>(padding); }
  // Where tap t of window i lies; false in the padding.
  bool place(size_t window, size_t tap, size_t* position) const {
    const int64_t at = static_cast<int64_t>(window * stride) + offset(tap);
    if (at < 0 || at >= static_cast<int64_t>(size)) return false;
    *position = static_cast<size_t>(at);
    return true;
  }
  // The windows [first, last) whose tap t is inside the image.
  void inside(size_t tap, size_t* first, size_t* last) const {
    const int64_t from = offset(tap), step = static_cast<int64_t>(stride);
    const int64_t end = static_cast<int64_t>(size) - from;  // i * stride < end
    *first = std::min<size_t>(windows, from >= 0 ? 0 : static_cast<size_t>((step - 1 - from) / step));
    *last = end <= 0 ? 0 : std::min<size_t>(windows, static_cast<size_t>((end + step - 1) / step));
    *last = std::max(*first, *last);
  }
};

struct Windows {
  Axis depth, rows, columns;

  size_t plane() const { return depth.size * rows.size * columns.size; }
  size_t windows() const { return depth.windows * rows.windows * columns.windows; }
  size_t taps() const { return depth.taps * rows.taps * columns.taps; }
  // Rows of a plane of windows, and of taps.
  size_t window_rows() const { return depth.windows * rows.windows; }
  size_t tap_rows() const { return depth.taps * rows.taps; }
  // The row of the image that a row of taps lies in for a row of windows; false in the padding.
  bool row(size_t window, size_t tap, size_t* row) const {
    size_t slice, line;
    if (!depth.place(window / rows.windows, tap / rows.taps, &slice)) return false;
    if (!rows.place(window % rows.windows, tap % rows.taps, &line)) return false;
    *row = slice * rows.size + line;
    return true;
  }
};

// An op is made before its tensors have their sizes.
inline bool is_volume(const Params& params) { return params.list("strides").size() == 3; }

// From the large image, the small one (a place per window), and the attributes. What the windows
// need may be less than the large image has, never more. `what` is null, or what is wrong.
inline const char* bind_windows(const Params& params, const Tensor& large, const Tensor& small, const size_t* taps,
                                bool dilates, Windows* out) {
  if (large.rank < 3 || large.rank > 5 || small.rank != large.rank) return "images have three to five dims";
  const size_t axes = large.rank - 2;
  const std::vector<int64_t> strides = params.list("strides"), padding = params.list("padding");
  const std::vector<int64_t> dilations = dilates ? params.list("dilations") : std::vector<int64_t>(axes, 1);
  if (strides.size() != axes || padding.size() != axes || dilations.size() != axes)
    return "an attribute has another number of axes";
  *out = Windows{};
  for (size_t d = 0; d < axes; d++) {
    constexpr int64_t kMost = INT32_MAX;
    if (strides[d] < 1 || strides[d] > kMost || dilations[d] < 1 || dilations[d] > kMost || padding[d] < 0 ||
        padding[d] > kMost)
      return "a stride, padding or dilation is out of range";
    Axis& axis = d + 1 == axes ? out->columns : d + 2 == axes ? out->rows : out->depth;
    axis.size = large.shape[2 + d];
    axis.windows = small.shape[2 + d];
    axis.taps = taps[d];
    axis.stride = static_cast<size_t>(strides[d]);
    axis.padding = static_cast<size_t>(padding[d]);
    axis.dilation = static_cast<size_t>(dilations[d]);
    if (axis.taps == 0 || axis.taps > static_cast<size_t>(kMost) || axis.windows > static_cast<size_t>(kMost) ||
        axis.size > static_cast<size_t>(kMost))
      return "a size is out of range";
    if (axis.windows > 0 &&
        (axis.windows - 1) * axis.stride + (axis.taps - 1) * axis.dilation + 1 > axis.size + 2 * axis.padding)
      return "the windows do not fit into the image";
  }
  return nullptr;
}

// A row as its stride sees it: position i lies at [i % stride][i / stride], so that one tap of
// neighbouring windows is one run of memory. With stride 1 that is the row itself.
class StridedRow {
 public:
  static size_t floats(const Axis& axis) {
    return axis.stride == 1 ? 0 : std::min(axis.stride, axis.size) * span(axis);
  }

  StridedRow(const Axis& axis, const float* row, float* room) : axis_(axis), data_(row) {
    if (axis.stride == 1) return;
    for (size_t phase = 0; phase < std::min(axis.stride, axis.size); phase++)
      for (size_t from = phase, to = phase * span(axis); from < axis.size; from += axis.stride) room[to++] = row[from];
    data_ = room;
  }
  // What tap t sees of the windows from `first` on, which must be inside.
  const float* tap(size_t tap, size_t first) const {
    const size_t at = static_cast<size_t>(static_cast<int64_t>(first * axis_.stride) + axis_.offset(tap));
    return axis_.stride == 1 ? data_ + at : data_ + at % axis_.stride * span(axis_) + at / axis_.stride;
  }

 private:
  static size_t span(const Axis& axis) { return ceil_div(axis.size, axis.stride); }

  const Axis& axis_;
  const float* data_;
};

}  // namespace rlx
