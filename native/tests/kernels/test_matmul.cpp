// Products against an f64 product of the exactly dequantised weights, over every type, shape and cut.
#include <algorithm>
#include <tuple>
#include <utility>

#include "blocks.h"

using namespace test;

namespace {

struct Problem {
  Type type;
  size_t k, n, tokens;
  Buffer w;
  std::vector<float> x;
  std::vector<double> exact;  // [tokens][n]
  double size = 0.0;          // rms of sqrt(sum (w_i x_i)^2): what a sum of these products comes to
  size_t stride() const { return row_bytes(type, k); }
};

void multiply(Problem& p) {
  std::vector<float> row(std::max<size_t>(p.k, 1));
  p.exact.assign(p.tokens * p.n, 0.0);
  const Dispatch& scalar = *dispatch_for(Isa::scalar);
  double squares = 0.0;
  for (size_t r = 0; r < p.n; ++r) {
    scalar.dequantize(p.type, p.w.get() + r * p.stride(), row.data(), p.k);
    for (size_t t = 0; t < p.tokens; ++t) {
      double s = 0.0;
      for (size_t i = 0; i < p.k; ++i) {
        const double v = static_cast<double>(row[i]) * static_cast<double>(p.x[t * p.k + i]);
        s += v;
        squares += v * v;
      }
      p.exact[t * p.n + r] = s;
    }
  }
  p.size = std::sqrt(squares / static_cast<double>(p.tokens * p.n));
}

// Error relative to the size of the sums, not to their values, which may cancel to nearly nothing.
double error_of(const Problem& p, const float* y) {
  double error = 0.0;
  for (size_t i = 0; i < p.exact.size(); ++i) error += std::pow(static_cast<double>(y[i]) - p.exact[i], 2);
  return std::sqrt(error / static_cast<double>(p.exact.size())) / p.size;
}
void check_product(const Problem& p, const std::vector<float>& y, double limit) {
  const double e = error_of(p, y.data());
  ++checks;
  if (!(e <= limit)) {
    fail("%s k %zu n %zu tokens %zu: error %.3g, at most %.3g", type_info(p.type).name, p.k, p.n, p.tokens, e, limit);
  }
}

Problem make(Type type, size_t k, size_t n, size_t tokens, uint64_t seed) {
  Problem p = {type, k, n, tokens, buffer(row_bytes(type, k) * n), std::vector<float>(tokens * k), {}, 0.0};
  Random random(seed);
  random_blocks(type, p.w.get(), n * k / type_info(type).block, random);
  for (float& v : p.x) v = random.activation();
  multiply(p);
  return p;
}

Buffer prepared(const Dispatch& k, const Problem& p) {
  const ActKind kind = act_kind(p.type);
  Buffer act = buffer(act_bytes(kind, p.k, p.tokens));
  // In two token ranges and two chunk ranges: the cut must not matter.
  const size_t chunks = chunks_of(p.k), half = p.tokens / 2;
  for (size_t part = 0; part < 2; ++part) {
    const size_t c0 = part == 0 ? 0 : chunks / 2, c1 = part == 0 ? chunks / 2 : chunks;
    k.prepare({kind, p.x.data(), p.k, p.k, p.tokens, 0, half, c0, c1, act.get()});
    k.prepare({kind, p.x.data(), p.k, p.k, p.tokens, half, p.tokens, c0, c1, act.get()});
  }
  return act;
}

MatmulArgs args(const Problem& p, const Buffer& act, float* y) {
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

std::vector<float> run(const Dispatch& k, const Problem& p) {
  std::vector<float> y(p.tokens * p.n, NAN);
  const Buffer act = prepared(k, p), scratch = buffer(matmul_scratch_bytes(p.tokens));
  k.matmul(args(p, act, y.data()), scratch.get());
  return y;
}

// Error of 8-bit activations with one scale per 32 (block 32) or 256, as an engine that rounds to int8 has it:
// ours must be well below.
double rounding_to_bytes(const Problem& p) {
  Problem q = {p.type, p.k, p.n, p.tokens, buffer(p.stride() * p.n), p.x, {}, 0.0};
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

double limit_of(Type type) {
  switch (act_kind(type)) {
    case ActKind::f32:
    case ActKind::f16: return 1e-6;
    case ActKind::i16_block32: return 1e-3;
    case ActKind::i8_groups256: return 2e-2;
  }
  return 0.0;
}

}  // namespace

TEST_CASE("matmul: every type, decode and prompt token counts") {
  for (Type type : kAll) {
    for (size_t tokens : {1, 2, 3, 4, 5, 6, 7, 13, 37}) {
      for (size_t n : {1, 31, 32, 77}) {
        const size_t width = type_info(type).block == 256 ? 768 : 544;
        const Problem p = make(type, width, n, tokens, 7 * tokens + n);
        const std::vector<float> y = run(k, p);
        check_product(p, y, limit_of(type));
      }
    }
  }
}

TEST_CASE("matmul: rows of 32, 96, 1024 and odd float widths") {
  for (Type type : kAll) {
    const size_t block = type_info(type).block;
    for (size_t width : {32, 96, 100, 256, 1000, 1024}) {
      if (width % block != 0) continue;
      for (size_t tokens : {1, 9}) {
        const Problem p = make(type, width, 40, tokens, width);
        const std::vector<float> y = run(k, p);
        check_product(p, y, limit_of(type));
      }
    }
  }
}

TEST_CASE("matmul: rows on both sides of where activations are packed more tightly") {
  for (Type type : kPacked) {
    for (size_t width : {4864, 5120, 5376}) {
      for (size_t tokens : {1, 2, 3, 4, 5}) {
        const Problem p = make(type, width, 17, tokens, width + tokens);
        const std::vector<float> y = run(k, p);
        check_product(p, y, limit_of(type));
      }
    }
  }
}

TEST_CASE("matmul: rows of no length give zeros") {
  for (Type type : kAll) {
    for (size_t tokens : {0, 1, 5, 6}) {
      const Problem p = make(type, 0, 33, tokens, 1);
      for (float v : run(k, p)) check("zero", v == 0.0f);
    }
  }
}

TEST_CASE("prepare: every layout stays inside its buffer") {
  constexpr size_t around = 4096;
  for (ActKind kind : {ActKind::f32, ActKind::f16, ActKind::i16_block32, ActKind::i8_groups256}) {
    for (size_t width : {0, 32, 96, 256, 768, 4864, 5024, 5120}) {
      if (kind == ActKind::i8_groups256 && width % kChunk != 0) continue;
      for (size_t tokens = 0; tokens <= kGemmMinTokens + 1; ++tokens) {
        const size_t bytes = act_bytes(kind, width, tokens);
        const Buffer act = buffer(bytes + 2 * around), untouched = buffer(around);
        const std::vector<float> x(width * tokens, 1.0f);
        k.prepare({kind, x.data(), width, width, tokens, 0, tokens, 0, chunks_of(width), act.get() + around});
        check_same("before", act.get(), untouched.get(), around);
        check_same("behind", act.get() + around + bytes, untouched.get(), around);
      }
    }
  }
}

TEST_CASE("matmul: closer than 8-bit activations with one scale a block") {
  for (Type type : kPacked) {
    if (act_kind(type) == ActKind::f32) continue;
    // K blocks round to 8 bits too, but with a factor for every 8 values.
    const double share = act_kind(type) == ActKind::i8_groups256 ? 0.7 : 0.1;
    for (size_t tokens : {1, 8}) {
      const Problem p = make(type, 1024, 64, tokens, 99);
      const std::vector<float> y = run(k, p);
      const double ours = error_of(p, y.data()), bytes = rounding_to_bytes(p);
      ++checks;
      if (!(ours < share * bytes)) fail("%s: error %.3g, of int8 %.3g", type_info(type).name, ours, bytes);
    }
  }
}

// Rows of 4, 8, 12 and any multiple of 4 times 256 have loops of their own, and so have others.
TEST_CASE("matmul: decode and prompt paths agree") {
  for (Type type : kAll) {
    for (size_t width : {768, 1024, 2048, 3072, 4096, 5120}) {
      Problem p = make(type, width, 40, 7, width);
      const std::vector<float> all = run(k, p);
      // Few tokens of 32-blocks: one lane in four carries the offset of its whole block and is rounded to f32 with it, once a chunk.
      const double limit = 4e-6 * std::max(1.0, std::sqrt(static_cast<double>(width) / 1024));
      for (size_t t = 0; t < p.tokens; ++t) {
        Problem one = {type, p.k, p.n, 1, buffer(p.stride() * p.n), {}, {}, 0.0};
        std::memcpy(one.w.get(), p.w.get(), p.stride() * p.n);
        one.x.assign(p.x.begin() + static_cast<long>(t * p.k), p.x.begin() + static_cast<long>((t + 1) * p.k));
        const std::vector<float> y = run(k, one);
        const std::vector<double> expected(all.begin() + static_cast<long>(t * p.n),
                                           all.begin() + static_cast<long>((t + 1) * p.n));
        check_close(type_info(type).name, y.data(), expected.data(), p.n, limit);
      }
    }
  }
}

TEST_CASE("matmul: any cut of rows and tokens gives the same bits") {
  for (Type type : kAll) {
    for (const auto& [tokens, width] : {std::pair<size_t, size_t>{3, 512}, {29, 512}, {5, 5120}}) {
      const size_t step = tokens < kGemmMinTokens ? 2 : 7;
      const Problem p = make(type, width, 100, tokens, 3);
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

// As ggml adds in its tiles: each output is W running sums, one for every W-th product, then halves added to halves.
float in_order_of_tiles(const float* w, const float* x, size_t k, size_t lanes) {
  std::vector<float> sums(lanes, 0.0f);
  for (size_t i = 0; i < k; ++i) sums[i % lanes] = std::fma(w[i], x[i], sums[i % lanes]);
  for (size_t half = lanes / 2; half > 0; half /= 2) {
    for (size_t i = 0; i < half; ++i) sums[i] += sums[i + half];
  }
  return sums[0];
}

// As it adds a single product: four times as many sums, what is behind whole groups of them in turn.
float in_order_of_singles(Type type, const float* w, const float* x, size_t k, size_t lanes) {
  const size_t group = 4 * lanes, whole = k / group * group;
  std::vector<float> sums(group, 0.0f), of_lanes(lanes);
  for (size_t i = 0; i < whole; ++i) sums[i % group] = std::fma(w[i], x[i], sums[i % group]);
  for (size_t i = 0; i < lanes; ++i) of_lanes[i] = (sums[i] + sums[2 * lanes + i]) + (sums[lanes + i] + sums[3 * lanes + i]);
  for (size_t half = lanes / 2; half > 0; half /= 2) {
    const bool neighbours = lanes == 8 && half < 4;
    for (size_t i = 0; i < half; ++i) of_lanes[i] = neighbours ? of_lanes[2 * i] + of_lanes[2 * i + 1] : of_lanes[i] + of_lanes[i + half];
  }
  if (type == Type::f16) {
    double total = of_lanes[0];
    for (size_t i = whole; i < k; ++i) total += static_cast<double>(w[i] * x[i]);
    return static_cast<float>(total);
  }
  float total = of_lanes[0];
  for (size_t i = whole; i < k; ++i) {
    const volatile float product = w[i] * x[i];
    total = i < k / (lanes / 2) * (lanes / 2) ? total + product : std::fma(w[i], x[i], total);
  }
  return total;
}

TEST_CASE("matmul: how memory is asked for the weights changes no bit") {
  for (Type type : kAll) {
    for (const size_t width : {size_t{1024}, size_t{2048}, size_t{5120}}) {
      for (size_t tokens : {1, 3}) {
        const Problem p = make(type, width, 69, tokens, 41);
        const Buffer act = prepared(k, p), scratch = buffer(matmul_scratch_bytes(tokens));
        std::vector<float> plain(tokens * p.n), asked(tokens * p.n);
        k.matmul(args(p, act, plain.data()), scratch.get());
        for (const Ask ask : {Ask::far, Ask::near}) {
          MatmulArgs a = args(p, act, asked.data());
          a.ask = ask;
          k.matmul(a, scratch.get());
          check_same(type_info(type).name, asked.data(), plain.data(), plain.size() * sizeof(float));
        }
      }
    }
  }
}

TEST_CASE("matmul: tiles give the bits of AVX-512, whatever they hold") {
  if (k.isa != Isa::amx) return;
  const Dispatch& plain = *dispatch_for(Isa::avx512);
  for (Type type : kAll) {
    if (is_float(type)) continue;
    // Rows and tokens that fill no tile, one tile, and more than a pass; rows of blocks that are no whole chunk.
    const size_t narrow = type_info(type).block == kChunk ? 256 : 288;
    for (const auto& [width, rows, tokens] : {std::tuple<size_t, size_t, size_t>{narrow, 32, 6}, {narrow, 45, 16}, {1024, 33, 47}, {512, 16, 530}}) {
      const Problem p = make(type, width, rows, tokens, 43);
      const std::vector<float> tiles = run(k, p), words = run(plain, p);
      check_same(type_info(type).name, tiles.data(), words.data(), words.size() * sizeof(float));
    }
  }
}

TEST_CASE("matmul: as ggml, f32 and f16 weights give the same bits for every cut and number of tokens") {
  const size_t lanes = is_avx512(k.isa) ? 16 : k.isa == Isa::avx2 ? 8 : 0;
  for (Type type : {Type::f32, Type::f16}) {
    const ActKind kind = type == Type::f16 ? ActKind::f16 : ActKind::f32;
    for (const auto& shape : {std::pair<size_t, size_t>{256, 44}, {160, 44}, {1000, 44}, {256, 45}, {172, 44}, {95, 47}, {7, 4}, {1000, 45}, {1003, 44}}) {
      const size_t tokens = 17, width = shape.first, rows = shape.second;
      const bool tiles = lanes != 0 && width % lanes == 0 && rows % 4 == 0;
      Problem p = make(type, width, rows, tokens, 31);
      if (type == Type::f16) {
        std::vector<uint16_t> halves(p.x.size());
        k.f32_to_f16(p.x.data(), halves.data(), halves.size());
        k.f16_to_f32(halves.data(), p.x.data(), halves.size());
        multiply(p);
      }
      const auto product = [&](size_t first, size_t count) {
        const Buffer act = buffer(act_bytes(kind, width, count)), scratch = buffer(matmul_scratch_bytes(count));
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
      for (size_t t = 0; t < tokens; ++t) check_same("one token", product(t, 1).data(), &all[t * p.n], p.n * sizeof(float));
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
    const Problem p = make(Type::f32, width, rows, tokens, 37);
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

TEST_CASE("matmul: more tokens than one panel pass") {
  const Problem p = make(Type::q4_k, 256, 33, 530, 3);
  const std::vector<float> y = run(k, p);
  check_product(p, y, limit_of(Type::q4_k));
}

TEST_CASE("matmul: the largest products do not overflow") {
  for (Type type : kPacked) {
    for (uint8_t fill : {0x00, 0x7f, 0x80, 0xff}) {
      for (size_t tokens : {1, 6}) {
        for (float sign : {1.0f, -1.0f}) {
          for (size_t width : {512, 5120}) {
            const size_t bytes = row_bytes(type, width) * 3;
            Problem p = {type, width, 3, tokens, buffer(bytes), std::vector<float>(tokens * width, sign), {}, 0.0};
            extreme_blocks(type, p.w.get(), 3 * width / type_info(type).block, fill);
            multiply(p);
            const std::vector<float> y = run(k, p);
            check_each(type_info(type).name, y.data(), p.exact.data(), y.size(), 1e-3, 1e-3);
          }
        }
      }
    }
  }
}

TEST_CASE("matmul: bias, scale, residual and gated pairs") {
  for (Type type : {Type::f16, Type::q8_0, Type::q4_k, Type::q6_k}) {
    for (size_t tokens : {1, 11}) {
      const Problem p = make(type, 512, 45, tokens, 21);
      Problem up = make(type == Type::q4_k ? Type::q6_k : type, 512, 45, tokens, 22);
      up.x = p.x;
      multiply(up);
      Random random(4);
      std::vector<float> bias(p.n), bias2(p.n), add(tokens * p.n), y(tokens * p.n, NAN);
      for (float& v : bias) v = random.uniform();
      for (float& v : bias2) v = random.uniform();
      for (float& v : add) v = random.uniform();
      const double limit = act_kind(type) == ActKind::i8_groups256 ? 2e-2 : 5e-3;
      const Buffer act = prepared(k, p), act2 = prepared(k, up), scratch = buffer(matmul_scratch_bytes(tokens));
      MatmulArgs a = args(p, act, y.data());
      a.scale = 0.125f;
      a.bias = bias.data();
      a.add = add.data();
      a.ldadd = p.n;
      k.matmul(a, scratch.get());
      std::vector<double> expected(y.size());
      for (size_t t = 0; t < tokens; ++t) {
        for (size_t n = 0; n < p.n; ++n) {
          const size_t i = t * p.n + n;
          expected[i] = 0.125 * p.exact[i] + static_cast<double>(bias[n]) + static_cast<double>(add[i]);
        }
      }
      check_close("bias, scale, add", y.data(), expected.data(), y.size(), limit);

      for (Glu glu : {Glu::silu, Glu::gelu_tanh, Glu::gelu_erf, Glu::relu}) {
        a.glu = glu;
        a.type2 = up.type;
        a.w2 = up.w.get();
        a.row_bytes2 = up.stride();
        a.act2 = act2.get();
        a.bias2 = bias2.data();
        k.matmul(a, scratch.get());
        for (size_t t = 0; t < tokens; ++t) {
          for (size_t n = 0; n < p.n; ++n) {
            const size_t i = t * p.n + n;
            const double g = 0.125 * p.exact[i] + static_cast<double>(bias[n]);
            double s = 0.0;
            if (glu == Glu::silu) s = g / (1.0 + std::exp(-g));
            if (glu == Glu::gelu_tanh) s = 0.5 * g * (1.0 + std::tanh(std::sqrt(2.0 / M_PI) * (g + 0.044715 * g * g * g)));
            if (glu == Glu::gelu_erf) s = 0.5 * g * (1.0 + std::erf(g / std::sqrt(2.0)));
            if (glu == Glu::relu) s = std::max(g, 0.0);
            expected[i] = s * (0.125 * up.exact[i] + static_cast<double>(bias2[n])) + static_cast<double>(add[i]);
          }
        }
        check_close("gated", y.data(), expected.data(), y.size(), 2 * limit);
      }
    }
  }
}

TEST_CASE("matmul: a residual may be the result itself") {
  const Problem p = make(Type::q8_0, 256, 40, 2, 8);
  std::vector<float> y(80, 1.5f);
  const Buffer act = prepared(k, p), scratch = buffer(matmul_scratch_bytes(2));
  MatmulArgs a = args(p, act, y.data());
  a.add = y.data();
  a.ldadd = p.n;
  k.matmul(a, scratch.get());
  std::vector<double> expected(p.exact);
  for (double& v : expected) v += 1.5;
  check_close("y += W x", y.data(), expected.data(), y.size(), 1e-4);
}

TEST_CASE("matmul: infinities and NaN stay visible, zeros stay zero, tiny values keep their precision") {
  for (Type type : {Type::q8_0, Type::q4_k, Type::q6_k, Type::q4_1}) {
    for (size_t tokens : {1, 7}) {
      for (float odd : {INFINITY, -INFINITY, NAN}) {
        Problem p = make(type, 512, 5, tokens, 8);
        p.x[300] = odd;
        const std::vector<float> y = run(k, p);
        for (size_t n = 0; n < p.n; ++n) check("token 0 is not finite", !std::isfinite(y[n]));
        for (size_t i = p.n; i < y.size(); ++i) check("other tokens are", std::isfinite(y[i]));
      }
      Problem zero = make(type, 512, 5, tokens, 8);
      for (float& v : zero.x) v = 0.0f;
      for (float v : run(k, zero)) check("zero", v == 0.0f);
      Problem tiny = make(type, 512, 5, tokens, 8);
      for (float& v : tiny.x) v *= 1e-25f;
      multiply(tiny);
      const std::vector<float> y = run(k, tiny);
      check_product(tiny, y, limit_of(type));
    }
  }
}
