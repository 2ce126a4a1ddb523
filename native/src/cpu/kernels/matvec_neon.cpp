// Few tokens (decode) against packed rows on arm64. Activations are two int8 planes for 32-blocks
// (see prepare.cpp), value = 256 * high + low, or one plane with a factor for every eight values
// for K blocks; quants are bytes, so all meet in byte dot products, and sums are exact in int32.
#include "coded.h"
#include "internal.h"
#include "simd/quants_neon.h"

namespace rlx::kernels::RLX_ISA {

RLX_INLINE Bytes32 quants(const CodedBlock& b) { return {vld1q_s8(b.qs), vld1q_s8(b.qs + 16)}; }

namespace {

template <class Block>
inline constexpr bool kFive = sizeof(Block) == sizeof(BlockQ5K);

RLX_INLINE int32x4_t dot32(const Bytes32& q, const int8_t* plane) {
  return dot4(dot4(vdupq_n_s32(0), q.low, vld1q_s8(plane)), q.high, vld1q_s8(plane + 16));
}
RLX_INLINE int32x4_t join(int32x4_t high, int32x4_t low, int factor) { return vmlaq_n_s32(low, high, factor); }

template <class Block>
RLX_INLINE float scale_of(const Block* b, size_t i) {
  return load_half(b[i].d);
}
RLX_INLINE float scale_of(const CodedBlock* b, size_t i) { return chunk_of(b).scales[i]; }

// Coded blocks with a scale for each half.
struct FineBlock : CodedBlock {};
template <class Block>
inline constexpr bool kIsFine = false;
template <>
inline constexpr bool kIsFine<FineBlock> = true;

// `n` blocks of chunk c.
template <class Block, int T>
RLX_INLINE void add32(const Block* b, size_t n, const RowsTask& task, size_t c, F* total) {
  F part[T];
  float low[T];
  for (int t = 0; t < T; ++t) {
    part[t] = fzero();
    low[t] = 0.0f;
  }
  for (size_t i = 0; i < n; ++i) {
    const Bytes32 q = quants(b[i]);
    if constexpr (kIsFine<Block>) {
      const float* d = chunk_of(b).scales + 2 * i;
      for (int t = 0; t < T; ++t) {
        const int8_t* planes = task.act.planes(c, task.t0 + static_cast<size_t>(t)) + 32 * i;
        const int32x4_t zero = vdupq_n_s32(0);
        const int32x4_t first =
            join(dot4(zero, q.low, vld1q_s8(planes)), dot4(zero, q.low, vld1q_s8(planes + kChunk)), 256);
        const int32x4_t last =
            join(dot4(zero, q.high, vld1q_s8(planes + 16)), dot4(zero, q.high, vld1q_s8(planes + kChunk + 16)), 256);
        part[t] = vfmaq_n_f32(part[t], vcvtq_f32_s32(first), d[0]);
        part[t] = vfmaq_n_f32(part[t], vcvtq_f32_s32(last), d[1]);
      }
    } else {
      const float d = scale_of(b, i);
      for (int t = 0; t < T; ++t) {
        const size_t at = task.t0 + static_cast<size_t>(t);
        const int8_t* planes = task.act.planes(c, at) + 32 * i;
        const int32x4_t p = join(dot32(q, planes), dot32(q, planes + kChunk), 256);
        part[t] = vfmaq_n_f32(part[t], vcvtq_f32_s32(p), d);
        if constexpr (kHasMin<Block>) low[t] += load_half(b[i].m) * task.act.sums(c)[8 * at + i];
      }
    }
  }
  for (int t = 0; t < T; ++t) {
    if constexpr (kHasMin<Block>) part[t] = vsetq_lane_f32(vgetq_lane_f32(part[t], 0) + low[t], part[t], 0);
    total[t] = vfmaq_n_f32(total[t], part[t], task.act.scales(c)[task.t0 + static_cast<size_t>(t)]);
  }
}

template <class Block, int T>
RLX_INLINE void row_block32(const RowsTask& task, const uint8_t* row, F* total) {
  const size_t count = task.k / 32;
  const Block* b = reinterpret_cast<const Block*>(row);
  for (int t = 0; t < T; ++t) total[t] = fzero();
  for (size_t c = 0; 8 * c < count; ++c) add32<Block, T>(b + 8 * c, min_size(8, count - 8 * c), task, c, total);
}

template <class Block, int T>
RLX_INLINE void row_coded(const RowsTask& task, ReadChunk read, const uint8_t* row, F* total) {
  for (int t = 0; t < T; ++t) total[t] = fzero();
  each_read_chunk<CodedChunk>(task, read, row, [&](const CodedChunk& chunk, size_t c) RLX_LAMBDA {
    add32<Block, T>(static_cast<const Block*>(chunk.blocks()), 8, task, c, total);
  });
}

template <class Block, int T>
RLX_INLINE void row_q45(const RowsTask& task, const uint8_t* row, F* total) {
  for (int t = 0; t < T; ++t) total[t] = fzero();
  for (size_t c = 0; c < task.k / kChunk; ++c) {
    const Block& b = reinterpret_cast<const Block*>(row)[c];
    const PackedScales s = unpack_scales(b.scales);
    const float d = load_half(b.d), dmin = load_half(b.dmin);
    int32x4_t acc[T];
    for (int t = 0; t < T; ++t) acc[t] = vdupq_n_s32(0);
    uint8x16_t high[2] = {vdupq_n_u8(0), vdupq_n_u8(0)};
    if constexpr (kFive<Block>) {
      high[0] = vld1q_u8(b.qh);
      high[1] = vld1q_u8(b.qh + 16);
    }
    for (int g = 0; g < 4; ++g) {
      const uint8x16_t x = vld1q_u8(b.qs + 32 * g), y = vld1q_u8(b.qs + 32 * g + 16), low4 = vdupq_n_u8(15);
      uint8x16_t q[4] = {vandq_u8(x, low4), vandq_u8(y, low4), vshrq_n_u8(x, 4), vshrq_n_u8(y, 4)};
      if constexpr (kFive<Block>) {
        const uint8x16_t bit = vdupq_n_u8(16);
        for (int h = 0; h < 2; ++h) {
          q[h] = vorrq_u8(q[h], vandq_u8(vshlq_n_u8(high[h], 4), bit));
          q[2 + h] = vorrq_u8(q[2 + h], vandq_u8(vshlq_n_u8(high[h], 3), bit));
          high[h] = vshrq_n_u8(high[h], 2);
        }
      }
      for (int t = 0; t < T; ++t) {
        const int8_t* plane = task.act.planes(c, task.t0 + static_cast<size_t>(t));
        const int16_t* factors = reinterpret_cast<const int16_t*>(plane + kChunk);
        for (int h = 0; h < 2; ++h) {
          const int j = 2 * g + h;  // a lane of its sums is a group
          const int32x4_t sums = dot32(signed32(q[2 * h], q[2 * h + 1]), plane + 32 * j);
          const int16x4_t factor = vmul_n_s16(vld1_s16(factors + 4 * j), static_cast<int16_t>(byte_of(s.scale, j)));
          acc[t] = vmlaq_s32(acc[t], sums, vmovl_s16(factor));
        }
      }
    }
    const uint16x8_t mins16 = vmovl_u8(vcreate_u8(s.min));
    const F mins[2] = {vcvtq_f32_u32(vmovl_u16(vget_low_u16(mins16))), vcvtq_f32_u32(vmovl_high_u16(mins16))};
    for (int t = 0; t < T; ++t) {
      const size_t at = task.t0 + static_cast<size_t>(t);
      const float* sums = task.act.sums(c) + 8 * at;
      const F low = vfmaq_f32(vmulq_f32(mins[0], vld1q_f32(sums)), mins[1], vld1q_f32(sums + 4));
      const float scale = task.act.scales(c)[at];
      total[t] = vfmaq_n_f32(total[t], vcvtq_f32_s32(acc[t]), d * scale);
      total[t] = vfmaq_n_f32(total[t], low, -dmin * scale);
    }
  }
}

template <int T>
RLX_INLINE void row_q6(const RowsTask& task, const uint8_t* row, F* total) {
  for (int t = 0; t < T; ++t) total[t] = fzero();
  for (size_t c = 0; c < task.k / kChunk; ++c) {
    const BlockQ6K& b = reinterpret_cast<const BlockQ6K*>(row)[c];
    const float d = load_half(b.d);
    const int8x16_t scales = vld1q_s8(b.scales);
    const int16x8_t first8 = vmovl_s8(vget_low_s8(scales)), last8 = vmovl_high_s8(scales);
    int32x4_t acc[T];
    for (int t = 0; t < T; ++t) {
      // Quants are stored with 32 added.
      const int16_t* minus = task.act.sums16(c) + 16 * (task.t0 + static_cast<size_t>(t));
      const int16x8_t x = vld1q_s16(minus), y = vld1q_s16(minus + 8);
      const int32x4_t first = vmlal_high_s16(vmull_s16(vget_low_s16(first8), vget_low_s16(x)), first8, x);
      const int32x4_t all = vmlal_high_s16(vmlal_s16(first, vget_low_s16(last8), vget_low_s16(y)), last8, y);
      acc[t] = vshlq_n_s32(all, 5);
    }
    for (int part = 0; part < 4; ++part) {  // 16 bytes of qh and twice 16 of ql: 64 quants, 16 of each quarter
      const int half = part >> 1, at16 = 16 * (part & 1);
      const uint8x16_t h = vld1q_u8(b.qh + 32 * half + at16), top = vdupq_n_u8(0x30), low4 = vdupq_n_u8(15);
      const uint8x16_t x = vld1q_u8(b.ql + 64 * half + at16), y = vld1q_u8(b.ql + 64 * half + 32 + at16);
      const uint8x16_t q[4] = {
          vorrq_u8(vandq_u8(x, low4), vandq_u8(vshlq_n_u8(h, 4), top)),
          vorrq_u8(vandq_u8(y, low4), vandq_u8(vshlq_n_u8(h, 2), top)),
          vorrq_u8(vshrq_n_u8(x, 4), vandq_u8(h, top)),
          vorrq_u8(vshrq_n_u8(y, 4), vandq_u8(vshrq_n_u8(h, 2), top)),
      };
      for (int j = 0; j < 4; ++j) {
        const int8x16_t quants = vreinterpretq_s8_u8(q[j]);
        const int16_t scale = b.scales[8 * half + 2 * j + (part & 1)];
        for (int t = 0; t < T; ++t) {
          const int8_t* plane = task.act.planes(c, task.t0 + static_cast<size_t>(t));
          const int16_t* factors = reinterpret_cast<const int16_t*>(plane + kChunk) + 16 * half + 4 * j;
          const int32x4_t sums = dot4(vdupq_n_s32(0), quants, vld1q_s8(plane + 128 * half + 32 * j + at16));
          acc[t] = vmlaq_s32(acc[t], sums, vmovl_s16(vmul_n_s16(vld1_s16(factors), scale)));
        }
      }
    }
    for (int t = 0; t < T; ++t) {
      total[t] = vfmaq_n_f32(total[t], vcvtq_f32_s32(acc[t]), d * task.act.scales(c)[task.t0 + static_cast<size_t>(t)]);
    }
  }
}

template <int T>
RLX_INLINE void row_whole(const RowsTask& task, ReadWhole read, const uint8_t* row, F* total) {
  for (int t = 0; t < T; ++t) total[t] = fzero();
  each_read_chunk<WholeChunk>(task, read, row, [&](const WholeChunk& w, size_t c) RLX_LAMBDA {
    int32x4_t acc[T];
    for (int t = 0; t < T; ++t) acc[t] = vdupq_n_s32(0);
    for (int i = 0; i < 16; ++i) {
      const int8x16_t codes = vld1q_s8(w.codes + 16 * i);
      for (int t = 0; t < T; ++t) {
        const int8_t* plane = task.act.planes(c, task.t0 + static_cast<size_t>(t));
        const int16_t* factors = reinterpret_cast<const int16_t*>(plane + kChunk) + i / 2 * 4;
        const int32x4_t sums = dot4(vdupq_n_s32(0), codes, vld1q_s8(plane + 16 * i));
        acc[t] = vmlaq_s32(acc[t], sums, vmovl_s16(vmul_n_s16(vld1_s16(factors), w.scales[i])));
      }
    }
    for (int t = 0; t < T; ++t) {
      const float scale = w.factor * task.act.scales(c)[task.t0 + static_cast<size_t>(t)];
      total[t] = vfmaq_n_f32(total[t], vcvtq_f32_s32(acc[t]), scale);
    }
    if (!has_minimums16(task.type)) return;
    for (int t = 0; t < T; ++t) {  // times minus the sums of the activations
      const size_t at = task.t0 + static_cast<size_t>(t);
      int32x4_t low = vdupq_n_s32(0);
      for (int i = 0; i < 16; i += 8) {
        const int16x8_t minimums = vmovl_s8(vld1_s8(w.minimums + i)),
                        minus = vld1q_s16(task.act.sums16(c) + 16 * at + static_cast<size_t>(i));
        low = vmlal_s16(low, vget_low_s16(minimums), vget_low_s16(minus));
        low = vmlal_high_s16(low, minimums, minus);
      }
      total[t] = vfmaq_n_f32(total[t], vcvtq_f32_s32(low), w.unit * task.act.scales(c)[at]);
    }
  });
}

template <int T>
RLX_INLINE void one_row(const RowsTask& task, const uint8_t* row, F* total) {
  switch (task.type) {
    case Type::q8_0: return row_block32<BlockQ8_0, T>(task, row, total);
    case Type::q4_0: return row_block32<BlockQ4_0, T>(task, row, total);
    case Type::q4_1: return row_block32<BlockQ4_1, T>(task, row, total);
    case Type::q5_0: return row_block32<BlockQ5_0, T>(task, row, total);
    case Type::q5_1: return row_block32<BlockQ5_1, T>(task, row, total);
    case Type::q4_k: return row_q45<BlockQ4K, T>(task, row, total);
    case Type::q5_k: return row_q45<BlockQ5K, T>(task, row, total);
    case Type::q6_k: return row_q6<T>(task, row, total);
    default: break;
  }
  if (const ReadWhole read = whole_reader(task.type)) return row_whole<T>(task, read, row, total);
  const ReadChunk read = chunk_reader(task.type);
  if (read == nullptr) return;
  if (has_fine_scales(task.type)) return row_coded<FineBlock, T>(task, read, row, total);
  row_coded<CodedBlock, T>(task, read, row, total);
}

template <int T>
void rows_of(const RowsTask& task) {
  for (size_t r = 0; r < task.rows; ++r) {
    F total[T] = {};
    one_row<T>(task, task.w + r * task.row_bytes, total);
    for (int t = 0; t < T; ++t) task.out[static_cast<size_t>(t) * kRowStep + r] = fsum(total[t]);
  }
}

}  // namespace

void rows_packed(const RowsTask& task) {
  for_few_tokens(task, [](auto tokens, const RowsTask& part) RLX_LAMBDA { rows_of<tokens>(part); });
}

}  // namespace rlx::kernels::RLX_ISA
