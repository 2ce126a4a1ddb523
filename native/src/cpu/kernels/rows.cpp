// Row kernels: norms, rope, softmax, reductions.
#include "vecmath.h"

namespace rlx::kernels::RLX_ISA {
namespace {

// Calls f(offset, count) for whole vectors, then once for the rest.
template <class Body>
RLX_INLINE void by_vectors(size_t n, Body body) {
  size_t i = 0;
  for (; i + W <= n; i += W) body(i, static_cast<size_t>(W));
  if (i < n) body(i, n - i);
}

RLX_INLINE F load_part(const float* p, size_t n) { return n == W ? fload(p) : fload_n(p, n); }
RLX_INLINE void store_part(float* p, F v, size_t n) {
  if (n == W) {
    fstore(p, v);
  } else {
    fstore_n(p, v, n);
  }
}

float sum_of(const float* x, size_t n) {
  F a = fzero(), b = fzero();
  size_t i = 0;
  for (; i + 2 * W <= n; i += 2 * W) {
    a = a + fload(x + i);
    b = b + fload(x + i + W);
  }
  by_vectors(n - i, [&](size_t j, size_t m) { a = a + load_part(x + i + j, m); });
  return fsum(a + b);
}

float sum_of_squares(const float* x, size_t n, float centre) {
  const F c = fset(centre);
  F a = fzero(), b = fzero();
  size_t i = 0;
  for (; i + 2 * W <= n; i += 2 * W) {
    const F u = fload(x + i) - c, v = fload(x + i + W) - c;
    a = ffma(u, u, a);
    b = ffma(v, v, b);
  }
  for (; i + W <= n; i += W) {
    const F u = fload(x + i) - c;
    a = ffma(u, u, a);
  }
  float s = fsum(a + b);
  for (; i < n; ++i) s += (x[i] - centre) * (x[i] - centre);
  return s;
}

// Squares in f32, their sum in double, as ggml has them.
double sum_of_squares_in_double(const float* x, size_t n) {
  double part[W] = {};
  size_t i = 0;
  for (; i + W <= n; i += W) {
    for (int j = 0; j < W; ++j)
      part[j] += static_cast<double>(x[i + static_cast<size_t>(j)] * x[i + static_cast<size_t>(j)]);
  }
  double sum = 0.0;
  for (int j = 0; j < W; ++j) sum += part[j];
  for (; i < n; ++i) sum += static_cast<double>(x[i] * x[i]);
  return sum;
}

float max_of(const float* x, size_t n) {
  F m = fset(x[0]), bad = fzero();  // a NaN anywhere is the result
  size_t i = 0;
  for (; i + W <= n; i += W) {
    const F v = fload(x + i);
    m = fmax(v, m);
    bad = fselect(fnan(v), v, bad);
  }
  float top = fhmax(m), odd = fsum(bad);
  for (; i < n; ++i) {
    top = x[i] > top ? x[i] : top;
    odd = x[i] != x[i] ? x[i] : odd;
  }
  return odd != odd ? odd : top;
}

float min_of(const float* x, size_t n) {
  F m = fset(x[0]), bad = fzero();
  size_t i = 0;
  for (; i + W <= n; i += W) {
    const F v = fload(x + i);
    m = fmin(v, m);
    bad = fselect(fnan(v), v, bad);
  }
  float low = fhmin(m), odd = fsum(bad);
  for (; i < n; ++i) {
    low = x[i] < low ? x[i] : low;
    odd = x[i] != x[i] ? x[i] : odd;
  }
  return odd != odd ? odd : low;
}

}  // namespace

void rms_norm(const float* x, size_t ldx, const float* weight, float eps, float* y, size_t ldy, size_t r0, size_t r1,
              size_t n) {
  for (size_t r = r0; r < r1; ++r) {
    const float* in = x + r * ldx;
    float* out = y + r * ldy;
    const auto mean = static_cast<float>(sum_of_squares_in_double(in, n) / static_cast<double>(n));
    const F scale = fset(1.0f / __builtin_sqrtf(mean + eps));
    by_vectors(n, [&](size_t i, size_t m) {
      F v = load_part(in + i, m) * scale;
      if (weight != nullptr) v = v * load_part(weight + i, m);
      store_part(out + i, v, m);
    });
  }
}

void layer_norm(const float* x, size_t ldx, const float* weight, const float* bias, float eps, float* y, size_t ldy,
                size_t r0, size_t r1, size_t n) {
  for (size_t r = r0; r < r1; ++r) {
    const float* in = x + r * ldx;
    float* out = y + r * ldy;
    const float mean = sum_of(in, n) / static_cast<float>(n);
    const float variance = sum_of_squares(in, n, mean) / static_cast<float>(n);
    const F centre = fset(mean), scale = fset(1.0f / __builtin_sqrtf(variance + eps));
    by_vectors(n, [&](size_t i, size_t m) {
      F v = (load_part(in + i, m) - centre) * scale;
      if (weight != nullptr) v = v * load_part(weight + i, m);
      if (bias != nullptr) v = v + load_part(bias + i, m);
      store_part(out + i, v, m);
    });
  }
}

void rope(const RopeArgs& a) {
  const size_t half = a.rotary_dim / 2;
  for (size_t t = a.t0; t < a.t1; ++t) {
    const float* cos = a.cos + t * half;
    const float* sin = a.sin + t * half;
    for (size_t h = 0; h < a.heads; ++h) {
      float* x = a.x + t * a.token_stride + h * a.head_stride;
      if (a.interleaved) {
        for (size_t i = 0; i < half; ++i) {
          const float u = x[2 * i], v = x[2 * i + 1];
          x[2 * i] = __builtin_fmaf(u, cos[i], -(v * sin[i]));
          x[2 * i + 1] = __builtin_fmaf(u, sin[i], v * cos[i]);
        }
        continue;
      }
      by_vectors(half, [&](size_t i, size_t m) {
        const F u = load_part(x + i, m), v = load_part(x + half + i, m);
        const F c = load_part(cos + i, m), s = load_part(sin + i, m);
        store_part(x + i, ffma(u, c, fzero() - v * s), m);
        store_part(x + half + i, ffma(u, s, v * c), m);
      });
    }
  }
}

void softmax(const float* x, size_t ldx, float scale, float* y, size_t ldy, size_t r0, size_t r1, size_t n) {
  if (n == 0) return;
  for (size_t r = r0; r < r1; ++r) {
    const float* in = x + r * ldx;
    float* out = y + r * ldy;
    const F factor = fset(scale), top = fset(scale >= 0.0f ? max_of(in, n) * scale : min_of(in, n) * scale);
    by_vectors(n, [&](size_t i, size_t m) { store_part(out + i, fexp(load_part(in + i, m) * factor - top), m); });
    const F inverse = fset(1.0f / sum_of(out, n));
    by_vectors(n, [&](size_t i, size_t m) { store_part(out + i, load_part(out + i, m) * inverse, m); });
  }
}

float log_sum_exp(const float* x, size_t n) {
  const float top = max_of(x, n);
  if (top == -__builtin_inff()) return top;
  // f64 total: a vocabulary has 1e5 terms.
  double total = 0.0;
  for (size_t block = 0; block < n; block += 4096) {
    const size_t end = min_size(n, block + 4096);
    F sum = fzero();
    float rest = 0.0f;
    size_t i = block;
    for (; i + W <= end; i += W) sum = sum + fexp(fload(x + i) - fset(top));
    for (; i < end; ++i) rest += fsum(fexp(fset(x[i] - top))) / static_cast<float>(W);
    total += static_cast<double>(fsum(sum)) + static_cast<double>(rest);
  }
  return top + static_cast<float>(__builtin_log(total));
}

void reduce(Reduce kind, const float* x, size_t ldx, float* y, size_t r0, size_t r1, size_t n) {
  for (size_t r = r0; r < r1; ++r) {
    const float* in = x + r * ldx;
    switch (kind) {
      case Reduce::sum: y[r] = sum_of(in, n); break;
      case Reduce::max: y[r] = max_of(in, n); break;
      case Reduce::min: y[r] = min_of(in, n); break;
      case Reduce::sum_squares: y[r] = sum_of_squares(in, n, 0.0f); break;
    }
  }
}

}  // namespace rlx::kernels::RLX_ISA
