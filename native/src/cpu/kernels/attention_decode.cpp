// Attention of few tokens over a long cache: bound by reading K and V once. All query heads of a
// group are done together, so a key is loaded and widened once for the group. Each part of the key
// range leaves a sum, a maximum and a total.
#include "attention.h"

namespace rlx::kernels::RLX_ISA {
namespace {

size_t part_stride(size_t head_dim) { return (head_dim + 2 + 15) / 16 * 16; }

// Asks for a key's value while its score is computed: the walk through the values then finds them
// in the cache.
template <class Keys>
RLX_INLINE void fetch_value(const typename Keys::Element* v, size_t head_dim) {
  for (size_t d = 0; d < head_dim; d += 64 / sizeof(*v)) __builtin_prefetch(v + d);
}

// One key against R query rows, lane by lane: a key is widened once for all of them.
template <class Keys, int R>
RLX_INLINE void dots_of(const float* q, size_t q_stride, const typename Keys::Element* key, size_t whole, F* sums) {
  for (int r = 0; r < R; ++r) sums[r] = fzero();
  for (size_t d = 0; d < whole; d += W) {
    const F wide = Keys::load(key + d);
    for (int r = 0; r < R; ++r) sums[r] = ffma(wide, fload(q + static_cast<size_t>(r) * q_stride + d), sums[r]);
  }
}

// What whole vectors leave of a dot product.
template <class Keys>
RLX_INLINE float rest_of(const float* q, const typename Keys::Element* key, size_t whole, size_t head_dim) {
  float rest = 0.0f;
  for (size_t d = whole; d < head_dim; ++d) rest += q[d] * Keys::one(key[d]);
  return rest;
}

// s[r * kDecodeKeys + j] = q[r] * k[j]
template <class Keys, int R>
RLX_INLINE void score_rows(const float* q, size_t q_stride, const typename Keys::Element* k,
                           const typename Keys::Element* v, size_t count, size_t head_dim, float* s) {
  const size_t whole = head_dim / W * W;
  size_t j = 0;
  for (; j + W <= count; j += W) {
    F part[R][W];
    for (int i = 0; i < W; ++i) {
      const size_t at = (j + static_cast<size_t>(i)) * head_dim;
      F sums[R];
      dots_of<Keys, R>(q, q_stride, k + at, whole, sums);
      for (int r = 0; r < R; ++r) part[r][i] = sums[r];
      fetch_value<Keys>(v + at, head_dim);
    }
    for (int r = 0; r < R; ++r) fstore(s + static_cast<size_t>(r) * kDecodeKeys + j, fsum_each(part[r]));
    if (whole == head_dim) continue;
    for (size_t i = j; i < j + W; ++i) {
      for (size_t r = 0; r < R; ++r)
        s[r * kDecodeKeys + i] += rest_of<Keys>(q + r * q_stride, k + i * head_dim, whole, head_dim);
    }
  }
  for (; j < count; ++j) {
    F sums[R];
    dots_of<Keys, R>(q, q_stride, k + j * head_dim, whole, sums);
    fetch_value<Keys>(v + j * head_dim, head_dim);
    for (size_t r = 0; r < R; ++r) {
      s[r * kDecodeKeys + j] = fsum(sums[r]) + rest_of<Keys>(q + r * q_stride, k + j * head_dim, whole, head_dim);
    }
  }
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
      const F weight = fset(p[static_cast<size_t>(r) * kDecodeKeys + j]);
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
      for (size_t j = 0; j < count; ++j)
        s += p[static_cast<size_t>(r) * kDecodeKeys + j] * Keys::one(v[j * head_dim + d]);
      o[static_cast<size_t>(r) * stride + d] = s;
    }
  }
}

// step(Index<rows>, first row) until all rows of the group are done.
template <class Step>
RLX_INLINE void by_rows(size_t group, Step step) {
  size_t g = 0;
  for (; g + 4 <= group; g += 4) step(Index<4>{}, g);
  for (; g + 2 <= group; g += 2) step(Index<2>{}, g);
  for (; g < group; ++g) step(Index<1>{}, g);
}

struct Part {
  float* o;  // [group][stride]: sum of weight * value, then maximum and total behind head_dim
  size_t stride;
  size_t head_dim;
  float& top(size_t g) const { return o[g * stride + head_dim]; }
  float& total(size_t g) const { return o[g * stride + head_dim + 1]; }
};

