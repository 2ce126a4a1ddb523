#include "expression.h"

#include "error.h"

namespace rlx {

int64_t Expression::evaluate_signed(const std::vector<size_t>& symbols) const {
  int64_t total = 0;
  for (const Term& term : terms) {
    int64_t product = term.coefficient;
    for (const uint32_t symbol : term.symbols)
      if (__builtin_mul_overflow(product, static_cast<int64_t>(symbols[symbol]), &product))
        fail(Code::ir_shape, "[plan] a size is too large");
    if (__builtin_add_overflow(total, product, &total)) fail(Code::ir_shape, "[plan] a size is too large");
  }
  return total;
}

size_t Expression::evaluate(const std::vector<size_t>& symbols) const {
  const int64_t value = evaluate_signed(symbols);
  if (value < 0 || static_cast<uint64_t>(value) > kMaxElements)
    fail(Code::ir_shape, "[plan] a size is out of range: got %lld", static_cast<long long>(value));
  return static_cast<size_t>(value);
}

Expression read_expression(Reader& in, size_t symbols) {
  constexpr double kWhole = 9007199254740991.0;  // whole numbers are exact in f64 up to here
  Expression result;
  const size_t terms = in.count(12, 256);
  for (size_t i = 0; i < terms; i++) {
    const double coefficient = in.f64();
    if (!(coefficient >= -kWhole && coefficient <= kWhole)) Reader::bad("a coefficient is no whole number");
    Expression::Term term{static_cast<int64_t>(coefficient), {}};
    const size_t factors = in.count(4, 16);
    for (size_t f = 0; f < factors; f++) term.symbols.push_back(in.index(symbols, "symbol"));
    result.terms.push_back(std::move(term));
  }
  return result;
}

}  // namespace rlx
