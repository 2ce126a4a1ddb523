// Attention of a block of tokens: key tiles of 64, running maximum and sum (the "flash" scheme),
// f32 throughout.
//
// Rows are (token, head of the group), so that one unpacked K and V tile serves every query head
// that shares it.
#include "attention.h"
#include "tile.h"

namespace rlx::kernels::RLX_ISA {
namespace {

constexpr size_t kRowTarget = 256;
size_t round_up(size_t n, size_t step) { return (n + step - 1) / step * step; }

struct Work {
  size_t depth;  // head_dim rounded up to W
  size_t width;  // head_dim rounded up to the tile width
  float* q;      // [rows][depth], scaled
  float* o;      // [rows][width]
  float* s;      // [rows][kKeyTile]
  float* kt;     // [kKeyTile / kTileWidth][depth][kTileWidth]
  float* v;      // [kKeyTile][width]
  float* top;    // [rows]
  float* total;  // [rows]
  float* lines;  // [W][depth]
};

Work lay_out(size_t head_dim, size_t rows, void* scratch) {
  Work w = {};
  w.depth = round_up(head_dim, W);
  w.width = round_up(head_dim, kTileWidth);
  float* p = static_cast<float*>(scratch);
  const auto take = [&p](size_t n) {
    float* at = p;
    p += round_up(n, 16);
    return at;
  };
  w.q = take(rows * w.depth);
  w.o = take(rows * w.width);
  w.s = take(rows * kKeyTile);
  w.kt = take(w.depth * kKeyTile);
  w.v = take(kKeyTile * w.width);
  w.top = take(rows);
  w.total = take(rows);
  w.lines = take(W * w.depth);
  return w;
}

// One row of the cache as f32, zero behind n.
template <class Keys>
void to_floats(const typename Keys::Element* from, size_t n, size_t padded, float* to) {
  size_t i = 0;
  if constexpr (kIsPacked<Keys>) {
    Keys::unpack(from, n, to);
    i = n;
  } else {
    for (; i + W <= n; i += W) fstore(to + i, Keys::load(from + i));
    for (; i < n; ++i) to[i] = Keys::one(from[i]);
  }
  for (; i < padded; ++i) to[i] = 0.0f;
}

template <class Keys>
void load_keys(const typename Keys::Element* k, size_t head_dim, size_t count, const Work& w) {
  for (size_t j = 0; j < kKeyTile; j += W) {
    for (size_t i = 0; i < static_cast<size_t>(W); ++i) {
      float* line = w.lines + i * w.depth;
      if (j + i < count) {
        to_floats<Keys>(k + (j + i) * row_of<Keys>(head_dim), head_dim, w.depth, line);
      } else {
        memset(line, 0, w.depth * sizeof(float));
      }
    }
    float* to = w.kt + j / kTileWidth * kTileWidth * w.depth + j % kTileWidth;
    for (size_t d = 0; d < w.depth; d += W) {
      F block[W];
      for (int i = 0; i < W; ++i) block[i] = fload(w.lines + static_cast<size_t>(i) * w.depth + d);
      ftranspose(block);
      for (int i = 0; i < W; ++i) fstore(to + (d + static_cast<size_t>(i)) * kTileWidth, block[i]);
    }
  }
}

// What is added to the scores of keys [key0, key0 + count) of one row.
void add_bias(const float* bias, size_t count, float* s) {
  size_t j = 0;
  for (; j + W <= count; j += W) fstore(s + j, fload(s + j) + fload(bias + j));
  for (; j < count; ++j) s[j] += bias[j];
}

// Scores of one row become weights; the row's output so far is rescaled to the new maximum.
void weigh_row(const AttentionArgs& a, KeyRange see, size_t head, size_t t, size_t key0, size_t row, const float* bias,
               const Work& w) {
  float* s = w.s + row * kKeyTile;
  const size_t from = see.first > key0 ? min_size(see.first - key0, kKeyTile) : 0;
  const size_t to = see.last > key0 ? min_size(see.last - key0, kKeyTile) : 0;
  if (a.softcap != 0.0f) {
    for (size_t j = 0; j < kKeyTile; j += W) fstore(s + j, softcapped(a, fload(s + j)));
  }
  fall(a, head, t, key0, to, s);
  if (bias != nullptr) add_bias(bias, to, s);
  for (size_t j = 0; j < from; ++j) s[j] = kMinusInfinity;
  for (size_t j = to; j < kKeyTile; ++j) s[j] = kMinusInfinity;
  F top = fload(s), all = top;
  for (size_t j = W; j < kKeyTile; j += W) {
    top = fmax(fload(s + j), top);
    all = all + fload(s + j);
  }
  // A maximum passes NaN over, a sum does not; what a damaged weight gives must not look like a
  // result.
  const float sum_of_all = fsum(all);
  const float before = w.top[row], seen = fhmax(top);
  const float now = seen > before ? seen : before;
  if (sum_of_all != sum_of_all || now == -kMinusInfinity) w.total[row] = __builtin_nanf("");
  if (now == kMinusInfinity) {  // nothing visible yet
    memset(s, 0, kKeyTile * sizeof(float));
    return;
  }
  F sum = fzero();
  for (size_t j = 0; j < kKeyTile; j += W) {
    const F p = fexp_finite(fload(s + j) - fset(now));
    fstore(s + j, p);
    sum = sum + p;
  }
  if (now != before) {
    const float shrink = fsum(fexp_finite(fset(before - now))) / static_cast<float>(W);
    w.total[row] *= shrink;
    float* o = w.o + row * w.width;
    for (size_t d = 0; d < w.width; d += W) fstore(o + d, fload(o + d) * fset(shrink));
    w.top[row] = now;
  }
  w.total[row] += fsum(sum);
}

template <class Keys>
void run_block(const AttentionArgs& a, size_t kv_head, size_t t0, size_t t1, void* scratch) {
  const size_t group = group_of(a), rows = (t1 - t0) * group;
  const Work w = lay_out(a.head_dim, rows, scratch);
  const auto* k = static_cast<const typename Keys::Element*>(a.k) + kv_head * a.kv_head_stride;
  const auto* v = static_cast<const typename Keys::Element*>(a.v) + kv_head * a.kv_head_stride;
  for (size_t r = 0; r < rows; ++r) {
    const float* q = a.q + (t0 + r / group) * a.q_token_stride + (kv_head * group + r % group) * a.q_head_stride;
    for (size_t d = 0; d < w.depth; ++d) w.q[r * w.depth + d] = d < a.head_dim ? q[d] * a.scale : 0.0f;
    const RowStart start = row_start(a, kv_head * group + r % group);
    w.top[r] = start.top;
    w.total[r] = start.total;
  }
  memset(w.o, 0, rows * w.width * sizeof(float));
  const size_t first = visible(a, t0).first / kKeyTile * kKeyTile, last = visible(a, t1 - 1).last;
  for (size_t key0 = first, end; key0 < last; key0 = end) {
    end = run_end(a, key0, min_size((key0 / kKeyTile + 1) * kKeyTile, last));
    const size_t count = end - key0, row = row_of<Keys>(a.head_dim), at = row_of_key(a, key0) * row;
    load_keys<Keys>(k + at, a.head_dim, count, w);
    for (size_t j = 0; j < kKeyTile; ++j) {
      if (j < count) {
        to_floats<Keys>(v + at + j * row, a.head_dim, w.width, w.v + j * w.width);
      } else {
        memset(w.v + j * w.width, 0, w.width * sizeof(float));
      }
    }
    memset(w.s, 0, rows * kKeyTile * sizeof(float));
    for (size_t j = 0; j < kKeyTile; j += kTileWidth) {
      tile_rows_f32(w.q, w.depth, rows, w.kt + j * w.depth, kTileWidth, a.head_dim, w.s + j, kKeyTile);
    }
    for (size_t r = 0; r < rows; ++r) {
      const size_t t = t0 + r / group, head = kv_head * group + r % group;
      const float* bias =
          a.bias == nullptr ? nullptr : a.bias + head * a.bias_head_stride + t * a.bias_token_stride + key0;
      const KeyRange see = visible(a, t);
      weigh_row(a, {see.first, min_size(see.last, end)}, head, t, key0, r, bias, w);
    }
    for (size_t d = 0; d < w.width; d += kTileWidth) {
      tile_rows_f32(w.s, kKeyTile, rows, w.v + d, w.width, count, w.o + d, w.width);
    }
  }
  for (size_t r = 0; r < rows; ++r) {
    float* out = a.out + (t0 + r / group) * a.out_token_stride + (kv_head * group + r % group) * a.out_head_stride;
    const float inverse = w.total[r] > 0.0f ? 1.0f / w.total[r] : w.total[r];
    for (size_t d = 0; d < a.head_dim; ++d) out[d] = w.o[r * w.width + d] * inverse;
  }
}

}  // namespace

void attention_prompt(const AttentionArgs& a, size_t kv_head, size_t t0, size_t t1, void* scratch) {
  const size_t step = max_size(1, min_size(kRowTarget / group_of(a), kAttentionTokenStep));
  for (size_t t = t0; t < t1; t += step) {
    const size_t end = min_size(t + step, t1);
    by_keys(a.kv_type, [&](auto keys) RLX_LAMBDA { run_block<decltype(keys)>(a, kv_head, t, end, scratch); });
  }
}

}  // namespace rlx::kernels::RLX_ISA
