// The element-wise kernels as functions on a stretch of elements: what an instruction of theirs does
// to its whole operands, a step of a region does to one tile. Both call the same loops, so the
// numbers are the same bits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "../kernel.h"

namespace rlx {

// One step on `n` elements. An operand with step 0 is one element for all of them.
struct Stretch {
  const kernels::Dispatch& kernels;
  DType type;  // of the operands; of a choice, of what is chosen
  bool as_ggml;
  const uint8_t* in[3];
  size_t step[3];
  uint8_t* out;
  size_t n;

  template <class T>
  const T* operand(size_t i) const {
    return reinterpret_cast<const T*>(in[i]);
  }
  template <class T>
  T* result() const {
    return reinterpret_cast<T*>(out);
  }
};

// What the operands are, and the result: all numbers of one type and the same again · f32 or f64
// likewise · two of one type, and bool · bool, and bool · bool and two of a type, and that type.
enum class StepTypes : uint8_t { numbers, reals, compare, logic, choose };

struct StepEntry {
  const char* name;
  size_t operands;
  StepTypes types;
  void (*run)(const Stretch& stretch);
};

std::span<const StepEntry> unary_steps();
std::span<const StepEntry> binary_steps();

// A cast of `n` elements (cast.cpp). Neither type is packed or complex.
void cast_stretch(const kernels::Dispatch& kernels, DType from, const uint8_t* x, DType to, uint8_t* y, size_t n);

}  // namespace rlx
