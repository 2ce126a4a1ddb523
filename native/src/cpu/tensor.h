// Element types, sizes with symbols, and tensors whose sizes are bound for a run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/kernels.h"

namespace rlx {

// In the order of main/ir/dtype.ts: DTYPES, then PACKED_TYPES.
enum class DType : uint8_t {
  boolean, u8, i8, i16, bf16, f16, u32, i32, i64, f32, f64, c64,
  q4_0, q4_1, q5_0, q5_1, q8_0, q2_k, q3_k, q4_k, q5_k, q6_k, q8_k, iq4_nl,
};
inline constexpr size_t kDTypes = 24;

const char* dtype_name(DType type);
constexpr bool is_packed(DType type) { return type >= DType::q4_0; }
// Bytes of one element; 0 for packed types.
size_t dtype_bytes(DType type);
// The type as the kernels know it; false where they have none.
bool kernel_type(DType type, kernels::Type* out);
// Bytes of `count` elements; throws when they are not whole blocks.
size_t storage_bytes(DType type, size_t count);

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

}  // namespace rlx
