// Stored rows without Node: sizes that do not fit, pieces that make the whole, and a cancel.
#include <atomic>
#include <cmath>
#include <cstdint>
#include <vector>

#include "coreTests.h"
#include "cpu/stored_error.h"

namespace core_tests {
namespace {

using namespace rlx::kernels;

// More than a piece, with an odd number of groups.
constexpr size_t kCount = 2 * 256 * kStoredRun + 3 * 32;

struct Arrays {
  std::vector<uint8_t> original, data, scale, offset, rest;
  rlx::StoredRows rows;

  Arrays()
      : original(row_bytes(Type::q8_0, kCount)),
        data(kCount / 2),
        scale(kCount / 32 * 2),
        offset((kCount / 32 + 1) / 2) {
    uint32_t state = 1;
    const auto next = [&] { return static_cast<uint8_t>((state = state * 1664525u + 1013904223u) >> 24); };
    for (std::vector<uint8_t>* bytes : {&original, &data, &scale, &offset})
      for (uint8_t& byte : *bytes) byte = next();
    // Halves of common size: their high bytes.
    for (size_t i = 1; i < original.size(); i += 34) original[i] = 0x20;
    for (size_t i = 1; i < scale.size(); i += 2) scale[i] = 0x28;
    rows.args = {
        .type = Type::q8_0, .original = nullptr, .count = kCount, .codes = Codes::uint4, .data = nullptr, .group = 32};
    rows.args.offsets = Offsets::uint4;
    set();
  }
  void set() {
    const auto of = [](const std::vector<uint8_t>& bytes) { return rlx::StoredBytes{bytes.data(), bytes.size()}; };
    rows.original = of(original), rows.data = of(data), rows.scale = of(scale), rows.offset = of(offset),
    rows.rest = of(rest);
  }
};

const char* code_for(const rlx::StoredRows& rows, bool cancelled = false) {
  const std::atomic<bool> cancel{cancelled};
  return code_of([&] { rlx::stored_error(*dispatch(nullptr), rows, cancel); });
}

void test_pieces() {
  Arrays arrays;
  const std::atomic<bool> cancel{false};
  const StoredSums pieces = rlx::stored_error(*dispatch(nullptr), arrays.rows, cancel);
  StoredArgs whole = arrays.rows.args;
  whole.original = arrays.original.data(), whole.data = arrays.data.data();
  whole.scale = arrays.scale.data(), whole.offset = arrays.offset.data();
  StoredSums sums;
  dispatch(nullptr)->stored_error(whole, &sums);
  CHECK(sums.error > 0.0 && std::fabs(pieces.error - sums.error) <= 1e-11 * sums.error);
  CHECK(sums.energy > 0.0 && std::fabs(pieces.energy - sums.energy) <= 1e-11 * sums.energy);
  CHECK(pieces.not_finite == 0 && pieces.overflowed == 0);
}

void test_sizes() {
  Arrays arrays;
  CHECK(same(code_for(arrays.rows), "none"));
  CHECK(same(code_for(arrays.rows, true), "CANCELLED"));
  for (std::vector<uint8_t> Arrays::* part :
       {&Arrays::original, &Arrays::data, &Arrays::scale, &Arrays::offset, &Arrays::rest})
    for (int by : {-1, 1}) {
      Arrays bad;
      if (by < 0 && (bad.*part).empty()) continue;
      (bad.*part).resize((bad.*part).size() + static_cast<size_t>(by));
      bad.set();
      CHECK(same(code_for(bad.rows), "INPUT_ARGUMENT"));
    }
  for (const size_t group : {size_t{0}, size_t{8}, size_t{48}, size_t{2048}}) {
    Arrays bad;
    bad.rows.args.group = group;
    CHECK(same(code_for(bad.rows), "INPUT_ARGUMENT"));
  }
  for (const size_t count : {kCount - 1, kCount + 32, size_t{1} << 53}) {
    Arrays bad;
    bad.rows.args.count = count;
    CHECK(same(code_for(bad.rows), "INPUT_ARGUMENT"));
  }
  arrays.rows.args.offsets = Offsets::f32;
  CHECK(same(code_for(arrays.rows), "INPUT_ARGUMENT"));
  rlx::StoredRows none;
  none.args = {.type = Type::f32, .original = nullptr, .count = 0, .codes = Codes::f16, .data = nullptr, .group = 0};
  CHECK(same(code_for(none), "none"));
}

}  // namespace

void test_stored_error() {
  test_pieces();
  test_sizes();
}

}  // namespace core_tests
