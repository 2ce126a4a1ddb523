// Random and extreme packed rows for the tests.
#pragma once

#include "check.h"

namespace test {

inline const Type kPacked[] = {Type::q8_0, Type::q4_0, Type::q4_1, Type::q5_0, Type::q5_1,
                               Type::q2_k, Type::q3_k, Type::q4_k, Type::q5_k, Type::q6_k};
inline const Type kAll[] = {Type::f32,  Type::f16,  Type::bf16, Type::q8_0, Type::q4_0, Type::q4_1, Type::q5_0,
                            Type::q5_1, Type::q2_k, Type::q3_k, Type::q4_k, Type::q5_k, Type::q6_k};

// Byte offsets of the f16 fields of a block.
inline std::vector<size_t> half_fields(Type type) {
  switch (type) {
    case Type::f16: return {0};
    case Type::q8_0:
    case Type::q4_0:
    case Type::q5_0: return {0};
    case Type::q4_1:
    case Type::q5_1:
    case Type::q4_k:
    case Type::q5_k: return {0, 2};
    case Type::q2_k: return {80, 82};
    case Type::q3_k: return {108};
    case Type::q6_k: return {208};
    default: return {};
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
