// Rows of floats as blocks of a packed type. How a block is packed stands in its type's header in core/formats.
#pragma once

#include "kernels.h"

namespace rlx::kernels::RLX_ISA {

bool pack(const PackArgs&, PackSums* sums);

}  // namespace rlx::kernels::RLX_ISA
