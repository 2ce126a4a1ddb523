// Many tokens against packed rows with int16 products (x86 and scalar).
//
// A panel is kRowStep rows x 256 weights, unpacked once per token block to int16 pairs so that a
// 32-bit lane is a row: [128 pairs][rows]. One broadcast pair of activations then meets all rows of
// a vector, and no lane sums are needed. K blocks: one integer sum over the whole chunk (exact, see
// kActMax256); 32-blocks: one per block, or with fine scales one for each 16 weights.
#include "unpack.h"

namespace rlx::kernels::RLX_ISA {
namespace {

inline constexpr size_t kWidth = static_cast<size_t>(kTileVecs) * W;  // rows of a register tile
inline constexpr size_t kPairs = kChunk / 2;
inline constexpr int kTileRows32 = kTileRows / 2;  // two accumulators each
static_assert(kRowStep % kWidth == 0);

struct Panel {
  int32_t pairs[kRowStep / kWidth][kPairs][kWidth];
  float scale[kRowStep / kWidth][16][kWidth];
  float min[kRowStep / kWidth][8][kWidth];
  int32_t minimums[kRowStep / kWidth][8][kWidth];  // pairs of those of 16
};
static_assert(sizeof(Panel) <= kPanelBytes);

void build(const RowsTask& task, size_t chunk, Panel& panel) {
  const size_t n = min_size(kChunk, task.k - chunk * kChunk);
  const uint8_t* first = task.w + row_bytes(task.type, chunk * kChunk);
  const bool one_scale = is_k_block(task.type);
  for (size_t r0 = 0; r0 < kRowStep; r0 += W) {
    alignas(64) int16_t rows[W][kChunk];
    const size_t s = r0 / kWidth, column = r0 % kWidth;
    for (size_t i = 0; i < static_cast<size_t>(W); ++i) {
      UnpackedChunk u = {rows[i], {}, {}, {}};
      if (r0 + i < task.rows) {
        unpack_chunk(task.type, first + (r0 + i) * task.row_bytes, n, u);
      } else {
        memset(rows[i], 0, sizeof rows[i]);
      }
      for (int j = 0; j < 16; ++j) panel.scale[s][j][column + i] = one_scale ? u.scale[0] : u.scale[j];
      for (int j = 0; j < 8; ++j) {
        panel.min[s][j][column + i] = u.min[j];
        memcpy(&panel.minimums[s][j][column + i], u.minimums + 2 * j, sizeof(int32_t));
      }
    }
    for (size_t p = 0; p < kPairs; p += W) {
      I block[W];
      for (int j = 0; j < W; ++j) block[j] = iload(reinterpret_cast<const int32_t*>(rows[j]) + p);
      transpose_lanes(block);
      for (int j = 0; j < W; ++j) istore(&panel.pairs[s][p + static_cast<size_t>(j)][column], block[j]);
    }
  }
}

// f(row, vector) over a register tile.
template <int R, class Body>
RLX_INLINE void each(Body body) {
  unrolled<R>([&](auto r) RLX_LAMBDA { unrolled<kTileVecs>([&](auto v) RLX_LAMBDA { body(r, v); }); });
}

template <int R>
RLX_INLINE void tile_dot(const int16_t* x, const int32_t (*pairs)[kWidth], size_t count, I (&acc)[R][kTileVecs]) {
  each<R>([&](auto r, auto v) RLX_LAMBDA { acc[r][v] = izero(); });
  for (size_t p = 0; p < count; ++p) {
    // The next tile's activations follow this one's: R rows of 512 bytes, one line per step.
    __builtin_prefetch(reinterpret_cast<const char*>(x + R * kChunk) + 64 * p);
    I w[kTileVecs];
    unrolled<kTileVecs>([&](auto v) RLX_LAMBDA { w[v] = iload(pairs[p] + v * W); });
    unrolled<R>([&](auto r) RLX_LAMBDA {
      const I a = ipair(x + r * kChunk + 2 * p);
      unrolled<kTileVecs>([&](auto v) RLX_LAMBDA { acc[r][v] = idot(acc[r][v], w[v], a); });
    });
  }
}

// out[r] += scales[r] * part[r]
template <int R>
RLX_INLINE void add_scaled(const F (&part)[R][kTileVecs], const float* scales, float* out) {
  each<R>([&](auto r, auto v) RLX_LAMBDA {
    float* to = out + r * kRowStep + v * W;
    fstore(to, ffma(part[r][v], fset(scales[r]), fload(to)));
  });
}

template <int R, Min kMin>
void tile_block256(const ActView& act, size_t chunk, size_t t, const Panel& panel, size_t s, float* out) {
  F part[R][kTileVecs];
  {
    I acc[R][kTileVecs];
    tile_dot<R>(act.words(chunk, t), panel.pairs[s], kPairs, acc);
    each<R>([&](auto r, auto v) RLX_LAMBDA { part[r][v] = ifloat(acc[r][v]) * fload(panel.scale[s][0] + v * W); });
  }
  if constexpr (kMin == Min::of32) {
    const float* sums = act.sums(chunk) + 8 * t;
    for (size_t j = 0; j < 8; ++j) {
      each<R>([&](auto r, auto v)
                  RLX_LAMBDA { part[r][v] = ffma(fset(sums[8 * r + j]), fload(panel.min[s][j] + v * W), part[r][v]); });
    }
  }
  if constexpr (kMin == Min::of16) {
    const int16_t* minus = act.sums16(chunk) + 16 * t;
    each<R>([&](auto r, auto v) RLX_LAMBDA {
      I low = izero();
      for (size_t j = 0; j < 8; ++j)
        low = idot(low, iload(panel.minimums[s][j] + v * W), ipair(minus + 16 * r + 2 * j));
      part[r][v] = ffma(ifloat(low), fload(panel.min[s][0] + v * W), part[r][v]);
    });
  }
  add_scaled<R>(part, act.scales(chunk) + t, out);
}

// Spans of so many weights with a scale each.
template <int R, Min kMin, size_t kSpan>
void tile_block32(const ActView& act, size_t chunk, size_t t, size_t spans, const Panel& panel, size_t s, float* out) {
  static_assert(kMin == Min::none || kSpan == 32);
  F part[R][kTileVecs];
  each<R>([&](auto r, auto v) RLX_LAMBDA { part[r][v] = fzero(); });
  const int16_t* x = act.words(chunk, t);
  const float* sums = act.sums(chunk) + 8 * t;
  for (size_t b = 0; b < spans; ++b) {
    I acc[R][kTileVecs];
    tile_dot<R>(x + kSpan * b, panel.pairs[s] + kSpan / 2 * b, kSpan / 2, acc);
    each<R>([&](auto r, auto v)
                RLX_LAMBDA { part[r][v] = ffma(ifloat(acc[r][v]), fload(panel.scale[s][b] + v * W), part[r][v]); });
    if constexpr (kMin == Min::of32) {
      each<R>([&](auto r, auto v)
                  RLX_LAMBDA { part[r][v] = ffma(fset(sums[8 * r + b]), fload(panel.min[s][b] + v * W), part[r][v]); });
    }
  }
  add_scaled<R>(part, act.scales(chunk) + t, out);
}

template <int R, Min kMin>
RLX_INLINE size_t run256(const RowsTask& task, size_t chunk, size_t t, const Panel& panel, size_t s, float* out) {
  for (; t + R <= task.t1; t += R) {
    tile_block256<R, kMin>(task.act, chunk, t, panel, s, out + (t - task.t0) * kRowStep);
  }
  return t;
}

template <int R, Min kMin, size_t kSpan>
RLX_INLINE size_t run32(const RowsTask& task, size_t chunk, size_t t, const Panel& panel, size_t s, float* out) {
  const size_t spans = (min_size(kChunk, task.k - chunk * kChunk) + kSpan - 1) / kSpan;
  for (; t + R <= task.t1; t += R) {
    tile_block32<R, kMin, kSpan>(task.act, chunk, t, spans, panel, s, out + (t - task.t0) * kRowStep);
  }
  return t;
}

template <Min kMin>
void tokens_block256(const RowsTask& task, size_t chunk, const Panel& panel, size_t s, float* out) {
  size_t t = run256<kTileRows, kMin>(task, chunk, task.t0, panel, s, out);
  if constexpr (kTileRows > 4) t = run256<4, kMin>(task, chunk, t, panel, s, out);
  run256<1, kMin>(task, chunk, t, panel, s, out);
}

template <Min kMin, size_t kSpan>
void tokens_block32(const RowsTask& task, size_t chunk, const Panel& panel, size_t s, float* out) {
  size_t t = run32<kTileRows32, kMin, kSpan>(task, chunk, task.t0, panel, s, out);
  if constexpr (kTileRows32 > 2) t = run32<2, kMin, kSpan>(task, chunk, t, panel, s, out);
  run32<1, kMin, kSpan>(task, chunk, t, panel, s, out);
}

void run_tokens(const RowsTask& task, size_t chunk, const Panel& panel, size_t s, float* out) {
  const Min min = min_of(task.type);
  if (is_k_block(task.type)) {
    if (min == Min::of16) return tokens_block256<Min::of16>(task, chunk, panel, s, out);
    if (min == Min::of32) return tokens_block256<Min::of32>(task, chunk, panel, s, out);
    return tokens_block256<Min::none>(task, chunk, panel, s, out);
  }
  if (has_fine_scales(task.type)) return tokens_block32<Min::none, 16>(task, chunk, panel, s, out);
  if (min == Min::of32) return tokens_block32<Min::of32, 32>(task, chunk, panel, s, out);
  tokens_block32<Min::none, 32>(task, chunk, panel, s, out);
}

}  // namespace

void panel_packed(const PanelTask& p) {
  const RowsTask& task = p.rows;
  Panel& panel = *static_cast<Panel*>(p.panel);
  memset(task.out, 0, (task.t1 - task.t0) * kRowStep * sizeof(float));
  for (size_t c = 0; c < chunks_of(task.k); ++c) {
    build(task, c, panel);
    for (size_t s = 0; s < kRowStep / kWidth; ++s) run_tokens(task, c, panel, s, task.out + s * kWidth);
  }
}

}  // namespace rlx::kernels::RLX_ISA
