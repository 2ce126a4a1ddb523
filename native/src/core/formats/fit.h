// Fits for packing: the scale (and minimum) of a group whose whole codes stand for its values with the least weighted square
// error. Groups are a multiple of 8 values; codes are floats until they are stored.
#pragma once

#include <cmath>

#include "../half.h"

// All functions here are inlined: how vectors would be handed over does not matter.
#pragma GCC diagnostic ignored "-Wpsabi"

namespace rlx::formats::fit {

// What a row of a weight is packed for: how much its columns matter (null: all the same), from the block's first one on, and the
// mean square of the row.
struct Columns {
  const float* importance;
  float mean_square;
};

// Eight values at a time, in whatever registers the instruction set has.
using Eight = float __attribute__((vector_size(32)));
using Mask = int32_t __attribute__((vector_size(32)));

RLX_INLINE Eight load(const float* x) {
  Eight v;
  std::memcpy(&v, x, 32);
  return v;
}
RLX_INLINE void store(Eight v, float* x) { std::memcpy(x, &v, 32); }
RLX_INLINE Eight all(float x) { return Eight{x, x, x, x, x, x, x, x}; }
RLX_INLINE float sum(Eight v) { return ((v[0] + v[4]) + (v[1] + v[5])) + ((v[2] + v[6]) + (v[3] + v[7])); }

// The nearest whole number, ties to even, of |x| < 2^22.
RLX_INLINE float nearest(float x) { return (x + 12582912.0f) - 12582912.0f; }
RLX_INLINE Eight nearest(Eight x) { return (x + all(12582912.0f)) - all(12582912.0f); }
// What is not a number becomes `low`.
RLX_INLINE float clamp(float x, float low, float high) {
  x = x > low ? x : low;
  return x < high ? x : high;
}
RLX_INLINE Eight clamp(Eight x, float low, float high) {
  x = x > all(low) ? x : all(low);
  return x < all(high) ? x : all(high);
}
RLX_INLINE Eight magnitude(Eight x) { return x < all(0.0f) ? -x : x; }

RLX_INLINE void store_half(float x, uint8_t* to) {
  const uint16_t half = f32_to_half(x);
  std::memcpy(to, &half, 2);
}
// What a reader will see of a scale.
RLX_INLINE float as_half(float x) { return half_to_f32(f32_to_half(x)); }
RLX_INLINE float inverse_of(float scale) { return scale == 0.0f ? 0.0f : 1.0f / scale; }

template <int N>
RLX_INLINE float largest_magnitude(const float* x) {
  Eight most = all(0.0f);
  for (int i = 0; i < N; i += 8) {
    const Eight a = magnitude(load(x + i));
    most = a > most ? a : most;
  }
  float largest = 0.0f;
  for (int i = 0; i < 8; ++i) largest = most[i] > largest ? most[i] : largest;
  return largest;
}

// The value with the largest magnitude, the first of several, with its sign.
template <int N>
RLX_INLINE float peak(const float* x) {
  const float largest = largest_magnitude<N>(x);
  for (int i = 0; i < N && largest > 0.0f; ++i) {
    if (__builtin_fabsf(x[i]) == largest) return x[i];
  }
  return 0.0f;
}

template <int N>
RLX_INLINE void range(const float* x, float* low, float* high) {
  Eight a = load(x), b = a;
  for (int i = 8; i < N; i += 8) {
    const Eight v = load(x + i);
    a = v < a ? v : a;
    b = v > b ? v : b;
  }
  *low = a[0];
  *high = b[0];
  for (int i = 1; i < 8; ++i) {
    *low = a[i] < *low ? a[i] : *low;
    *high = b[i] > *high ? b[i] : *high;
  }
  // Zeros have signs: the first one counts.
  for (int i = N - 1; i >= 0; --i) {
    if (x[i] == 0.0f && *low == 0.0f) *low = x[i];
    if (x[i] == 0.0f && *high == 0.0f) *high = x[i];
  }
}

template <int N>
RLX_INLINE float mean_square(const float* x) {
  Eight total = all(0.0f);
  for (int i = 0; i < N; i += 8) total += load(x + i) * load(x + i);
  return sum(total) / N;
}

// How much each value counts: large values more than small ones, and as much as the importance of their columns says.
template <int N>
RLX_INLINE void weigh(const float* x, const float* importance, float mean_square, float* w) {
  if (importance != nullptr) {
    for (int i = 0; i < N; ++i) w[i] = importance[i] * __builtin_sqrtf(4.0f * mean_square + x[i] * x[i]);
    return;
  }
  const float root = 1.5f * __builtin_sqrtf(mean_square);
  for (int i = 0; i < N; ++i) w[i] = root + __builtin_fabsf(x[i]);
}

// ------------------------------------------------------------------------------ value = scale * code

// Whole codes from low to high.
struct Whole {
  float low, high;
  RLX_MEMBER Eight nearest_code(Eight x) const { return clamp(nearest(x), low, high); }
};

// The scale that fits best, 0 for a group without values. `edge` is the code that the largest value may get, or some steps more or
// less. `Codes` says which codes there are.
template <int N, class Codes>
RLX_INLINE float scale_for(const float* x, const float* w, const Codes& codes, float edge, float step, int steps) {
  const float top = peak<N>(x);
  if (!(__builtin_fabsf(top) > 1e-15f)) return 0.0f;
  float best = 0.0f, best_scale = 0.0f;
  const auto consider = [&](float inverse) RLX_LAMBDA {
    Eight along = all(0.0f), square = all(0.0f);
    for (int i = 0; i < N; i += 8) {
      const Eight v = load(x + i), code = codes.nearest_code(v * inverse), weighted = load(w + i) * code;
      along += weighted * v;
      square += weighted * code;
    }
    const float a = sum(along), s = sum(square);
    if (s > 0.0f && a * a > best * s) {
      best = a * a / s;
      best_scale = a / s;
    }
  };
  for (int i = -steps; i <= steps; ++i) consider((edge + step * static_cast<float>(i)) / top);
  if constexpr (requires { Codes::kOtherEdge; }) {
    for (int i = -steps; i <= steps; ++i) consider((Codes::kOtherEdge + step * static_cast<float>(i)) / top);
  }
  for (int turn = 0; turn < 3 && best_scale != 0.0f; ++turn) consider(1.0f / best_scale);
  return best_scale;
}

// The error of a scale, and its codes.
template <int N, class Codes>
RLX_INLINE float error_with(const float* x, const float* w, const Codes& codes, float scale, float* out) {
  const float inverse = inverse_of(scale);
  Eight error = all(0.0f);
  for (int i = 0; i < N; i += 8) {
    const Eight v = load(x + i), code = codes.nearest_code(v * inverse), rest = v - code * scale;
    error += load(w + i) * rest * rest;
    store(code, out + i);
  }
  return sum(error);
}

// ------------------------------------------------------------------- value = scale * code - minimum

struct Line {
  float scale, minimum;
};

template <int N>
RLX_INLINE float error_of(const float* x, const float* w, Line line, float high) {
  const float inverse = inverse_of(line.scale);
  Eight error = all(0.0f);
  for (int i = 0; i < N; i += 8) {
    const Eight v = load(x + i) + line.minimum, rest = clamp(nearest(v * inverse), 0.0f, high) * line.scale - v;
    error += load(w + i) * rest * rest;
  }
  return sum(error);
}

// Codes of 0..`high`. Unless `kFree`, the minimum is not negative: what lies above 0 throughout begins at 0.
template <int N, bool kFree = false>
RLX_INLINE Line line_of(const float* x, const float* w, float high) {
  float low, top;
  range<N>(x, &low, &top);
  if (!kFree && low > 0.0f) low = 0.0f;
  if (!(top > low)) return {0.0f, -low};
  Eight sums_w = all(0.0f), sums_x = all(0.0f);
  for (int i = 0; i < N; i += 8) {
    sums_w += load(w + i);
    sums_x += load(w + i) * load(x + i);
  }
  const float sum_w = sum(sums_w), sum_x = sum(sums_x);
  Line best{(top - low) / high, -low};
  float best_error = error_of<N>(x, w, best, high);
  const auto consider = [&](float inverse, float base) RLX_LAMBDA {
    float codes[N];
    Eight l = all(0.0f), l2 = all(0.0f), xl = all(0.0f);
    for (int i = 0; i < N; i += 8) {
      const Eight v = load(x + i), code = clamp(nearest((v + base) * inverse), 0.0f, high);
      const Eight weighted = load(w + i) * code;
      store(code, codes + i);
      l += weighted;
      l2 += weighted * code;
      xl += weighted * v;
    }
    const float sum_l = sum(l), sum_l2 = sum(l2), sum_xl = sum(xl);
    const float determinant = sum_w * sum_l2 - sum_l * sum_l;
    if (!(determinant > 0.0f)) return;
    Line line{(sum_w * sum_xl - sum_x * sum_l) / determinant, (sum_l * sum_xl - sum_l2 * sum_x) / determinant};
    if (!kFree && line.minimum < 0.0f) line = {sum_xl / sum_l2, 0.0f};
    if (!(line.scale > 0.0f)) return;
    Eight error = all(0.0f);
    for (int i = 0; i < N; i += 8) {
      const Eight rest = load(codes + i) * line.scale - line.minimum - load(x + i);
      error += load(w + i) * rest * rest;
    }
    const float found = sum(error);
    if (found < best_error) best = line, best_error = found;
  };
  // Scales that put the largest value up to 0.9 of a code beyond the last one, or before it.
  for (int step = 0; step <= 36; ++step) consider((high - 0.9f + 0.05f * static_cast<float>(step)) / (top - low), -low);
  // One value far from the others: those get one code together.
  const float mean = sum_x / sum_w;
  if (mean > low && mean < top) {
    if (kFree || mean < 0.0f) consider(high / (top - mean), -mean);
    consider(high / (mean - low), -low);
  }
  for (int turn = 0; turn < 4; ++turn) consider(1.0f / best.scale, best.minimum);
  return best;
}

// A scale and a minimum as whole multiples of two units.
struct Multiples {
  int scale, minimum;
};

template <int N>
RLX_INLINE Multiples best_multiples(const float* x, const float* w, Line unit, Line line, int most, float high) {
  const auto near = [most](float value, float one) RLX_LAMBDA {
    return one == 0.0f ? 0 : static_cast<int>(clamp(nearest(value / one), 0.0f, static_cast<float>(most)));
  };
  const Multiples middle{near(line.scale, unit.scale), near(line.minimum, unit.minimum)};
  Multiples best = middle;
  float best_error = INFINITY;
  for (int s = middle.scale - 1; s <= middle.scale + 1; ++s) {
    for (int m = middle.minimum - 1; m <= middle.minimum + 1; ++m) {
      if (s < 0 || s > most || m < 0 || m > most) continue;
      const float error =
          error_of<N>(x, w, Line{unit.scale * static_cast<float>(s), unit.minimum * static_cast<float>(m)}, high);
      if (error < best_error) best = {s, m}, best_error = error;
    }
  }
  return best;
}

template <int N>
RLX_INLINE void codes_of(const float* x, Line line, float high, float* codes) {
  const float inverse = inverse_of(line.scale);
  for (int i = 0; i < N; i += 8) store(clamp(nearest((load(x + i) + line.minimum) * inverse), 0.0f, high), codes + i);
}

// ------------------------------------------------------------- blocks of groups with a common unit

// Codes and multiples of a block: kGroups groups of N values, each with its scale and minimum as multiples of the block's units.
template <int kGroups, int N>
struct LineBlock {
  Line unit;
  Multiples multiples[kGroups];
  float codes[kGroups * N];
};

// Multiples and codes for a unit as halves hold it, and their error.
template <int kGroups, int N>
RLX_INLINE float settle(const float* x, const float* w, const Line* lines, Line unit, int most, float high,
                        LineBlock<kGroups, N>& block) {
  block.unit = {as_half(unit.scale), as_half(unit.minimum)};
  float error = 0.0f;
  for (int g = 0; g < kGroups; ++g) {
    const Multiples found = best_multiples<N>(x + N * g, w + N * g, block.unit, lines[g], most, high);
    const Line line{block.unit.scale * static_cast<float>(found.scale),
                    block.unit.minimum * static_cast<float>(found.minimum)};
    block.multiples[g] = found;
    codes_of<N>(x + N * g, line, high, block.codes + N * g);
    error += error_of<N>(x + N * g, w + N * g, line, high);
  }
  return error;
}

// The units that fit the block's codes and multiples best.
template <int kGroups, int N>
RLX_INLINE Line unit_of(const float* x, const float* w, const LineBlock<kGroups, N>& block) {
  float aa = 0.0f, ab = 0.0f, bb = 0.0f, ax = 0.0f, bx = 0.0f;
  for (int g = 0; g < kGroups; ++g) {
    Eight l2 = all(0.0f), l = all(0.0f), one = all(0.0f), xl = all(0.0f), xs = all(0.0f);
    for (int i = N * g; i < N * (g + 1); i += 8) {
      const Eight v = load(x + i), weight = load(w + i), code = load(block.codes + i);
      l2 += weight * code * code;
      l += weight * code;
      one += weight;
      xl += weight * code * v;
      xs += weight * v;
    }
    const float s = static_cast<float>(block.multiples[g].scale), m = static_cast<float>(block.multiples[g].minimum);
    aa += s * s * sum(l2);
    ab -= s * m * sum(l);
    bb += m * m * sum(one);
    ax += s * sum(xl);
    bx -= m * sum(xs);
  }
  const float determinant = aa * bb - ab * ab;
  if (determinant > 0.0f) {
    const Line unit{(ax * bb - bx * ab) / determinant, (bx * aa - ax * ab) / determinant};
    if (unit.scale > 0.0f && unit.minimum > 0.0f) return unit;
  }
  return {aa > 0.0f ? ax / aa : 0.0f, block.unit.minimum};
}

// Lines of each group first, then units and multiples in turn, as long as the error falls.
template <int kGroups, int N>
RLX_INLINE LineBlock<kGroups, N> line_block(const float* x, Columns columns, int most, float high) {
  constexpr int kAll = kGroups * N;
  const float whole = columns.importance == nullptr ? 0.0f : mean_square<kAll>(x);
  float w[kAll];
  Line lines[kGroups];
  Line unit{0.0f, 0.0f};
  for (int g = 0; g < kGroups; ++g) {
    const float* own = columns.importance == nullptr ? nullptr : columns.importance + N * g;
    weigh<N>(x + N * g, own, own == nullptr ? mean_square<N>(x + N * g) : whole, w + N * g);
    lines[g] = line_of<N>(x + N * g, w + N * g, high);
    unit.scale = lines[g].scale > unit.scale ? lines[g].scale : unit.scale;
    unit.minimum = lines[g].minimum > unit.minimum ? lines[g].minimum : unit.minimum;
  }
  unit = {unit.scale / static_cast<float>(most), unit.minimum / static_cast<float>(most)};
  LineBlock<kGroups, N> best, next;
  float error = settle<kGroups, N>(x, w, lines, unit, most, high, best);
  for (int turn = 0; turn < 3; ++turn) {
    const float found = settle<kGroups, N>(x, w, lines, unit_of<kGroups, N>(x, w, best), most, high, next);
    if (!(found < error)) break;
    best = next;
    error = found;
  }
  return best;
}

// Codes and multiples of a block whose groups have a scale only: value = unit * multiple * code. `Codes` says which codes there are.
template <int kGroups, int N>
struct ScaleBlock {
  float unit = 0.0f;
  int multiples[kGroups] = {};
  float codes[kGroups * N] = {};
};

// Codes and multiples for a unit as halves hold it, and their error.
template <int kGroups, int N, class Codes>
RLX_INLINE float settle(const float* x, const float* w, const Codes& codes, const float* scales, float unit, int least,
                        int most, ScaleBlock<kGroups, N>& block) {
  block.unit = as_half(unit);
  float total = 0.0f, other[N];
  for (int g = 0; g < kGroups; ++g) {
    const float ratio = block.unit == 0.0f ? 0.0f : scales[g] / block.unit;
    const int middle = static_cast<int>(clamp(nearest(ratio), static_cast<float>(least), static_cast<float>(most)));
    float best = INFINITY;
    for (int m = middle - 1; m <= middle + 1; ++m) {
      if (m < least || m > most) continue;
      const float error = error_with<N>(x + N * g, w + N * g, codes, block.unit * static_cast<float>(m), other);
      if (!(error < best)) continue;
      best = error;
      block.multiples[g] = m;
      std::memcpy(block.codes + N * g, other, sizeof other);
    }
    total += best;
  }
  return total;
}

// Scales of each group first, then the unit and multiples in turn, as long as the error falls. `edge` is the code that the largest
// value may get.
template <int kGroups, int N, class Codes>
RLX_INLINE ScaleBlock<kGroups, N> scale_block(const float* x, Columns columns, const Codes& codes, float edge,
                                              float step, int steps, int least, int most) {
  constexpr int kAll = kGroups * N;
  const float whole = columns.importance == nullptr ? 0.0f : mean_square<kAll>(x);
  float w[kAll], scales[kGroups], largest = 0.0f;
  for (int g = 0; g < kGroups; ++g) {
    const float* own = columns.importance == nullptr ? nullptr : columns.importance + N * g;
    weigh<N>(x + N * g, own, own == nullptr ? mean_square<N>(x + N * g) : whole, w + N * g);
    scales[g] = scale_for<N>(x + N * g, w + N * g, codes, edge, step, steps);
    if (__builtin_fabsf(scales[g]) > __builtin_fabsf(largest)) largest = scales[g];
  }
  ScaleBlock<kGroups, N> best, next;
  // The largest scale gets the multiple with the largest magnitude.
  float error = settle<kGroups, N>(x, w, codes, scales, largest / static_cast<float>(least), least, most, best);
  for (int turn = 0; turn < 3; ++turn) {
    float along = 0.0f, square = 0.0f;
    for (int g = 0; g < kGroups; ++g) {
      Eight a = all(0.0f), b = all(0.0f);
      for (int i = N * g; i < N * (g + 1); i += 8) {
        const Eight code = load(best.codes + i), weighted = load(w + i) * code;
        a += weighted * load(x + i);
        b += weighted * code;
      }
      const float m = static_cast<float>(best.multiples[g]);
      along += m * sum(a);
      square += m * m * sum(b);
    }
    if (!(square > 0.0f)) break;
    const float found = settle<kGroups, N>(x, w, codes, scales, along / square, least, most, next);
    if (!(found < error)) break;
    best = next;
    error = found;
  }
  return best;
}

}  // namespace rlx::formats::fit
