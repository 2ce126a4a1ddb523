// Products with f32 and f16 weights in the order in which ggml's x86 build adds many tokens, so
// that results are its own bit for bit: activations rounded to f16 beside f16 weights, W running
// sums (one for every W-th product), and at the end halves added to halves. Matrices that do not
// fit its tiles are single products there, with four times as many sums.
#include "ggml_order.h"

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
    unrolled<R>([&](auto r) RLX_LAMBDA { w[r] = Weights::load(at(r, k)); });
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
void single_row(const RowsTask& task, size_t row, size_t t) {
  using Element = typename Weights::Element;
  const auto* w = reinterpret_cast<const Element*>(task.w + row * task.row_bytes);
  F acc[T][4];
  unrolled<T>([&](auto i) RLX_LAMBDA { unrolled<4>([&](auto u) RLX_LAMBDA { acc[i][u] = fzero(); }); });
  const size_t whole = task.k / kDotGroup * kDotGroup, rest = task.k - whole;
  const auto values = [&](size_t k, size_t i) { return task.act.floats(k / kChunk, t + i) + k % kChunk; };
  for (size_t k = 0; k < whole; k += kDotGroup) {
    unrolled<4>([&](auto u) RLX_LAMBDA {
      const F v = Weights::load(w + k + u * W);
      unrolled<T>([&](auto i) RLX_LAMBDA { acc[i][u] = ffma(v, fload(values(k, i) + u * W), acc[i][u]); });
    });
  }
  float weights[kDotGroup];
  if (rest != 0) {
    Element last[kDotGroup] = {};
    memcpy(last, w + whole, rest * sizeof(Element));
    for (size_t k = 0; k < kDotGroup; k += W) fstore(weights + k, Weights::load(last + k));
  }
  for (size_t i = 0; i < static_cast<size_t>(T); ++i) {
    float& out = task.out[(t - task.t0 + i) * kRowStep + row] = sum_of_group(acc[i]);
    if (rest == 0) continue;
    if constexpr (sizeof(Element) == sizeof(uint16_t)) {
      out = add_rest_of_halves(out, weights, values(whole, i), rest);
    } else {
      out = add_rest(out, weights, values(whole, i), rest);
    }
  }
}

struct Tiles {
  template <class Weights, int T>
  static void rows(const RowsTask& task, size_t t) {
    size_t row = 0;
    // One token is a walk through memory: a row at a time, or the prefetchers lose it.
    if constexpr (T > 1) {
      for (; row + kRows <= task.rows; row += kRows) tile<Weights, kRows, T>(task, row, t);
    }
    for (; row < task.rows; ++row) tile<Weights, 1, T>(task, row, t);
  }
};

struct Singles {
  template <class Weights, int T>
  static void rows(const RowsTask& task, size_t t) {
    for (size_t row = 0; row < task.rows; ++row) single_row<Weights, T>(task, row, t);
  }
};

template <class Way, class Weights>
void all_tokens(const RowsTask& task) {
  size_t t = task.t0;
  for (; t + kTokens <= task.t1; t += kTokens) Way::template rows<Weights, kTokens>(task, t);
  for (; t + 2 <= task.t1; t += 2) Way::template rows<Weights, 2>(task, t);
  for (; t < task.t1; ++t) Way::template rows<Weights, 1>(task, t);
}

template <class Way>
void run(const RowsTask& task) {
  task.type == Type::f16 ? all_tokens<Way, Halves>(task) : all_tokens<Way, Floats>(task);
}

}  // namespace

void rows_ggml(const RowsTask& task, size_t matrix_rows) {
  task.k % W == 0 && matrix_rows % kGgmlTileRows == 0 ? run<Tiles>(task) : run<Singles>(task);
}

}  // namespace rlx::kernels::RLX_ISA
