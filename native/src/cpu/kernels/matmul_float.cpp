// Products in f32: weights of f32, f16, bf16, and packed types without integer kernels, which are
// unpacked exactly. (Few tokens with f16 weights on AVX-512: matmul_ggml.cpp.)
#include "tile.h"

namespace rlx::kernels::RLX_ISA {
namespace {

// Bytes from the start of a row to its element k (k a multiple of the block).
size_t offset_of(Type type, size_t k) { return row_bytes(type, k); }

// The n weights of a chunk as floats, zero behind n; straight from memory when they are already
// that.
const float* chunk_floats(const RowsTask& task, const uint8_t* row, size_t chunk, float* buffer) {
  const size_t n = min_size(kChunk, task.k - chunk * kChunk);
  const uint8_t* from = row + offset_of(task.type, chunk * kChunk);
  // An f32 tensor in a file is 4-byte aligned (alignment is at least 8), so it can be read in
  // place.
  if (task.type == Type::f32 && n == kChunk) return reinterpret_cast<const float*>(from);
  dequantize(task.type, from, buffer, n);
  if (n < kChunk) memset(buffer + n, 0, (kChunk - n) * sizeof(float));
  return buffer;
}

float dot_chunk(const float* a, const float* b) {
  F acc[4] = {fzero(), fzero(), fzero(), fzero()};
  for (size_t i = 0; i < kChunk; i += 4 * W) {
    for (int u = 0; u < 4; ++u) acc[u] = ffma(fload(a + i + u * W), fload(b + i + u * W), acc[u]);
  }
  return fsum((acc[0] + acc[1]) + (acc[2] + acc[3]));
}

}  // namespace

void rows_float(const RowsTask& task) {
  const size_t chunks = chunks_of(task.k);
  for (size_t r = 0; r < task.rows; ++r) {
    const uint8_t* row = task.w + r * task.row_bytes;
    for (size_t t = task.t0; t < task.t1; ++t) task.out[(t - task.t0) * kRowStep + r] = 0.0f;
    for (size_t c = 0; c < chunks; ++c) {
      alignas(64) float buffer[kChunk];
      const float* w = chunk_floats(task, row, c, buffer);
      for (size_t t = task.t0; t < task.t1; ++t) {
        task.out[(t - task.t0) * kRowStep + r] += dot_chunk(w, task.act.floats(c, t));
      }
    }
  }
}

void panel_float(const PanelTask& p) {
  const RowsTask& task = p.rows;
  const size_t tokens = task.t1 - task.t0;
  memset(task.out, 0, tokens * kRowStep * sizeof(float));
  float* panel = static_cast<float*>(p.panel);  // [kRowStep / kTileWidth][k][kTileWidth]
  for (size_t c = 0; c < chunks_of(task.k); ++c) {
    const size_t n = min_size(kChunk, task.k - c * kChunk);
    const size_t depth = (n + W - 1) / W * W;
    for (size_t r = 0; r < kRowStep; r += W) {
      alignas(64) float buffer[W][kChunk];
      const float* rows[W];
      for (size_t i = 0; i < static_cast<size_t>(W); ++i) {
        if (r + i < task.rows) {
          rows[i] = chunk_floats(task, task.w + (r + i) * task.row_bytes, c, buffer[i]);
        } else {
          memset(buffer[i], 0, sizeof buffer[i]);
          rows[i] = buffer[i];
        }
      }
      float* to = panel + r / kTileWidth * kTileWidth * kChunk + r % kTileWidth;
      for (size_t i = 0; i < depth; i += W) {
        F block[W];
        for (int j = 0; j < W; ++j) block[j] = fload(rows[j] + i);
        ftranspose(block);
        for (int j = 0; j < W; ++j) fstore(to + (i + static_cast<size_t>(j)) * kTileWidth, block[j]);
      }
    }
    for (size_t r = 0; r < kRowStep; r += kTileWidth) {
      tile_rows_f32(task.act.floats(c, task.t0), kChunk, tokens, panel + r * kChunk, kTileWidth, depth, task.out + r,
                    kRowStep);
    }
  }
}

}  // namespace rlx::kernels::RLX_ISA
