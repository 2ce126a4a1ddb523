// The error of stored rows of a weight: checks the sizes, then measures piece by piece.
#pragma once

#include <atomic>
#include <cstddef>

#include "kernels/kernels.h"

namespace rlx {

// The arrays of kernels::StoredArgs with their sizes.
struct StoredBytes {
  const void* data = nullptr;
  size_t size = 0;
};
struct StoredRows {
  kernels::StoredArgs args;  // without its pointers
  StoredBytes original, data, scale, offset, rest;
};

// Throws INPUT_ARGUMENT for parts whose sizes do not make `count` elements, CANCELLED when asked
// to.
kernels::StoredSums stored_error(const kernels::Dispatch&, const StoredRows&, const std::atomic<bool>& cancel);

}  // namespace rlx
