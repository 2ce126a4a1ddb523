// Rows of weights without Node, repacked and measured: sizes that do not fit, no rows, and a cancel.
#include <atomic>
#include <cstdint>
#include <vector>

#include "coreTests.h"
#include "cpu/measure_rows.h"
#include "cpu/repack.h"

namespace core_tests {
namespace {

using namespace rlx::kernels;

// Columns of which no machine has the memory for one row.
constexpr size_t kTooMany = size_t{1} << 52;

const char* code_of_repack(const rlx::RepackRows& rows, bool cancelled = false) {
  rlx::Pool pool;
  const std::atomic<bool> cancel{cancelled};
  return code_of([&] { rlx::repack(*dispatch(nullptr), pool, 2, rows, cancel); });
}

const char* code_of_measure(const rlx::RowsToMeasure& rows, bool cancelled = false) {
  rlx::Pool pool;
  const std::atomic<bool> cancel{cancelled};
  return code_of([&] { rlx::measure_rows(*dispatch(nullptr), pool, 2, rows, cancel); });
}

void test_repack() {
  const std::vector<uint8_t> bytes(3 * 64 * sizeof(float));
  const rlx::RepackRows rows{Type::f32, Type::q8_0, bytes.data(), bytes.size(), 64};
  CHECK(same(code_of_repack(rows), "none"));
  CHECK(same(code_of_repack(rows, true), "CANCELLED"));
  for (const size_t columns : {size_t{0}, size_t{48}, size_t{128}, kTooMany}) {
    rlx::RepackRows bad = rows;
    bad.columns = columns;
    CHECK(same(code_of_repack(bad), "INPUT_ARGUMENT"));
  }
  CHECK(same(code_of_repack({Type::f32, Type::q8_k, nullptr, 0, 256}), "UNSUPPORTED_TENSOR_TYPE"));
  CHECK(same(code_of_repack({Type::f32, Type::q8_0, nullptr, 0, kTooMany}), "none"));
}

void test_measure() {
  const std::vector<uint8_t> bytes(3 * 64 * sizeof(float));
  const rlx::RowsToMeasure rows{Type::f32, bytes.data(), bytes.size(), 64};
  CHECK(same(code_of_measure(rows), "none"));
  CHECK(same(code_of_measure(rows, true), "CANCELLED"));
  for (const size_t columns : {size_t{0}, size_t{80}, kTooMany}) {
    rlx::RowsToMeasure bad = rows;
    bad.columns = columns;
    CHECK(same(code_of_measure(bad), "INPUT_ARGUMENT"));
  }
  for (const size_t size : {size_t{0}, bytes.size() - 4}) {
    rlx::RowsToMeasure bad = rows;
    bad.compares = true;
    bad.other = size == 0 ? nullptr : bytes.data();
    bad.other_bytes = size;
    CHECK(same(code_of_measure(bad), "INPUT_ARGUMENT"));
  }
  CHECK(same(code_of_measure({Type::f32, nullptr, 0, kTooMany}), "none"));
}

}  // namespace

void test_rows() {
  test_repack();
  test_measure();
}

}  // namespace core_tests
