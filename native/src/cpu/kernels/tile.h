// The f32 register tile: C[rows][width] += A[rows][k] * B[k][width], B in vectors, A broadcast.
#pragma once

#include "internal.h"

namespace rlx::kernels::RLX_ISA {

inline constexpr size_t kTileWidth = static_cast<size_t>(kTileVecs) * W;
static_assert(kRowStep % kTileWidth == 0);

template <int R>
RLX_INLINE void tile_f32(const float* a, size_t lda, const float* b, size_t ldb, size_t k, float* c, size_t ldc) {
  F acc[R][kTileVecs];
  unrolled<R>([&](auto r) RLX_LAMBDA {
    unrolled<kTileVecs>([&](auto v) RLX_LAMBDA { acc[r][v] = fload(c + r * ldc + v * W); });
  });
  for (size_t i = 0; i < k; ++i) {
    // The next tile's rows, when they follow at lda == k; one line per step covers them.
    __builtin_prefetch(a + static_cast<size_t>(R) * lda + 16 * i);
    F bv[kTileVecs];
    unrolled<kTileVecs>([&](auto v) RLX_LAMBDA { bv[v] = fload(b + i * ldb + v * W); });
    unrolled<R>([&](auto r) RLX_LAMBDA {
      const F av = fset(a[r * lda + i]);
      unrolled<kTileVecs>([&](auto v) RLX_LAMBDA { acc[r][v] = ffma(av, bv[v], acc[r][v]); });
    });
  }
  unrolled<R>([&](auto r) RLX_LAMBDA {
    unrolled<kTileVecs>([&](auto v) RLX_LAMBDA { fstore(c + r * ldc + v * W, acc[r][v]); });
  });
}

// Any number of rows.
RLX_INLINE void tile_rows_f32(const float* a, size_t lda, size_t rows, const float* b, size_t ldb, size_t k, float* c,
                              size_t ldc) {
  size_t r = 0;
  for (; r + kTileRows <= rows; r += kTileRows) tile_f32<kTileRows>(a + r * lda, lda, b, ldb, k, c + r * ldc, ldc);
  if constexpr (kTileRows > 4) {
    for (; r + 4 <= rows; r += 4) tile_f32<4>(a + r * lda, lda, b, ldb, k, c + r * ldc, ldc);
  }
  for (; r < rows; ++r) tile_f32<1>(a + r * lda, lda, b, ldb, k, c + r * ldc, ldc);
}

}  // namespace rlx::kernels::RLX_ISA
