// Numbers of any element type, for what the vector kernels (f32) do not take: one plain loop, made
// for each type. Whole numbers keep to the rule of main/ir/wholeNumbers.ts: modulo two to the power
// of their bits.
#pragma once

#include <cmath>
#include <concepts>
#include <cstdint>

#include "../kernel.h"

namespace rlx {

constexpr bool is_number(DType type) {
  switch (type) {
    case DType::u8:
    case DType::i8:
    case DType::i16:
    case DType::u32:
    case DType::i32:
    case DType::i64:
    case DType::f32:
    case DType::f64: return true;
    default: return false;
  }
}

// visit(T{}) with the C++ type of a dtype that `is_number`.
template <class Visit>
void with_number(DType type, Visit&& visit) {
  switch (type) {
    case DType::u8: return visit(uint8_t{});
    case DType::i8: return visit(int8_t{});
    case DType::i16: return visit(int16_t{});
    case DType::u32: return visit(uint32_t{});
    case DType::i32: return visit(int32_t{});
    case DType::i64: return visit(int64_t{});
    case DType::f32: return visit(float{});
    default: return visit(double{});
  }
}

// Signed overflow is undefined in C++, conversion to a narrower type is modulo: so sums and
// products are made unsigned.
template <std::integral T>
uint64_t bits_of(T x) {
  return static_cast<uint64_t>(x);
}

template <class T>
bool is_nan(T x) {
  if constexpr (std::floating_point<T>)
    return std::isnan(x);
  else
    return false;
}

struct Add {
  template <class T>
  static T of(T a, T b) {
    if constexpr (std::integral<T>)
      return static_cast<T>(bits_of(a) + bits_of(b));
    else
      return a + b;
  }
};

struct Sub {
  template <class T>
  static T of(T a, T b) {
    if constexpr (std::integral<T>)
      return static_cast<T>(bits_of(a) - bits_of(b));
    else
      return a - b;
  }
};

struct Mul {
  template <class T>
  static T of(T a, T b) {
    if constexpr (std::integral<T>)
      return static_cast<T>(bits_of(a) * bits_of(b));
    else
      return a * b;
  }
};

// Whole numbers: towards zero, a zero divisor gives 0.
struct Div {
  template <class T>
  static T of(T a, T b) {
    if constexpr (std::floating_point<T>)
      return a / b;
    else if (b == 0)
      return 0;
    // The one quotient that has no room: minus the least number.
    else if (std::signed_integral<T> && b == static_cast<T>(-1))
      return Sub::of(T{0}, a);
    else
      return static_cast<T>(a / b);
  }
};

struct Mod {
  template <class T>
  static T of(T a, T b) {
    if constexpr (std::floating_point<T>)
      return std::fmod(a, b);
    else if (b == 0 || (std::signed_integral<T> && b == static_cast<T>(-1)))
      return 0;
    else
      return static_cast<T>(a % b);
  }
};

// NaN wins, as it does in the vector kernels.
struct Max {
  template <class T>
  static T of(T a, T b) {
    if (is_nan(a) || is_nan(b)) return Add::of(a, b);
    return a < b ? b : a;
  }
};

struct Min {
  template <class T>
  static T of(T a, T b) {
    if (is_nan(a) || is_nan(b)) return Add::of(a, b);
    return b < a ? b : a;
  }
};

// Whole numbers: repeated products; a negative exponent gives what is left of 1 / aⁿ without its
// fraction.
struct Pow {
  template <class T>
  static T of(T a, T b) {
    if constexpr (std::floating_point<T>)
      return std::pow(a, b);
    else if (std::signed_integral<T> && b < 0)
      return a == 1 ? T{1} : a == static_cast<T>(-1) ? (b % 2 == 0 ? T{1} : a) : T{0};
    else {
      uint64_t result = 1;
      uint64_t base = bits_of(a);
      for (uint64_t rest = bits_of(b); rest != 0; rest >>= 1, base *= base)
        if ((rest & 1) != 0) result *= base;
      return static_cast<T>(result);
    }
  }
};

// Of whole numbers only. Counts from 0 to the bits of the type less one; any other moves all out.
struct BitAnd {
  template <std::integral T>
  static T of(T a, T b) {
    return static_cast<T>(bits_of(a) & bits_of(b));
  }
};
struct BitOr {
  template <std::integral T>
  static T of(T a, T b) {
    return static_cast<T>(bits_of(a) | bits_of(b));
  }
};
struct BitXor {
  template <std::integral T>
  static T of(T a, T b) {
    return static_cast<T>(bits_of(a) ^ bits_of(b));
  }
};
struct ShiftLeft {
  template <std::integral T>
  static T of(T a, T b) {
    return bits_of(b) < 8 * sizeof(T) ? static_cast<T>(bits_of(a) << bits_of(b)) : T{0};
  }
};
struct ShiftRight {
  template <std::integral T>
  static T of(T a, T b) {
    if (bits_of(b) < 8 * sizeof(T)) return static_cast<T>(a >> b);
    return a < 0 ? static_cast<T>(-1) : T{0};
  }
};

}  // namespace rlx
