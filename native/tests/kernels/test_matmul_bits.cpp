// Products bit for bit: for any cut, any prefetch setting, through tiles or not, and in ggml's
// order.
#include <bit>
#include <cmath>
#include <tuple>

#include "product.h"

using namespace test;

namespace {

// a * b + c with one rounding, which the library of mingw-w64 does not give: the product is exact
// in f64, and a sum that is rounded to odd there rounds to f32 as the exact sum does.
float fused(float a, float b, float c) {
  const double product = static_cast<double>(a) * b, sum = product + c;
  const double added = sum - product, lost = (product - (sum - added)) + (c - added);
  const bool odd = (std::bit_cast<uint64_t>(sum) & 1) != 0;
  return static_cast<float>(lost == 0 || odd ? sum : std::nextafter(sum, lost > 0 ? INFINITY : -INFINITY));
}

// As ggml adds in its tiles: each output is W running sums, one for every W-th product, then halves
// added to halves.
float in_order_of_tiles(const float* w, const float* x, size_t k, size_t lanes) {
  std::vector<float> sums(lanes, 0.0f);
  for (size_t i = 0; i < k; ++i) sums[i % lanes] = fused(w[i], x[i], sums[i % lanes]);
  for (size_t half = lanes / 2; half > 0; half /= 2) {
    for (size_t i = 0; i < half; ++i) sums[i] += sums[i + half];
  }
  return sums[0];
}

// As it adds a single product: four times as many sums, what is behind whole groups of them in
// turn.
float in_order_of_singles(Type type, const float* w, const float* x, size_t k, size_t lanes) {
  const size_t group = 4 * lanes, whole = k / group * group;
  std::vector<float> sums(group, 0.0f), of_lanes(lanes);
  for (size_t i = 0; i < whole; ++i) sums[i % group] = fused(w[i], x[i], sums[i % group]);
  for (size_t i = 0; i < lanes; ++i)
    of_lanes[i] = (sums[i] + sums[2 * lanes + i]) + (sums[lanes + i] + sums[3 * lanes + i]);
  for (size_t half = lanes / 2; half > 0; half /= 2) {
    const bool neighbours = lanes == 8 && half < 4;
    for (size_t i = 0; i < half; ++i)
      of_lanes[i] = neighbours ? of_lanes[2 * i] + of_lanes[2 * i + 1] : of_lanes[i] + of_lanes[i + half];
  }
  if (type == Type::f16) {
    double total = of_lanes[0];
    for (size_t i = whole; i < k; ++i) total += static_cast<double>(w[i] * x[i]);
    return static_cast<float>(total);
  }
  float total = of_lanes[0];
  for (size_t i = whole; i < k; ++i) {
    const volatile float product = w[i] * x[i];
    total = i < k / (lanes / 2) * (lanes / 2) ? total + product : fused(w[i], x[i], total);
  }
  return total;
}

}  // namespace

TEST_CASE("matmul: any cut of rows and tokens gives the same bits") {
  for (Type type : kAll) {
    for (const auto& [tokens, width] : {std::pair<size_t, size_t>{3, 512}, {29, 512}, {5, 5120}}) {
      const size_t step = tokens < kGemmMinTokens ? 2 : 7;
      const Problem p = operands(type, width, 100, tokens, 3);
      const std::vector<float> whole = run(k, p);
      std::vector<float> y(whole.size(), NAN);
      const Buffer act = prepared(k, p), scratch = buffer(matmul_scratch_bytes(0));
      for (size_t t = 0; t < tokens; t += step) {
        for (size_t n = 0; n < p.n; n += 33) {
          MatmulArgs a = args(p, act, y.data());
          a.n0 = n;
          a.n1 = std::min(n + 33, p.n);
          a.t0 = t;
          a.t1 = std::min(t + step, tokens);
          k.matmul(a, scratch.get());
        }
      }
      check_same(type_info(type).name, whole.data(), y.data(), y.size() * sizeof(float));
    }
  }
}

