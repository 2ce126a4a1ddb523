// Conversions between all plain dtypes (c64 to and from itself only): float to integer truncates
// and saturates, NaN becomes 0, to bool is "not zero", integers wrap into narrower ones.
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "steps.h"
#include "tables.h"

namespace rlx {
namespace {

template <class To, class From>
To convert(From x) {
  if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    if (std::isnan(x)) return 0;
    if (x <= static_cast<From>(std::numeric_limits<To>::min())) return std::numeric_limits<To>::min();
    if (x >= static_cast<From>(std::numeric_limits<To>::max())) return std::numeric_limits<To>::max();
  }
  return static_cast<To>(x);
}

// On the way to half precision: what f32 cannot hold goes to the odd one of its neighbours, so that
// the second rounding sees on which side of the middle the number was.
template <class From>
float to_odd(From x) {
  const auto wide = static_cast<double>(x);
  const auto near = static_cast<float>(wide);
  if (std::isnan(wide) || static_cast<double>(near) == wide) return near;
  auto bits = std::bit_cast<uint32_t>(near);
  if (std::fabs(static_cast<double>(near)) > std::fabs(wide)) bits--;
  return std::bit_cast<float>(bits | 1);
}

template <class To, class From>
void each(const From* x, uint8_t* y, size_t at, size_t n) {
  To* to = reinterpret_cast<To*>(y) + at;
  for (size_t i = 0; i < n; i++) to[i] = convert<To>(x[i]);
}

// Half precision goes through f32, a piece at a time.
constexpr size_t kPiece = 512;

// At most kPiece numbers to halves.
template <class From>
void write(const kernels::Dispatch& kernels, const From* x, DType to, uint8_t* y, size_t at, size_t n) {
  switch (to) {
    case DType::boolean:
      for (size_t i = 0; i < n; i++) y[at + i] = x[i] != 0;
      return;
    case DType::u8: return each<uint8_t>(x, y, at, n);
    case DType::i8: return each<int8_t>(x, y, at, n);
    case DType::i16: return each<int16_t>(x, y, at, n);
    case DType::u32: return each<uint32_t>(x, y, at, n);
    case DType::i32: return each<int32_t>(x, y, at, n);
    case DType::i64: return each<int64_t>(x, y, at, n);
    case DType::f32: return each<float>(x, y, at, n);
    case DType::f64: return each<double>(x, y, at, n);
    default: break;
  }
  float room[kPiece];
  const float* wide = room;
  if constexpr (std::is_same_v<From, float>)
    wide = x;
  else
    for (size_t i = 0; i < n; i++) room[i] = to_odd(x[i]);
  auto* halves = reinterpret_cast<uint16_t*>(y) + at;
  if (to == DType::f16)
    kernels.f32_to_f16(wide, halves, n);
  else
    kernels.f32_to_bf16(wide, halves, n);
}

class Cast final : public Op {
 public:
  explicit Cast(const OpContext& context) : Op(context) {
    arity(1, 1, 1);
    if (is_packed(in(0).dtype))
      reject(Code::ir_type, "operand is packed: got %s, expected a plain dtype", dtype_name(in(0).dtype));
    if ((in(0).dtype == DType::c64) != (out().dtype == DType::c64))
      reject(Code::ir_type, "complex numbers have no order: cast their parts");
  }
  void bind() override { expect(in(0).count == out().count, "the result has another size"); }
  size_t items(size_t) const override { return ceil_div(out().count, kGrain); }
  void run(size_t, size_t item, Thread&) override {
    const size_t begin = item * kGrain;
    const size_t n = std::min(kGrain, out().count - begin);
    const DType from = in(0).dtype;
    const DType to = out().dtype;
    cast_stretch(c.kernels, from, in(0).data + begin * dtype_bytes(from), to, out().data + begin * dtype_bytes(to), n);
  }
};

constexpr KernelEntry kTable[] = {{"cast", make_op<Cast>}};

}  // namespace

std::span<const KernelEntry> cast_kernels() { return kTable; }

void cast_stretch(const kernels::Dispatch& kernels, DType from, const uint8_t* x, DType to, uint8_t* y, size_t n) {
  if (from == to) {
    std::memcpy(y, x, n * dtype_bytes(to));
    return;
  }
  float wide[kPiece];
  for (size_t i = 0; i < n; i += kPiece) {
    const size_t m = std::min(kPiece, n - i);
    switch (from) {
      case DType::f16:
        kernels.f16_to_f32(reinterpret_cast<const uint16_t*>(x) + i, wide, m);
        write(kernels, wide, to, y, i, m);
        break;
      case DType::bf16:
        kernels.bf16_to_f32(reinterpret_cast<const uint16_t*>(x) + i, wide, m);
        write(kernels, wide, to, y, i, m);
        break;
      case DType::boolean:
        for (size_t j = 0; j < m; j++) wide[j] = x[i + j] != 0;
        write(kernels, wide, to, y, i, m);
        break;
      case DType::u8: write(kernels, x + i, to, y, i, m); break;
      case DType::i8: write(kernels, reinterpret_cast<const int8_t*>(x) + i, to, y, i, m); break;
      case DType::i16: write(kernels, reinterpret_cast<const int16_t*>(x) + i, to, y, i, m); break;
      case DType::u32: write(kernels, reinterpret_cast<const uint32_t*>(x) + i, to, y, i, m); break;
      case DType::i32: write(kernels, reinterpret_cast<const int32_t*>(x) + i, to, y, i, m); break;
      case DType::i64: write(kernels, reinterpret_cast<const int64_t*>(x) + i, to, y, i, m); break;
      case DType::f32: write(kernels, reinterpret_cast<const float*>(x) + i, to, y, i, m); break;
      default: write(kernels, reinterpret_cast<const double*>(x) + i, to, y, i, m); break;
    }
  }
}

}  // namespace rlx
