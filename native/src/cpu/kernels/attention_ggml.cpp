// Attention in the order in which ggml's x86 build adds, for f32 caches, so that results are its
// own bit for bit: scores of all keys of a query, softmax with its total in double, then the values
// in W running sums (one for every W-th key).
#include "attention.h"
#include "ggml_order.h"

namespace rlx::kernels::RLX_ISA {
namespace {

float dot(const float* a, const float* b, size_t n) {
  F acc[4] = {fzero(), fzero(), fzero(), fzero()};
  const size_t whole = n / kDotGroup * kDotGroup;
  for (size_t i = 0; i < whole; i += kDotGroup) {
    for (int u = 0; u < 4; ++u) acc[u] = ffma(fload(a + i + u * W), fload(b + i + u * W), acc[u]);
  }
  return add_rest(sum_of_group(acc), a + whole, b + whole, n - whole);
}

// The queries of a lone head lie one behind the other, and ggml takes them as a matrix for its
// tiles: one vector of sums.
float dot_in_tile(const float* a, const float* b, size_t n) {
  F acc = fzero();
  for (size_t i = 0; i < n; i += W) acc = ffma(fload(a + i), fload(b + i), acc);
  return fsum(acc);
}

// Scores of one row become weights; zero outside of what it sees, from the group of W keys that
// `see` begins in. Scores and what is seen are counted from the key `base`.
void weigh(const AttentionArgs& a, float* s, KeyRange see, size_t base, size_t head, size_t t) {
  const size_t from = see.first / W * W, end = (see.last + W - 1) / W * W;
  for (size_t j = from; j < end; j += W) fstore(s + j, softcapped(a, fload(s + j) * fset(a.scale)));
  fall(a, head, t, base + see.first, see.last - see.first, s + see.first);
  for (size_t j = from; j < see.first; ++j) s[j] = kMinusInfinity;
  for (size_t j = see.last; j < end; ++j) s[j] = kMinusInfinity;
  const float sink = row_start(a, head).top;
  F top = fset(sink);
  for (size_t j = from; j < end; j += W) top = fmax(fload(s + j), top);
  const F largest = fset(fhmax(top));
  double total = 0.0;
  for (size_t j = from; j < end; j += W) {
    const F p = fexp_finite(fload(s + j) - largest);
    fstore(s + j, p);
    total += static_cast<double>(fsum(p));
  }
  if (a.sinks != nullptr) total += static_cast<double>(fsum(fexp_finite(fset(sink) - largest)) / static_cast<float>(W));
  const F inverse = fset(static_cast<float>(1.0 / total));
  for (size_t j = from; j < end; j += W) fstore(s + j, fload(s + j) * inverse);
}

// Running sums of a value: one for every W-th key, or, where heads do not fit ggml's tiles, those
// of single products.
size_t lanes_of(size_t head_dim) { return head_dim % kGgmlTileRows == 0 ? W : kDotGroup; }

// sums[lane][d .. d + W) += p[key] * v[key][d .. d + W) for the keys [from, to) of each lane, counted
// from the beginning of a tile; `from` is a multiple of W.
void add_values(const float* p, const float* v, size_t from, size_t to, size_t head_dim, size_t d, float* sums,
                size_t width) {
  const size_t n = min_size(W, head_dim - d), lanes = lanes_of(head_dim);
  const auto value = [&](size_t key) {
    const float* at = v + key * head_dim + d;
    return n == W ? fload(at) : fload_n(at, n);
  };
  const auto sum = [&](size_t key) { return sums + key % lanes * width + d; };
  size_t key = from;
  if (from + W <= to) {
    const bool alone = lanes != W;  // the next W keys have other sums
    F acc[W];
    for (size_t i = 0; i < W; ++i) acc[i] = fload(sum(from + i));
    for (; key + W <= to; key += W) {
      unrolled<W>([&](auto i) RLX_LAMBDA { acc[i] = ffma(fset(p[key + i]), value(key + i), acc[i]); });
      if (!alone) continue;
      for (size_t i = 0; i < W; ++i) {
        fstore(sum(key + i), acc[i]);
        acc[i] = fload(sum(key + W + i));
      }
    }
    for (size_t i = 0; i < W && !alone; ++i) fstore(sum(from + i), acc[i]);
  }
  for (; key < to; ++key) fstore(sum(key), ffma(fset(p[key]), value(key), fload(sum(key))));
}

// Sums are added by halves; those of single products first by groups, and at the end as
// sum_of_lanes does.
void write_row(const float* sums, size_t width, size_t head_dim, float* out) {
  const bool single = lanes_of(head_dim) != W;
  for (size_t d = 0; d < head_dim; d += W) {
    F acc[W];
    const auto sum = [&](size_t lane) { return fload(sums + lane * width + d); };
    for (size_t i = 0; i < W; ++i) acc[i] = single ? (sum(i) + sum(i + 2 * W)) + (sum(i + W) + sum(i + 3 * W)) : sum(i);
    for (size_t half = W / 2; half > 0; half /= 2) {
      const bool neighbours = single && kNeighbours && half < W / 2;
      for (size_t i = 0; i < half; ++i) acc[i] = neighbours ? acc[2 * i] + acc[2 * i + 1] : acc[i] + acc[i + half];
    }
    const size_t n = min_size(W, head_dim - d);
    if (n == W) {
      fstore(out + d, acc[0]);
    } else {
      fstore_n(out + d, acc[0], n);
    }
  }
}

// What a row sees, counted from the key `base`; of a tile with its end there: nothing where last <= first.
KeyRange counted_from(KeyRange see, size_t base) {
  return {see.first > base ? see.first - base : 0, see.last > base ? see.last - base : 0};
}
KeyRange within(KeyRange see, size_t tile) {
  const KeyRange all = counted_from(see, tile);
  return {all.first, min_size(all.last, kGgmlTile)};
}

}  // namespace

// A ring has whole tiles. Keys and values of a tile stay in the caches while all rows of a block
// (tokens times heads of the group) use them.
void attention_ggml(const AttentionArgs& a, size_t kv_head, size_t t0, size_t t1, void* scratch) {
  const size_t group = group_of(a), width = (a.head_dim + W - 1) / W * W, row_sums = lanes_of(a.head_dim) * width;
  const float* k = static_cast<const float*>(a.k) + kv_head * a.kv_head_stride;
  const float* v = static_cast<const float*>(a.v) + kv_head * a.kv_head_stride;
  float* sums = static_cast<float*>(scratch);  // [rows][lanes][width]
  float* scores = sums + kGgmlRows * row_sums;
  const auto product = a.heads == 1 && a.head_dim % W == 0 ? dot_in_tile : dot;
  for (size_t row0 = t0 * group; row0 < t1 * group; row0 += kGgmlRows) {
    const size_t rows = min_size(kGgmlRows, t1 * group - row0);
    const size_t first = visible(a, row0 / group).first, last = visible(a, (row0 + rows - 1) / group).last;
    const size_t base = first / kGgmlTile * kGgmlTile;
    const size_t stride = (last - base + W - 1) / W * W;
    const auto each_row = [&](auto visit) {
      for (size_t r = 0; r < rows; ++r) visit(r, (row0 + r) / group, kv_head * group + (row0 + r) % group);
    };
    const auto each_tile = [&](auto visit) {
      for (size_t tile = base; tile < last; tile += kGgmlTile) {
        each_row([&](size_t r, size_t t, size_t head) { visit(tile, r, t, head, within(visible(a, t), tile)); });
      }
    };
    each_tile([&](size_t tile, size_t r, size_t t, size_t head, KeyRange keys) {
      const float* q = a.q + t * a.q_token_stride + head * a.q_head_stride;
      const float* key = k + row_of_key(a, tile) * a.head_dim;
      for (size_t j = keys.first; j < keys.last; ++j)
        scores[r * stride + tile - base + j] = product(key + j * a.head_dim, q, a.head_dim);
    });
    each_row([&](size_t r, size_t t, size_t head) {
      weigh(a, scores + r * stride, counted_from(visible(a, t), base), base, head, t);
    });
    memset(sums, 0, rows * row_sums * sizeof(float));
    each_tile([&](size_t tile, size_t r, size_t, size_t, KeyRange keys) {
      if (keys.last <= keys.first) return;
      const float* p = scores + r * stride + tile - base;
      const float* value = v + row_of_key(a, tile) * a.head_dim;
      for (size_t d = 0; d < a.head_dim; d += W) {
        add_values(p, value, keys.first / W * W, keys.last, a.head_dim, d, sums + r * row_sums, width);
      }
    });
    each_row([&](size_t r, size_t t, size_t head) {
      write_row(sums + r * row_sums, width, a.head_dim, a.out + t * a.out_token_stride + head * a.out_head_stride);
    });
  }
}

}  // namespace rlx::kernels::RLX_ISA