// So a token's result does not depend on what else is in the step. (Not where many rows go through
// panels, and f16 and f32 weights as ggml multiplies them.)
TEST_CASE("matmul: a token among ten has the bits that it has alone") {
  if (!is_avx512(k.isa)) return;
  for (Type type : kPacked) {
    for (const auto& [tokens, width] : {std::pair<size_t, size_t>{10, 1024}, {8, 1280}, {8, 2048}, {7, 5120}}) {
      const Problem p = operands(type, width, 70, tokens, 53);
      const std::vector<float> all = run(k, p);
      for (size_t t = 0; t < p.tokens; ++t) {
        Problem one = {type, p.k, p.n, 1, buffer(p.stride() * p.n), {}};
        std::memcpy(one.w.get(), p.w.get(), p.stride() * p.n);
        one.x.assign(p.x.begin() + static_cast<long>(t * p.k), p.x.begin() + static_cast<long>((t + 1) * p.k));
        const std::vector<float> y = run(k, one);
        check_same(type_info(type).name, y.data(), all.data() + t * p.n, p.n * sizeof(float));
      }
    }
  }
}

TEST_CASE("matmul: prefetching changes no bit") {
  for (Type type : kAll) {
    // Whole fours of chunks, single ones behind them, blocks that are no chunk, and all of these.
    for (const size_t width :
         {size_t{1024}, size_t{2048}, size_t{5120}, one_more_block(type, 1), one_more_block(type, 5)}) {
      for (size_t tokens : {1, 3}) {
        const Problem p = operands(type, width, 69, tokens, 41);
        const std::vector<float> plain = run(k, p);
        for (const Prefetch prefetch : {Prefetch::far, Prefetch::near}) {
          const std::vector<float> asked = run(k, p, prefetch);
          check_same(type_info(type).name, asked.data(), plain.data(), plain.size() * sizeof(float));
        }
      }
    }
  }
}

TEST_CASE("matmul: a gated pair with two prefetch settings changes no bit") {
  for (const auto& [gate, up] : {std::pair{Type::q4_k, Type::q6_k}, {Type::q8_0, Type::q4_0}}) {
    const Problem p = operands(gate, 1024, 69, 1, 47), q = operands(up, 1024, 69, 1, 48);
    const auto product = [&](Prefetch prefetch, Prefetch second) {
      std::vector<float> y(p.n, NAN);
      const Buffer act = prepared(k, p), scratch = buffer(matmul_scratch_bytes(1));
      MatmulArgs a = args(p, act, y.data());
      a.glu = Glu::silu;
      a.type2 = up;
      a.w2 = q.w.get();
      a.row_bytes2 = q.stride();
      a.act2 = act.get();
      a.prefetch = prefetch;
      a.prefetch2 = second;
      k.matmul(a, scratch.get());
      return y;
    };
    const std::vector<float> plain = product(Prefetch::none, Prefetch::none);
    for (const auto& [first, second] : {std::pair{Prefetch::near, Prefetch::far}, {Prefetch::far, Prefetch::near}}) {
      const std::vector<float> mixed = product(first, second);
      check_same(type_info(gate).name, mixed.data(), plain.data(), plain.size() * sizeof(float));
    }
  }
}

TEST_CASE("matmul: tiles give the bits of AVX-512, whatever they hold") {
  if (k.isa != Isa::amx) return;
  const Dispatch& plain = *dispatch_for(Isa::avx512);
  for (Type type : kAll) {
    if (is_float(type)) continue;
    const auto check = [&](size_t width, size_t rows, size_t tokens) {
      const Problem p = operands(type, width, rows, tokens, 43);
      const std::vector<float> tiles = run(k, p), words = run(plain, p);
      check_same(type_info(type).name, tiles.data(), words.data(), words.size() * sizeof(float));
    };
    // Rows and tokens that fill no tile, one tile, and more than a pass.
    check(one_more_block(type, 1), 32, 6);
    check(one_more_block(type, 1), 45, 16);
    check(1024, 33, 47);
    check(512, 16, 530);
    // Every number of blocks in a chunk.
    for (size_t width = 0; width <= kChunk; width += type_info(type).block) check(width, 17, 7);
  }
}

