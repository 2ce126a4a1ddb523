// The 32 quants of a 32-block as signed bytes, on arm64.
#pragma once

#include "../blocks.h"
#include "planes_neon.h"

namespace rlx::kernels::RLX_ISA {

struct Bytes32 {
  int8x16_t low, high;  // elements 0-15, 16-31
};

RLX_INLINE Bytes32 signed32(uint8x16_t a, uint8x16_t b) { return {vreinterpretq_s8_u8(a), vreinterpretq_s8_u8(b)}; }
RLX_INLINE Bytes32 minus(Bytes32 q, int8_t by) {
  return {vsubq_s8(q.low, vdupq_n_s8(by)), vsubq_s8(q.high, vdupq_n_s8(by))};
}

RLX_INLINE Bytes32 nibbles(const uint8_t* qs) {
  const uint8x16_t x = vld1q_u8(qs);
  return signed32(vandq_u8(x, vdupq_n_u8(15)), vshrq_n_u8(x, 4));
}
// Bit i of qh as 16 in byte i, added.
RLX_INLINE Bytes32 with_fifth(Bytes32 q, const uint8_t* qh) {
  static constexpr uint8_t kByte[32] = {0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1,
                                        2, 2, 2, 2, 2, 2, 2, 2, 3, 3, 3, 3, 3, 3, 3, 3};
  static constexpr uint8_t kBit[16] = {1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128};
  const uint8x16_t word = vreinterpretq_u8_u32(vdupq_n_u32(load_u32(qh))), bit = vld1q_u8(kBit), five = vdupq_n_u8(16);
  const uint8x16_t a = vandq_u8(vtstq_u8(vqtbl1q_u8(word, vld1q_u8(kByte)), bit), five);
  const uint8x16_t b = vandq_u8(vtstq_u8(vqtbl1q_u8(word, vld1q_u8(kByte + 16)), bit), five);
  return {vorrq_s8(q.low, vreinterpretq_s8_u8(a)), vorrq_s8(q.high, vreinterpretq_s8_u8(b))};
}
RLX_INLINE Bytes32 quants(const BlockQ8_0& b) { return {vld1q_s8(b.qs), vld1q_s8(b.qs + 16)}; }
RLX_INLINE Bytes32 quants(const BlockQ4_0& b) { return minus(nibbles(b.qs), 8); }
RLX_INLINE Bytes32 quants(const BlockQ4_1& b) { return nibbles(b.qs); }
RLX_INLINE Bytes32 quants(const BlockQ5_0& b) { return minus(with_fifth(nibbles(b.qs), b.qh), 16); }
RLX_INLINE Bytes32 quants(const BlockQ5_1& b) { return with_fifth(nibbles(b.qs), b.qh); }

}  // namespace rlx::kernels::RLX_ISA
