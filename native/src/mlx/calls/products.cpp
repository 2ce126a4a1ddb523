// Products with weights, plain and quantised, and norms.
#include "family.h"

#include <mlx/fast.h>

#include <optional>

namespace rlx::gpu {
namespace {

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
// Each row of x [T, 1 or k, in] by the matrix of its expert: MLX picks the matrices while it
// multiplies.
Arrays linear_grouped(const Invocation& c) {
  const Held* held = c.inputs.at(1).weight;
  const array& x = c.in(0);
  const array& plain = held == nullptr ? *c.inputs.at(1).array : held->plain;
  const int experts = plain.shape(0);
  const array ids = c.flag("checked") ? c.in(2)
                                      : mx::minimum(mx::maximum(c.in(2), whole(0, mx::int32)),
                                                    whole(std::max(0, experts - 1), mx::int32));
  const array picked = mx::astype(ids, mx::uint32);
  // Rows as matrices [T, 1 or k, 1, in]: their places broadcast against those of the experts.
  // The processor's part of MLX picks among matrices of float32 only.
  const bool halves = mx::default_device() != mx::Device(mx::Device::cpu) || held != nullptr;
  const mx::Dtype type = halves ? x.dtype() : mx::float32;
  const array rows = as_float(mx::expand_dims(x, 2), type);
  const array y = held == nullptr ? mx::gather_mm(rows, mx::swapaxes(as_float(plain, type), 1, 2), std::nullopt, picked)
                                  : mx::gather_qmm(rows, plain, *held->scales, held->biases, std::nullopt, picked, true,
                                                   32, held->bits);
  const array shaped = mx::reshape(as_float(y, x.dtype()), c.shape());
  return {c.has(3) ? mx::add(shaped, mx::take(c.in(3), ids, 0)) : shaped};
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

const Function kTable[] = {
    {"matmul", 2, 2, binary<mx::matmul>},
    {"linear", 2, 3, linear, Joins::rows, 0b110},
    {"linear_grouped", 3, 4, linear_grouped, Joins::rows, 0b1010},
    {"dequantize", 1, 1, dequantize},
    {"rms_norm", 2, 3, rms_norm, Joins::broadcast},
    {"layer_norm", 2, 3, layer_norm, Joins::broadcast},
};

}  // namespace

std::span<const Function> products_calls() { return kTable; }

}  // namespace rlx::gpu