TEST_CASE("matmul: as ggml, f32 and f16 weights give the same bits for every cut and number of tokens") {
  const size_t lanes = is_avx512(k.isa) ? 16 : k.isa == Isa::avx2 ? 8 : 0;
  for (Type type : {Type::f32, Type::f16}) {
    const ActKind kind = type == Type::f16 ? ActKind::f16 : ActKind::f32;
    for (const auto& shape : {std::pair<size_t, size_t>{256, 44},
                              {160, 44},
                              {1000, 44},
                              {256, 45},
                              {172, 44},
                              {95, 47},
                              {7, 4},
                              {1000, 45},
                              {1003, 44}}) {
      const size_t tokens = 17, width = shape.first, rows = shape.second;
      const bool tiles = lanes != 0 && width % lanes == 0 && rows % 4 == 0;
      Problem p = operands(type, width, rows, tokens, 31);
      if (type == Type::f16) {
        std::vector<uint16_t> halves(p.x.size());
        k.f32_to_f16(p.x.data(), halves.data(), halves.size());
        k.f16_to_f32(halves.data(), p.x.data(), halves.size());
      }
      multiply(p);
      const auto product = [&](size_t first, size_t count) {
        const Buffer act = buffer(k.act_bytes(kind, width, count)), scratch = buffer(matmul_scratch_bytes(count));
        const float* x = p.x.data() + first * width;
        k.prepare({kind, x, width, width, count, 0, count, 0, chunks_of(width), act.get()});
        std::vector<float> y(count * p.n, NAN);
        MatmulArgs a = args(p, act, y.data());
        a.tokens = a.t1 = count;
        a.as_ggml = true;
        a.rows = p.n;
        for (size_t n = 0; n < p.n; n += kRowStep) {
          a.n0 = n;
          a.n1 = std::min(n + kRowStep, p.n);
          k.matmul(a, scratch.get());
        }
        return y;
      };
      const std::vector<float> all = product(0, tokens);
      check_product(p, all, 1e-6);
      for (size_t t = 0; t < tokens; ++t)
        check_same("one token", product(t, 1).data(), &all[t * p.n], p.n * sizeof(float));
      check_same("six tokens", product(3, 6).data(), &all[3 * p.n], 6 * p.n * sizeof(float));
      if (lanes == 0) continue;
      std::vector<float> row(width);
      for (size_t r = 0; r < p.n; ++r) {
        k.dequantize(type, p.w.get() + r * p.stride(), row.data(), width);
        for (size_t t = 0; t < tokens; ++t) {
          const float* x = &p.x[t * width];
          const float expected = tiles ? in_order_of_tiles(row.data(), x, width, lanes)
                                       : in_order_of_singles(type, row.data(), x, width, lanes);
          check_same("order", &expected, &all[t * p.n + r], sizeof expected);
        }
      }
    }
  }
}

TEST_CASE("matmul: as ggml, silu behind the last whole vector is the system's") {
  const size_t lanes = is_avx512(k.isa) ? 16 : k.isa == Isa::avx2 ? 8 : 4, width = 64, rows = 45;
  for (size_t tokens : {1, 9}) {
    const Problem p = operands(Type::f32, width, rows, tokens, 37);
    const Buffer act = prepared(k, p), scratch = buffer(matmul_scratch_bytes(0));
    std::vector<float> plain(tokens * rows), gated(tokens * rows);
    MatmulArgs a = args(p, act, plain.data());
    a.as_ggml = true;
    a.rows = rows;
    k.matmul(a, scratch.get());
    a.y = gated.data();
    a.glu = Glu::silu;
    k.matmul(a, scratch.get());
    for (size_t i = 0; i < plain.size(); ++i) {
      const float expected = plain[i] / (1.0f + std::exp(-plain[i]));
      if (i % rows >= rows / lanes * lanes) {
        check_same("behind", &expected, &gated[i], sizeof expected);
      } else {
        check_close("within", &gated[i], std::vector<double>{expected}.data(), 1, 1e-6);
      }
    }
  }
}
