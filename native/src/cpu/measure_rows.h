// Statistics of rows of a weight: range, mean, spread, zeros, values that are not finite, and the
// distance to another file's rows. Each row is unpacked into a small buffer and read there.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "../core/pool.h"
#include "kernels/kernels.h"

namespace rlx {

struct RowsToMeasure {
  kernels::Type type;
  const uint8_t* data;
  size_t bytes;
  size_t columns;
  // The same rows of another file.
  bool compares = false;
  kernels::Type other_type = kernels::Type::f32;
  const uint8_t* other = nullptr;
  size_t other_bytes = 0;
  // Bars between two values, for a histogram; none at 0.
  double from = 0, to = 0;
  size_t bars = 0;
};

enum class RowFlag : uint8_t { sound, zeros, not_finite };

struct RowDistance {
  double compared = 0, error = 0, energy = 0, product = 0, own = 0;
  // The row with the largest error for its energy, from the first row; −1 where none was compared.
  double worst_row = -1, worst_error = 0, worst_energy = 0;
  // The largest difference of two values, and its place from the first value; −1 where none was compared.
  double farthest = 0, farthest_at = -1;
};

struct MeasuredRows {
  double count = 0, zeros = 0, nans = 0, infinities = 0;
  double min = 0, max = 0, mean = 0, spread = 0;  // of the finite values
  double first_not_finite = -1, largest = -1;     // places of values; largest by magnitude
  std::vector<uint8_t> flags;                     // a RowFlag for each row
  std::vector<double> counts;
  RowDistance distance;
};

// Throws INPUT_ARGUMENT for sizes that do not fit, CANCELLED when asked to. The result does not
// depend on the number of threads.
MeasuredRows measure_rows(const kernels::Dispatch&, Pool&, size_t threads, const RowsToMeasure&,
                          const std::atomic<bool>& cancel);

}  // namespace rlx
