// Values of packing in registers: eight of a group at a time, or one of each of eight groups, with
// sums that have the same bits.
#pragma once

#include <array>
#include <cstring>
#include <utility>

#include "../half.h"

// All functions here are inlined: how vectors would be handed over does not matter.
#pragma GCC diagnostic ignored "-Wpsabi"

namespace rlx::formats::fit {

// What a row of a weight is packed for: how much its columns matter (null: all the same), from the
// block's first one on, and the mean square of the row.
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

using Bytes = uint8_t __attribute__((vector_size(8)));
// Values of 0..255 without their fractions.
RLX_INLINE Bytes bytes_of(Eight x) { return __builtin_convertvector(__builtin_convertvector(x, Mask), Bytes); }
// 32 codes of 4 bits: byte i holds those of i and i + 16.
RLX_INLINE void store_nibbles(const Bytes* codes, uint8_t* to) {
  for (int i = 0; i < 2; ++i) {
    const Bytes pair = (codes[i] & 15) | codes[i + 2] << 4;
    std::memcpy(to + 8 * i, &pair, 8);
  }
}
// Bit `bit` of 32 codes.
RLX_INLINE uint32_t bits_of(const Bytes* codes, int bit) {
  uint32_t found = 0;
  for (int i = 0; i < 4; ++i) {
    const Bytes ones = codes[i] >> bit & 1;
    uint64_t eight;
    std::memcpy(&eight, &ones, 8);
    found |= static_cast<uint32_t>(eight * 0x0102040810204080u >> 56) << (8 * i);
  }
  return found;
}

RLX_INLINE void store_half(float x, uint8_t* to) {
  const uint16_t half = f32_to_half(x);
  std::memcpy(to, &half, 2);
}
// What a reader will see of a scale.
RLX_INLINE float as_half(float x) { return half_to_f32(f32_to_half(x)); }
RLX_INLINE float inverse_of(float scale) { return scale == 0.0f ? 0.0f : 1.0f / scale; }

RLX_INLINE float most(Eight v) {
  const auto larger = [](float a, float b) RLX_LAMBDA { return a > b ? a : b; };
  return larger(larger(larger(v[0], v[4]), larger(v[1], v[5])), larger(larger(v[2], v[6]), larger(v[3], v[7])));
}

template <int N>
RLX_INLINE float largest_magnitude(const float* x) {
  Eight largest = all(0.0f);
  for (int i = 0; i < N; i += 8) {
    const Eight a = magnitude(load(x + i));
    largest = a > largest ? a : largest;
  }
  return most(largest);
}

// The value with the largest magnitude, the first of several, with its sign.
template <int N>
RLX_INLINE float peak(const float* x) {
  Eight above = all(0.0f), below = all(0.0f);
  for (int i = 0; i < N; i += 8) {
    const Eight v = load(x + i);
    above = v > above ? v : above;
    below = -v > below ? -v : below;
  }
  const float up = most(above), down = most(below);
  if (up > down) return up;
  if (down > up) return -down;
  for (int i = 0; i < N && up > 0.0f; ++i) {
    if (__builtin_fabsf(x[i]) == up) return x[i];
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
  *low = -most(-a);
  *high = most(b);
  if (*low != 0.0f && *high != 0.0f) return;
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

// How much each value counts: large values more than small ones, and as much as the importance of
// their columns says.
template <int N>
RLX_INLINE void weigh(const float* x, const float* importance, float mean_square, float* w) {
  if (importance != nullptr) {
    for (int i = 0; i < N; ++i) w[i] = importance[i] * __builtin_sqrtf(4.0f * mean_square + x[i] * x[i]);
    return;
  }
  const float root = 1.5f * __builtin_sqrtf(mean_square);
  for (int i = 0; i < N; ++i) w[i] = root + __builtin_fabsf(x[i]);
}

// ------------------------------------------------------------------------- groups, one or eight at a time

RLX_INLINE float choose(bool yes, float a, float b) { return yes ? a : b; }
RLX_INLINE Eight choose(Mask yes, Eight a, Eight b) { return yes ? a : b; }
RLX_INLINE float magnitude(float x) { return __builtin_fabsf(x); }
RLX_INLINE Eight spread(float x) { return all(x); }
RLX_INLINE Eight spread(Eight x) { return x; }
RLX_INLINE Eight inverse_of(Eight scale) { return scale == all(0.0f) ? all(0.0f) : 1.0f / scale; }

template <int K, class Number = Eight>
struct Sums {
  Number of[K];
  RLX_MEMBER Sums& operator+=(const Sums& other) {
    for (int k = 0; k < K; ++k) of[k] += other.of[k];
    return *this;
  }
};

// A group: its values and their weights eight at a time, and sums over them.
template <int N>
struct Group {
  using Number = float;
  static constexpr int kSteps = N / 8;
  const float *values, *weights;
  RLX_MEMBER Eight x(int step) const { return load(values + 8 * step); }
  RLX_MEMBER Eight w(int step) const { return load(weights + 8 * step); }
  template <int K, class Term>
  RLX_MEMBER Sums<K, float> total(const Term& term) const {
    Sums<K> sums = term(0);
    for (int step = 1; step < kSteps; ++step) sums += term(step);
    Sums<K, float> found;
    for (int k = 0; k < K; ++k) found.of[k] = sum(sums.of[k]);
    return found;
  }
};

// Eight groups, each in a lane: one value of each at a time. Sums have the order of a single
// group's, and so its bits.
template <int N>
struct Groups {
  using Number = Eight;
  static constexpr int kSteps = N;
  Eight values[N], weights[N];
  RLX_MEMBER Groups(const float* x, const float* w) {
    for (int step = 0; step < N; ++step) {
      for (int lane = 0; lane < 8; ++lane) {
        values[step][lane] = x[N * lane + step];
        weights[step][lane] = w[N * lane + step];
      }
    }
  }
  RLX_MEMBER Eight x(int step) const { return values[step]; }
  RLX_MEMBER Eight w(int step) const { return weights[step]; }
  template <int K, class Term>
  RLX_MEMBER Sums<K> total(const Term& term) const {
    const auto every_eighth = [&](int from) RLX_LAMBDA {
      Sums<K> sums = term(from);
      for (int step = from + 8; step < N; step += 8) sums += term(step);
      return sums;
    };
    Sums<K> pairs[4];
    for (int from = 0; from < 4; ++from) pairs[from] = every_eighth(from) += every_eighth(from + 4);
    pairs[0] += pairs[1];
    pairs[2] += pairs[3];
    return pairs[0] += pairs[2];
  }
};

template <int kGroups, int N, size_t... kParts>
RLX_INLINE std::array<Groups<N>, kGroups / 8> eights(const float* x, const float* w, std::index_sequence<kParts...>) {
  return {Groups<N>(x + 8 * N * kParts, w + 8 * N * kParts)...};
}

}  // namespace rlx::formats::fit
