// Fits for packing into the types whose codes come from a table: which entry stands best for some
// values, and the scales of their groups. Magnitudes and signs are apart; IQ1 has its own search.
#pragma once

#include "fit.h"
#include "grid.h"

namespace rlx::formats::grid {

using fit::all;
using fit::Eight;
using fit::load;
using fit::store;
using fit::sum;

// The tables: how many values an entry has, what a value may be, and which of these is nearest to
// `x`.
struct Iq2Levels {
  static constexpr int kWidth = 8, kLevels = 3;
  static constexpr float kTop = 43.0f;
  RLX_MEMBER static Eight level(Eight x) {
    return (x > all(16.5f) ? all(1.0f) : all(0.0f)) + (x > all(34.0f) ? all(1.0f) : all(0.0f));
  }
};
struct Iq2XxsGrid : Iq2Levels {
  static constexpr auto& kEntries = grids::kIq2Xxs;
  static constexpr auto& kValues = grids::kIq2XxsValues;
};
struct Iq2XsGrid : Iq2Levels {
  static constexpr auto& kEntries = grids::kIq2Xs;
  static constexpr auto& kValues = grids::kIq2XsValues;
};
struct Iq2SGrid : Iq2Levels {
  static constexpr auto& kEntries = grids::kIq2S;
  static constexpr auto& kValues = grids::kIq2SValues;
};
struct Iq3XxsGrid {
  static constexpr int kWidth = 4, kLevels = 8;
  static constexpr float kTop = 62.0f;
  static constexpr auto& kEntries = grids::kIq3Xxs;
  static constexpr auto& kValues = grids::kIq3XxsValues;
  RLX_MEMBER static Eight level(Eight x) { return fit::clamp(fit::nearest((x - 4.0f) * 0.125f), 0.0f, 7.0f); }
};
struct Iq3SGrid {
  static constexpr int kWidth = 4, kLevels = 8;
  static constexpr float kTop = 15.0f;
  static constexpr auto& kEntries = grids::kIq3S;
  static constexpr auto& kValues = grids::kIq3SValues;
  RLX_MEMBER static Eight level(Eight x) { return fit::clamp(fit::nearest((x - 1.0f) * 0.5f), 0.0f, 7.0f); }
};

// A table as columns, and the entry nearest to each combination of levels. Made when it is first
// needed.
template <class Grid>
struct Search {
  static constexpr int kWidth = Grid::kWidth, kLevels = Grid::kLevels;
  static constexpr int kEntries = static_cast<int>(std::size(Grid::kEntries));
  static constexpr int kCombinations = kWidth == 4 ? kLevels * kLevels * kLevels * kLevels : 6561;
  static_assert(kWidth == 4 || kLevels == 3);

  float columns[kWidth][kEntries];
  float rows[kEntries][kWidth];
  uint16_t nearest[kCombinations];
  // The place among the levels of value i of an entry.
  RLX_MEMBER static int level(int entry, int i) {
    constexpr int bits = 16 / kWidth;
    return (Grid::kEntries[entry] >> (bits * i)) & ((1 << bits) - 1);
  }

