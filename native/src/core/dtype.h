// Element types: names, sizes, and whether a type is packed in blocks.
#pragma once

#include <cstddef>
#include <cstdint>

#include "formats/layouts.h"

namespace rlx {

// In the order of main/ir/dtype.ts: DTYPES, then the packed types. Plans name a type by its place
// here.
enum class DType : uint8_t {
  boolean,
  u8,
  i8,
  i16,
  bf16,
  f16,
  u32,
  i32,
  i64,
  f32,
  f64,
  c64,
#define RLX_NAME(name) name,
  RLX_PACKED_TYPES(RLX_NAME)
#undef RLX_NAME
};
inline constexpr DType kFirstPacked = static_cast<DType>(static_cast<int>(DType::c64) + 1);
inline constexpr size_t kDTypes = static_cast<size_t>(kFirstPacked)
#define RLX_ONE(name) +1
    RLX_PACKED_TYPES(RLX_ONE);
#undef RLX_ONE

const char* dtype_name(DType type);
constexpr bool is_packed(DType type) { return type >= kFirstPacked; }
// Bytes of one element; 0 for packed types.
size_t dtype_bytes(DType type);
// Elements and bytes of one block; 1 and dtype_bytes for types that are not packed.
struct BlockSize {
  size_t elements, bytes;
};
BlockSize block_size(DType type);
// The exact values of a row of a packed type, with ggml's bits. `count` is whole blocks.
void unpack_row(DType type, const uint8_t* row, float* values, size_t count);
// Values that share a scale in coded types (formats/block.h), 0 for the others; and the codes and
// scales of one block of such a type.
size_t coded_group(DType type);
void read_coded_block(DType type, const uint8_t* block, int8_t* codes, float* scales);
// Bytes of `count` elements. Throws IR_SHAPE when they are not whole blocks.
size_t storage_bytes(DType type, size_t count);

}  // namespace rlx
