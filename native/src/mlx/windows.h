// Convolutions and pools over MLX arrays: images are [batch, channels, ...sizes] here and channels
// last in MLX.
#pragma once

#include "calls.h"

namespace rlx::gpu {

std::vector<mx::array> convolve(const Invocation& call);
std::vector<mx::array> convolve_transposed(const Invocation& call);

enum class Pool { max, mean, sum, min, prod };
std::vector<mx::array> pool(const Invocation& call, Pool kind);

template <Pool kKind>
std::vector<mx::array> pool_call(const Invocation& call) {
  return pool(call, kKind);
}

}  // namespace rlx::gpu
