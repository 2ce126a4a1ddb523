// Conversions between f32 and the 16-bit floats, bit-exact, without tables. Functions are static:
// the kernels compile them once per instruction set, and the linker must not keep one copy for all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

// Under sanitizers a function stays one: what is inlined everywhere takes them minutes to compile.
#ifdef __SANITIZE_ADDRESS__
#define RLX_INLINE static inline
#define RLX_LAMBDA
#else
#define RLX_INLINE static inline __attribute__((always_inline))
#define RLX_LAMBDA __attribute__((always_inline))
#endif
// A member is inlined always: instruction sets share its name, and hand over vectors differently.
#define RLX_MEMBER __attribute__((always_inline))

namespace rlx {

RLX_INLINE float bits_to_f32(uint32_t b) {
  float f;
  std::memcpy(&f, &b, 4);
  return f;
}
RLX_INLINE uint32_t f32_to_bits(float f) {
  uint32_t b;
  std::memcpy(&b, &f, 4);
  return b;
}

RLX_INLINE float half_to_f32(uint16_t h) {
  const uint32_t sign = static_cast<uint32_t>(h & 0x8000u) << 16;
  const uint32_t exponent = (h >> 10) & 31u;
  const uint32_t mantissa = h & 1023u;
  if (exponent == 31) return bits_to_f32(sign | 0x7f800000u | (mantissa != 0 ? (mantissa << 13) | 0x400000u : 0u));
  if (exponent != 0) return bits_to_f32(sign | ((exponent + 112u) << 23) | (mantissa << 13));
  // Subnormal: mantissa * 2^-24 is exact in f32.
  return bits_to_f32(sign | f32_to_bits(static_cast<float>(mantissa) * 5.9604644775390625e-8f));
}

// Round to nearest, ties to even; NaN keeps its upper payload bits and becomes quiet.
RLX_INLINE uint16_t f32_to_half(float f) {
  const uint32_t b = f32_to_bits(f);
  const uint32_t sign = (b >> 16) & 0x8000u;
  const uint32_t a = b & 0x7fffffffu;
  if (a > 0x7f800000u) return static_cast<uint16_t>(sign | 0x7e00u | ((a >> 13) & 0x3ffu));
  if (a >= 0x47800000u) return static_cast<uint16_t>(sign | 0x7c00u);  // 65536 and above
  if (a >= 0x38800000u) {                                              // normal half
    const uint32_t r = a + 0xfffu + ((a >> 13) & 1u);
    return static_cast<uint16_t>(sign | ((r - 0x38000000u) >> 13));
  }
  // Subnormal: adding 0.5 puts the half's last place on the last place of the f32 mantissa.
  const float m = bits_to_f32(a) + 0.5f;
  return static_cast<uint16_t>(sign | (f32_to_bits(m) - 0x3f000000u));
}

RLX_INLINE float bf16_to_float(uint16_t h) { return bits_to_f32(static_cast<uint32_t>(h) << 16); }

RLX_INLINE uint16_t float_to_bf16(float f) {
  const uint32_t b = f32_to_bits(f);
  if ((b & 0x7fffffffu) > 0x7f800000u) return static_cast<uint16_t>((b >> 16) | 64u);
  return static_cast<uint16_t>((b + 0x7fffu + ((b >> 16) & 1u)) >> 16);
}

RLX_INLINE uint16_t load_u16(const void* p) {
  uint16_t v;
  std::memcpy(&v, p, 2);
  return v;
}
RLX_INLINE uint32_t load_u32(const void* p) {
  uint32_t v;
  std::memcpy(&v, p, 4);
  return v;
}

}  // namespace rlx
