// Fits for packing into IQ1: value = scale * (t + shift), t of -1, 0, 1 from the table, shift of an
// eighth up or down for each span of values. Scales of groups are odd multiples of a unit, up to
// 15.
#pragma once

#include "grid_fit.h"

namespace rlx::formats::ternary {

using fit::all;
using fit::Eight;
using fit::load;
using fit::store;

struct Grid {
  static constexpr int kWidth = 8, kLevels = 3;
  static constexpr auto& kEntries = grids::kIq1S;
  static constexpr auto& kValues = grids::kIq1SValues;
};
using Search = grid::Search<Grid>;

inline constexpr float kShift = 0.125f;

// A block of kGroups groups of N values; a shift for each kSpan of them.
template <int kGroups, int N, int kSpan>
struct Block {
  float unit = 0.0f;
  int scales[kGroups] = {};
  bool minus[kGroups * N / kSpan] = {};
  uint16_t places[kGroups * N / 8] = {};
  float codes[kGroups * N] = {};
};

// Entries for a span with one shift: near ones, or (`kBest`) those that fit best of all. The error.
template <int N, bool kBest>
RLX_INLINE float span(const Search& search, const float* x, const float* w, float scale, float shift, uint16_t* places,
                      float* codes) {
  if constexpr (kBest) {
    float moved[N];
    for (int i = 0; i < N; ++i) moved[i] = x[i] - scale * shift;
    grid::best_places<Grid, N>(search, moved, w, scale, places, codes);
  } else {
    const float inverse = fit::inverse_of(scale);
    for (int u = 0; u < N / 8; ++u) {
      const Eight level = fit::clamp(fit::nearest(load(x + 8 * u) * inverse - shift), -1.0f, 1.0f) + 1.0f;
      places[u] = grid::near_eight<Grid>(search, level, codes + 8 * u);
    }
  }
  for (int i = 0; i < N; i += 8) store(load(codes + i) + shift, codes + i);
  return grid::error_of_codes<N>(x, w, codes, scale);
}

// A group for a scale: the better shift of each span. The error.
template <int N, int kSpan, bool kBest>
RLX_INLINE float group(const Search& search, const float* x, const float* w, float scale, bool* minus, uint16_t* places,
                       float* codes) {
  float total = 0.0f;
  for (int s = 0; s < N / kSpan; ++s) {
    const float *own = x + kSpan * s, *weights = w + kSpan * s;
    uint16_t* to = places + kSpan / 8 * s;
    float* out = codes + kSpan * s;
    uint16_t other_places[kSpan / 8];
    float other_codes[kSpan];
    const float up = span<kSpan, kBest>(search, own, weights, scale, kShift, to, out);
    const float down = span<kSpan, kBest>(search, own, weights, scale, -kShift, other_places, other_codes);
    minus[s] = down < up;
    if (minus[s]) {
      std::memcpy(to, other_places, sizeof other_places);
      std::memcpy(out, other_codes, sizeof other_codes);
    }
    total += minus[s] ? down : up;
  }
  return total;
}

template <int N, int kSpan>
RLX_INLINE float scale_of(const Search& search, const float* x, const float* w) {
  const float top = fit::largest_magnitude<N>(x);
  if (!(top > 1e-15f)) return 0.0f;
  float best = 0.0f, best_scale = 0.0f, codes[N];
  uint16_t places[N / 8];
  bool minus[N / kSpan];
  const auto consider = [&](float scale) RLX_LAMBDA {
    group<N, kSpan, false>(search, x, w, scale, minus, places, codes);
    const grid::Moments m = grid::moments<N>(x, w, codes);
    if (m.along > 0.0f && m.along * m.along > best * m.square) {
      best = m.along * m.along / m.square;
      best_scale = m.along / m.square;
    }
  };
  float part = 1.0f;
  for (int step = 0; step < 20; ++step, part *= 0.92f) consider(top * part);
  for (int turn = 0; turn < 3 && best_scale > 0.0f; ++turn) consider(best_scale);
  return best_scale;
}

// Near entries and scales for a unit (`kBest`: the best entries for the scales as they are). The
// error.
template <int kGroups, int N, int kSpan, bool kBest>
RLX_INLINE float settle(const Search& search, const float* x, const float* w, const float* scales, float unit,
                        Block<kGroups, N, kSpan>& block) {
  block.unit = unit;
  float total = 0.0f;
  for (int g = 0; g < kGroups; ++g) {
    const float *own = x + N * g, *weights = w + N * g;
    const float ratio = unit > 0.0f ? scales[g] / unit : 0.0f;
    const int middle =
        kBest ? block.scales[g] : static_cast<int>(fit::clamp(fit::nearest(0.5f * (ratio - 1.0f)), 0.0f, 7.0f));
    const int reach = kBest ? 0 : 1;
    float least = INFINITY, codes[N];
    uint16_t places[N / 8];
    bool minus[N / kSpan];
    for (int s = middle - reach; s <= middle + reach; ++s) {
      if (s < 0 || s > 7) continue;
      const float error =
          group<N, kSpan, kBest>(search, own, weights, grid::odd_multiple(unit, s), minus, places, codes);
      if (!(error < least)) continue;
      least = error;
      block.scales[g] = s;
      std::memcpy(block.minus + N / kSpan * g, minus, sizeof minus);
      std::memcpy(block.places + N / 8 * g, places, sizeof places);
      std::memcpy(block.codes + N * g, codes, sizeof codes);
    }
    total += least;
  }
  return total;
}

template <int kGroups, int N, int kSpan>
RLX_INLINE float unit_of(const float* x, const float* w, const Block<kGroups, N, kSpan>& block) {
  grid::Moments sums;
  for (int g = 0; g < kGroups; ++g) {
    const grid::Moments own = grid::moments<N>(x + N * g, w + N * g, block.codes + N * g);
    const float m = static_cast<float>(2 * block.scales[g] + 1);
    sums.along += m * own.along;
    sums.square += m * m * own.square;
  }
  return fit::as_half(sums.square > 0.0f && sums.along > 0.0f ? sums.along / sums.square : block.unit);
}

template <int kGroups, int N, int kSpan>
RLX_INLINE Block<kGroups, N, kSpan> block_of(const float* x, fit::Columns columns) {
  const Search& search = grid::search_of<Grid>();
  const float square = fit::mean_square<256>(x);
  float w[256], scales[kGroups], largest = 0.0f;
  for (int g = 0; g < kGroups; ++g) {
    const float* own = columns.importance == nullptr ? nullptr : columns.importance + N * g;
    fit::weigh<N>(x + N * g, own, own == nullptr ? fit::mean_square<N>(x + N * g) : square, w + N * g);
    scales[g] = scale_of<N, kSpan>(search, x + N * g, w + N * g);
    largest = scales[g] > largest ? scales[g] : largest;
  }
  Block<kGroups, N, kSpan> best, next;
  float error = settle<kGroups, N, kSpan, false>(search, x, w, scales, fit::as_half(largest / 15.0f), best);
  for (int turn = 0; turn < 2; ++turn) {
    const float found = settle<kGroups, N, kSpan, false>(search, x, w, scales, unit_of(x, w, best), next);
    if (!(found < error)) break;
    best = next;
    error = found;
  }
  error = settle<kGroups, N, kSpan, true>(search, x, w, scales, best.unit, best);
  next = best;
  if (settle<kGroups, N, kSpan, true>(search, x, w, scales, unit_of(x, w, best), next) < error) best = next;
  return best;
}

}  // namespace rlx::formats::ternary
