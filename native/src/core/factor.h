// Factorisations of matrices, in double precision whatever the tensors hold: plain algorithms over
// row-major matrices that take the same steps as the references in main/ops/families/factor. So all
// engines agree on what is singular, and on signs. What is not finite, or has no answer, gives NaN.
#pragma once

#include <atomic>
#include <cstddef>

namespace rlx::factor {

enum class Routine { dense_solve, cholesky, triangular_solve, qr, svd, eigh, det, logdet };

// The routine of that name; false where there is none.
bool find_routine(const char* name, Routine* out);

// One matrix [rows, columns], and for solves the right-hand side [rows, right].
struct Problem {
  Routine routine;
  size_t rows = 0, columns = 0, right = 0;
  bool upper = false, transposed = false, unit = false;
  // Another thread sets it: the work ends between two rows or pairs of rows, and its results are of no use.
  const std::atomic<bool>* cancel = nullptr;

  bool cancelled() const { return cancel != nullptr && cancel->load(std::memory_order_relaxed); }
  size_t shorter() const { return rows < columns ? rows : columns; }
  size_t inputs() const { return routine == Routine::dense_solve || routine == Routine::triangular_solve ? 2 : 1; }
  size_t outputs() const;
  // Elements of one operand, of one result, and of what is needed beside them.
  size_t input_size(size_t i) const { return i == 0 ? rows * columns : rows * right; }
  size_t output_size(size_t i) const;
  size_t work_size() const;
};

// Operands stay as they are.
void run(const Problem& problem, const double* const* in, double* const* out, double* work);

// The same over one matrix of a batch in float or double; `work` holds `whole_size` doubles.
size_t whole_size(const Problem& problem);
template <class T>
void run_item(const Problem& problem, const void* const* in, void* const* out, size_t item, double* work);

}  // namespace rlx::factor
