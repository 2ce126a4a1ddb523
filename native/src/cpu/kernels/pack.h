// Rows of floats as blocks of a packed type. How a block is packed stands in its type's header in
// core/formats.
#pragma once

#include "kernels.h"

#ifdef RLX_PACK_OF
namespace rlx::kernels::RLX_PACK_OF {
bool pack(const PackArgs&, PackSums* sums);
}
namespace rlx::kernels::RLX_ISA {
using RLX_PACK_OF::pack;
}
#else
namespace rlx::kernels::RLX_ISA {
bool pack(const PackArgs&, PackSums* sums);
}
#endif
