// Products of plain f32 matrices, the second as it lies in memory: y[rows][columns] = a[rows][k] * b[k][columns].
#include "tile.h"

namespace rlx::kernels::RLX_ISA {
namespace {

static_assert(kGemmStrip % kTileWidth == 0);
// Columns whose sums stay in the first cache while all of b goes by.
constexpr size_t kStrip = 4096;
// Rows of b that are added at once.
constexpr size_t kDeep = 8;

// y[0..n) += the sum of weights[i] * b[i][0..n).
template <size_t D>
void add_rows(const float* const (&weights)[D], const float* b, size_t ldb, size_t n, float* y) {
  F w[D];
  for (size_t i = 0; i < D; ++i) w[i] = fset(*weights[i]);
  size_t at = 0;
  for (; at + W <= n; at += W) {
    F sum = fload(y + at);
    for (size_t i = 0; i < D; ++i) sum = ffma(w[i], fload(b + i * ldb + at), sum);
    fstore(y + at, sum);
  }
  if (at == n) return;
  F sum = fload_n(y + at, n - at);
  for (size_t i = 0; i < D; ++i) sum = ffma(w[i], fload_n(b + i * ldb + at, n - at), sum);
  fstore_n(y + at, sum, n - at);
}

// Few rows: b is read once, in long runs.
void few_rows(const GemmArgs& g) {
  for (size_t c0 = 0; c0 < g.columns; c0 += kStrip) {
    const size_t n = min_size(kStrip, g.columns - c0);
    for (size_t r = 0; r < g.rows && !g.adds; ++r) memset(g.y + r * g.ldy + c0, 0, n * sizeof(float));
    size_t k = 0;
    for (; k + kDeep <= g.k; k += kDeep) {
      for (size_t r = 0; r < g.rows; ++r) {
        const float* a = g.a + r * g.lda + k;
        add_rows<kDeep>({a, a + 1, a + 2, a + 3, a + 4, a + 5, a + 6, a + 7}, g.b + k * g.ldb + c0, g.ldb, n,
                        g.y + r * g.ldy + c0);
      }
    }
    for (; k < g.k; ++k) {
      for (size_t r = 0; r < g.rows; ++r)
        add_rows<1>({g.a + r * g.lda + k}, g.b + k * g.ldb + c0, g.ldb, n, g.y + r * g.ldy + c0);
    }
  }
}

struct Room {
  float* panels;  // [kStripTiles][kChunk][kTileWidth]
  float* tile;    // [kPass][kTileWidth], for columns that are no whole tile
};

void copy_rows(const float* from, size_t ldfrom, size_t rows, size_t n, float* to, size_t ldto) {
  for (size_t r = 0; r < rows; ++r) memcpy(to + r * ldto, from + r * ldfrom, n * sizeof(float));
}

// Lines of b as a panel for each tile; each line is read in one run.
void pack_strip(const float* b, size_t ldb, size_t depth, size_t columns, float* panels) {
  for (size_t i = 0; i < depth; ++i) {
    const float* line = b + i * ldb;
    for (size_t c = 0; c < columns; c += kTileWidth) {
      float* to = panels + c * kChunk + i * kTileWidth;
      const size_t n = min_size(kTileWidth, columns - c);
      memcpy(to, line + c, n * sizeof(float));
      for (size_t j = n; j < kTileWidth; ++j) to[j] = 0.0f;
    }
  }
}

// One tile's share of `depth` steps; `first` says that y holds nothing yet.
void one_tile(const GemmArgs& g, size_t r0, size_t c, size_t k0, size_t depth, const float* b, size_t ldb, bool first,
              float* tile) {
  const size_t rows = min_size(kGemmPass, g.rows - r0), width = min_size(kTileWidth, g.columns - c);
  const bool whole = width == kTileWidth;
  float* y = g.y + r0 * g.ldy + c;
  float* sums = whole ? y : tile;
  const size_t ld = whole ? g.ldy : kTileWidth;
  if (first) {
    for (size_t r = 0; r < rows; ++r) memset(sums + r * ld, 0, kTileWidth * sizeof(float));
  } else if (!whole) {
    copy_rows(y, g.ldy, rows, width, sums, ld);
  }
  tile_rows_f32(g.a + r0 * g.lda + k0, g.lda, rows, b, ldb, depth, sums, ld);
  if (!whole) copy_rows(sums, ld, rows, width, y, g.ldy);
}

// The strip of columns from c0, for the rows of one pass.
void one_strip(const GemmArgs& g, size_t r0, size_t c0, const Room& room) {
  const size_t columns = min_size(kGemmStrip, g.columns - c0);
  const bool direct = g.ldb <= kGemmStrip && columns % kTileWidth == 0;
  for (size_t k0 = 0; k0 == 0 || k0 < g.k; k0 += kChunk) {
    const size_t depth = min_size(kChunk, g.k - k0);
    const float* b = g.b + k0 * g.ldb + c0;
    if (!direct) pack_strip(b, g.ldb, depth, columns, room.panels);
    for (size_t c = 0; c < columns; c += kTileWidth) {
      const bool first = k0 == 0 && !g.adds;
      one_tile(g, r0, c0 + c, k0, depth, direct ? b + c : room.panels + c * kChunk, direct ? g.ldb : kTileWidth, first,
               room.tile);
    }
  }
}

}  // namespace

void gemm(const GemmArgs& g, void* scratch) {
  if (g.rows < kGemmLeastTokens) return few_rows(g);
  auto* floats = static_cast<float*>(scratch);
  const Room room = {floats, floats + kChunk * kGemmStrip};
  for (size_t r0 = 0; r0 < g.rows; r0 += kGemmPass) {
    for (size_t c0 = 0; c0 < g.columns; c0 += kGemmStrip) one_strip(g, r0, c0, room);
  }
}

void add_scaled(float weight, const float* x, float* y, size_t n) { add_rows<1>({&weight}, x, n, n, y); }

}  // namespace rlx::kernels::RLX_ISA
