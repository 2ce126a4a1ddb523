// Fits for packing: the scale (and minimum) of a group whose whole codes stand for its values with
// the least weighted square error. Groups are a multiple of 8 values; codes are floats until they
// are stored.
#pragma once

#include <array>
#include <cmath>
#include <utility>

#include "fit_values.h"

namespace rlx::formats::fit {

// ------------------------------------------------------------------------------ value = scale * code

// Whole codes from low to high.
struct Whole {
  float low, high;
  RLX_MEMBER Eight nearest_code(Eight x) const { return clamp(nearest(x), low, high); }
};

// The codes that the largest value of a group may get: `edge`, and for some a second one.
template <class Codes>
inline constexpr bool has_other_edge = requires { Codes::kOtherEdge; };
template <class Codes>
RLX_INLINE float edge_of(float edge, int which) {
  if constexpr (has_other_edge<Codes>) return which == 1 ? Codes::kOtherEdge : edge;
  return edge;
}

// The scale that fits best, 0 for a group without values. `edge` is the code that the largest value
// (`top`) may get, or some steps more or less. `Codes` says which codes there are.
template <class Values, class Codes>
RLX_INLINE typename Values::Number scale_for(const Values& values, const Codes& codes, typename Values::Number top,
                                             float edge, float step, int steps) {
  using Number = typename Values::Number;
  Number best{}, best_scale{};
  const auto consider = [&](Number inverse, auto allowed) RLX_LAMBDA {
    const Eight by = spread(inverse);
    const auto [a, s] = values
                            .template total<2>([&](int i) RLX_LAMBDA {
                              const Eight code = codes.nearest_code(values.x(i) * by), weighted = values.w(i) * code;
                              return Sums<2>{{weighted * values.x(i), weighted * code}};
                            })
                            .of;
    const auto better = allowed & (s > Number{}) & (a * a > best * s);
    best = choose(better, a * a / s, best);
    best_scale = choose(better, a / s, best_scale);
  };
  // `consider` is inlined, and long: it is called in one place.
  const int edges = 2 * steps + 1, all_edges = has_other_edge<Codes> ? 2 * edges : edges;
  for (int turn = 0; turn < all_edges + 3; ++turn) {
    const bool is_edge = turn < all_edges;
    const float code = edge_of<Codes>(edge, turn / edges) + step * static_cast<float>(turn % edges - steps);
    consider(is_edge ? code / top : 1.0f / best_scale, is_edge ? top == top : best_scale != Number{});
  }
  return choose(magnitude(top) > Number{} + 1e-15f, best_scale, Number{});
}

// The codes for a scale.
template <int N, class Codes>
RLX_INLINE void codes_with(const float* x, const Codes& codes, float scale, float* out) {
  const float inverse = inverse_of(scale);
  for (int i = 0; i < N; i += 8) store(codes.nearest_code(load(x + i) * inverse), out + i);
}

// ------------------------------------------------------------------- value = scale * code - minimum

template <class Number>
struct Lines {
  Number scale, minimum;
};
using Line = Lines<float>;

template <class Values>
RLX_INLINE typename Values::Number error_of(const Values& values, const Lines<typename Values::Number>& line,
                                            float high) {
  const Eight inverse = spread(inverse_of(line.scale)), scale = spread(line.scale), minimum = spread(line.minimum);
  return values
      .template total<1>([&](int i) RLX_LAMBDA {
        const Eight v = values.x(i) + minimum, rest = clamp(nearest(v * inverse), 0.0f, high) * scale - v;
        return Sums<1>{{values.w(i) * rest * rest}};
      })
      .of[0];
}

// The line from low to high of each group, in codes of 0..`high`, and the lines that fit better.
// Unless `kFree`, the minimum is not negative.
template <bool kFree, class Values>
RLX_INLINE Lines<typename Values::Number> best_lines(const Values& values, typename Values::Number low,
                                                     typename Values::Number top, float high) {
  using Number = typename Values::Number;
  const auto [sum_w, sum_x] =
      values.template total<2>([&](int i) RLX_LAMBDA { return Sums<2>{{values.w(i), values.w(i) * values.x(i)}}; }).of;
  Lines<Number> best{(top - low) / high, -low};
  Number best_error = error_of(values, best, high);
  const auto consider = [&](Number inverse, Number base, auto allowed) RLX_LAMBDA {
    Eight codes[Values::kSteps];
    const Eight by = spread(inverse), from = spread(base);
    const auto [l, l2, xl] = values
                                 .template total<3>([&](int i) RLX_LAMBDA {
                                   const Eight code = clamp(nearest((values.x(i) + from) * by), 0.0f, high),
                                               weighted = values.w(i) * code;
                                   codes[i] = code;
                                   return Sums<3>{{weighted, weighted * code, weighted * values.x(i)}};
                                 })
                                 .of;
    const Number determinant = sum_w * l2 - l * l;
    Number scale = (sum_w * xl - sum_x * l) / determinant, minimum = (l * xl - l2 * sum_x) / determinant;
    if constexpr (!kFree) {
      scale = choose(minimum < Number{}, xl / l2, scale);
      minimum = choose(minimum < Number{}, Number{}, minimum);
    }
    const Eight s = spread(scale), m = spread(minimum);
    const Number error = values
                             .template total<1>([&](int i) RLX_LAMBDA {
                               const Eight rest = codes[i] * s - m - values.x(i);
                               return Sums<1>{{values.w(i) * rest * rest}};
                             })
                             .of[0];
    const auto better = allowed & (determinant > Number{}) & (scale > Number{}) & (error < best_error);
    best = {choose(better, scale, best.scale), choose(better, minimum, best.minimum)};
    best_error = choose(better, error, best_error);
  };
  const Number mean = sum_x / sum_w;
  const auto between = (mean > low) & (mean < top), below = kFree ? between : between & (mean < Number{});
  // `consider` is inlined, and long: it is called in one place.
  constexpr int kEdges = 37, kFar = kEdges + 2, kTurns = kFar + 4;
  for (int turn = 0; turn < kTurns; ++turn) {
    Number inverse = 1.0f / best.scale, base = best.minimum;
    auto allowed = top == top;
    if (turn < kEdges) {
      // Scales that put the largest value up to 0.9 of a code beyond the last one, or before it.
      inverse = (high - 0.9f + 0.05f * static_cast<float>(turn)) / (top - low);
      base = -low;
    } else if (turn < kFar) {
      // One value far from the others: those get one code together.
      const bool is_low = turn == kEdges;
      inverse = high / (is_low ? top - mean : mean - low);
      base = is_low ? -mean : -low;
      allowed = is_low ? below : between;
    }
    consider(inverse, base, allowed);
  }
  return best;
}

// Codes of 0..`high`. Unless `kFree`, what lies above 0 throughout begins at 0.
template <int N, bool kFree = false>
RLX_INLINE Line line_of(const float* x, const float* w, float high) {
  float low, top;
  range<N>(x, &low, &top);
  if (!kFree && low > 0.0f) low = 0.0f;
  if (!(top > low)) return {0.0f, -low};
  return best_lines<kFree>(Group<N>{x, w}, low, top, high);
}

// ------------------------------------------------------------- blocks of groups with a common unit

// Codes and multiples of a block: kGroups groups of N values, each with its scale and minimum as
// multiples of the block's units.
struct Multiples {
  int scale, minimum;
};
template <int kGroups, int N>
struct LineBlock {
  Line unit;
  Multiples multiples[kGroups];
  float codes[kGroups * N];
};

// The same with eight groups side by side.
template <int kGroups>
struct LineLanes {
  Line unit;
  Lines<Eight> multiples[kGroups / 8];
  RLX_MEMBER Lines<Eight> line(int part) const {
    return {unit.scale * multiples[part].scale, unit.minimum * multiples[part].minimum};
  }
};

// Multiples for a unit as halves hold it, and their error.
template <int kGroups, int N>
RLX_INLINE float settle(const Groups<N>* groups, const Lines<Eight>* lines, Line unit, int most, float high,
                        LineLanes<kGroups>& block) {
  block.unit = {as_half(unit.scale), as_half(unit.minimum)};
  const float last = static_cast<float>(most);
  const auto near = [last](Eight value, float one)
                        RLX_LAMBDA { return one == 0.0f ? all(0.0f) : clamp(nearest(value / one), 0.0f, last); };
  float total = 0.0f;
  for (int part = 0; part < kGroups / 8; ++part) {
    const Lines<Eight> middle{near(lines[part].scale, block.unit.scale), near(lines[part].minimum, block.unit.minimum)};
    Lines<Eight> best = middle;
    Eight best_error = all(INFINITY);
    for (int i = -1; i <= 1; ++i) {
      for (int j = -1; j <= 1; ++j) {
        const Eight s = middle.scale + static_cast<float>(i), m = middle.minimum + static_cast<float>(j);
        const Eight error = error_of(groups[part], Lines<Eight>{block.unit.scale * s, block.unit.minimum * m}, high);
        const Mask better =
            (s >= all(0.0f)) & (s <= all(last)) & (m >= all(0.0f)) & (m <= all(last)) & (error < best_error);
        best = {choose(better, s, best.scale), choose(better, m, best.minimum)};
        best_error = choose(better, error, best_error);
      }
    }
    block.multiples[part] = best;
    for (int lane = 0; lane < 8; ++lane) total += best_error[lane];
  }
  return total;
}

// The units that fit the block's codes and multiples best.
template <int kGroups, int N>
RLX_INLINE Line unit_of(const Groups<N>* groups, const LineLanes<kGroups>& block, float high) {
  float aa = 0.0f, ab = 0.0f, bb = 0.0f, ax = 0.0f, bx = 0.0f;
  for (int part = 0; part < kGroups / 8; ++part) {
    const Groups<N>& own = groups[part];
    const Lines<Eight> line = block.line(part);
    const Eight inverse = inverse_of(line.scale);
    const auto [l2, l, one, xl, xs] =
        own.template total<5>([&](int i) RLX_LAMBDA {
             const Eight v = own.x(i), weight = own.w(i);
             const Eight code = clamp(nearest((v + line.minimum) * inverse), 0.0f, high);
             return Sums<5>{{weight * code * code, weight * code, weight, weight * code * v, weight * v}};
           })
            .of;
    const Eight s = block.multiples[part].scale, m = block.multiples[part].minimum;
    const Eight ss = s * s * l2, sm = s * m * l, mm = m * m * one, sx = s * xl, mx = m * xs;
    for (int lane = 0; lane < 8; ++lane) {
      aa += ss[lane];
      ab -= sm[lane];
      bb += mm[lane];
      ax += sx[lane];
      bx -= mx[lane];
    }
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
  Eight lows[kGroups / 8], tops[kGroups / 8];
  for (int g = 0; g < kGroups; ++g) {
    const float* own = columns.importance == nullptr ? nullptr : columns.importance + N * g;
    weigh<N>(x + N * g, own, own == nullptr ? mean_square<N>(x + N * g) : whole, w + N * g);
    float low, top;
    range<N>(x + N * g, &low, &top);
    // What lies above 0 throughout begins at 0.
    lows[g / 8][g % 8] = low > 0.0f ? 0.0f : low;
    tops[g / 8][g % 8] = top;
  }
  const auto groups = eights<kGroups, N>(x, w, std::make_index_sequence<kGroups / 8>());
  Lines<Eight> lines[kGroups / 8];
  Line unit{0.0f, 0.0f};
  for (int part = 0; part < kGroups / 8; ++part) {
    const Eight low = lows[part], top = tops[part];
    const Mask any = top > low;
    const Lines<Eight> found = best_lines<false>(groups[part], low, top, high);
    lines[part] = {choose(any, found.scale, all(0.0f)), choose(any, found.minimum, -low)};
    for (int lane = 0; lane < 8; ++lane) {
      const float scale = lines[part].scale[lane], minimum = lines[part].minimum[lane];
      unit.scale = scale > unit.scale ? scale : unit.scale;
      unit.minimum = minimum > unit.minimum ? minimum : unit.minimum;
    }
  }
  unit = {unit.scale / static_cast<float>(most), unit.minimum / static_cast<float>(most)};
  LineLanes<kGroups> best, next;
  float error = 0.0f;
  for (int turn = 0; turn < 4; ++turn) {
    if (turn > 0) unit = unit_of<kGroups, N>(groups.data(), best, high);
    const float found = settle<kGroups, N>(groups.data(), lines, unit, most, high, next);
    if (turn > 0 && !(found < error)) break;
    best = next;
    error = found;
  }
  LineBlock<kGroups, N> block;
  block.unit = best.unit;
  for (int g = 0; g < kGroups; ++g) {
    const Lines<Eight> line = best.line(g / 8), multiples = best.multiples[g / 8];
    block.multiples[g] = {static_cast<int>(multiples.scale[g % 8]), static_cast<int>(multiples.minimum[g % 8])};
    const float inverse = inverse_of(line.scale[g % 8]), minimum = line.minimum[g % 8];
    for (int i = N * g; i < N * (g + 1); i += 8)
      store(clamp(nearest((load(x + i) + minimum) * inverse), 0.0f, high), block.codes + i);
  }
  return block;
}

// Codes and multiples of a block whose groups have a scale only: value = unit * multiple * code.
// `Codes` says which codes there are.
template <int kGroups, int N>
struct ScaleBlock {
  float unit = 0.0f;
  int multiples[kGroups] = {};
  float codes[kGroups * N] = {};
};

// The same with eight groups side by side.
template <int kGroups>
struct ScaleLanes {
  float unit;
  Eight multiples[kGroups / 8];
};

// The multiples for a unit as halves hold it, and their error.
template <int kGroups, int N, class Codes>
RLX_INLINE float settle(const Groups<N>* groups, const Codes& codes, const Eight* scales, float unit, int least,
                        int most, ScaleLanes<kGroups>& block) {
  block.unit = as_half(unit);
  float total = 0.0f;
  for (int part = 0; part < kGroups / 8; ++part) {
    const Groups<N>& own = groups[part];
    const Eight ratio = block.unit == 0.0f ? all(0.0f) : scales[part] / block.unit;
    const Eight middle = clamp(nearest(ratio), static_cast<float>(least), static_cast<float>(most));
    Eight best = all(INFINITY), multiple = all(0.0f);
    for (int more = -1; more <= 1; ++more) {
      const Eight m = middle + static_cast<float>(more), scale = block.unit * m, inverse = inverse_of(scale);
      const Eight error = own.template total<1>([&](int i) RLX_LAMBDA {
                               const Eight rest = own.x(i) - codes.nearest_code(own.x(i) * inverse) * scale;
                               return Sums<1>{{own.w(i) * rest * rest}};
                             })
                              .of[0];
      const Mask better = (m >= all(static_cast<float>(least))) & (m <= all(static_cast<float>(most))) & (error < best);
      best = choose(better, error, best);
      multiple = choose(better, m, multiple);
    }
    block.multiples[part] = multiple;
    for (int lane = 0; lane < 8; ++lane) total += best[lane];
  }
  return total;
}

// Scales of each group first, then the unit and multiples in turn, as long as the error falls.
// `edge` is the code that the largest value may get.
template <int kGroups, int N, class Codes>
RLX_INLINE ScaleBlock<kGroups, N> scale_block(const float* x, Columns columns, const Codes& codes, float edge,
                                              float step, int steps, int least, int most) {
  constexpr int kAll = kGroups * N;
  const float whole = columns.importance == nullptr ? 0.0f : mean_square<kAll>(x);
  float w[kAll], largest = 0.0f;
  Eight scales[kGroups / 8], tops[kGroups / 8];
  for (int g = 0; g < kGroups; ++g) {
    const float* own = columns.importance == nullptr ? nullptr : columns.importance + N * g;
    weigh<N>(x + N * g, own, own == nullptr ? mean_square<N>(x + N * g) : whole, w + N * g);
    tops[g / 8][g % 8] = peak<N>(x + N * g);
  }
  const auto groups = eights<kGroups, N>(x, w, std::make_index_sequence<kGroups / 8>());
  for (int part = 0; part < kGroups / 8; ++part) {
    scales[part] = scale_for(groups[part], codes, tops[part], edge, step, steps);
    for (int lane = 0; lane < 8; ++lane) {
      if (__builtin_fabsf(scales[part][lane]) > __builtin_fabsf(largest)) largest = scales[part][lane];
    }
  }
  ScaleLanes<kGroups> best, next;
  // The largest scale gets the multiple with the largest magnitude.
  float error =
      settle<kGroups, N>(groups.data(), codes, scales, largest / static_cast<float>(least), least, most, best);
  for (int turn = 0; turn < 3; ++turn) {
    float along = 0.0f, square = 0.0f;
    for (int part = 0; part < kGroups / 8; ++part) {
      const Groups<N>& own = groups[part];
      const Eight m = best.multiples[part], inverse = inverse_of(best.unit * m);
      const auto [a, b] = own.template total<2>([&](int i) RLX_LAMBDA {
                               const Eight code = codes.nearest_code(own.x(i) * inverse), weighted = own.w(i) * code;
                               return Sums<2>{{weighted * own.x(i), weighted * code}};
                             })
                              .of;
      const Eight alongs = m * a, squares = m * m * b;
      for (int lane = 0; lane < 8; ++lane) {
        along += alongs[lane];
        square += squares[lane];
      }
    }
    if (!(square > 0.0f)) break;
    const float found = settle<kGroups, N>(groups.data(), codes, scales, along / square, least, most, next);
    if (!(found < error)) break;
    best = next;
    error = found;
  }
  ScaleBlock<kGroups, N> block;
  block.unit = best.unit;
  for (int g = 0; g < kGroups; ++g) {
    block.multiples[g] = static_cast<int>(best.multiples[g / 8][g % 8]);
    codes_with<N>(x + N * g, codes, best.unit * best.multiples[g / 8][g % 8], block.codes + N * g);
  }
  return block;
}

}  // namespace rlx::formats::fit
