// Packing: every instruction set packs what the scalar table packs, or as well. (What is packed is
// compared with ggml by main/quantize/packing.oracle.test.ts.)
#include "blocks.h"

using namespace test;

namespace {

constexpr size_t kColumns = 512, kRows = 3;

struct Packed {
  std::vector<uint8_t> bytes;
  PackSums sums;
  bool done = false;
};

Packed packed(const Dispatch& table, Type type, const std::vector<float>& values, const float* importance) {
  const size_t rows = values.size() / kColumns;
  Packed result{std::vector<uint8_t>(rows * row_bytes(type, kColumns)), {}};
  result.done = table.pack({type, values.data(), rows, kColumns, importance, result.bytes.data()}, &result.sums);
  return result;
}

}  // namespace

TEST_CASE("pack: as well as the scalar table, and its error is that of its bytes") {
  if (borrows(k, &Dispatch::pack)) return;
  const Dispatch& scalar = *dispatch_for(Isa::scalar);
  Random random(7);
  std::vector<float> values(kRows * kColumns), importance(kColumns), back(kColumns);
  for (float& v : values) v = random.activation();
  for (float& v : importance) v = std::exp(random.uniform());
  // A row of zeros, and one with a value that outweighs the others.
  std::fill(values.begin() + kColumns, values.begin() + 2 * kColumns, 0.0f);
  values[2 * kColumns + 5] = -80.0f;
  for (Type type : kAll) {
    for (const float* weights : {static_cast<const float*>(nullptr), static_cast<const float*>(importance.data())}) {
      const Packed b = packed(k, type, values, weights), a = &k == &scalar ? b : packed(scalar, type, values, weights);
      check(type_info(type).name, a.done == b.done);
      if (!b.done) continue;
      double error = 0;
      for (size_t row = 0; row < kRows; ++row) {
        k.dequantize(type, b.bytes.data() + row * row_bytes(type, kColumns), back.data(), kColumns);
        for (size_t i = 0; i < kColumns; ++i) {
          const double rest = static_cast<double>(values[row * kColumns + i]) - static_cast<double>(back[i]);
          error += rest * rest;
        }
      }
      check(type_info(type).name, std::fabs(error - b.sums.error) <= 1e-4 * error + 1e-9);
      check(type_info(type).name, b.sums.weighted <= 1.002 * a.sums.weighted + 1e-9);
    }
  }
}

TEST_CASE("pack: values that are not finite are counted, and nothing else happens") {
  if (borrows(k, &Dispatch::pack)) return;
  std::vector<float> values(kColumns, 0.5f);
  values[3] = NAN, values[300] = INFINITY, values[400] = -INFINITY;
  for (Type type : kAll) {
    const Packed found = packed(k, type, values, nullptr);
    if (found.done) check(type_info(type).name, found.sums.not_finite == 3);
  }
}
