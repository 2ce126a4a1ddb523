// Picks the vector header of the instruction set this translation unit is built for.
// The build passes RLX_ISA (the namespace, e.g. avx512) and RLX_ISA_<NAME>; every name below lives
// in rlx::kernels::<isa>, so no two instruction sets can share a symbol.
#pragma once

#if defined(RLX_ISA_AVX512)
#include "avx512.h"
#elif defined(RLX_ISA_AVX2)
#include "avx2.h"
#elif defined(RLX_ISA_NEON)
#include "neon.h"
#else
#include "scalar.h"
#endif
