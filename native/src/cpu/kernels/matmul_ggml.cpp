// Products with f32 and f16 weights in the order in which ggml's x86 build adds many tokens, so that results are its own
// bit for bit: activations rounded to f16 beside f16 weights, W running sums (one for every W-th product), and at the end
// halves added to halves.
#include "internal.h"

namespace rlx::kernels::RLX_ISA {
namespace {

// Rows x tokens whose sums stay in registers.
constexpr int kRows = kTileRows >= 12 ? 4 : 2, kTokens = kTileRows >= 12 ? 6 : 4;

template <class Weights, int R, int T>
void tile(const RowsTask& task, size_t row, size_t t) {
  F acc[R][T];
  unrolled<R>([&](auto r) RLX_LAMBDA { unrolled<T>([&](auto i) RLX_LAMBDA { acc[r][i] = fzero(); }); });
  using Element = typename Weights::Element;
  const auto at = [&](int r, size_t k) {
    return reinterpret_cast<const Element*>(task.w + (row + static_cast<size_t>(r)) * task.row_bytes) + k;
  };
  for (size_t k = 0; k < task.k; k += W) {
    const float* x = task.act.floats(k / kChunk, t) + k % kChunk;
    F w[R];
    if (task.k - k >= static_cast<size_t>(W)) {
      unrolled<R>([&](auto r) RLX_LAMBDA { w[r] = Weights::load(at(r, k)); });
    } else {  // ggml does not take such rows this way
      Element rest[R][W] = {};
      for (int r = 0; r < R; ++r) memcpy(rest[r], at(r, k), (task.k - k) * sizeof(Element));
      unrolled<R>([&](auto r) RLX_LAMBDA { w[r] = Weights::load(rest[r]); });
    }
    unrolled<T>([&](auto i) RLX_LAMBDA {
      const F v = fload(x + i * kChunk);
      unrolled<R>([&](auto r) RLX_LAMBDA { acc[r][i] = ffma(w[r], v, acc[r][i]); });
    });
  }
  unrolled<R>([&](auto r) RLX_LAMBDA {
    unrolled<T>([&](auto i) RLX_LAMBDA { task.out[(t - task.t0 + i) * kRowStep + row + r] = fsum(acc[r][i]); });
  });
}

template <class Weights, int T>
void tile_rows(const RowsTask& task, size_t t) {
  size_t row = 0;
  // One token is a walk through memory: a row at a time, or the prefetchers lose it.
  if constexpr (T > 1) {
    for (; row + kRows <= task.rows; row += kRows) tile<Weights, kRows, T>(task, row, t);
  }
  for (; row < task.rows; ++row) tile<Weights, 1, T>(task, row, t);
}

template <class Weights>
void all_tokens(const RowsTask& task) {
  size_t t = task.t0;
  for (; t + kTokens <= task.t1; t += kTokens) tile_rows<Weights, kTokens>(task, t);
  for (; t + 2 <= task.t1; t += 2) tile_rows<Weights, 2>(task, t);
  for (; t < task.t1; ++t) tile_rows<Weights, 1>(task, t);
}

}  // namespace

void rows_ggml(const RowsTask& task) { task.type == Type::f16 ? all_tokens<Halves>(task) : all_tokens<Floats>(task); }

}  // namespace rlx::kernels::RLX_ISA
