// Many tokens against packed rows with AMX: tiles of 16 tokens and 16 rows, 64 bytes of each
// multiplied at once (32 of 32-blocks).
//
// Activations are two planes of int8 (split_planes), and so are the weights of K blocks with their
// sub-block's scale: four products, of which the two in the middle weigh the same, add up to the
// exact integer over a whole chunk that panel_words.cpp has. Weights of 32-blocks are bytes: two
// products for each block. Everything but the product follows the order of panel_words.cpp, so both
// give the same bits.
#include <immintrin.h>

#include "unpack.h"

namespace rlx::kernels::RLX_ISA {
namespace {

inline constexpr size_t kTile = 16;  // tokens, and rows, of a tile
inline constexpr size_t kGroups = kRowStep / kTile;
inline constexpr size_t kWords = kChunk / 4;  // of 4 weights, as a tile takes them
static_assert(W == kTile);

struct Panel {
  alignas(64) int32_t planes[2][kGroups][kWords][kTile];  // four weights of a row in a word
  alignas(64) float scale[kGroups][16][kTile];
  alignas(64) float min[kGroups][8][kTile];
  alignas(64) int32_t minimums[kGroups][8][kTile];  // pairs of those of 16
  alignas(64) float parts[kTile][kTile];            // of half a chunk with fine scales: [token][row]
  alignas(64) int32_t sums[16][kTile][kTile];       // what tiles are stored to: [token][row]
  alignas(64) int8_t rest[kTile][2 * kChunk];       // the planes of the last tokens, if they fill no tile
};
static_assert(sizeof(Panel) <= kPanelBytes);

struct alignas(64) TileConfig {
  uint8_t palette = 1, start_row = 0, reserved[14] = {};
  uint16_t row_bytes[16] = {};
  uint8_t rows[16] = {};
};

// 16 rows of 256 bytes as words of 4, a row in each lane.
RLX_INLINE void store_words(const int8_t (*rows)[kChunk], int32_t (*out)[kTile]) {
  for (size_t p = 0; p < kWords; p += kTile) {
    I block[kTile];
    for (size_t j = 0; j < kTile; ++j) block[j] = iload(reinterpret_cast<const int32_t*>(rows[j]) + p);
    transpose_lanes(block);
    for (size_t j = 0; j < kTile; ++j) istore(out[p + j], block[j]);
  }
}

void build(const RowsTask& task, size_t chunk, Panel& panel) {
  const size_t n = min_size(kChunk, task.k - chunk * kChunk);
  const uint8_t* first = task.w + row_bytes(task.type, chunk * kChunk);
  const bool folded = is_k_block(task.type);
  for (size_t g = 0; g < kGroups; ++g) {
    alignas(64) int8_t high[kTile][kChunk], low[kTile][kChunk];
    for (size_t i = 0; i < kTile; ++i) {
      alignas(64) int16_t q[kChunk];
      UnpackedChunk u = {q, {}, {}, {}};
      if (g * kTile + i < task.rows) {
        unpack_chunk(task.type, first + (g * kTile + i) * task.row_bytes, n, u);
      } else {
        memset(q, 0, sizeof q);
      }
      for (size_t j = 0; j < 16; ++j) panel.scale[g][j][i] = folded ? u.scale[0] : u.scale[j];
      for (size_t j = 0; j < 8; ++j) {
        panel.min[g][j][i] = u.min[j];
        memcpy(&panel.minimums[g][j][i], u.minimums + 2 * j, sizeof(int32_t));
      }
      if (folded) {
        split_planes<kPlaneBits256>(q, high[i], low[i]);
      } else {
        for (size_t j = 0; j < kChunk; ++j) high[i][j] = static_cast<int8_t>(q[j]);
      }
    }
    store_words(high, panel.planes[0][g]);
    if (folded) store_words(low, panel.planes[1][g]);
  }
  // The compiler does not know that the tile instructions read memory.
  __asm__ __volatile__("" : : : "memory");
}

// Sixteen tokens: their planes, and where their sums go.
struct Tokens {
  const int8_t* planes;
  size_t stride;
  size_t count;
  const float* sums;
  const int16_t* sums16;  // K blocks only
  const float* scales;
  float* out;
};

// out[token] += scale[token] * part[token]
RLX_INLINE void add_scaled(const Tokens& t, size_t token, F part) {
  float* to = t.out + token * kRowStep;
  fstore(to, ffma(part, fset(t.scales[token]), fload(to)));
}

// A part of what the next sixteen tokens will be read from: by then it has left the first cache.
RLX_INLINE void ask_for_next(const Tokens& t, size_t token) {
  const auto* planes = t.planes + (kTile + token) * t.stride;
  unrolled<2 * kChunk / 64>([&](auto line) RLX_LAMBDA { __builtin_prefetch(planes + 64 * line); });
  __builtin_prefetch(t.out + (kTile + token) * kRowStep);
  __builtin_prefetch(t.out + (kTile + token) * kRowStep + kTile);
}

template <Min kMin>
void tile_block256(const Tokens& t, Panel& panel, size_t g) {
  _tile_zero(4);
  _tile_zero(5);
  _tile_zero(6);
  _tile_zero(7);
  for (size_t k = 0; k < kChunk; k += 64) {
    _tile_loadd(0, t.planes + k, t.stride);
    _tile_loadd(1, t.planes + kChunk + k, t.stride);
    _tile_loadd(2, panel.planes[0][g][k / 4], 64);
    _tile_loadd(3, panel.planes[1][g][k / 4], 64);
    _tile_dpbssd(4, 0, 2);
    _tile_dpbssd(5, 0, 3);
    _tile_dpbssd(6, 1, 2);
    _tile_dpbssd(7, 1, 3);
  }
  _tile_stored(4, panel.sums[0], 64);
  _tile_stored(5, panel.sums[1], 64);
  _tile_stored(6, panel.sums[2], 64);
  _tile_stored(7, panel.sums[3], 64);
  const F scale = fload(panel.scale[g][0]);
  F min[8];
  I pairs[8];
  if constexpr (kMin == Min::of32) unrolled<8>([&](auto j) RLX_LAMBDA { min[j] = fload(panel.min[g][j]); });
  if constexpr (kMin == Min::of16) {
    min[0] = fload(panel.min[g][0]);
    unrolled<8>([&](auto j) RLX_LAMBDA { pairs[j] = iload(panel.minimums[g][j]); });
  }
  for (size_t token = 0; token < t.count; ++token) {
    if (g == 0) ask_for_next(t, token);
    const I middle = _mm512_add_epi32(iload(panel.sums[1][token]), iload(panel.sums[2][token]));
    const I upper = _mm512_add_epi32(_mm512_slli_epi32(iload(panel.sums[0][token]), kPlaneBits256), middle);
    F part = ifloat(_mm512_add_epi32(_mm512_slli_epi32(upper, kPlaneBits256), iload(panel.sums[3][token]))) * scale;
    if constexpr (kMin == Min::of32) {
      unrolled<8>([&](auto j) RLX_LAMBDA { part = ffma(fset(t.sums[8 * token + j]), min[j], part); });
    }
    if constexpr (kMin == Min::of16) {
      I low = izero();
      unrolled<8>([&](auto j) RLX_LAMBDA { low = idot(low, pairs[j], ipair(t.sums16 + 16 * token + 2 * j)); });
      part = ffma(ifloat(low), min[0], part);
    }
    add_scaled(t, token, part);
  }
}

#define RLX_MULTIPLY(b, high, low)                                      \
  do {                                                                  \
    _tile_zero(high);                                                   \
    _tile_zero(low);                                                    \
    _tile_loadd(0, t.planes + kSpan * (from + (b)), t.stride);          \
    _tile_loadd(1, t.planes + kChunk + kSpan * (from + (b)), t.stride); \
    _tile_loadd(2, panel.planes[0][g][kSpan / 4 * (from + (b))], 64);   \
    _tile_dpbssd(high, 0, 2);                                           \
    _tile_dpbssd(low, 1, 2);                                            \
  } while (false)
#define RLX_STORE(b, high, low)                     \
  do {                                              \
    _tile_stored(high, panel.sums[2 * (b)], 64);    \
    _tile_stored(low, panel.sums[2 * (b) + 1], 64); \
  } while (false)

// A block is stored while the next one is multiplied, and all are before any is scaled: a sum that
// is read while its tile is still being stored waits for that. `blocks`, at most 8, from `from` on,
// of kSpan weights with a scale each; those of a chunk with fine scales come in two halves.
template <Min kMin, size_t kSpan>
void tile_block32(const Tokens& t, size_t from, size_t blocks, bool ends, Panel& panel, size_t g) {
  RLX_MULTIPLY(0, 4, 5);
  for (size_t b = 0; b < blocks; b += 2) {
    if (b + 1 < blocks) RLX_MULTIPLY(b + 1, 6, 7);
    RLX_STORE(b, 4, 5);
    if (b + 2 < blocks) RLX_MULTIPLY(b + 2, 4, 5);
    if (b + 1 < blocks) RLX_STORE(b + 1, 6, 7);
  }
  F scale[8], min[8];
  unrolled<8>([&](auto b) RLX_LAMBDA {
    scale[b] = fload(panel.scale[g][from + b]);
    if constexpr (kMin == Min::of32) min[b] = fload(panel.min[g][b]);
  });
  const auto add = [&](size_t token, auto b, F part) RLX_LAMBDA {
    const I whole = _mm512_add_epi32(_mm512_slli_epi32(iload(panel.sums[2 * b][token]), kPlaneBits32),
                                     iload(panel.sums[2 * b + 1][token]));
    part = ffma(ifloat(whole), scale[b], part);
    if constexpr (kMin == Min::of32) part = ffma(fset(t.sums[8 * token + b]), min[b], part);
    return part;
  };
  for (size_t token = 0; token < t.count; ++token) {
    if (g == 0 && from == 0) ask_for_next(t, token);
    F part = from == 0 ? fzero() : fload(panel.parts[token]);
    if (blocks == 8) {
      unrolled<8>([&](auto b) RLX_LAMBDA { part = add(token, b, part); });
    } else {
      for (size_t b = 0; b < blocks; ++b) part = add(token, b, part);
    }
    if (ends)
      add_scaled(t, token, part);
    else
      fstore(panel.parts[token], part);
  }
}
#undef RLX_MULTIPLY
#undef RLX_STORE

template <Min kMin>
void tile_chunk(const RowsTask& task, const Tokens& t, size_t n, Panel& panel, size_t g) {
  if (is_k_block(task.type)) return tile_block256<kMin>(t, panel, g);
  if constexpr (kMin == Min::none) {
    if (has_fine_scales(task.type)) {
      const size_t spans = (n + 15) / 16, first = min_size(spans, 8);
      tile_block32<kMin, 16>(t, 0, first, spans == first, panel, g);
      if (spans > first) tile_block32<kMin, 16>(t, first, spans - first, true, panel, g);
      return;
    }
  }
  tile_block32<kMin, 32>(t, 0, (n + 31) / 32, true, panel, g);
}

template <Min kMin>
void run_tokens(const RowsTask& task, size_t chunk, Panel& panel) {
  const ActView& act = task.act;
  const size_t n = min_size(kChunk, task.k - chunk * kChunk);
  for (size_t token = task.t0; token < task.t1; token += kTile) {
    const size_t count = min_size(kTile, task.t1 - token);
    Tokens t = {act.planes(chunk, token),
                act.value_bytes,
                count,
                act.sums(chunk) + 8 * token,
                act.sums16(chunk) + 16 * token,
                act.scales(chunk) + token,
                task.out + (token - task.t0) * kRowStep};
    if (count < kTile) {
      memcpy(panel.rest, t.planes, count * sizeof panel.rest[0]);
      memset(panel.rest[count], 0, (kTile - count) * sizeof panel.rest[0]);
      t.planes = panel.rest[0];
      t.stride = sizeof panel.rest[0];
      __asm__ __volatile__("" : : : "memory");
    }
    for (size_t g = 0; g < kGroups; ++g, t.out += kTile) tile_chunk<kMin>(task, t, n, panel, g);
  }
}

}  // namespace

void panel_packed(const PanelTask& p) {
  const RowsTask& task = p.rows;
  Panel& panel = *static_cast<Panel*>(p.panel);
  memset(task.out, 0, (task.t1 - task.t0) * kRowStep * sizeof(float));
  // Tiles 0 and 1 have activations, 2 and 3 weights, the others sums. 32-blocks have half the bytes
  // of a token, and words of a weight, and fine scales a quarter of them.
  const bool folded = is_k_block(task.type);
  const size_t span = folded ? 64 : has_fine_scales(task.type) ? 16 : 32;
  TileConfig config;
  for (int tile = 0; tile < 8; ++tile) {
    config.rows[tile] = static_cast<uint8_t>(tile < 2 || tile > 3 ? kTile : span / 4);
    config.row_bytes[tile] = static_cast<uint16_t>(tile < 2 ? span : 64);
  }
  // Not _tile_loadconfig: some versions of GCC believe that it reads eight bytes and leave out the
  // others' stores.
  __asm__ __volatile__("ldtilecfg %0" : : "m"(config));
  for (size_t c = 0; c < chunks_of(task.k); ++c) {
    build(task, c, panel);
    switch (min_of(task.type)) {
      case Min::none: run_tokens<Min::none>(task, c, panel); break;
      case Min::of32: run_tokens<Min::of32>(task, c, panel); break;
      case Min::of16: run_tokens<Min::of16>(task, c, panel); break;
    }
  }
  // Or the system would save 8 KB of tiles whenever this thread makes room for another.
  _tile_release();
}

}  // namespace rlx::kernels::RLX_ISA
