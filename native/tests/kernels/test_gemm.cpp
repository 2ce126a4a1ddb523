// Products of plain matrices against f64: any sizes, nothing read or written beyond them.
#include <algorithm>

#include "check.h"

using namespace test;

namespace {

struct Sizes {
  size_t rows, k, columns;
};

// Some of them are no whole tile, strip, pass or chunk.
constexpr Sizes kSizes[] = {{1, 1, 1},     {1, 300, 2100}, {5, 9, 33},    {6, 0, 16},    {6, 256, 128},
                            {7, 300, 130}, {13, 5, 1000},  {64, 257, 31}, {300, 40, 97}, {257, 260, 129}};

void multiply(const Dispatch& k, const Sizes& s, bool adds) {
  const size_t lda = s.k + 3, ldb = s.columns + 5, ldy = s.columns + 2;
  Random random(s.rows * 31 + s.columns);
  // The last row of each ends where it ends.
  std::vector<float> a((s.rows - 1) * lda + s.k), b(s.k == 0 ? 0 : (s.k - 1) * ldb + s.columns);
  std::vector<float> y((s.rows - 1) * ldy + s.columns);
  for (float& v : a) v = random.uniform();
  for (float& v : b) v = random.uniform();
  for (float& v : y) v = random.uniform();
  std::vector<double> expected(y.begin(), y.end());
  for (size_t r = 0; r < s.rows; ++r)
    for (size_t c = 0; c < s.columns; ++c) {
      double& sum = expected[r * ldy + c];
      if (!adds) sum = 0;
      for (size_t i = 0; i < s.k; ++i) sum += static_cast<double>(a[r * lda + i]) * static_cast<double>(b[i * ldb + c]);
    }
  const Buffer scratch = buffer(kGemmScratchBytes);
  GemmArgs args{};
  args.a = a.data();
  args.lda = lda;
  args.rows = s.rows;
  args.k = s.k;
  args.b = b.data();
  args.ldb = ldb;
  args.columns = s.columns;
  args.y = y.data();
  args.ldy = ldy;
  args.adds = adds;
  k.gemm(args, scratch.get());
  check_close("product", y.data(), expected.data(), y.size(), 1e-6);
}

}  // namespace

TEST_CASE("gemm: sizes of every kind") {
  if (borrows(k, &Dispatch::gemm)) return;
  for (const Sizes& sizes : kSizes)
    for (const bool adds : {false, true}) multiply(k, sizes, adds);
}

TEST_CASE("gemm: a row times a number is added") {
  if (borrows(k, &Dispatch::add_scaled)) return;
  for (const size_t n : {1, 15, 16, 33}) {
    Random random(n);
    std::vector<float> x(n), y(n);
    std::vector<double> expected(n);
    for (size_t i = 0; i < n; ++i) {
      x[i] = random.uniform();
      y[i] = random.uniform();
      expected[i] = static_cast<double>(y[i]) + 0.3 * static_cast<double>(x[i]);
    }
    k.add_scaled(0.3f, x.data(), y.data(), n);
    check_close("sum", y.data(), expected.data(), n, 1e-6);
  }
}
