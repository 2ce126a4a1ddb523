// RLX_BASE: the instruction set whose functions this one takes where its own would be the same
// code. For most that is itself.
#pragma once

#ifdef RLX_BASE
namespace rlx::kernels {
namespace RLX_BASE {}
namespace RLX_ISA {
using namespace RLX_BASE;
}
}  // namespace rlx::kernels
#else
#define RLX_BASE RLX_ISA
#endif
