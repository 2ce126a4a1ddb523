// Sizes with symbols: polynomials that a plan carries and a run evaluates.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "reader.h"

namespace rlx {

// Larger than any memory, small enough that sums and products of a few cannot overflow.
inline constexpr size_t kMaxElements = size_t{1} << 46;

// A polynomial of symbols with whole coefficients.
struct Expression {
  struct Term {
    int64_t coefficient;
    std::vector<uint32_t> symbols;
  };
  std::vector<Term> terms;
  // Throws IR_SHAPE when the value is negative or too large.
  size_t evaluate(const std::vector<size_t>& symbols) const;
  int64_t evaluate_signed(const std::vector<size_t>& symbols) const;
};

// Reads an expression over `symbols` symbols from the bytes of a plan.
Expression read_expression(Reader& in, size_t symbols);

}  // namespace rlx
