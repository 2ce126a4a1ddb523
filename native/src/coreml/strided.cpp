#include "strided.h"

#include <bit>
#include <cstring>

namespace rlx::coreml {

const char* dtype_name(DType type) {
  switch (type) {
    case DType::f16: return "f16";
    case DType::f32: return "f32";
    case DType::f64: return "f64";
    case DType::i32: return "i32";
    case DType::i8: return "i8";
    case DType::none: return "none";
  }
  return "none";
}

size_t byte_width(DType type) {
  switch (type) {
    case DType::f16: return 2;
    case DType::f32: return 4;
    case DType::f64: return 8;
    case DType::i32: return 4;
    case DType::i8: return 1;
    case DType::none: return 0;
  }
  return 0;
}

float half_to_float(uint16_t half) {
  const uint32_t sign = static_cast<uint32_t>(half & 0x8000) << 16;
  const uint32_t exponent = (half >> 10) & 31, fraction = half & 1023;
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7f800000 | fraction << 13);
  if (exponent != 0) return std::bit_cast<float>(sign | (exponent + 112) << 23 | fraction << 13);
  const float tiny = static_cast<float>(fraction) * 0x1p-24f;
  return sign ? -tiny : tiny;
}

uint16_t float_to_half(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const auto sign = static_cast<uint16_t>((bits >> 16) & 0x8000);
  const uint32_t size = bits & 0x7fffffff;
  if (size >= 0x7f800000)
    return static_cast<uint16_t>(sign | 0x7c00 | (size > 0x7f800000 ? 0x200 | (size >> 13 & 0x3ff) : 0));
  if (size >= 0x477ff000) return static_cast<uint16_t>(sign | 0x7c00);  // 65520 and more round to infinity
  if (size < 0x38800000) {
    // Subnormal: adding a half lets the hardware round to a multiple of 2^-24.
    const float shifted = std::bit_cast<float>(size) + 0.5f;
    return static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(shifted) & 0x7ff));
  }
  const uint32_t rounded = size + 0xfff + (size >> 13 & 1);
  return static_cast<uint16_t>(sign | ((rounded - 0x38000000) >> 13));
}

Shape dense_strides(const Shape& shape) {
  Shape strides(shape.size(), 1);
  for (size_t i = shape.size(); i-- > 1;) strides[i - 1] = strides[i] * shape[i];
  return strides;
}

int64_t element_count(const Shape& shape) {
  int64_t count = 1;
  for (int64_t dim : shape) count *= dim;
  return count;
}

size_t extent_bytes(const Shape& shape, const Shape& strides, DType type) {
  if (element_count(shape) == 0) return 0;
  int64_t last = 1;
  for (size_t i = 0; i < shape.size(); i++) last += (shape[i] - 1) * strides[i];
  return static_cast<size_t>(last) * byte_width(type);
}

namespace {

// How many of the last dims lie without gaps: they are one run.
size_t contiguous_dims(const Shape& shape, const Shape& strides) {
  int64_t expected = 1;
  size_t dims = 0;
  for (size_t i = shape.size(); i-- > 0; dims++) {
    if (shape[i] != 1 && strides[i] != expected) break;
    expected *= shape[i];
  }
  return dims;
}

// Calls `visit(dense element offset, strided element offset, elements)` for every run.
template <class Visit>
void each_run(const Shape& shape, const Shape& strides, Visit&& visit) {
  const size_t inner = contiguous_dims(shape, strides), outer = shape.size() - inner;
  int64_t run = 1;
  for (size_t i = outer; i < shape.size(); i++) run *= shape[i];
  const int64_t total = element_count(shape);
  if (total == 0) return;
  Shape index(outer, 0);
  int64_t offset = 0;
  for (int64_t dense = 0; dense < total; dense += run) {
    visit(dense, offset, run);
    for (size_t i = outer; i-- > 0;) {
      offset += strides[i];
      if (++index[i] < shape[i]) break;
      offset -= strides[i] * shape[i];
      index[i] = 0;
    }
  }
}

template <class From, class To, class Convert>
void convert_run(const void* from, void* to, int64_t count, Convert&& convert) {
  for (int64_t i = 0; i < count; i++) {
    From value;
    std::memcpy(&value, static_cast<const char*>(from) + static_cast<size_t>(i) * sizeof(From), sizeof(From));
    const To made = convert(value);
    std::memcpy(static_cast<char*>(to) + static_cast<size_t>(i) * sizeof(To), &made, sizeof(To));
  }
}

using Run = void (*)(const void*, void*, int64_t);

// The conversions that lose nothing unasked: f32 and f64 into halves are what a caller of an f16
// feature means.
Run conversion(DType from, DType to) {
  if (from == DType::f32 && to == DType::f16)
    return [](const void* a, void* b, int64_t n) { convert_run<float, uint16_t>(a, b, n, float_to_half); };
  if (from == DType::f16 && to == DType::f32)
    return [](const void* a, void* b, int64_t n) { convert_run<uint16_t, float>(a, b, n, half_to_float); };
  if (from == DType::f64 && to == DType::f32)
    return [](const void* a, void* b, int64_t n) {
      convert_run<double, float>(a, b, n, [](double x) { return static_cast<float>(x); });
    };
  if (from == DType::f32 && to == DType::f64)
    return [](const void* a, void* b, int64_t n) {
      convert_run<float, double>(a, b, n, [](float x) { return static_cast<double>(x); });
    };
  return nullptr;
}

void copy_runs(const char* dense, char* strided, bool outwards, DType from, DType to, const Shape& shape,
               const Shape& strides, const std::string& label) {
  const Run convert = from == to ? nullptr : conversion(from, to);
  if (from != to && !convert)
    throw Failure("INPUT_ARGUMENT", "[coreml] " + label + ": got " + dtype_name(from) + ", expected " + dtype_name(to));
  const size_t from_width = byte_width(from), to_width = byte_width(to);
  const size_t dense_width = outwards ? to_width : from_width, strided_width = outwards ? from_width : to_width;
  each_run(shape, strides, [&](int64_t at, int64_t offset, int64_t count) {
    char* one = const_cast<char*>(dense) + static_cast<size_t>(at) * dense_width;
    char* other = strided + static_cast<ptrdiff_t>(offset) * static_cast<ptrdiff_t>(strided_width);
    const char* source = outwards ? other : one;
    char* target = outwards ? one : other;
    if (convert)
      convert(source, target, count);
    else
      std::memcpy(target, source, static_cast<size_t>(count) * from_width);
  });
}

}  // namespace

void copy_in(const Tensor& from, const Shape& shape, void* to, DType type, const Shape& strides) {
  copy_runs(reinterpret_cast<const char*>(from.bytes->data()), static_cast<char*>(to), false, from.type, type, shape,
            strides, from.name);
}

std::vector<uint8_t> copy_out(const void* from, DType type, const Shape& shape, const Shape& strides, DType wanted) {
  std::vector<uint8_t> made(static_cast<size_t>(element_count(shape)) * byte_width(wanted));
  copy_runs(reinterpret_cast<char*>(made.data()), const_cast<char*>(static_cast<const char*>(from)), true, type, wanted,
            shape, strides, "output");
  return made;
}

}  // namespace rlx::coreml
