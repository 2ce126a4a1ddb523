// Dequantisation and float conversions: every instruction set gives the scalar bits. (The scalar
// bits themselves are compared with ggml by dequantize_oracle.py.)
#include "blocks.h"

using namespace test;

TEST_CASE("dequantize: the same bits as the scalar table") {
  const Dispatch& scalar = *dispatch_for(Isa::scalar);
  for (Type type : kAll) {
    const size_t block = type_info(type).block, count = block == 1 ? 1003 : 37;
    Random random(static_cast<uint64_t>(type) + 1);
    const Buffer row = buffer(count * type_info(type).bytes);
    std::vector<float> a(count * block), b(count * block);
    for (int round = 0; round < 8; ++round) {
      if (round < 4) random_blocks(type, row.get(), count, random);
      if (round >= 4) extreme_blocks(type, row.get(), count, static_cast<uint8_t>(0x55 * (round - 4)));
      scalar.dequantize(type, row.get(), a.data(), a.size());
      k.dequantize(type, row.get(), b.data(), b.size());
      check_same(type_info(type).name, a.data(), b.data(), a.size() * sizeof(float));
    }
  }
}

TEST_CASE("halves: all 65536 to f32 and back") {
  std::vector<uint16_t> all(65536), back(65536);
  for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<uint16_t>(i);
  std::vector<float> f(65536);
  k.f16_to_f32(all.data(), f.data(), f.size());
  k.f32_to_f16(f.data(), back.data(), f.size());
  bool same = true;
  for (size_t i = 0; i < all.size(); ++i) {
    const bool nan = (i & 0x7c00) == 0x7c00 && (i & 0x3ff) != 0;
    same = same && (nan ? std::isnan(f[i]) && (back[i] | 0x200) == (all[i] | 0x200) : back[i] == all[i]);
  }
  check("round trip", same);
  // By the definition: (-1)^s * 2^(e-15) * 1.m
  bool right = true;
  for (size_t i = 0; i < all.size(); ++i) {
    const int e = static_cast<int>(i >> 10 & 31), m = static_cast<int>(i & 1023);
    if (e == 31) continue;
    const double v = (e == 0 ? std::ldexp(m, -24) : std::ldexp(1024 + m, e - 25)) * (i & 0x8000 ? -1.0 : 1.0);
    right = right && static_cast<double>(f[i]) == v;
  }
  check("values", right);
}

TEST_CASE("halves and bfloats: rounding to nearest even at ties and edges") {
  const float in[] = {1.00048828125f, 1.0009765625f + 0.00048828125f, 65519.0f, 65520.0f,  1e30f,      5.9604645e-8f,
                      2.9802322e-8f,  2.98023224e-8f * 1.0001f,       -0.0f,    6.097e-5f, 1.0f / 3.0f};
  const uint16_t out[] = {0x3c00, 0x3c02, 0x7bff, 0x7c00, 0x7c00, 0x0001, 0x0000, 0x0001, 0x8000, 0x03ff, 0x3555};
  const size_t n = sizeof out / 2;
  uint16_t got[n];
  k.f32_to_f16(in, got, n);
  check_same("f16", got, out, sizeof out);
  const float b[] = {1.0f, 1.00390625f, 1.01171875f, -3.3895314e38f, INFINITY, 1.0f / 3.0f};
  const uint16_t bout[] = {0x3f80, 0x3f80, 0x3f82, 0xff7f, 0x7f80, 0x3eab};
  uint16_t bgot[6];
  k.f32_to_bf16(b, bgot, 6);
  check_same("bf16", bgot, bout, sizeof bout);
  const float nan = NAN;
  uint16_t nan16 = 0;
  k.f32_to_bf16(&nan, &nan16, 1);
  check("bf16 NaN", (nan16 & 0x7f80) == 0x7f80 && (nan16 & 0x7f) != 0);
}
