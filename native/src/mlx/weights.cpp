#include "weights.h"

#include <mlx/memory.h>
#include <mlx/ops.h>
#include <mlx/transforms.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "../core/error.h"
#include "../core/half.h"

namespace rlx::gpu {
namespace {

constexpr size_t kGroup = 32;

float half(const uint8_t* bytes) { return half_to_f32(load_u16(bytes)); }

struct Group {
  uint8_t codes[kGroup];
  float scale, bias;
};

void nibbles(const uint8_t* packed, uint8_t* codes) {
  for (size_t i = 0; i < 16; i++) {
    codes[i] = packed[i] & 15;
    codes[i + 16] = packed[i] >> 4;
  }
}
void fifth_bits(const uint8_t* packed, uint8_t* codes) {
  uint32_t high;
  std::memcpy(&high, packed, sizeof high);
  for (size_t i = 0; i < kGroup; i++) codes[i] |= static_cast<uint8_t>((high >> i & 1) << 4);
}

// The 6-bit scale and minimum of sub-block j.
void scale_and_minimum(const uint8_t* scales, size_t j, uint8_t& scale, uint8_t& minimum) {
  if (j < 4) {
    scale = scales[j] & 63;
    minimum = scales[j + 4] & 63;
  } else {
    scale = static_cast<uint8_t>((scales[j + 4] & 15) | (scales[j - 4] >> 6 << 4));
    minimum = static_cast<uint8_t>((scales[j + 4] >> 4) | (scales[j] >> 6 << 4));
  }
}

// Group `index` of a block. All products here are exact in f32: at most 11 + 8 bits.
void unpack(DType type, const uint8_t* block, size_t index, Group& out) {
  switch (type) {
    case DType::q4_0:
      nibbles(block + 2, out.codes);
      out.scale = half(block);
      out.bias = -8 * out.scale;
      return;
    case DType::q4_1:
      nibbles(block + 4, out.codes);
      out.scale = half(block);
      out.bias = half(block + 2);
      return;
    case DType::q5_0:
      nibbles(block + 6, out.codes);
      fifth_bits(block + 2, out.codes);
      out.scale = half(block);
      out.bias = -16 * out.scale;
      return;
    case DType::q5_1:
      nibbles(block + 8, out.codes);
      fifth_bits(block + 4, out.codes);
      out.scale = half(block);
      out.bias = half(block + 2);
      return;
    case DType::q8_0:
      for (size_t i = 0; i < kGroup; i++) out.codes[i] = static_cast<uint8_t>(block[2 + i] ^ 0x80);
      out.scale = half(block);
      out.bias = -128 * out.scale;
      return;
    case DType::q4_k:
    case DType::q5_k: {
      uint8_t scale, minimum;
      scale_and_minimum(block + 4, index, scale, minimum);
      out.scale = half(block) * scale;
      out.bias = -half(block + 2) * minimum;
      const uint8_t* low = block + (type == DType::q4_k ? 16 : 48) + index / 2 * kGroup;
      for (size_t i = 0; i < kGroup; i++) out.codes[i] = index % 2 == 0 ? low[i] & 15 : low[i] >> 4;
      if (type == DType::q5_k)
        for (size_t i = 0; i < kGroup; i++) out.codes[i] |= static_cast<uint8_t>((block[16 + i] >> index & 1) << 4);
      return;
    }
    default: fail(Code::bug_invariant, "[mlx] %s has no affine form", dtype_name(type));
  }
}

// All groups of a block of a coded type: codes without a sign, what that adds taken off by the
// bias. Codes of -1..2 fill two bits.
void unpack_coded(DType type, const uint8_t* block, int bits, std::vector<Group>& groups) {
  alignas(64) int8_t codes[256];
  float scales[256 / 16];
  read_coded_block(type, block, codes, scales);
  const int add = bits == 2 ? 1 : 1 << (bits - 1);
  const size_t shared = coded_group(type) / kGroup;
  for (size_t g = 0; g < groups.size(); g++) {
    Group& out = groups[g];
    for (size_t i = 0; i < kGroup; i++) out.codes[i] = static_cast<uint8_t>(codes[g * kGroup + i] + add);
    out.scale = scales[g / shared];
    out.bias = static_cast<float>(-add) * out.scale;
  }
}

// MLX's form: codes one after the other, lowest bits first, in 32-bit words.
void pack(const uint8_t* codes, int bits, uint32_t* words) {
  uint64_t pending = 0;
  int filled = 0;
  for (size_t i = 0; i < kGroup; i++) {
    pending |= static_cast<uint64_t>(codes[i]) << filled;
    for (filled += bits; filled >= 32; filled -= 32, pending >>= 32) *words++ = static_cast<uint32_t>(pending);
  }
}

mx::Shape shape_of(const std::vector<size_t>& sizes) { return {sizes.begin(), sizes.end()}; }

void check_cancel(const std::atomic<bool>& cancel) {
  if (cancel.load(std::memory_order_relaxed)) throw Error(Code::cancelled, "Cancelled.");
}

struct Rows {
  size_t rows, columns, bytes;  // bytes of one row
};
Rows rows_of(const WeightPlan& plan) {
  Rows result{};
  result.columns = plan.shape.empty() ? 1 : plan.shape.back();
  result.rows = 1;
  for (size_t i = 0; i + 1 < plan.shape.size(); i++) result.rows *= plan.shape[i];
  result.bytes = storage_bytes(plan.dtype, result.columns);
  return result;
}

Held hold_affine(const WeightPlan& plan, const uint8_t* bytes, int bits, const std::atomic<bool>& cancel) {
  const Rows r = rows_of(plan);
  const BlockSize block = block_size(plan.dtype);
  const size_t groups = r.columns / kGroup, in_block = block.elements / kGroup, words = static_cast<size_t>(bits);
  std::vector<uint32_t> codes(r.rows * groups * words);
  std::vector<float> scales(r.rows * groups), biases(r.rows * groups);
  std::vector<Group> unpacked(in_block);
  const bool is_coded = coded_group(plan.dtype) != 0;
  for (size_t row = 0; row < r.rows; row++) {
    if (row % 256 == 0) check_cancel(cancel);
    for (size_t g = 0; g < groups; g++) {
      const uint8_t* from = bytes + row * r.bytes + g / in_block * block.bytes;
      Group& group = unpacked[g % in_block];
      if (!is_coded)
        unpack(plan.dtype, from, g % in_block, group);
      else if (g % in_block == 0)
        unpack_coded(plan.dtype, from, bits, unpacked);
      const size_t at = row * groups + g;
      pack(group.codes, bits, codes.data() + at * words);
      scales[at] = group.scale;
      biases[at] = group.bias;
    }
  }
  mx::Shape coded = shape_of(plan.shape), grouped = coded;
  coded.back() = static_cast<int>(groups * words);
  grouped.back() = static_cast<int>(groups);
  Held held{mx::array(codes.data(), coded, mx::uint32), mx::array(scales.data(), grouped, mx::float32),
            mx::array(biases.data(), grouped, mx::float32)};
  held.bits = bits;
  held.rows = coded.front();
  return held;
}

Held hold_half(const WeightPlan& plan, const uint8_t* bytes, const std::atomic<bool>& cancel) {
  const Rows r = rows_of(plan);
  std::vector<float> row(r.columns);
  std::vector<uint16_t> values(r.rows * r.columns);
  for (size_t i = 0; i < r.rows; i++) {
    if (i % 256 == 0) check_cancel(cancel);
    unpack_row(plan.dtype, bytes + i * r.bytes, row.data(), r.columns);
    std::transform(row.begin(), row.end(), values.begin() + static_cast<std::ptrdiff_t>(i * r.columns),
                   [](float x) { return f32_to_half(x); });
  }
  return {mx::array(reinterpret_cast<const mx::float16_t*>(values.data()), shape_of(plan.shape), mx::float16),
          std::nullopt, std::nullopt};
}

}  // namespace

int affine_bits(DType type) {
  switch (type) {
    case DType::q4_0:
    case DType::q4_1:
    case DType::q4_k: return 4;
    case DType::q5_0:
    case DType::q5_1:
    case DType::q5_k: return 5;
    case DType::q8_0: return 8;
    // Coded types with groups of 32 and more.
    case DType::q1_0:
    case DType::q2_0:
    case DType::tq1_0:
    case DType::tq2_0: return 2;
    case DType::mxfp4:
    case DType::iq1_s:
    case DType::iq3_s: return 5;
    case DType::iq2_xxs:
    case DType::iq3_xxs:
    case DType::iq4_nl:
    case DType::iq4_xs: return 8;
    default: return 0;
  }
}

void check_memory(size_t bytes, const char* what) {
  const size_t limit = mx::get_memory_limit();
  if (bytes > limit)
    fail(Code::env_no_memory, "[mlx] %s: %zu MB, of the %zu MB that MLX may use", what, bytes >> 20, limit >> 20);
}

mx::array from_bytes(const uint8_t* bytes, const mx::Shape& shape, DType dtype) {
  const auto typed_codes = [](const uint8_t* data, const mx::Shape& sizes) {
    return mx::array(data, sizes, mx::uint8);
  };
  // Through the typed constructors: MLX's own way to adopt memory differs from version to version.
  const auto typed = [&](const auto* data) { return mx::array(data, shape, mlx_type(dtype)); };
  switch (dtype) {
    case DType::boolean: return mx::not_equal(typed_codes(bytes, shape), mx::array(uint8_t{0}, mx::uint8));
    case DType::u8: return typed(bytes);
    case DType::i8: return typed(reinterpret_cast<const int8_t*>(bytes));
    case DType::i16: return typed(reinterpret_cast<const int16_t*>(bytes));
    case DType::bf16: return typed(reinterpret_cast<const mx::bfloat16_t*>(bytes));
    case DType::f16: return typed(reinterpret_cast<const mx::float16_t*>(bytes));
    case DType::u32: return typed(reinterpret_cast<const uint32_t*>(bytes));
    case DType::i32: return typed(reinterpret_cast<const int32_t*>(bytes));
    case DType::i64: return typed(reinterpret_cast<const int64_t*>(bytes));
    case DType::f32: return typed(reinterpret_cast<const float*>(bytes));
    case DType::f64: return typed(reinterpret_cast<const double*>(bytes));
    case DType::c64: return typed(reinterpret_cast<const mx::complex64_t*>(bytes));
    default: fail(Code::ir_type, "[mlx] %s is packed", dtype_name(dtype));
  }
}

Held hold_weight(const WeightPlan& plan, const Weights& weights, const std::atomic<bool>& cancel) {
  const uint8_t* bytes = weights.at(plan.file, plan.offset, plan.bytes);
  if (!is_packed(plan.dtype)) return {from_bytes(bytes, shape_of(plan.shape), plan.dtype), std::nullopt, std::nullopt};
  const int bits = plan.shape.size() >= 2 ? affine_bits(plan.dtype) : 0;
  return bits == 0 ? hold_half(plan, bytes, cancel) : hold_affine(plan, bytes, bits, cancel);
}

WeightError weight_error(const WeightPlan& plan, const Weights& weights, const Held& held) {
  if (!is_packed(plan.dtype)) return {};
  const Rows r = rows_of(plan);
  const uint8_t* bytes = weights.at(plan.file, plan.offset, plan.bytes);
  const auto lines = [&](const mx::array& x) { return mx::reshape(x, {static_cast<int>(r.rows), -1}); };
  const mx::array flat = lines(held.plain);
  std::vector<float> exact(r.columns);
  WeightError error;
  double off = 0, all = 0;
  constexpr size_t kRows = 512;
  for (size_t from = 0; from < r.rows; from += kRows) {
    const int first = static_cast<int>(from), end = static_cast<int>(std::min(r.rows, from + kRows));
    const auto part = [&](const mx::array& x) { return mx::slice(x, {first, 0}, {end, x.shape(1)}); };
    mx::array values =
        held.packed() ? mx::dequantize(part(flat), part(lines(*held.scales)), part(lines(*held.biases)), 32, held.bits)
                      : mx::astype(part(flat), mx::float32);
    values = mx::contiguous(values);
    values.eval();
    for (int row = first; row < end; row++) {
      unpack_row(plan.dtype, bytes + static_cast<size_t>(row) * r.bytes, exact.data(), r.columns);
      const float* mine = values.data<float>() + static_cast<size_t>(row - first) * r.columns;
      for (size_t i = 0; i < r.columns; i++) {
        const double gap = static_cast<double>(mine[i]) - exact[i];
        error.largest = std::max(error.largest, std::abs(gap));
        off += gap * gap;
        all += static_cast<double>(exact[i]) * exact[i];
      }
    }
  }
  error.relative = all == 0 ? 0 : std::sqrt(off / all);
  return error;
}

}  // namespace rlx::gpu
