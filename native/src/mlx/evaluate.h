// Arrays that MLX has built are computed here.
#pragma once

#include <mlx/array.h>

#include <vector>

namespace rlx::gpu {

namespace mx = mlx::core;

// All in one evaluation; an error in it does not name the call.
void evaluate(std::vector<mx::array> wanted, bool waits = true);

}  // namespace rlx::gpu
