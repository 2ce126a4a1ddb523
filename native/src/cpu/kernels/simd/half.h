// Unrolled loops and, from core/half.h, conversions of halves. Included by every instruction set.
#pragma once

#include "../../../core/half.h"

namespace rlx::kernels::RLX_ISA {

using std::memcpy;
using std::memset;

// f(0), f(1), .. f(N - 1) with constant indices, written out by the front end: register tiles only
// stay in registers when no loop is left before the optimiser looks at their arrays.
template <int I>
struct Index {
  constexpr operator int() const { return I; }
};
template <int N, int I = 0, class Body>
RLX_INLINE void unrolled(Body body) {
  if constexpr (I < N) {
    body(Index<I>{});
    unrolled<N, I + 1>(body);
  }
}

}  // namespace rlx::kernels::RLX_ISA
