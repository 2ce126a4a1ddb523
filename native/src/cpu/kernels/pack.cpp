// Rows of floats as packed blocks, and what that costs: each block is unpacked again and compared,
// while it is in the cache.
#include "pack.h"

#include "blocks.h"
#include "internal.h"

namespace rlx::kernels::RLX_ISA {
namespace {

constexpr size_t kRun = 256;

// The sums of one run of values.
struct RunSums {
  float energy = 0.0f, error = 0.0f, weighted = 0.0f;
  size_t not_finite = 0;
};

// Sums of doubles over runs of f32 sums: a row may have a million columns.
void compare(const float* x, const float* y, const float* importance, size_t count, PackSums* sums) {
  using namespace formats::fit;
  Eight energy = all(0.0f), error = all(0.0f), weighted = all(0.0f);
  formats::fit::Mask finite = {};
  size_t i = 0;
  for (; i + 8 <= count; i += 8) {
    const Eight v = load(x + i);
    const formats::fit::Mask good = v - v == all(0.0f);
    const Eight own = good ? v : all(0.0f), rest = good ? v - load(y + i) : all(0.0f);
    finite += good;
    energy += own * own;
    error += rest * rest;
    if (importance != nullptr) weighted += load(importance + i) * rest * rest;
  }
  RunSums run{sum(energy), sum(error), importance == nullptr ? sum(error) : sum(weighted), i};
  for (int lane = 0; lane < 8; ++lane) run.not_finite += static_cast<size_t>(static_cast<ptrdiff_t>(finite[lane]));
  for (; i < count; ++i) {
    const float rest = x[i] - y[i];
    if (!(x[i] - x[i] == 0.0f)) {
      ++run.not_finite;
      continue;
    }
    run.energy += x[i] * x[i];
    run.error += rest * rest;
    run.weighted += (importance == nullptr ? 1.0f : importance[i]) * rest * rest;
  }
  sums->energy += static_cast<double>(run.energy);
  sums->error += static_cast<double>(run.error);
  sums->weighted += static_cast<double>(run.weighted);
  sums->not_finite += run.not_finite;
}

float mean_square(const float* x, size_t count) {
  double sum = 0.0;
  for (size_t from = 0; from < count; from += kRun) {
    float part = 0.0f;
    for (size_t i = from; i < min_size(from + kRun, count); ++i) part += x[i] * x[i];
    sum += static_cast<double>(part);
  }
  return static_cast<float>(sum / static_cast<double>(count));
}

// f32, f16 and bf16: a run at a time, whatever row it is of.
void convert_rows(const PackArgs& a, PackSums* sums) {
  float back[kRun];
  const size_t count = a.rows * a.columns;
  for (size_t from = 0; from < count; from += kRun) {
    const size_t n = min_size(kRun, count - from);
    const float* x = a.values + from;
    if (a.type == Type::f32) {
      memcpy(static_cast<float*>(a.out) + from, x, n * sizeof(float));
      compare(x, x, nullptr, n, sums);
      continue;
    }
    uint16_t* to = static_cast<uint16_t*>(a.out) + from;
    (a.type == Type::f16 ? f32_to_f16 : f32_to_bf16)(x, to, n);
    (a.type == Type::f16 ? f16_to_f32 : bf16_to_f32)(to, back, n);
    compare(x, back, nullptr, n, sums);
  }
}

// A type whose header says how a block is packed.
template <class Block>
concept Packable = requires(const float* x, formats::fit::Columns columns, Block& y) { pack(x, columns, y); };

template <class Block, size_t kElements>
bool pack_rows(const PackArgs& a, PackSums* sums) {
  if constexpr (Packable<Block>) {
    auto* out = static_cast<Block*>(a.out);
    float back[kRun];
    for (size_t row = 0; row < a.rows; ++row) {
      const float* x = a.values + row * a.columns;
      const float square = a.importance == nullptr ? 0.0f : mean_square(x, a.columns);
      for (size_t from = 0; from < a.columns; from += kRun) {
        const size_t n = min_size(kRun, a.columns - from);
        const float* importance = a.importance == nullptr ? nullptr : a.importance + from;
        for (size_t at = 0; at < n; at += kElements, ++out) {
          const float* own = importance == nullptr ? nullptr : importance + at;
          pack(x + from + at, formats::fit::Columns{own, square}, *out);
          unpack(*out, back + at);
        }
        compare(x + from, back, importance, n, sums);
      }
    }
  }
  return Packable<Block>;
}

}  // namespace

bool pack(const PackArgs& a, PackSums* sums) {
  switch (a.type) {
#define RLX_PACK(name) \
  case Type::name: return pack_rows<formats::name::Block, formats::name::kElements>(a, sums);
    RLX_PACKED_TYPES(RLX_PACK)
#undef RLX_PACK
    default: convert_rows(a, sums); return true;
  }
}

}  // namespace rlx::kernels::RLX_ISA
