// Weights of a file as MLX holds them. Types with a scale for 32 values or more become MLX's affine
// groups of 32 without loss: scale and bias are exact in f32 (docs/decisions say why not f16);
// other packed types become f16.
#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "calls.h"

namespace rlx::gpu {

struct Mapping {
  DType type;
  int bits;
};
// The bits of the affine form, 0 where the type has none.
int affine_bits(DType type);

Held hold_weight(const WeightPlan& plan, const Weights& weights, const std::atomic<bool>& cancel);

// How far the held weight is from the exact values of its blocks: largest difference, and the root
// of the mean square over that of the values.
struct WeightError {
  double largest = 0;
  double relative = 0;
};
WeightError weight_error(const WeightPlan& plan, const Weights& weights, const Held& held);

// MLX ends the process when an allocation fails; this throws ENV_NO_MEMORY before.
void check_memory(size_t bytes, const char* what);

mx::array from_bytes(const uint8_t* bytes, const mx::Shape& shape, DType dtype);

}  // namespace rlx::gpu
