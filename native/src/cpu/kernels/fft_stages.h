// The Fourier transform of one row as stages of radix 4, 2, 3 and 5 (Stockham's order, which needs no
// reversal of bits): from split real and imaginary parts to others. Written over lanes:
// vectors of floats in every instruction set (fft.cpp), single numbers for what is left and for f64.
//
// A stage of radix R with m = length / R reads a[k] = x[q + s * (p + m * k)] and writes
// y[q + s * (R * p + k)] = DFT_R(a)[k] * exp(-2πi p k / (R m)); s is the product of the radices before.
#pragma once

#include <cstddef>

namespace rlx::kernels {

// Below this stride the loop over q is too short: p and q are one loop, and results are put in
// place from a buffer. The twiddles of such a stage lie [k - 1][p * s + q], real parts before
// imaginary ones; those of others [p][k - 1], in pairs.
inline constexpr size_t kShortStride = 8;

template <class T>
struct Halves2 {
  T* re;
  T* im;
};

// What follows is compiled once for each instruction set, under the same names: each object keeps its own.
namespace {

// One number as lanes.
template <class T>
struct SingleLane {
  using V = T;
  static constexpr size_t kWidth = 1;
  static V load(const T* p) { return *p; }
  static void store(T* p, V v) { *p = v; }
  static V set(double x) { return static_cast<T>(x); }
};

// Complex numbers in lanes.
template <class L>
struct Pair {
  typename L::V re, im;
};

template <class L>
inline Pair<L> operator+(Pair<L> a, Pair<L> b) {
  return {a.re + b.re, a.im + b.im};
}
template <class L>
inline Pair<L> operator-(Pair<L> a, Pair<L> b) {
  return {a.re - b.re, a.im - b.im};
}
template <class L>
inline Pair<L> operator*(Pair<L> a, typename L::V by) {
  return {a.re * by, a.im * by};
}
template <class L>
inline Pair<L> times(Pair<L> a, Pair<L> b) {
  return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}
// -i * a.
template <class L>
inline Pair<L> turned(Pair<L> a) {
  return {a.im, L::set(0) - a.re};
}

template <size_t R, class L>
inline void butterfly(Pair<L> (&a)[R]) {
  if constexpr (R == 2) {
    const Pair<L> x = a[0];
    a[0] = x + a[1];
    a[1] = x - a[1];
  } else if constexpr (R == 3) {
    const Pair<L> sum = a[1] + a[2], across = turned(a[1] - a[2]) * L::set(0.86602540378443864676);
    const Pair<L> middle = a[0] - sum * L::set(0.5);
    a[0] = a[0] + sum;
    a[1] = middle + across;
    a[2] = middle - across;
  } else if constexpr (R == 4) {
    const Pair<L> even = a[0] + a[2], odd = a[1] + a[3], less = a[0] - a[2], across = turned(a[1] - a[3]);
    a[0] = even + odd;
    a[1] = less + across;
    a[2] = even - odd;
    a[3] = less - across;
  } else {
    static_assert(R == 5);
    const auto c1 = L::set(0.30901699437494742410), c2 = L::set(-0.80901699437494742410);
    const auto s1 = L::set(0.95105651629515357212), s2 = L::set(0.58778525229247312917);
    const Pair<L> outer = a[1] + a[4], inner = a[2] + a[3];
    const Pair<L> out = turned(a[1] - a[4]), in = turned(a[2] - a[3]);
    const Pair<L> m1 = a[0] + outer * c1 + inner * c2, m2 = a[0] + outer * c2 + inner * c1;
    const Pair<L> x1 = out * s1 + in * s2, x2 = out * s2 - in * s1;
    a[0] = a[0] + outer + inner;
    a[1] = m1 + x1;
    a[2] = m2 + x2;
    a[3] = m2 - x2;
    a[4] = m1 - x1;
  }
}

// The values at x, x + step, … of some lanes, transformed.
template <size_t R, class L, class T>
inline void transform(Halves2<const T> x, size_t step, Pair<L> (&a)[R]) {
  for (size_t k = 0; k < R; k++) a[k] = {L::load(x.re + k * step), L::load(x.im + k * step)};
  butterfly<R, L>(a);
}

// Places q0 .. of one p, as many as there are whole lanes; returns where it ended.
template <size_t R, class L, class T>
inline size_t long_run(Halves2<const T> x, Halves2<T> y, size_t step, size_t s, const T* twiddles, size_t q) {
  Pair<L> w[R];
  for (size_t k = 1; k < R; k++) w[k] = {L::set(twiddles[2 * k - 2]), L::set(twiddles[2 * k - 1])};
  for (; q + L::kWidth <= s; q += L::kWidth) {
    Pair<L> a[R];
    transform<R, L, T>({x.re + q, x.im + q}, step, a);
    for (size_t k = 0; k < R; k++) {
      const auto b = k == 0 ? a[0] : times(a[k], w[k]);
      L::store(y.re + q + s * k, b.re);
      L::store(y.im + q + s * k, b.im);
    }
  }
  return q;
}

template <size_t R, class L, class T>
inline void long_stage(Halves2<const T> x, Halves2<T> y, size_t m, size_t s, const T* twiddles) {
  for (size_t p = 0; p < m; p++, twiddles += 2 * (R - 1)) {
    const Halves2<const T> from = {x.re + s * p, x.im + s * p};
    const Halves2<T> to = {y.re + s * R * p, y.im + s * R * p};
    const size_t q = long_run<R, L, T>(from, to, s * m, s, twiddles, 0);
    long_run<R, SingleLane<T>, T>(from, to, s * m, s, twiddles, q);
  }
}

inline constexpr size_t kShortRun = 64;
template <size_t R, class T>
struct ShortRoom {
  T re[R][kShortRun], im[R][kShortRun];
};

template <size_t R, class L, class T>
inline size_t short_run(Halves2<const T> x, size_t count, const T* wr, const T* wi, size_t n, size_t j,
                        ShortRoom<R, T>& room) {
  for (; j + L::kWidth <= n; j += L::kWidth) {
    Pair<L> a[R];
    transform<R, L, T>({x.re + j, x.im + j}, count, a);
    for (size_t k = 0; k < R; k++) {
      const size_t at = k == 0 ? 0 : (k - 1) * count + j;
      const auto b = k == 0 ? a[0] : times(a[k], Pair<L>{L::load(wr + at), L::load(wi + at)});
      L::store(room.re[k] + j, b.re);
      L::store(room.im[k] + j, b.im);
    }
  }
  return j;
}

// Lines [R][n] of runs of s numbers, run by run.
template <size_t R, size_t S, class T>
inline void interleave(const T (&from)[R][kShortRun], size_t n, T* to) {
  for (size_t j = 0; j < n; j += S)
    for (size_t k = 0; k < R; k++)
      for (size_t q = 0; q < S; q++) *to++ = from[k][j + q];
}
template <size_t R, class T>
inline void interleave(const T (&from)[R][kShortRun], size_t n, size_t s, T* to) {
  switch (s) {
    case 1: return interleave<R, 1>(from, n, to);
    case 2: return interleave<R, 2>(from, n, to);
    case 3: return interleave<R, 3>(from, n, to);
    case 4: return interleave<R, 4>(from, n, to);
    case 5: return interleave<R, 5>(from, n, to);
    default: return interleave<R, 6>(from, n, to);
  }
}

template <size_t R, class L, class T>
inline void short_stage(Halves2<const T> x, Halves2<T> y, size_t m, size_t s, const T* twiddles) {
  const size_t count = m * s, run = kShortRun / s * s;
  const T* wr = twiddles;
  const T* wi = twiddles + (R - 1) * count;
  for (size_t j = 0; j < count; j += run) {
    const size_t n = count - j < run ? count - j : run;
    ShortRoom<R, T> room;
    const Halves2<const T> from = {x.re + j, x.im + j};
    const size_t done = short_run<R, L, T>(from, count, wr + j, wi + j, n, 0, room);
    short_run<R, SingleLane<T>, T>(from, count, wr + j, wi + j, n, done, room);
    interleave<R>(room.re, n, s, y.re + R * j);
    interleave<R>(room.im, n, s, y.im + R * j);
  }
}

template <class L, class T>
inline void fft_stage(size_t radix, Halves2<const T> x, Halves2<T> y, size_t m, size_t s, const T* twiddles) {
  const bool is_short = s < kShortStride;
  switch (radix) {
    case 2: return is_short ? short_stage<2, L, T>(x, y, m, s, twiddles) : long_stage<2, L, T>(x, y, m, s, twiddles);
    case 3: return is_short ? short_stage<3, L, T>(x, y, m, s, twiddles) : long_stage<3, L, T>(x, y, m, s, twiddles);
    case 4: return is_short ? short_stage<4, L, T>(x, y, m, s, twiddles) : long_stage<4, L, T>(x, y, m, s, twiddles);
    default: return is_short ? short_stage<5, L, T>(x, y, m, s, twiddles) : long_stage<5, L, T>(x, y, m, s, twiddles);
  }
}

}  // namespace
}  // namespace rlx::kernels
