// Tensors whose sizes are bound for a run, and their types as the kernels know them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "../core/dtype.h"
#include "kernels/kernels.h"

namespace rlx {

// The type as the kernels know it; false where they have none.
bool kernel_type(DType type, kernels::Type* out);

inline constexpr size_t kMaxRank = 8;

struct Tensor {
  DType dtype = DType::f32;
  size_t rank = 0;
  size_t shape[kMaxRank] = {};
  size_t count = 0;  // elements
  size_t bytes = 0;
  uint8_t* data = nullptr;

  template <class T>
  T* as() const {
    return reinterpret_cast<T*>(data);
  }
  float* f32() const { return reinterpret_cast<float*>(data); }
  int32_t* i32() const { return reinterpret_cast<int32_t*>(data); }
  // Last dim, 1 for a scalar; and how many rows of it there are.
  size_t last() const { return rank == 0 ? 1 : shape[rank - 1]; }
  size_t rows() const { return count == 0 ? 0 : count / last(); }
  // Product of dims [from, to).
  size_t span(size_t from, size_t to) const {
    size_t product = 1;
    for (size_t i = from; i < to; i++) product *= shape[i];
    return product;
  }
};

}  // namespace rlx