  // Inlined, as all here: each instruction set makes its own.
  RLX_MEMBER Search() {
    for (int e = 0; e < kEntries; ++e) {
      for (int i = 0; i < kWidth; ++i) rows[e][i] = columns[i][e] = static_cast<float>(Grid::kValues[level(e, i)]);
    }
    for (int c = 0; c < kCombinations; ++c) {
      float x[kWidth];
      for (int i = kWidth - 1, rest = c; i >= 0; --i, rest /= kLevels)
        x[i] = static_cast<float>(Grid::kValues[rest % kLevels]);
      float least = INFINITY;
      for (int e = 0; e < kEntries; ++e) {
        float distance = 0.0f;
        for (int i = 0; i < kWidth; ++i) distance += (x[i] - columns[i][e]) * (x[i] - columns[i][e]);
        if (distance < least) least = distance, nearest[c] = static_cast<uint16_t>(e);
      }
    }
  }
};

template <class Grid>
static const Search<Grid>& search_of() {
  static const Search<Grid> made;
  return made;
}

// The entry nearest to eight levels of three; `codes` gets its values.
template <class Grid>
RLX_INLINE uint16_t near_eight(const Search<Grid>& search, Eight levels, float* codes) {
  const Eight powers = {2187.0f, 729.0f, 243.0f, 81.0f, 27.0f, 9.0f, 3.0f, 1.0f};
  const uint16_t place = search.nearest[static_cast<int>(sum(levels * powers))];
  store(load(search.rows[place]), codes);
  return place;
}

// The entries for N values times `inverse`: each value to its nearest level, then the entry nearest
// to those. `codes` gets theirs.
template <class Grid, int N>
RLX_INLINE void near_places(const Search<Grid>& search, const float* x, float inverse, uint16_t* places, float* codes) {
  constexpr int W = Grid::kWidth;
  if constexpr (W == 8) {
    for (int u = 0; u < N / 8; ++u)
      places[u] = near_eight<Grid>(search, Grid::level(load(x + 8 * u) * inverse), codes + 8 * u);
    return;
  }
  float levels[N];
  for (int i = 0; i < N; i += 8) store(Grid::level(load(x + i) * inverse), levels + i);
  for (int u = 0; u < N / W; ++u) {
    int combination = 0;
    for (int i = 0; i < W; ++i) combination = combination * Grid::kLevels + static_cast<int>(levels[W * u + i]);
    const uint16_t place = search.nearest[combination];
    places[u] = place;
    for (int i = 0; i < W; ++i) codes[W * u + i] = search.columns[i][place];
  }
}

// The entries that fit best of all for this scale.
template <class Grid, int N>
RLX_INLINE void best_places(const Search<Grid>& search, const float* x, const float* w, float scale, uint16_t* places,
                            float* codes) {
  constexpr int W = Grid::kWidth;
  for (int u = 0; u < N / W; ++u) {
    Eight linear[W], square[W];
    for (int i = 0; i < W; ++i) {
      linear[i] = all(-2.0f * scale * w[W * u + i] * x[W * u + i]);
      square[i] = all(scale * scale * w[W * u + i]);
    }
    Eight least = all(INFINITY), at = all(0.0f);
    Eight entry = {0, 1, 2, 3, 4, 5, 6, 7};
    for (int e = 0; e < Search<Grid>::kEntries; e += 8, entry += all(8.0f)) {
      Eight cost = all(0.0f);
      for (int i = 0; i < W; ++i) {
        const Eight code = load(search.columns[i] + e);
        cost += code * (linear[i] + square[i] * code);
      }
      at = cost < least ? entry : at;
      least = cost < least ? cost : least;
    }
    int lane = 0;
    for (int i = 1; i < 8; ++i) lane = least[i] < least[lane] ? i : lane;
    const int place = static_cast<int>(at[lane]);
    places[u] = static_cast<uint16_t>(place);
    for (int i = 0; i < W; ++i) codes[W * u + i] = search.rows[place][i];
  }
}

template <int N>
RLX_INLINE float error_of_codes(const float* x, const float* w, const float* codes, float scale) {
  Eight error = all(0.0f);
  for (int i = 0; i < N; i += 8) {
    const Eight rest = load(x + i) - load(codes + i) * scale;
    error += load(w + i) * rest * rest;
  }
  return sum(error);
}

// w x code and w code^2, summed.
struct Moments {
  float along = 0.0f, square = 0.0f;
};
template <int N>
RLX_INLINE Moments moments(const float* x, const float* w, const float* codes) {
  Eight along = all(0.0f), square = all(0.0f);
  for (int i = 0; i < N; i += 8) {
    const Eight code = load(codes + i), weighted = load(w + i) * code;
    along += weighted * load(x + i);
    square += weighted * code;
  }
  return {sum(along), sum(square)};
}

// A block of kGroups groups of N magnitudes with scales unit * (2 s + 1), s of 0..15.
template <class Grid, int kGroups, int N>
struct MagnitudeBlock {
  float unit = 0.0f;
  int scales[kGroups] = {};
  uint16_t places[kGroups * N / Grid::kWidth] = {};
  float codes[kGroups * N] = {};
};

RLX_INLINE float odd_multiple(float unit, int s) { return unit * static_cast<float>(2 * s + 1); }

template <class Grid, int N>
RLX_INLINE float scale_of(const Search<Grid>& search, const float* x, const float* w) {
  const float top = fit::largest_magnitude<N>(x);
  if (!(top > 1e-15f)) return 0.0f;
  uint16_t places[N / Grid::kWidth];
  float codes[N], best = 0.0f, best_scale = 0.0f;
  const auto consider = [&](float inverse) RLX_LAMBDA {
    near_places<Grid, N>(search, x, inverse, places, codes);
    const Moments m = moments<N>(x, w, codes);
    if (m.along > 0.0f && m.along * m.along > best * m.square) {
      best = m.along * m.along / m.square;
      best_scale = m.along / m.square;
    }
  };
  for (int step = 0; step < 20; ++step) consider(Grid::kTop * (0.7f + 0.04f * static_cast<float>(step)) / top);
  for (int turn = 0; turn < 3 && best_scale > 0.0f; ++turn) consider(1.0f / best_scale);
  return best_scale;
}

// Scales and near places for a unit; the error.
template <class Grid, int kGroups, int N>
RLX_INLINE float settle(const Search<Grid>& search, const float* x, const float* w, const float* scales, float unit,
                        MagnitudeBlock<Grid, kGroups, N>& block) {
  constexpr int kPlaces = N / Grid::kWidth;
  block.unit = unit;
  float total = 0.0f;
  for (int g = 0; g < kGroups; ++g) {
    const float ratio = unit > 0.0f ? scales[g] / unit : 0.0f;
    const int middle = static_cast<int>(fit::clamp(fit::nearest(0.5f * (ratio - 1.0f)), 0.0f, 15.0f));
    float least = INFINITY, codes[N];
    uint16_t places[kPlaces];
    for (int s = middle - 1; s <= middle + 1; ++s) {
      if (s < 0 || s > 15) continue;
      const float scale = odd_multiple(unit, s);
      near_places<Grid, N>(search, x + N * g, fit::inverse_of(scale), places, codes);
      const float error = error_of_codes<N>(x + N * g, w + N * g, codes, scale);
      if (!(error < least)) continue;
      least = error;
      block.scales[g] = s;
      std::memcpy(block.places + kPlaces * g, places, sizeof places);
      std::memcpy(block.codes + N * g, codes, sizeof codes);
    }
    total += least;
  }
  return total;
}

template <class Grid, int kGroups, int N>
RLX_INLINE float unit_of(const float* x, const float* w, const MagnitudeBlock<Grid, kGroups, N>& block) {
  Moments all;
  for (int g = 0; g < kGroups; ++g) {
    const Moments own = moments<N>(x + N * g, w + N * g, block.codes + N * g);
    const float m = static_cast<float>(2 * block.scales[g] + 1);
    all.along += m * own.along;
    all.square += m * m * own.square;
  }
  return all.square > 0.0f && all.along > 0.0f ? all.along / all.square : block.unit;
}

// The best places for the scales as they are; the error.
template <class Grid, int kGroups, int N>
RLX_INLINE float refine(const Search<Grid>& search, const float* x, const float* w,
                        MagnitudeBlock<Grid, kGroups, N>& block) {
  constexpr int kPlaces = N / Grid::kWidth;
  float total = 0.0f;
  for (int g = 0; g < kGroups; ++g) {
    const float scale = odd_multiple(block.unit, block.scales[g]);
    best_places<Grid, N>(search, x + N * g, w + N * g, scale, block.places + kPlaces * g, block.codes + N * g);
    total += error_of_codes<N>(x + N * g, w + N * g, block.codes + N * g, scale);
  }
  return total;
}

// Magnitudes of a block. The stored factor is `whole` units.
template <class Grid, int kGroups, int N>
RLX_INLINE MagnitudeBlock<Grid, kGroups, N> magnitude_block(const float* x, const float* w, float whole) {
  const Search<Grid>& search = search_of<Grid>();
  const auto stored = [whole](float unit) RLX_LAMBDA { return fit::as_half(unit * whole) / whole; };
  float scales[kGroups], largest = 0.0f;
  for (int g = 0; g < kGroups; ++g) {
    scales[g] = scale_of<Grid, N>(search, x + N * g, w + N * g);
    largest = scales[g] > largest ? scales[g] : largest;
  }
  MagnitudeBlock<Grid, kGroups, N> best, next;
  float error = settle<Grid, kGroups, N>(search, x, w, scales, stored(largest / 31.0f), best);
  for (int turn = 0; turn < 2; ++turn) {
    const float found = settle<Grid, kGroups, N>(search, x, w, scales, stored(unit_of(x, w, best)), next);
    if (!(found < error)) break;
    best = next;
    error = found;
  }
  error = refine(search, x, w, best);
  next = best;
  next.unit = stored(unit_of(x, w, best));
  if (refine(search, x, w, next) < error) best = next;
  return best;
}

// Magnitudes and signs of a block, and their weights. Where the signs of eight must be even, the
// value that matters least turns: its magnitude is then below 0.
struct Signed {
  float x[256], w[256];
  uint8_t signs[32];
};
template <int N>
RLX_INLINE void split_signs(const float* x, fit::Columns columns, bool even, Signed& y) {
  const float square = fit::mean_square<256>(x);
  for (int i = 0; i < 256; i += N) {
    const float* own = columns.importance == nullptr ? nullptr : columns.importance + i;
    fit::weigh<N>(x + i, own, own == nullptr ? fit::mean_square<N>(x + i) : square, y.w + i);
  }
  for (int eight = 0; eight < 32; ++eight) {
    int signs = 0, count = 0, least = 8 * eight;
    for (int i = 8 * eight; i < 8 * eight + 8; ++i) {
      y.x[i] = __builtin_fabsf(x[i]);
      if (x[i] < 0.0f) signs |= 1 << (i % 8), ++count;
      if (y.w[i] * x[i] * x[i] < y.w[least] * x[least] * x[least]) least = i;
    }
    if (even && count % 2 == 1) {
      signs ^= 1 << (least % 8);
      y.x[least] = -y.x[least];
    }
    y.signs[eight] = static_cast<uint8_t>(signs);
  }
}

}  // namespace rlx::formats::grid
