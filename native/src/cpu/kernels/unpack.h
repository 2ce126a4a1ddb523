// One chunk (256 weights) of a packed row as exact int16 with its f32 scales: what the panels are made of.
// Plain loops, vectorised by the compiler for each instruction set.
#pragma once

#include "blocks.h"
#include "internal.h"

namespace rlx::kernels::RLX_ISA {

// weight[i] = scale[i / 32] * q[i] + min[i / 32]. K blocks fold the integer sub-block scale into q, so that all
// eight `scale` are equal and only scale[0] is set.
struct UnpackedChunk {
  int16_t* q;    // [256]
  float scale[8];
  float min[8];
};

RLX_INLINE bool has_min(Type t) { return t == Type::q4_1 || t == Type::q5_1 || t == Type::q4_k || t == Type::q5_k; }

template <bool Five>
RLX_INLINE void unpack_nibbles(const uint8_t* qs, uint32_t high, int subtract, int16_t* q) {
  for (int i = 0; i < 16; ++i) {
    q[i] = static_cast<int16_t>((qs[i] & 15) - subtract);
    q[i + 16] = static_cast<int16_t>((qs[i] >> 4) - subtract);
  }
  if constexpr (Five) {
    for (int i = 0; i < 32; ++i) q[i] = static_cast<int16_t>(q[i] + static_cast<int>(((high >> i) & 1u) << 4));
  }
}

RLX_INLINE void unpack_block32(Type type, const uint8_t* p, int16_t* q, float* scale, float* min) {
  *scale = load_half(p);
  *min = 0.0f;
  switch (type) {
    case Type::q8_0:
      for (int i = 0; i < 32; ++i) q[i] = static_cast<int8_t>(p[2 + i]);
      break;
    case Type::q4_0: unpack_nibbles<false>(p + 2, 0, 8, q); break;
    case Type::q4_1:
      *min = load_half(p + 2);
      unpack_nibbles<false>(p + 4, 0, 0, q);
      break;
    case Type::q5_0: unpack_nibbles<true>(p + 6, load_u32(p + 2), 16, q); break;
    case Type::q5_1:
      *min = load_half(p + 2);
      unpack_nibbles<true>(p + 8, load_u32(p + 4), 0, q);
      break;
    default: break;
  }
}

template <class Block>
RLX_INLINE void unpack_q45(const Block& b, UnpackedChunk& out) {
  const PackedScales s = unpack_scales(b.scales);
  const float dmin = load_half(b.dmin);
  out.scale[0] = load_half(b.d);
  for (int j = 0; j < 8; ++j) out.min[j] = -dmin * static_cast<float>(byte_of(s.min, j));
  for (int j = 0; j < 4; ++j) {
    const int16_t first = static_cast<int16_t>(byte_of(s.scale, 2 * j));
    const int16_t second = static_cast<int16_t>(byte_of(s.scale, 2 * j + 1));
    const uint8_t* qs = b.qs + 32 * j;
    int16_t* q = out.q + 64 * j;
    for (int i = 0; i < 32; ++i) {
      int low = qs[i] & 15, high = qs[i] >> 4;
      if constexpr (sizeof(Block) == sizeof(BlockQ5K)) {
        low |= ((b.qh[i] >> (2 * j)) & 1) << 4;
        high |= ((b.qh[i] >> (2 * j + 1)) & 1) << 4;
      }
      q[i] = static_cast<int16_t>(low * first);
      q[i + 32] = static_cast<int16_t>(high * second);
    }
  }
}

RLX_INLINE void unpack_q6(const BlockQ6K& b, UnpackedChunk& out) {
  out.scale[0] = load_half(b.d);
  for (int half = 0; half < 2; ++half) {
    const uint8_t* ql = b.ql + 64 * half;
    const uint8_t* qh = b.qh + 32 * half;
    int16_t* q = out.q + 128 * half;
    const int8_t* s = b.scales + 8 * half;
    for (int part = 0; part < 2; ++part) {
      const int16_t s0 = s[part], s1 = s[2 + part], s2 = s[4 + part], s3 = s[6 + part];
      for (int i = 16 * part; i < 16 * part + 16; ++i) {
        const int h = qh[i];
        q[i] = static_cast<int16_t>((((ql[i] & 15) | (h & 3) << 4) - 32) * s0);
        q[i + 32] = static_cast<int16_t>((((ql[i + 32] & 15) | ((h >> 2) & 3) << 4) - 32) * s1);
        q[i + 64] = static_cast<int16_t>((((ql[i] >> 4) | ((h >> 4) & 3) << 4) - 32) * s2);
        q[i + 96] = static_cast<int16_t>((((ql[i + 32] >> 4) | (h >> 6) << 4) - 32) * s3);
      }
    }
  }
}

// The chunk of `n` weights at p; q is zero behind n.
RLX_INLINE void unpack_chunk(Type type, const uint8_t* p, size_t n, UnpackedChunk& out) {
  switch (type) {
    case Type::q4_k: return unpack_q45(*reinterpret_cast<const BlockQ4K*>(p), out);
    case Type::q5_k: return unpack_q45(*reinterpret_cast<const BlockQ5K*>(p), out);
    case Type::q6_k: return unpack_q6(*reinterpret_cast<const BlockQ6K*>(p), out);
    default: break;
  }
  for (size_t b = 0; b < 8; ++b) {
    if (32 * b < n) {
      unpack_block32(type, p + b * type_info(type).bytes, out.q + 32 * b, out.scale + b, out.min + b);
    } else {
      memset(out.q + 32 * b, 0, 64);
      out.scale[b] = out.min[b] = 0.0f;
    }
  }
}

}  // namespace rlx::kernels::RLX_ISA
