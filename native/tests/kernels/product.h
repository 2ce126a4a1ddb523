// A product for the tests: random packed rows and activations, the exact result in f64, and how far
// a kernel may be from it.
#pragma once

#include <algorithm>
#include <numeric>
#include <tuple>
#include <utility>

#include "blocks.h"

namespace test {

struct Problem {
  Type type;
  size_t k, n, tokens;
  Buffer w;
  std::vector<float> x;
  std::vector<double> exact = {};      // [tokens][n]
  std::vector<double> squares = {};    // of each, the sum of the squares of its products
  std::vector<double> roundings = {};  // floats only: of each, the same of its sums on the way
  size_t stride() const { return row_bytes(type, k); }
};

// sum (w_i x_i), and sum (w_i x_i)^2
inline std::pair<double, double> product_of(const float* w, const float* x, size_t k) {
  double sum = 0.0, squares = 0.0;
  for (size_t i = 0; i < k; ++i) {
    const double v = static_cast<double>(w[i]) * static_cast<double>(x[i]);
    sum += v;
    squares += v * v;
  }
  return {sum, squares};
}

// The squares of the sums when products are added one by one, a chunk at a time.
inline double squares_on_the_way(const float* w, const float* x, size_t k) {
  double sum = 0.0, chunk = 0.0, squares = 0.0;
  for (size_t i = 0; i < k; ++i) {
    if (i % kChunk == 0) {
      squares += sum * sum;
      chunk = 0.0;
    }
    const double v = static_cast<double>(w[i]) * static_cast<double>(x[i]);
    sum += v;
    chunk += v;
    squares += chunk * chunk;
  }
  return squares + sum * sum;
}

inline bool adds_in_f32(Type type) { return act_kind(type) == ActKind::f32 || act_kind(type) == ActKind::f16; }

inline void multiply(Problem& p) {
  std::vector<float> row(std::max<size_t>(p.k, 1));
  p.exact.assign(p.tokens * p.n, 0.0);
  p.squares.assign(p.tokens * p.n, 0.0);
  p.roundings.assign(p.tokens * p.n, 0.0);
  const Dispatch& scalar = *dispatch_for(Isa::scalar);
  for (size_t r = 0; r < p.n; ++r) {
    scalar.dequantize(p.type, p.w.get() + r * p.stride(), row.data(), p.k);
    for (size_t t = 0; t < p.tokens; ++t) {
      const size_t at = t * p.n + r;
      const float* x = p.x.data() + t * p.k;
      std::tie(p.exact[at], p.squares[at]) = product_of(row.data(), x, p.k);
      if (adds_in_f32(p.type)) p.roundings[at] = squares_on_the_way(row.data(), x, p.k);
    }
  }
}

inline double root_mean(const std::vector<double>& squares) {
  return std::sqrt(std::accumulate(squares.begin(), squares.end(), 0.0) / static_cast<double>(squares.size()));
}
// What a sum of these products comes to.
inline double size_of(const Problem& p) { return root_mean(p.squares); }
// Error of adding them in f32. Rounding is wrong by up to half a unit of the last place, evenly
// spread: rms 2^-23 / sqrt(12) of a power of two at or below the sum.
inline double rounding_of(const Problem& p) { return 0x1p-23 * 0.28867513459481287 * root_mean(p.roundings); }

// Error relative to the size of the sums, not to their values, which may cancel to nearly nothing.
inline double error_of(const Problem& p, const float* y) {
  double error = 0.0;
  for (size_t i = 0; i < p.exact.size(); ++i) error += std::pow(static_cast<double>(y[i]) - p.exact[i], 2);
  return std::sqrt(error / static_cast<double>(p.exact.size())) / size_of(p);
}
inline void check_product(const Problem& p, const std::vector<float>& y, double limit) {
  const double e = error_of(p, y.data());
  ++checks;
  if (!(e <= limit)) {
    fail("%s k %zu n %zu tokens %zu: error %.3g, at most %.3g", type_info(p.type).name, p.k, p.n, p.tokens, e, limit);
  }
}

// Weights and activations by chance, without the exact product.
inline Problem operands(Type type, size_t k, size_t n, size_t tokens, uint64_t seed) {
  Problem p = {type, k, n, tokens, buffer(row_bytes(type, k) * n), std::vector<float>(tokens * k)};
  Random random(seed);
  random_blocks(type, p.w.get(), n * k / type_info(type).block, random);
  for (float& v : p.x) v = random.activation();
  return p;
}

inline Problem make(Type type, size_t k, size_t n, size_t tokens, uint64_t seed) {
  Problem p = operands(type, k, n, tokens, seed);
  multiply(p);
  return p;
}

// The first rows and tokens of a problem, in memory of their own. Multiplying costs more than the
// kernels, so shapes share it.
inline Problem part_of(const Problem& whole, size_t n, size_t tokens) {
  Problem p = {whole.type, whole.k, n, tokens, buffer(whole.stride() * n), {}};
  std::memcpy(p.w.get(), whole.w.get(), whole.stride() * n);
  p.x.assign(whole.x.begin(), whole.x.begin() + static_cast<long>(tokens * p.k));
  for (const auto member : {&Problem::exact, &Problem::squares, &Problem::roundings})
    for (size_t t = 0; t < tokens; ++t) {
      const auto first = (whole.*member).begin() + static_cast<long>(t * whole.n);
      (p.*member).insert((p.*member).end(), first, first + static_cast<long>(n));
    }
  return p;
}

inline Buffer prepared(const Dispatch& k, const Problem& p) {
  const ActKind kind = act_kind(p.type);
  Buffer act = buffer(k.act_bytes(kind, p.k, p.tokens));
  // In two token ranges and two chunk ranges: the cut must not matter.
  const size_t chunks = chunks_of(p.k), half = p.tokens / 2;
  for (size_t part = 0; part < 2; ++part) {
    const size_t c0 = part == 0 ? 0 : chunks / 2, c1 = part == 0 ? chunks / 2 : chunks;
    k.prepare({kind, p.x.data(), p.k, p.k, p.tokens, 0, half, c0, c1, act.get()});
    k.prepare({kind, p.x.data(), p.k, p.k, p.tokens, half, p.tokens, c0, c1, act.get()});
  }
  return act;
}

inline MatmulArgs args(const Problem& p, const Buffer& act, float* y) {
  MatmulArgs a = {};
  a.type = p.type;
  a.w = p.w.get();
  a.row_bytes = p.stride();
  a.k = p.k;
  a.n1 = p.n;
  a.act = act.get();
  a.tokens = p.tokens;
  a.t1 = p.tokens;
  a.y = y;
  a.ldy = p.n;
  return a;
}

inline std::vector<float> run(const Dispatch& k, const Problem& p, Prefetch prefetch = Prefetch::none) {
  std::vector<float> y(p.tokens * p.n, NAN);
  const size_t bytes = matmul_scratch_bytes(p.tokens);
  const Buffer act = prepared(k, p), scratch = buffer(bytes);
  std::memset(scratch.get(), 0xff, bytes);  // NaN, not what another product left there
  MatmulArgs a = args(p, act, y.data());
  a.prefetch = prefetch;
  k.matmul(a, scratch.get());
  return y;
}

// Error of 8-bit activations with one scale per 32 (block 32) or 256, as an engine that rounds to
// int8 has it: ours must be well below.
inline double rounding_to_bytes(const Problem& p) {
  Problem q = {p.type, p.k, p.n, p.tokens, buffer(p.stride() * p.n), p.x};
  std::memcpy(q.w.get(), p.w.get(), p.stride() * p.n);
  const size_t group = type_info(p.type).block;
  for (size_t i = 0; i < q.x.size(); i += group) {
    float top = 0.0f;
    for (size_t j = i; j < i + group; ++j) top = std::max(top, std::fabs(q.x[j]));
    const float scale = top / 127.0f;
    for (size_t j = i; j < i + group; ++j) q.x[j] = scale == 0.0f ? 0.0f : std::nearbyint(q.x[j] / scale) * scale;
  }
  multiply(q);
  const std::vector<float> y(q.exact.begin(), q.exact.end());
  return error_of(p, y.data());
}

// Products in f32: a few times what rounding makes of one sum, for one sum may be unlucky.
inline double limit_of(const Problem& p) {
  switch (act_kind(p.type)) {
    case ActKind::f32:
    case ActKind::f16: return 4.0 * rounding_of(p) / size_of(p);
    case ActKind::i16_block32: return 1e-3;
    case ActKind::i8_groups256: return 2e-2;
  }
  return 0.0;
}

}  // namespace test
