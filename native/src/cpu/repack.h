// Rows of a weight in another type: unpacked, packed, and compared with what they were.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "../core/pool.h"
#include "kernels/kernels.h"

namespace rlx {

struct RepackRows {
  kernels::Type from, to;
  const uint8_t* original;
  size_t bytes;
  size_t columns;
  const float* importance = nullptr;  // one for each column
};
struct Repacked {
  std::vector<uint8_t> bytes;
  kernels::PackSums sums;
};

// Throws INPUT_ARGUMENT for sizes that do not fit, UNSUPPORTED_TENSOR_TYPE where nothing packs the
// type, CANCELLED when asked to.
Repacked repack(const kernels::Dispatch&, Pool&, size_t threads, const RepackRows&, const std::atomic<bool>& cancel);

}  // namespace rlx
