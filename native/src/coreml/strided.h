// Copies between dense host memory and arrays with strides: whole runs by memcpy where both sides
// lie in a row, element by element with conversion otherwise. Plain C++.
#pragma once

#include "bridge.h"

namespace rlx::coreml {

float half_to_float(uint16_t half);
uint16_t float_to_half(float value);  // to nearest, ties to even

Shape dense_strides(const Shape& shape);
int64_t element_count(const Shape& shape);
// Bytes from the first to past the last element.
size_t extent_bytes(const Shape& shape, const Shape& strides, DType type);

// Throws INPUT_ARGUMENT when the types do not convert.
void copy_in(const Tensor& from, const Shape& shape, void* to, DType type, const Shape& strides);
std::vector<uint8_t> copy_out(const void* from, DType type, const Shape& shape, const Shape& strides, DType wanted);

}  // namespace rlx::coreml
