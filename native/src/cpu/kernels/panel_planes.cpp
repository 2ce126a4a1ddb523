// Many tokens against packed rows on arm64, in bytes: quants against the two int8 planes of the
// activations.
//
// A panel is kRowStep rows x 256 weights in groups of kGroup consecutive weights per row: [256 /
// kGroup][rows][kGroup]. Without i8mm a group is 4 weights and a lane of a dot product is a row.
// With it a group is 8 weights and vmmla multiplies two rows by two tokens at once. Sub-blocks (32,
// or 16 for Q6_K and types of whole scales) are exact in int32; K blocks are exact over the whole
// chunk.
#include "coded.h"
#include "internal.h"
#include "simd/quants_neon.h"

namespace rlx::kernels::RLX_ISA {
namespace {

#if defined(__ARM_FEATURE_MATMUL_INT8)
inline constexpr size_t kGroup = 8;
#else
inline constexpr size_t kGroup = 4;
#endif
inline constexpr size_t kRows = 8;    // of a register tile
inline constexpr size_t kTokens = 4;  // of a register tile

struct Panel {
  int8_t q[kRowStep / kRows][kChunk / kGroup][kRows][kGroup];
  float scale[kRowStep / kRows][16][kRows];       // of 32-blocks or fine ones; [0] is d of K blocks
  float min[kRowStep / kRows][8][kRows];          // already negative for K blocks
  int32_t factor[kRowStep / kRows][16][kRows];    // integer sub-block scales of K blocks
  int32_t minimums[kRowStep / kRows][16][kRows];  // whole ones of 16, in units of min[0]
};
static_assert(sizeof(Panel) <= kPanelBytes);

// One chunk of a row: quants as bytes, and its scales.
struct ByteChunk {
  int8_t q[kChunk];
  float scale[16], min[8];
  int32_t factor[16], minimums[16];
};

template <class Block>
void unpack_block32(const uint8_t* p, int8_t* q, float* scale, float* min) {
  const Block& b = *reinterpret_cast<const Block*>(p);
  const Bytes32 bytes = quants(b);
  vst1q_s8(q, bytes.low);
  vst1q_s8(q + 16, bytes.high);
  *scale = load_half(b.d);
  if constexpr (sizeof(Block) == sizeof(BlockQ4_1) || sizeof(Block) == sizeof(BlockQ5_1)) *min = load_half(b.m);
}

template <class Block>
void unpack_blocks32(const uint8_t* p, size_t n, ByteChunk& out) {
  for (size_t b = 0; 32 * b < n; ++b) {
    unpack_block32<Block>(p + b * sizeof(Block), out.q + 32 * b, out.scale + b, out.min + b);
  }
}

template <class Block>
void unpack_q45(const Block& b, ByteChunk& out) {
  const PackedScales s = unpack_scales(b.scales);
  const float dmin = load_half(b.dmin);
  out.scale[0] = load_half(b.d);
  for (int j = 0; j < 8; ++j) {
    out.min[j] = -dmin * static_cast<float>(byte_of(s.min, j));
    out.factor[j] = byte_of(s.scale, j);
  }
  for (int j = 0; j < 4; ++j) {
    for (int i = 0; i < 32; ++i) {
      int low = b.qs[32 * j + i] & 15, high = b.qs[32 * j + i] >> 4;
      if constexpr (sizeof(Block) == sizeof(BlockQ5K)) {
        low |= ((b.qh[i] >> (2 * j)) & 1) << 4;
        high |= ((b.qh[i] >> (2 * j + 1)) & 1) << 4;
      }
      out.q[64 * j + i] = static_cast<int8_t>(low);
      out.q[64 * j + 32 + i] = static_cast<int8_t>(high);
    }
  }
}

void unpack_q6(const BlockQ6K& b, ByteChunk& out) {
  out.scale[0] = load_half(b.d);
  for (int j = 0; j < 16; ++j) out.factor[j] = b.scales[j];
  for (int half = 0; half < 2; ++half) {
    const uint8_t* ql = b.ql + 64 * half;
    const uint8_t* qh = b.qh + 32 * half;
    int8_t* q = out.q + 128 * half;
    for (int i = 0; i < 32; ++i) {
      q[i] = static_cast<int8_t>(((ql[i] & 15) | (qh[i] & 3) << 4) - 32);
      q[i + 32] = static_cast<int8_t>(((ql[i + 32] & 15) | ((qh[i] >> 2) & 3) << 4) - 32);
      q[i + 64] = static_cast<int8_t>(((ql[i] >> 4) | ((qh[i] >> 4) & 3) << 4) - 32);
      q[i + 96] = static_cast<int8_t>(((ql[i + 32] >> 4) | (qh[i] >> 6) << 4) - 32);
    }
  }
}

void unpack(Type type, const uint8_t* p, size_t n, ByteChunk& out) {
  memset(&out, 0, sizeof out);
  switch (type) {
    case Type::q4_k: return unpack_q45(*reinterpret_cast<const BlockQ4K*>(p), out);
    case Type::q5_k: return unpack_q45(*reinterpret_cast<const BlockQ5K*>(p), out);
    case Type::q6_k: return unpack_q6(*reinterpret_cast<const BlockQ6K*>(p), out);
    case Type::q8_0: return unpack_blocks32<BlockQ8_0>(p, n, out);
    case Type::q4_0: return unpack_blocks32<BlockQ4_0>(p, n, out);
    case Type::q4_1: return unpack_blocks32<BlockQ4_1>(p, n, out);
    case Type::q5_0: return unpack_blocks32<BlockQ5_0>(p, n, out);
    case Type::q5_1: return unpack_blocks32<BlockQ5_1>(p, n, out);
    default: break;
  }
  if (const ReadWhole read = whole_reader(type)) {
    WholeChunk chunk;
    read(p, n, chunk);
    memcpy(out.q, chunk.codes, sizeof out.q);
    for (int j = 0; j < 16; ++j) out.factor[j] = chunk.scales[j];
    out.scale[0] = chunk.factor;
    if (has_minimums16(type)) {
      for (int j = 0; j < 16; ++j) out.minimums[j] = chunk.minimums[j];
      out.min[0] = chunk.unit;
    }
    return;
  }
  if (const ReadChunk read = chunk_reader(type)) {
    CodedChunk chunk;
    read(p, n, chunk);
    memcpy(out.q, chunk.codes, sizeof out.q);
    memcpy(out.scale, chunk.scales, (has_fine_scales(type) ? 16 : 8) * sizeof(float));
  }
}

void build(const RowsTask& task, size_t chunk, Panel& panel) {
  const size_t n = min_size(kChunk, task.k - chunk * kChunk);
  const uint8_t* first = task.w + row_bytes(task.type, chunk * kChunk);
  for (size_t r = 0; r < kRowStep; ++r) {
    ByteChunk u;
    if (r < task.rows) {
      unpack(task.type, first + r * task.row_bytes, n, u);
    } else {
      memset(&u, 0, sizeof u);
    }
    const size_t s = r / kRows, i = r % kRows;
    for (size_t g = 0; g < kChunk / kGroup; ++g) memcpy(panel.q[s][g][i], u.q + g * kGroup, kGroup);
    for (int j = 0; j < 8; ++j) panel.min[s][j][i] = u.min[j];
    for (int j = 0; j < 16; ++j) {
      panel.scale[s][j][i] = u.scale[j];
      panel.factor[s][j][i] = u.factor[j];
      panel.minimums[s][j][i] = u.minimums[j];
    }
  }
}

// Sums of `span` weights from k for T tokens and 8 rows against one plane; sum[t][half]: lanes are
// rows.
template <int T>
RLX_INLINE void plane_dot(const ActView& act, size_t chunk, size_t t0, size_t plane, size_t k, size_t span,
                          const int8_t (*q)[kRows][kGroup], int32x4_t (&sum)[T][2]) {
#if defined(__ARM_FEATURE_MATMUL_INT8)
  constexpr int kPairs = (T + 1) / 2;
  int32x4_t acc[kPairs][4];
  unrolled<kPairs>([&](auto p) RLX_LAMBDA { unrolled<4>([&](auto r) RLX_LAMBDA { acc[p][r] = vdupq_n_s32(0); }); });
  for (size_t i = k; i < k + span; i += 8) {
    int8x16_t w[4];
    unrolled<4>([&](auto r) RLX_LAMBDA { w[r] = vld1q_s8(q[i / 8][2 * r]); });
    unrolled<kPairs>([&](auto p) RLX_LAMBDA {
      const int8x8_t x = vld1_s8(act.planes(chunk, t0 + 2 * p) + plane + i);
      const int8x8_t y = 2 * p + 1 < T ? vld1_s8(act.planes(chunk, t0 + 2 * p + 1) + plane + i) : x;
      const int8x16_t both = vcombine_s8(x, y);
      unrolled<4>([&](auto r) RLX_LAMBDA { acc[p][r] = vmmlaq_s32(acc[p][r], w[r], both); });
    });
  }
  // acc: row 0 token 0, row 0 token 1, row 1 token 0, row 1 token 1.
  unrolled<T>([&](auto t) RLX_LAMBDA {
    const int32x4_t* a = acc[t / 2];
    sum[t][0] = t % 2 == 0 ? vuzp1q_s32(a[0], a[1]) : vuzp2q_s32(a[0], a[1]);
    sum[t][1] = t % 2 == 0 ? vuzp1q_s32(a[2], a[3]) : vuzp2q_s32(a[2], a[3]);
  });
#else
  unrolled<T>([&](auto t) RLX_LAMBDA { sum[t][0] = sum[t][1] = vdupq_n_s32(0); });
  for (size_t i = k; i < k + span; i += 16) {
    int8x16_t x[T];
    unrolled<T>([&](auto t) RLX_LAMBDA { x[t] = vld1q_s8(act.planes(chunk, t0 + t) + plane + i); });
    unrolled<4>([&](auto lane) RLX_LAMBDA {
      const int8x16_t w0 = vld1q_s8(q[i / 4 + lane][0]), w1 = vld1q_s8(q[i / 4 + lane][4]);
      unrolled<T>([&](auto t) RLX_LAMBDA {
        sum[t][0] = dot4_lane<static_cast<int>(decltype(lane){})>(sum[t][0], w0, x[t]);
        sum[t][1] = dot4_lane<static_cast<int>(decltype(lane){})>(sum[t][1], w1, x[t]);
      });
    });
  }
#endif
}

constexpr size_t sub_block_of(Type type) {
  return type == Type::q6_k || type == Type::q2_k || coded_group(type) == 16 ? 16 : 32;
}

// factor * high + low of one sub-block.
template <int T>
RLX_INLINE void sub_block(const ActView& act, size_t chunk, size_t t0, size_t k, size_t span, int factor,
                          const int8_t (*q)[kRows][kGroup], int32x4_t (&sum)[T][2]) {
  int32x4_t high[T][2];
  plane_dot<T>(act, chunk, t0, 0, k, span, q, high);
  plane_dot<T>(act, chunk, t0, kChunk, k, span, q, sum);
  unrolled<T>([&](auto t) RLX_LAMBDA {
    unrolled<2>([&](auto h) RLX_LAMBDA { sum[t][h] = vmlaq_n_s32(sum[t][h], high[t][h], factor); });
  });
}

template <int T>
void tile(const RowsTask& task, size_t chunk, size_t t0, const Panel& panel, size_t s, float* out) {
  const ActView& act = task.act;
  const bool k_block = is_k_block(task.type);
  const size_t n = min_size(kChunk, task.k - chunk * kChunk), span = sub_block_of(task.type);
  F part[T][2];
  int32x4_t whole[T][2];
  unrolled<T>([&](auto t) RLX_LAMBDA {
    unrolled<2>([&](auto h) RLX_LAMBDA {
      part[t][h] = fzero();
      whole[t][h] = vdupq_n_s32(0);
    });
  });
  for (size_t j = 0; j * span < n; ++j) {
    int32x4_t sum[T][2];
    sub_block<T>(act, chunk, t0, j * span, span, k_block ? 16 : 256, panel.q[s], sum);
    unrolled<2>([&](auto h) RLX_LAMBDA {
      if (k_block) {
        const int32x4_t f = vld1q_s32(panel.factor[s][j] + 4 * h);
        unrolled<T>([&](auto t) RLX_LAMBDA { whole[t][h] = vmlaq_s32(whole[t][h], sum[t][h], f); });
      } else {
        const F d = fload(panel.scale[s][j] + 4 * h);
        unrolled<T>([&](auto t) RLX_LAMBDA { part[t][h] = ffma(vcvtq_f32_s32(sum[t][h]), d, part[t][h]); });
      }
    });
  }
  unrolled<T>([&](auto t) RLX_LAMBDA {
    const float* sums = act.sums(chunk) + 8 * (t0 + t);
    unrolled<2>([&](auto h) RLX_LAMBDA {
      F v = part[t][h];
      if (k_block) v = vcvtq_f32_s32(whole[t][h]) * fload(panel.scale[s][0] + 4 * h);
      if (has_minimums16(task.type)) {
        const int16_t* minus = act.sums16(chunk) + 16 * (t0 + t);
        int32x4_t low = vdupq_n_s32(0);
        for (size_t j = 0; j < 16; ++j) low = vmlaq_n_s32(low, vld1q_s32(panel.minimums[s][j] + 4 * h), minus[j]);
        v = ffma(vcvtq_f32_s32(low), fload(panel.min[s][0] + 4 * h), v);
      } else {
        for (size_t j = 0; j < 8; ++j) v = ffma(fset(sums[j]), fload(panel.min[s][j] + 4 * h), v);
      }
      float* to = out + t * kRowStep + 4 * h;
      fstore(to, ffma(v, fset(act.scales(chunk)[t0 + t]), fload(to)));
    });
  });
}

}  // namespace

void panel_packed(const PanelTask& p) {
  const RowsTask& task = p.rows;
  Panel& panel = *static_cast<Panel*>(p.panel);
  memset(task.out, 0, (task.t1 - task.t0) * kRowStep * sizeof(float));
  for (size_t c = 0; c < chunks_of(task.k); ++c) {
    build(task, c, panel);
    for (size_t s = 0; s < kRowStep / kRows; ++s) {
      float* out = task.out + s * kRows;
      size_t t = task.t0;
      for (; t + kTokens <= task.t1; t += kTokens) tile<kTokens>(task, c, t, panel, s, out + (t - task.t0) * kRowStep);
      for (; t < task.t1; ++t) tile<1>(task, c, t, panel, s, out + (t - task.t0) * kRowStep);
    }
  }
}

}  // namespace rlx::kernels::RLX_ISA
