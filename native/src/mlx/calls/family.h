// What the families of calls share: their tables, and short spellings over MLX arrays. Each
// function builds MLX arrays; nothing is computed here. Functions of the `calls` folder are looked
// up by name: ../calls.cpp.
#pragma once

#include <mlx/ops.h>
#include <mlx/utils.h>

#include <limits>
#include <span>
#include <vector>

#include "../../core/error.h"
#include "../calls.h"

namespace rlx::gpu {

using mx::array;
using Arrays = std::vector<array>;

constexpr size_t kAny = std::numeric_limits<size_t>::max();

std::span<const Function> elementwise_calls();
std::span<const Function> movement_calls();
std::span<const Function> reductions_calls();
std::span<const Function> products_calls();
std::span<const Function> attention_calls();
std::span<const Function> signal_calls();
std::span<const Function> scan_calls();
std::span<const Function> random_calls();
std::span<const Function> factor_calls();

inline array scalar(double value, mx::Dtype dtype) { return array(value, dtype); }
inline array like(double value, const array& x) { return scalar(value, x.dtype()); }
inline array whole(int64_t value, mx::Dtype dtype) { return array(value, dtype); }
inline bool is_whole(mx::Dtype dtype) { return mx::issubdtype(dtype, mx::integer); }
inline bool is_real(mx::Dtype dtype) { return mx::issubdtype(dtype, mx::floating); }

template <array (*F)(const array&, mx::StreamOrDevice)>
Arrays unary(const Invocation& c) {
  return {F(c.in(0), {})};
}
template <array (*F)(const array&, const array&, mx::StreamOrDevice)>
Arrays binary(const Invocation& c) {
  return {F(c.in(0), c.in(1), {})};
}
inline array as_float(const array& x, mx::Dtype to) { return x.dtype() == to ? x : mx::astype(x, to); }

}  // namespace rlx::gpu
