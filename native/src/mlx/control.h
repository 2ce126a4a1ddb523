// Calls with sub-graphs: `if`, `while` and `scan`.
#pragma once

#include <vector>

#include "calls.h"

namespace rlx::gpu {

std::vector<mx::array> branch(const Invocation& c);
std::vector<mx::array> loop(const Invocation& c);
std::vector<mx::array> scan(const Invocation& c);
// True when the body can be one trace: no loop in it without a limit, and not too many turns
// together.
bool traceable(const Plan& plan, uint32_t body, const std::vector<size_t>& sizes);

}  // namespace rlx::gpu
