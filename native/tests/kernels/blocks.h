// Random and extreme packed rows for the tests.
#pragma once

#include "check.h"

namespace test {

#define RLX_TYPE(name) Type::name,
inline const Type kPacked[] = {RLX_PACKED_TYPES(RLX_TYPE)};
inline const Type kAll[] = {Type::f32, Type::f16, Type::bf16, RLX_PACKED_TYPES(RLX_TYPE)};
#undef RLX_TYPE

// Columns of so many chunks and one block, or 32 values.
inline size_t one_more_block(Type type, size_t chunks) {
  return chunks * kChunk + std::max<size_t>(32, type_info(type).block);
}

// Byte offsets of the f16 fields of a block.
inline std::vector<size_t> half_fields(Type type) {
  switch (type) {
    case Type::f32:
    case Type::bf16: return {};
    case Type::q4_1:
    case Type::q5_1:
    case Type::q4_k:
    case Type::q5_k: return {0, 2};
    case Type::q2_k: return {80, 82};
    case Type::q3_k: return {108};
    case Type::q6_k: return {208};
    case Type::tq1_0: return {52};
    case Type::tq2_0: return {64};
    case Type::iq1_m:
    case Type::mxfp4:
    case Type::nvfp4:
    case Type::q8_k: return {};
    default: return {0};
  }
}

// Scales that are no half at a place of their own: 2^-7 or near it.
inline void set_other_scales(Type type, uint8_t* block) {
  switch (type) {
    case Type::iq1_m:  // the top bits of four words
      for (int word = 0; word < 4; ++word) block[49 + 2 * word] = static_cast<uint8_t>(block[49 + 2 * word] & 15);
      block[55] |= 0x20;
      return;
    case Type::mxfp4: block[0] = static_cast<uint8_t>(118 + block[0] % 4); return;
    case Type::nvfp4:
      for (int i = 0; i < 4; ++i) block[i] = static_cast<uint8_t>(1 + block[i] % 15);
      return;
    case Type::q8_k: {
      const float d = 0x1p-7f;
      std::memcpy(block, &d, 4);
      return;
    }
    default: return;
  }
}

// Blocks of random bytes; scales are halves of random sign between 2^-9 and 2^-4.
inline void random_blocks(Type type, uint8_t* p, size_t count, Random& random) {
  const TypeInfo& info = type_info(type);
  for (size_t b = 0; b < count; ++b, p += info.bytes) {
    for (uint32_t i = 0; i < info.bytes; ++i) p[i] = static_cast<uint8_t>(random.bits());
    for (size_t at : half_fields(type)) {
      const uint16_t h = static_cast<uint16_t>(0x1800 + random.below(0x1400) + (random.bits() & 0x8000u));
      std::memcpy(p + at, &h, 2);
    }
    set_other_scales(type, p);
    if (type == Type::f32) {
      const float v = random.uniform();
      std::memcpy(p, &v, 4);
    }
    if (type == Type::bf16) p[1] = static_cast<uint8_t>(0x3c + (random.bits() & 0x80u) + random.below(3));
  }
}

// Every bit pattern that makes products as large as they can be.
inline void extreme_blocks(Type type, uint8_t* p, size_t count, uint8_t fill) {
  const TypeInfo& info = type_info(type);
  for (size_t b = 0; b < count; ++b, p += info.bytes) {
    std::memset(p, fill, info.bytes);
    for (size_t at : half_fields(type)) {
      const uint16_t one = 0x3c00;
      std::memcpy(p + at, &one, 2);
    }
    set_other_scales(type, p);
    if (type == Type::q6_k) std::memset(p + 192, 0x80, 16);  // scale -128
    if (type == Type::f32) {
      const float v = 1.0f;
      std::memcpy(p, &v, 4);
    }
    if (type == Type::bf16) {
      p[0] = 0x80;
      p[1] = 0x3f;
    }
  }
}

}  // namespace test
