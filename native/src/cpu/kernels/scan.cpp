// Steps of recurrences: elements of the state side by side, a row after the other.
#include "scan.h"

#include "internal.h"

namespace rlx::kernels::RLX_ISA {
namespace {

RLX_INLINE F load_part(const float* p, size_t n) { return n == W ? fload(p) : fload_n(p, n); }
RLX_INLINE void store_part(float* p, F v, size_t n) {
  if (n == W) {
    fstore(p, v);
  } else {
    fstore_n(p, v, n);
  }
}

// Calls f(offset, count, sum) for whole vectors, with two sums in turn, then once for the rest;
// gives the sum of all.
template <class Body>
RLX_INLINE float summed(size_t n, Body body) {
  F even = fzero(), odd = fzero();
  size_t i = 0;
  for (; i + 2 * W <= n; i += 2 * W) {
    even = body(i, static_cast<size_t>(W), even);
    odd = body(i + W, static_cast<size_t>(W), odd);
  }
  for (; i < n; i += W) even = body(i, min_size(W, n - i), even);
  return fsum(even + odd);
}

template <bool kBefore>
void scan_rows(const ScanStep& s) {
  for (size_t p = 0; p < s.columns; p++) {
    float* line = s.state + p * s.rows;
    const F x = fset(s.x[p]);
    s.y[p] = summed(s.rows, [&](size_t i, size_t n, F sum) {
      const F old = load_part(line + i, n);
      const F fresh = ffma(load_part(s.decays + i, n), old, x * load_part(s.b + i, n));
      store_part(line + i, fresh, n);
      return ffma(kBefore ? old : fresh, load_part(s.c + i, n), sum);
    });
  }
}

void scan(const ScanStep& s) {
  if (s.before) {
    scan_rows<true>(s);
  } else {
    scan_rows<false>(s);
  }
}

void wkv7(const Wkv7Step& s) {
  for (size_t row = 0; row < s.rows; row++) {
    float* line = s.state + row * s.rows;
    const F held = fset(summed(
        s.rows, [&](size_t i, size_t n, F sum) { return ffma(load_part(line + i, n), load_part(s.a + i, n), sum); }));
    const F v = fset(s.v[row]);
    s.y[row] = summed(s.rows, [&](size_t i, size_t n, F sum) {
      const F kept = ffma(load_part(line + i, n), load_part(s.decay + i, n), held * load_part(s.b + i, n));
      const F fresh = ffma(v, load_part(s.k + i, n), kept);
      store_part(line + i, fresh, n);
      return ffma(fresh, load_part(s.r + i, n), sum);
    });
  }
}

// kVectors vectors of columns from `from` on, of which the last has `n`. Products and sums are
// rounded one by one, so that every instruction set has the same bits.
template <size_t kVectors>
RLX_INLINE void delta_columns(const DeltaStep& s, size_t from, size_t n) {
  const auto lanes = [n](size_t vector) { return vector + 1 == kVectors ? n : static_cast<size_t>(W); };
  F known[kVectors], sum[kVectors];
  for (size_t v = 0; v < kVectors; v++) known[v] = sum[v] = fzero();
  for (size_t row = 0; row < s.rows; row++) {
    const float* line = s.state + row * s.stride + from;
    const F decay = fset(s.decays[row]), k = fset(s.k[row]);
    for (size_t v = 0; v < kVectors; v++) known[v] = known[v] + load_part(line + v * W, lanes(v)) * decay * k;
  }
  const F beta = fset(s.beta);
  for (size_t v = 0; v < kVectors; v++) known[v] = (load_part(s.v + from + v * W, lanes(v)) - known[v]) * beta;
  for (size_t row = 0; row < s.rows; row++) {
    float* line = s.state + row * s.stride + from;
    const F decay = fset(s.decays[row]), k = fset(s.k[row]), q = fset(s.q[row]);
    for (size_t v = 0; v < kVectors; v++) {
      const F fresh = load_part(line + v * W, lanes(v)) * decay + k * known[v];
      store_part(line + v * W, fresh, lanes(v));
      sum[v] = sum[v] + fresh * q;
    }
  }
  const F scale = fset(s.scale);
  for (size_t v = 0; v < kVectors; v++) store_part(s.y + from + v * W, sum[v] * scale, lanes(v));
}

void delta(const DeltaStep& s) {
  constexpr size_t kAtOnce = 4;
  size_t from = 0;
  for (; from + kAtOnce * W <= s.columns; from += kAtOnce * W) delta_columns<kAtOnce>(s, from, W);
  for (; from < s.columns; from += W) delta_columns<1>(s, from, min_size(W, s.columns - from));
}

void fade_and_meet(const DeltaPair& p) {
  F with_key = fzero(), with_query = fzero();
  for (size_t i = 0; i < p.rows; i += W) {
    const size_t n = min_size(W, p.rows - i);
    F key = load_part(p.key + i, n);
    if (p.decays != nullptr) store_part(p.key + i, key = key * load_part(p.decays + i, n), n);
    with_key = ffma(key, load_part(p.later_key + i, n), with_key);
    with_query = ffma(key, load_part(p.query + i, n), with_query);
  }
  *p.with_key = fsum(with_key);
  *p.with_query = fsum(with_query);
}

}  // namespace

extern const ScanTable kScanTable;
const ScanTable kScanTable = {scan, wkv7, delta, fade_and_meet};

}  // namespace rlx::kernels::RLX_ISA
