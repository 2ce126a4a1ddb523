// Few tokens against packed rows in plain C++: the reference of the integer scheme, for any
// processor.
#include "unpack.h"

namespace rlx::kernels::RLX_ISA {
namespace {

float dot_chunk(const RowsTask& task, const UnpackedChunk& u, size_t chunk, size_t t, size_t n) {
  const int16_t* x = task.act.words(chunk, t);
  const float* sums = task.act.sums(chunk) + 8 * t;
  float part = 0.0f;
  if (is_k_block(task.type)) {
    int32_t acc = 0;
    for (size_t i = 0; i < kChunk; ++i) acc += static_cast<int32_t>(u.q[i]) * x[i];
    part = static_cast<float>(acc) * u.scale[0];
    if (min_of(task.type) == Min::of32) {
      for (int j = 0; j < 8; ++j) part += sums[j] * u.min[j];
    }
    if (min_of(task.type) == Min::of16) {
      const int16_t* minus = task.act.sums16(chunk) + 16 * t;
      int32_t low = 0;
      for (int j = 0; j < 16; ++j) low += static_cast<int32_t>(u.minimums[j]) * minus[j];
      part += static_cast<float>(low) * u.min[0];
    }
    return part * task.act.scales(chunk)[t];
  }
  const size_t span = has_fine_scales(task.type) ? 16 : 32;
  for (size_t b = 0; b < (n + span - 1) / span; ++b) {
    int32_t acc = 0;
    for (size_t i = span * b; i < span * (b + 1); ++i) acc += static_cast<int32_t>(u.q[i]) * x[i];
    part += static_cast<float>(acc) * u.scale[b];
    if (min_of(task.type) == Min::of32) part += sums[b] * u.min[b];
  }
  return part * task.act.scales(chunk)[t];
}

}  // namespace

void rows_packed(const RowsTask& task) {
  for (size_t r = 0; r < task.rows; ++r) {
    const uint8_t* row = task.w + r * task.row_bytes;
    for (size_t t = task.t0; t < task.t1; ++t) task.out[(t - task.t0) * kRowStep + r] = 0.0f;
    for (size_t c = 0; c < chunks_of(task.k); ++c) {
      int16_t q[kChunk];
      UnpackedChunk u = {q, {}, {}, {}};
      const size_t n = min_size(kChunk, task.k - c * kChunk);
      unpack_chunk(task.type, row + row_bytes(task.type, c * kChunk), n, u);
      for (size_t t = task.t0; t < task.t1; ++t) {
        task.out[(t - task.t0) * kRowStep + r] += dot_chunk(task, u, c, t, n);
      }
    }
  }
}

}  // namespace rlx::kernels::RLX_ISA
