// Exact values of packed rows and float conversions.
//
// "Bit-for-bit ggml" means: the same products in the same order and no fused multiply-add (this file is built
// with contraction off). The loops are plain so that the compiler vectorises them for each instruction set.
#include "blocks.h"
#include "internal.h"

namespace rlx::kernels::RLX_ISA {
namespace {

template <class Block>
const Block* blocks(const void* row) {
  return static_cast<const Block*>(row);
}

void row_q8_0(const void* row, float* y, size_t k) {
  for (size_t b = 0; b < k / 32; ++b, y += 32) {
    const BlockQ8_0& x = blocks<BlockQ8_0>(row)[b];
    const float d = load_half(x.d);
    for (int i = 0; i < 32; ++i) y[i] = static_cast<float>(x.qs[i]) * d;
  }
}

void row_q4_0(const void* row, float* y, size_t k) {
  for (size_t b = 0; b < k / 32; ++b, y += 32) {
    const BlockQ4_0& x = blocks<BlockQ4_0>(row)[b];
    const float d = load_half(x.d);
    for (int i = 0; i < 16; ++i) {
      y[i] = static_cast<float>((x.qs[i] & 15) - 8) * d;
      y[i + 16] = static_cast<float>((x.qs[i] >> 4) - 8) * d;
    }
  }
}

void row_q4_1(const void* row, float* y, size_t k) {
  for (size_t b = 0; b < k / 32; ++b, y += 32) {
    const BlockQ4_1& x = blocks<BlockQ4_1>(row)[b];
    const float d = load_half(x.d), m = load_half(x.m);
    for (int i = 0; i < 16; ++i) {
      y[i] = static_cast<float>(x.qs[i] & 15) * d + m;
      y[i + 16] = static_cast<float>(x.qs[i] >> 4) * d + m;
    }
  }
}

void row_q5_0(const void* row, float* y, size_t k) {
  for (size_t b = 0; b < k / 32; ++b, y += 32) {
    const BlockQ5_0& x = blocks<BlockQ5_0>(row)[b];
    const float d = load_half(x.d);
    const uint32_t high = load_u32(x.qh);
    for (int i = 0; i < 16; ++i) {
      const int lo = (x.qs[i] & 15) | static_cast<int>((high >> i) & 1u) << 4;
      const int hi = (x.qs[i] >> 4) | static_cast<int>((high >> (i + 16)) & 1u) << 4;
      y[i] = static_cast<float>(lo - 16) * d;
      y[i + 16] = static_cast<float>(hi - 16) * d;
    }
  }
}

void row_q5_1(const void* row, float* y, size_t k) {
  for (size_t b = 0; b < k / 32; ++b, y += 32) {
    const BlockQ5_1& x = blocks<BlockQ5_1>(row)[b];
    const float d = load_half(x.d), m = load_half(x.m);
    const uint32_t high = load_u32(x.qh);
    for (int i = 0; i < 16; ++i) {
      const int lo = (x.qs[i] & 15) | static_cast<int>((high >> i) & 1u) << 4;
      const int hi = (x.qs[i] >> 4) | static_cast<int>((high >> (i + 16)) & 1u) << 4;
      y[i] = static_cast<float>(lo) * d + m;
      y[i + 16] = static_cast<float>(hi) * d + m;
    }
  }
}

void row_q2_k(const void* row, float* y, size_t k) {
  for (size_t b = 0; b < k / 256; ++b) {
    const BlockQ2K& x = blocks<BlockQ2K>(row)[b];
    const float d = load_half(x.d), dmin = load_half(x.dmin);
    for (int half = 0; half < 2; ++half) {
      for (int j = 0; j < 4; ++j) {
        for (int part = 0; part < 2; ++part, y += 16) {
          const uint8_t sc = x.scales[half * 8 + j * 2 + part];
          const float scale = d * static_cast<float>(sc & 15), min = dmin * static_cast<float>(sc >> 4);
          const uint8_t* q = x.qs + half * 32 + part * 16;
          for (int i = 0; i < 16; ++i) y[i] = scale * static_cast<float>((q[i] >> (2 * j)) & 3) - min;
        }
      }
    }
  }
}

void row_q3_k(const void* row, float* y, size_t k) {
  for (size_t b = 0; b < k / 256; ++b) {
    const BlockQ3K& x = blocks<BlockQ3K>(row)[b];
    const float d = load_half(x.d);
    int scales[16];  // 6 bits each: low nibbles in bytes 0-7, high pairs in bytes 8-11
    for (int i = 0; i < 16; ++i) {
      const int low = i < 8 ? x.scales[i] & 15 : x.scales[i - 8] >> 4;
      scales[i] = (low | ((x.scales[8 + i % 4] >> (2 * (i / 4))) & 3) << 4) - 32;
    }
    for (int half = 0; half < 2; ++half) {
      for (int j = 0; j < 4; ++j) {
        for (int part = 0; part < 2; ++part, y += 16) {
          const float scale = d * static_cast<float>(scales[half * 8 + j * 2 + part]);
          const uint8_t* q = x.qs + half * 32 + part * 16;
          const uint8_t* high = x.hmask + part * 16;
          for (int i = 0; i < 16; ++i) {
            const int bit = (high[i] >> (half * 4 + j)) & 1;
            y[i] = scale * static_cast<float>(((q[i] >> (2 * j)) & 3) - 4 * (1 - bit));
          }
        }
      }
    }
  }
}

void row_q4_k(const void* row, float* y, size_t k) {
  for (size_t b = 0; b < k / 256; ++b) {
    const BlockQ4K& x = blocks<BlockQ4K>(row)[b];
    const float d = load_half(x.d), dmin = load_half(x.dmin);
    const PackedScales s = unpack_scales(x.scales);
    for (int j = 0; j < 4; ++j, y += 64) {
      const float d0 = d * static_cast<float>(byte_of(s.scale, 2 * j));
      const float m0 = dmin * static_cast<float>(byte_of(s.min, 2 * j));
      const float d1 = d * static_cast<float>(byte_of(s.scale, 2 * j + 1));
      const float m1 = dmin * static_cast<float>(byte_of(s.min, 2 * j + 1));
      const uint8_t* q = x.qs + 32 * j;
      for (int i = 0; i < 32; ++i) y[i] = d0 * static_cast<float>(q[i] & 15) - m0;
      for (int i = 0; i < 32; ++i) y[i + 32] = d1 * static_cast<float>(q[i] >> 4) - m1;
    }
  }
}

void row_q5_k(const void* row, float* y, size_t k) {
  for (size_t b = 0; b < k / 256; ++b) {
    const BlockQ5K& x = blocks<BlockQ5K>(row)[b];
    const float d = load_half(x.d), dmin = load_half(x.dmin);
    const PackedScales s = unpack_scales(x.scales);
    for (int j = 0; j < 4; ++j, y += 64) {
      const float d0 = d * static_cast<float>(byte_of(s.scale, 2 * j));
      const float m0 = dmin * static_cast<float>(byte_of(s.min, 2 * j));
      const float d1 = d * static_cast<float>(byte_of(s.scale, 2 * j + 1));
      const float m1 = dmin * static_cast<float>(byte_of(s.min, 2 * j + 1));
      const uint8_t* q = x.qs + 32 * j;
      for (int i = 0; i < 32; ++i) {
        y[i] = d0 * static_cast<float>((q[i] & 15) + ((x.qh[i] >> (2 * j)) & 1) * 16) - m0;
      }
      for (int i = 0; i < 32; ++i) {
        y[i + 32] = d1 * static_cast<float>((q[i] >> 4) + ((x.qh[i] >> (2 * j + 1)) & 1) * 16) - m1;
      }
    }
  }
}

void row_q6_k(const void* row, float* y, size_t k) {
  for (size_t b = 0; b < k / 256; ++b) {
    const BlockQ6K& x = blocks<BlockQ6K>(row)[b];
    const float d = load_half(x.d);
    for (int half = 0; half < 2; ++half, y += 128) {
      const uint8_t* ql = x.ql + 64 * half;
      const uint8_t* qh = x.qh + 32 * half;
      for (int j = 0; j < 4; ++j) {  // 32 values: nibble j/2 of ql[32*(j%2)..], bits 2j of qh
        for (int part = 0; part < 2; ++part) {
          const float scale = d * static_cast<float>(x.scales[8 * half + 2 * j + part]);
          for (int i = 16 * part; i < 16 * part + 16; ++i) {
            const int low = (ql[i + 32 * (j & 1)] >> (4 * (j >> 1))) & 15;
            y[32 * j + i] = scale * static_cast<float>((low | ((qh[i] >> (2 * j)) & 3) << 4) - 32);
          }
        }
      }
    }
  }
}

}  // namespace

void dequantize(Type type, const void* row, float* y, size_t k) {
  switch (type) {
    case Type::f32: memcpy(y, row, k * 4); return;
    case Type::f16: return f16_to_f32(static_cast<const uint16_t*>(row), y, k);
    case Type::bf16: return bf16_to_f32(static_cast<const uint16_t*>(row), y, k);
    case Type::q8_0: return row_q8_0(row, y, k);
    case Type::q4_0: return row_q4_0(row, y, k);
    case Type::q4_1: return row_q4_1(row, y, k);
    case Type::q5_0: return row_q5_0(row, y, k);
    case Type::q5_1: return row_q5_1(row, y, k);
    case Type::q2_k: return row_q2_k(row, y, k);
    case Type::q3_k: return row_q3_k(row, y, k);
    case Type::q4_k: return row_q4_k(row, y, k);
    case Type::q5_k: return row_q5_k(row, y, k);
    case Type::q6_k: return row_q6_k(row, y, k);
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
