#include "dtype.h"

#include "error.h"
#include "expression.h"
#include "formats/all.h"

namespace rlx {
namespace {

struct Facts {
  const char* name;
  size_t bytes;
  BlockSize block;
};
constexpr Facts plain(const char* name, size_t bytes) { return {name, bytes, {1, bytes}}; }

constexpr Facts kFacts[] = {plain("bool", 1),
                            plain("u8", 1),
                            plain("i8", 1),
                            plain("i16", 2),
                            plain("bf16", 2),
                            plain("f16", 2),
                            plain("u32", 4),
                            plain("i32", 4),
                            plain("i64", 8),
                            plain("f32", 4),
                            plain("f64", 8),
                            plain("c64", 8),
#define RLX_FACTS(name) {#name, 0, {formats::name::kElements, sizeof(formats::name::Block)}},
                            RLX_PACKED_TYPES(RLX_FACTS)
#undef RLX_FACTS
};
static_assert(sizeof kFacts / sizeof kFacts[0] == kDTypes);

const Facts& facts(DType type) { return kFacts[static_cast<size_t>(type)]; }

}  // namespace

const char* dtype_name(DType type) { return facts(type).name; }
size_t dtype_bytes(DType type) { return facts(type).bytes; }
BlockSize block_size(DType type) { return facts(type).block; }

size_t storage_bytes(DType type, size_t count) {
  if (count > kMaxElements) fail(Code::ir_shape, "[plan] tensor too large: got %zu elements", count);
  const BlockSize block = block_size(type);
  if (count % block.elements != 0)
    fail(Code::ir_shape, "[plan] %zu elements of %s: expected whole blocks of %zu", count, dtype_name(type),
         block.elements);
  return count / block.elements * block.bytes;
}

void unpack_row(DType type, const uint8_t* row, float* values, size_t count) {
  switch (type) {
#define RLX_UNPACK(name)                                                                              \
  case DType::name:                                                                                   \
    for (size_t i = 0; i < count; i += formats::name::kElements, row += sizeof(formats::name::Block)) \
      formats::name::unpack(*reinterpret_cast<const formats::name::Block*>(row), values + i);         \
    return;
    RLX_PACKED_TYPES(RLX_UNPACK)
#undef RLX_UNPACK
    default: fail(Code::bug_invariant, "[unpack] %s is not packed", dtype_name(type));
  }
}

size_t coded_group(DType type) {
  switch (type) {
#define RLX_GROUP(name) \
  case DType::name: return formats::name::kGroup;
    RLX_CODED_TYPES(RLX_GROUP)
#undef RLX_GROUP
    default: return 0;
  }
}

void read_coded_block(DType type, const uint8_t* block, int8_t* codes, float* scales) {
  switch (type) {
#define RLX_READ(name) \
  case DType::name: return formats::name::read(*reinterpret_cast<const formats::name::Block*>(block), codes, scales);
    RLX_CODED_TYPES(RLX_READ)
#undef RLX_READ
    default: fail(Code::bug_invariant, "[unpack] %s has no codes", dtype_name(type));
  }
}

}  // namespace rlx
