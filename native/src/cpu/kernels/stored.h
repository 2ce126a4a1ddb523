// What an export compares: a weight's own values with those that its stored form decodes to.
#pragma once

#include "kernels.h"

namespace rlx::kernels::RLX_ISA {

void stored_error(const StoredArgs&, StoredSums* sums);

}  // namespace rlx::kernels::RLX_ISA
