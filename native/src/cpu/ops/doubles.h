// Kernels of two kinds under one name: over f32 with the vector kernels, and over f64 with plain
// loops beside them.
#pragma once

#include <memory>

#include "../kernel.h"

namespace rlx {

// The first operand says which.
template <class Single, class Double>
std::unique_ptr<Op> make_real(const OpContext& context) {
  const bool wide = !context.in.empty() && context.in[0] != nullptr && context.in[0]->dtype == DType::f64;
  if (wide) return std::make_unique<Double>(context);
  return std::make_unique<Single>(context);
}

}  // namespace rlx
