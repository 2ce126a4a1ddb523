// Exact values of packed rows and float conversions.
//
// "Bit-for-bit ggml" means: the same products in the same order and no fused multiply-add (this
// file is built with contraction off).
#include "blocks.h"
#include "internal.h"

namespace rlx::kernels::RLX_ISA {
namespace {

// A row of `elements`-blocks. Unpack loops are plain, so that the compiler vectorises them for each
// instruction set.
template <class Block, class Unpack>
RLX_INLINE void unpack_row(const void* row, float* y, size_t k, size_t elements, Unpack unpack) {
  const Block* blocks = static_cast<const Block*>(row);
  for (size_t b = 0; b < k / elements; ++b) unpack(blocks[b], y + b * elements);
}

}  // namespace

void dequantize(Type type, const void* row, float* y, size_t k) {
  switch (type) {
    case Type::f32: memcpy(y, row, k * 4); return;
    case Type::f16: return f16_to_f32(static_cast<const uint16_t*>(row), y, k);
    case Type::bf16: return bf16_to_f32(static_cast<const uint16_t*>(row), y, k);
#define RLX_UNPACK(name)                                                                 \
  case Type::name:                                                                       \
    return unpack_row<formats::name::Block>(row, y, k, formats::name::kElements,         \
                                            [](const formats::name::Block& x, float* to) \
                                                RLX_LAMBDA { formats::name::unpack(x, to); });
      RLX_PACKED_TYPES(RLX_UNPACK)
#undef RLX_UNPACK
  }
}

void f16_to_f32(const uint16_t* x, float* y, size_t n) {
  size_t i = 0;
  for (; i + W <= n; i += W) fstore(y + i, fload_f16(x + i));
  for (; i < n; ++i) y[i] = half_to_f32(x[i]);
}

void f32_to_f16(const float* x, uint16_t* y, size_t n) {
  size_t i = 0;
  for (; i + W <= n; i += W) fstore_f16(y + i, fload(x + i));
  for (; i < n; ++i) y[i] = f32_to_half(x[i]);
}

void bf16_to_f32(const uint16_t* x, float* y, size_t n) {
  for (size_t i = 0; i < n; ++i) y[i] = bf16_to_float(x[i]);
}

void f32_to_bf16(const float* x, uint16_t* y, size_t n) {
  for (size_t i = 0; i < n; ++i) y[i] = float_to_bf16(x[i]);
}

}  // namespace rlx::kernels::RLX_ISA
