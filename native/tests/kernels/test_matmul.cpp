// Products against an f64 product of the exactly dequantised weights, over every type and shape.
#include <numbers>

#include "product.h"

using namespace test;

TEST_CASE("matmul: every type, decode and prompt token counts") {
  for (Type type : kAll) {
    const Problem whole = make(type, one_more_block(type, 2), 77, 37, 7);
    for (size_t tokens : {1, 2, 3, 4, 5, 6, 7, 13, 37}) {
      for (size_t n : {1, 31, 32, 77}) {
        const Problem p = part_of(whole, n, tokens);
        const std::vector<float> y = run(k, p);
        check_product(p, y, limit_of(p));
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
        check_product(p, y, limit_of(p));
      }
    }
  }
}

TEST_CASE("matmul: rows on both sides of where activations are packed more tightly") {
  for (Type type : kPacked) {
    for (size_t width : {4864, 5120, 5376}) {
      const Problem whole = make(type, width, 17, 5, width);
      for (size_t tokens : {1, 2, 3, 4, 5}) {
        const Problem p = part_of(whole, 17, tokens);
        const std::vector<float> y = run(k, p);
        check_product(p, y, limit_of(p));
      }
    }
  }
}

TEST_CASE("matmul: rows of no length give zeros") {
  for (Type type : kAll) {
    for (size_t tokens : {0, 1, 5, 6}) {
      const Problem p = operands(type, 0, 33, tokens, 1);
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
        const size_t bytes = k.act_bytes(kind, width, tokens);
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
      const Problem p = operands(type, width, 40, 7, width);
      const std::vector<float> all = run(k, p);
      // Few tokens of 32-blocks: one lane in four carries the offset of its whole block and is
      // rounded to f32 with it, once a chunk.
      const double limit = 4e-6 * std::max(1.0, std::sqrt(static_cast<double>(width) / 1024));
      for (size_t t = 0; t < p.tokens; ++t) {
        Problem one = {type, p.k, p.n, 1, buffer(p.stride() * p.n), {}};
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

TEST_CASE("matmul: more tokens than one panel pass") {
  const Problem p = make(Type::q4_k, 256, 33, 530, 3);
  const std::vector<float> y = run(k, p);
  check_product(p, y, limit_of(p));
}

TEST_CASE("matmul: the largest products do not overflow") {
  for (Type type : kPacked) {
    for (uint8_t fill : {0x00, 0x7f, 0x80, 0xff}) {
      for (size_t tokens : {1, 6}) {
        for (float sign : {1.0f, -1.0f}) {
          for (size_t width : {512, 5120}) {
            const size_t bytes = row_bytes(type, width) * 3;
            Problem p = {type, width, 3, tokens, buffer(bytes), std::vector<float>(tokens * width, sign)};
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
      Problem up = operands(type == Type::q4_k ? Type::q6_k : type, 512, 45, tokens, 22);
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
            if (glu == Glu::gelu_tanh)
              s = 0.5 * g * (1.0 + std::tanh(std::sqrt(2.0 / std::numbers::pi) * (g + 0.044715 * g * g * g)));
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
        Problem p = operands(type, 512, 5, tokens, 8);
        p.x[300] = odd;
        const std::vector<float> y = run(k, p);
        for (size_t n = 0; n < p.n; ++n) check("token 0 is not finite", !std::isfinite(y[n]));
        for (size_t i = p.n; i < y.size(); ++i) check("other tokens are", std::isfinite(y[i]));
      }
      Problem zero = operands(type, 512, 5, tokens, 8);
      for (float& v : zero.x) v = 0.0f;
      for (float v : run(k, zero)) check("zero", v == 0.0f);
      Problem tiny = operands(type, 512, 5, tokens, 8);
      for (float& v : tiny.x) v *= 1e-25f;
      multiply(tiny);
      const std::vector<float> y = run(k, tiny);
      check_product(tiny, y, limit_of(tiny));
    }
  }
}