// Scores of the keys [key0, key0 + count) of a token and head become weights.
struct Scored {
  size_t head, t, key0, count;
};
void weigh(const AttentionArgs& a, float* s, const Scored& keys, const Part& part, size_t g) {
  const size_t count = keys.count;
  const float top = part.top(g);
  for (size_t j = count; j % W != 0; ++j) s[j] = s[count - 1];
  const F scale = fset(a.scale);
  for (size_t j = 0; j < count; j += W) fstore(s + j, softcapped(a, fload(s + j) * scale));
  fall(a, keys.head, keys.t, keys.key0, count, s);
  for (size_t j = count; j % W != 0; ++j) s[j] = s[count - 1];
  F m = fset(top), all = fzero();
  for (size_t j = 0; j < count; j += W) {
    m = fmax(fload(s + j), m);
    all = all + fload(s + j);
  }
  for (size_t j = count; j % W != 0; ++j) s[j] = kMinusInfinity;
  const float now = fhmax(m), sum_of_all = fsum(all);
  // A maximum passes NaN over, a sum does not (attention_prompt.cpp).
  if (sum_of_all != sum_of_all || now == -kMinusInfinity) part.total(g) = __builtin_nanf("");
  F sum = fzero();
  for (size_t j = 0; j < count; j += W) {
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

// Packed rows are taken as the floats that they become.
template <class Keys, bool = kIsPacked<Keys>>
struct WideKeys {
  using Of = Keys;
};
template <class Keys>
struct WideKeys<Keys, true> {
  using Of = KeysF32;
};
template <class Keys>
using Wide = typename WideKeys<Keys>::Of;

// `count` rows as they are, or unpacked into `to`.
template <class Keys>
RLX_INLINE const typename Wide<Keys>::Element* wide_rows(const typename Keys::Element* rows, size_t count,
                                                         size_t head_dim, float* to) {
  if constexpr (kIsPacked<Keys>) {
    for (size_t j = 0; j < count; ++j) Keys::unpack(rows + j * row_of<Keys>(head_dim), head_dim, to + j * head_dim);
    return to;
  } else {
    return rows;
  }
}

template <class Keys>
void run_token(const AttentionArgs& a, size_t kv_head, size_t t, size_t key0, size_t key1, const Part& part,
               float* scores, float* unpacked) {
  const size_t row = row_of<Keys>(a.head_dim);
  const size_t group = group_of(a);
  const auto* k = static_cast<const typename Keys::Element*>(a.k) + kv_head * a.kv_head_stride;
  const auto* v = static_cast<const typename Keys::Element*>(a.v) + kv_head * a.kv_head_stride;
  const float* q = a.q + t * a.q_token_stride + kv_head * group * a.q_head_stride;
  for (size_t g = 0; g < group; ++g) {
    memset(part.o + g * part.stride, 0, part.stride * sizeof(float));
    // The part of the first keys also has the sink.
    const RowStart start = key0 == a.begin ? row_start(a, kv_head * group + g) : RowStart{kMinusInfinity, 0.0f};
    part.top(g) = start.top;
    part.total(g) = start.total;
  }
  const KeyRange see = visible(a, t);
  const size_t first = max_size(key0, see.first), last = min_size(key1, see.last);
  // Blocks start at fixed keys so that the cut into parts does not change a token's blocks.
  for (size_t key = first; key < last;) {
    const size_t end = run_end(a, key, min_size((key / kDecodeKeys + 1) * kDecodeKeys, last)), count = end - key;
    const size_t at = row_of_key(a, key) * row;
    const auto* keys = wide_rows<Keys>(k + at, count, a.head_dim, unpacked);
    const auto* values = wide_rows<Keys>(v + at, count, a.head_dim, unpacked + kDecodeKeys * a.head_dim);
    by_rows(group, [&](auto rows, size_t g) RLX_LAMBDA {
      score_rows<Wide<Keys>, rows>(q + g * a.q_head_stride, a.q_head_stride, keys, values, count, a.head_dim,
                                   scores + g * kDecodeKeys);
    });
    for (size_t g = 0; g < group; ++g)
      weigh(a, scores + g * kDecodeKeys, {kv_head * group + g, t, key, count}, part, g);
    by_rows(group, [&](auto rows, size_t g) RLX_LAMBDA {
      add_rows<Wide<Keys>, rows>(scores + g * kDecodeKeys, values, count, a.head_dim, part.o + g * part.stride,
                                 part.stride);
    });
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
  float* own = scores + group * kDecodeKeys;
  float* unpacked = own + group * stride;  // keys and values of a block, where they are packed
  for (size_t t = 0; t < a.tokens; ++t) {
    const Part part = {partial != nullptr ? partial + t * group * stride : own, stride, a.head_dim};
    by_keys(a.kv_type, [&](auto keys) RLX_LAMBDA {
      run_token<decltype(keys)>(a, kv_head, t, key0, key1, part, scores, unpacked);
    });
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
      // Nothing was visible, or nothing was a number: then the total says so.
      if (part[a.head_dim] == kMinusInfinity) {
        total += part[a.head_dim + 1];
        continue;
      }
      const float weight = fsum(fexp_finite(fset(part[a.head_dim] - top))) / static_cast<float>(W);
      total += part[a.head_dim + 1] * weight;
      for (size_t d = 0; d < a.head_dim; ++d) out[d] += part[d] * weight;
    }
    const float inverse = total > 0.0f ? 1.0f / total : total;
    for (size_t d = 0; d < a.head_dim; ++d) out[d] *= inverse;
  }
}

}  // namespace rlx::kernels::RLX_ISA
