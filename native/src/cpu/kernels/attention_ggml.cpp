// Attention in the order in which ggml's x86 build adds, for f32 caches, so that results are its own bit for bit: scores
// of all keys of a query, softmax with its total in double, then the values in W running sums (one for every W-th key).
#include "attention.h"

namespace rlx::kernels::RLX_ISA {
namespace {

float sum_of_lanes(F v) {
#if defined(RLX_ISA_AVX2)
  // Halves, then neighbours.
  const __m128 half = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
  const __m128 pairs = _mm_hadd_ps(half, half);
  return _mm_cvtss_f32(_mm_hadd_ps(pairs, pairs));
#else
  return fsum(v);
#endif
}

// Four vectors of running sums; what is behind whole groups of them is added alone, product by product.
float dot(const float* a, const float* b, size_t n) {
  F acc[4] = {fzero(), fzero(), fzero(), fzero()};
  const size_t whole = n / (4 * W) * (4 * W);
  for (size_t i = 0; i < whole; i += 4 * W) {
    for (int u = 0; u < 4; ++u) acc[u] = ffma(fload(a + i + u * W), fload(b + i + u * W), acc[u]);
  }
  float sum = sum_of_lanes((acc[0] + acc[2]) + (acc[1] + acc[3]));
  for (size_t i = whole; i < n; ++i) sum += a[i] * b[i];
  return sum;
}

// Scores of the keys [first, last) become weights; `from` is `first` rounded down to W.
void weigh(const AttentionArgs& a, float* s, size_t from, KeyRange see) {
  for (size_t j = from; j < see.first; ++j) s[j] = kMinusInfinity;
  const size_t end = (see.last + W - 1) / W * W;
  for (size_t j = see.last; j < end; ++j) s[j] = kMinusInfinity;
  F top = fset(kMinusInfinity);
  for (size_t j = from; j < end; j += W) {
    const F scaled = softcapped(a, fload(s + j) * fset(a.scale));
    fstore(s + j, scaled);
    top = fmax(scaled, top);
  }
  const F largest = fset(fhmax(top));
  double total = 0.0;
  for (size_t j = from; j < end; j += W) {
    const F p = fexp_finite(fload(s + j) - largest);
    fstore(s + j, p);
    total += static_cast<double>(fsum(p));
  }
  const F inverse = fset(static_cast<float>(1.0 / total));
  for (size_t j = from; j < end; j += W) fstore(s + j, fload(s + j) * inverse);
}

// out[d .. d + n) = sum over keys of p[key] * v[key][d]
void add_values(const float* p, const float* v, size_t from, KeyRange see, size_t head_dim, size_t n, float* out) {
  F acc[W];
  for (int i = 0; i < W; ++i) acc[i] = fzero();
  const auto value = [&](size_t key) {
    const float* at = v + key * head_dim;
    return n == W ? fload(at) : fload_n(at, n);
  };
  size_t key = from;
  for (; key + W <= see.last; key += W) {
    unrolled<W>([&](auto i) RLX_LAMBDA { acc[i] = ffma(fset(p[key + i]), value(key + i), acc[i]); });
  }
  for (size_t i = 0; key < see.last; ++key, ++i) acc[i] = ffma(fset(p[key]), value(key), acc[i]);
  for (int half = W / 2; half > 0; half /= 2) {
    for (int i = 0; i < half; ++i) acc[i] = acc[i] + acc[i + half];
  }
  if (n == W) {
    fstore(out, acc[0]);
  } else {
    fstore_n(out, acc[0], n);
  }
}

}  // namespace

void attention_ggml(const AttentionArgs& a, size_t kv_head, size_t t0, size_t t1, void* scratch) {
  const size_t group = group_of(a);
  const float* k = static_cast<const float*>(a.k) + kv_head * a.kv_head_stride;
  const float* v = static_cast<const float*>(a.v) + kv_head * a.kv_head_stride;
  float* scores = static_cast<float*>(scratch);
  for (size_t row = t0 * group; row < t1 * group; ++row) {
    const size_t t = row / group, head = kv_head * group + row % group;
    const KeyRange see = visible(a, t);
    const size_t from = see.first / W * W;
    const float* q = a.q + t * a.q_token_stride + head * a.q_head_stride;
    for (size_t key = see.first; key < see.last; ++key) scores[key] = dot(k + key * a.head_dim, q, a.head_dim);
    weigh(a, scores, from, see);
    float* out = a.out + t * a.out_token_stride + head * a.out_head_stride;
    for (size_t d = 0; d < a.head_dim; d += W) {
      add_values(scores, v + d, from, see, a.head_dim, min_size(W, a.head_dim - d), out + d);
    }
  }
}

}  // namespace rlx::kernels::RLX_ISA
