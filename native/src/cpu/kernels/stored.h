// An export compares a weight's values with the values that its stored form decodes to.
#pragma once

#include "base.h"
#include "kernels.h"

namespace rlx::kernels::RLX_BASE {

void stored_error(const StoredArgs&, StoredSums* sums);

}  // namespace rlx::kernels::RLX_BASE
