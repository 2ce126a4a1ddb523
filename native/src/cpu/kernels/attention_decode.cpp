// Attention of few tokens over a long cache: bound by reading K and V once. All query heads of a group are done
// together, so a key is loaded once for the group. Parts of the key range leave (sum, maximum, total) behind.
#include "attention.h"

namespace rlx::kernels::RLX_ISA {
namespace {

size_t part_stride(size_t head_dim) { return (head_dim + 2 + 15) / 16 * 16; }

// scores[g][i] of W keys for one query row.
template <class Keys>
RLX_INLINE F scores_of(const float* q, const typename Keys::Element* k, size_t head_dim) {
  F part[W];
  const size_t whole = head_dim / W * W;
  for (int i = 0; i < W; ++i) {
    const typename Keys::Element* key = k + static_cast<size_t>(i) * head_dim;
    F s = fzero();
    for (size_t d = 0; d < whole; d += W) s = ffma(Keys::load(key + d), fload(q + d), s);
    part[i] = s;
  }
  F s = fsum_each(part);
  if (whole != head_dim) {
    float rest[W];
    for (int i = 0; i < W; ++i) {
      rest[i] = 0.0f;
      for (size_t d = whole; d < head_dim; ++d) rest[i] += q[d] * Keys::one(k[static_cast<size_t>(i) * head_dim + d]);
    }
    s = s + fload(rest);
  }
  return s;
}

template <class Keys>
float score_of(const float* q, const typename Keys::Element* k, size_t head_dim) {
  F s = fzero();
  size_t d = 0;
  for (; d + W <= head_dim; d += W) s = ffma(Keys::load(k + d), fload(q + d), s);
  float rest = 0.0f;
  for (; d < head_dim; ++d) rest += q[d] * Keys::one(k[d]);
  return fsum(s) + rest;
}

// o[r] += sum over keys of p[r][key] * v[key], for R rows and N vectors at column d.
template <class Keys, int R, int N>
RLX_INLINE void add_values(const float* p, const typename Keys::Element* v, size_t count, size_t head_dim, float* o,
                           size_t stride) {
  F acc[R][N];
  for (int r = 0; r < R; ++r) {
    for (int i = 0; i < N; ++i) acc[r][i] = fload(o + static_cast<size_t>(r) * stride + i * W);
  }
  for (size_t j = 0; j < count; ++j) {
    F value[N];
    for (int i = 0; i < N; ++i) value[i] = Keys::load(v + j * head_dim + i * W);
    for (int r = 0; r < R; ++r) {
      const F weight = fset(p[static_cast<size_t>(r) * kKeyTile + j]);
      for (int i = 0; i < N; ++i) acc[r][i] = ffma(weight, value[i], acc[r][i]);
    }
  }
  for (int r = 0; r < R; ++r) {
    for (int i = 0; i < N; ++i) fstore(o + static_cast<size_t>(r) * stride + i * W, acc[r][i]);
  }
}

template <class Keys, int R>
RLX_INLINE void add_rows(const float* p, const typename Keys::Element* v, size_t count, size_t head_dim, float* o,
                         size_t stride) {
  size_t d = 0;
  for (; d + 4 * W <= head_dim; d += 4 * W) add_values<Keys, R, 4>(p, v + d, count, head_dim, o + d, stride);
  for (; d + W <= head_dim; d += W) add_values<Keys, R, 1>(p, v + d, count, head_dim, o + d, stride);
  for (; d < head_dim; ++d) {
    for (int r = 0; r < R; ++r) {
      float s = o[static_cast<size_t>(r) * stride + d];
      for (size_t j = 0; j < count; ++j) s += p[static_cast<size_t>(r) * kKeyTile + j] * Keys::one(v[j * head_dim + d]);
      o[static_cast<size_t>(r) * stride + d] = s;
    }
  }
}

struct Part {
  float* o;      // [group][stride]: sum of weight * value, then maximum and total behind head_dim
  size_t stride;
  size_t head_dim;
  float& top(size_t g) const { return o[g * stride + head_dim]; }
  float& total(size_t g) const { return o[g * stride + head_dim + 1]; }
};

void weigh(const AttentionArgs& a, float* s, size_t count, const Part& part, size_t g) {
  float top = part.top(g);
  for (size_t j = 0; j < count; ++j) s[j] *= a.scale;
  if (a.softcap != 0.0f) {
    for (size_t j = 0; j < kKeyTile; j += W) fstore(s + j, softcapped(a, fload(s + j)));
  }
  for (size_t j = count; j < kKeyTile; ++j) s[j] = kMinusInfinity;
  F m = fset(top);
  for (size_t j = 0; j < kKeyTile; j += W) m = fmax(fload(s + j), m);
  const float now = fhmax(m);
  F sum = fzero();
  for (size_t j = 0; j < kKeyTile; j += W) {
    const F p = fexp_finite(fload(s + j) - fset(now));
    fstore(s + j, p);
    sum = sum + p;
  }
  if (now != top) {
    const float shrink = fsum(fexp_finite(fset(top - now))) / static_cast<float>(W);
    float* o = part.o + g * part.stride;
    for (size_t d = 0; d < a.head_dim; ++d) o[d] *= shrink;
    part.total(g) *= shrink;
    part.top(g) = now;
  }
  part.total(g) += fsum(sum);
}

template <class Keys>
void run_token(const AttentionArgs& a, size_t kv_head, size_t t, size_t key0, size_t key1, const Part& part, float* scores) {
  const size_t group = group_of(a);
  const auto* k = static_cast<const typename Keys::Element*>(a.k) + kv_head * a.kv_head_stride;
  const auto* v = static_cast<const typename Keys::Element*>(a.v) + kv_head * a.kv_head_stride;
  const float* q = a.q + t * a.q_token_stride + kv_head * group * a.q_head_stride;
  for (size_t g = 0; g < group; ++g) {
    memset(part.o + g * part.stride, 0, part.stride * sizeof(float));
    part.top(g) = kMinusInfinity;
  }
  const KeyRange see = visible(a, t);
  const size_t first = max_size(key0, see.first), last = min_size(key1, see.last);
  // Tiles start at fixed keys so that the cut into parts does not change a token's tiles.
  for (size_t key = first; key < last;) {
    const size_t end = min_size((key / kKeyTile + 1) * kKeyTile, last), count = end - key;
    const typename Keys::Element* keys = k + key * a.head_dim;
    for (size_t g = 0; g < group; ++g) {
      float* s = scores + g * kKeyTile;
      size_t j = 0;
      for (; j + W <= count; j += W) {
        fstore(s + j, scores_of<Keys>(q + g * a.q_head_stride, keys + j * a.head_dim, a.head_dim));
      }
      for (; j < count; ++j) s[j] = score_of<Keys>(q + g * a.q_head_stride, keys + j * a.head_dim, a.head_dim);
      weigh(a, s, count, part, g);
    }
    const typename Keys::Element* values = v + key * a.head_dim;
    size_t g = 0;
    for (; g + 4 <= group; g += 4) add_rows<Keys, 4>(scores + g * kKeyTile, values, count, a.head_dim, part.o + g * part.stride, part.stride);
    for (; g + 2 <= group; g += 2) add_rows<Keys, 2>(scores + g * kKeyTile, values, count, a.head_dim, part.o + g * part.stride, part.stride);
    for (; g < group; ++g) add_rows<Keys, 1>(scores + g * kKeyTile, values, count, a.head_dim, part.o + g * part.stride, part.stride);
    key = end;
  }
}

float* out_row(const AttentionArgs& a, size_t kv_head, size_t t, size_t g) {
  return a.out + t * a.out_token_stride + (kv_head * group_of(a) + g) * a.out_head_stride;
}

}  // namespace

void attention_decode(const AttentionArgs& a, size_t kv_head, size_t key0, size_t key1, float* partial, void* scratch) {
  const size_t group = group_of(a), stride = part_stride(a.head_dim);
  float* scores = static_cast<float*>(scratch);
  float* own = scores + group * kKeyTile;
  for (size_t t = 0; t < a.tokens; ++t) {
    const Part part = {partial != nullptr ? partial + t * group * stride : own, stride, a.head_dim};
    if (a.kv_type == Type::f16) {
      run_token<KeysF16>(a, kv_head, t, key0, key1, part, scores);
    } else {
      run_token<KeysF32>(a, kv_head, t, key0, key1, part, scores);
    }
    if (partial != nullptr) continue;
    for (size_t g = 0; g < group; ++g) {
      const float inverse = part.total(g) > 0.0f ? 1.0f / part.total(g) : part.total(g);
      float* out = out_row(a, kv_head, t, g);
      for (size_t d = 0; d < a.head_dim; ++d) out[d] = part.o[g * stride + d] * inverse;
    }
  }
}

void attention_combine(const AttentionArgs& a, size_t kv_head, const float* partials, size_t splits) {
  const size_t group = group_of(a), stride = part_stride(a.head_dim), item = a.tokens * group * stride;
  for (size_t row = 0; row < a.tokens * group; ++row) {
    const float* first = partials + row * stride;
    float top = kMinusInfinity;
    for (size_t s = 0; s < splits; ++s) top = __builtin_fmaxf(top, first[s * item + a.head_dim]);
    float* out = out_row(a, kv_head, row / group, row % group);
    for (size_t d = 0; d < a.head_dim; ++d) out[d] = 0.0f;
    float total = 0.0f;
    for (size_t s = 0; s < splits; ++s) {
      const float* part = first + s * item;
      if (part[a.head_dim] == kMinusInfinity) continue;
      const float weight = fsum(fexp_finite(fset(part[a.head_dim] - top))) / static_cast<float>(W);
      total += part[a.head_dim + 1] * weight;
      for (size_t d = 0; d < a.head_dim; ++d) out[d] += part[d] * weight;
    }
    const float inverse = total > 0.0f ? 1.0f / total : total;
    for (size_t d = 0; d < a.head_dim; ++d) out[d] *= inverse;
  }
}

}  // namespace rlx::kernels::RLX_ISA
