// TQ1_0: value = digit * d, digits of -1, 0, 1. A byte holds five of them to the base 3 as a
// fraction: digit n is the whole part of three times what is left after multiplying by 3^n.
#pragma once

#include "block.h"
#include "fit.h"
#include "layouts.h"

namespace rlx::formats::tq1_0 {

// Three times a fraction of 256 is 256 and more from 86 on, 512 and more from 171 on.
template <int kBytes, int kDigits>
RLX_INLINE int8_t* digits_of(const uint8_t* bytes, int8_t* codes) {
  uint8_t fraction[kBytes];
  std::memcpy(fraction, bytes, kBytes);
  for (int digit = 0; digit < kDigits; ++digit, codes += kBytes) {
    for (int i = 0; i < kBytes; ++i) {
      codes[i] = static_cast<int8_t>((fraction[i] > 85) + (fraction[i] > 170) - 1);
      fraction[i] = static_cast<uint8_t>(fraction[i] * 3);
    }
  }
  return codes;
}

RLX_INLINE void read(const Block& x, int8_t* codes, float* scales) {
  scales[0] = load_half(x.d);
  codes = digits_of<32, 5>(x.qs, codes);
  codes = digits_of<16, 5>(x.qs + 32, codes);
  digits_of<4, 4>(x.qh, codes);
}

RLX_INLINE void unpack(const Block& x, float* y) {
  Coded<kElements, kGroup> coded;
  read(x, coded.codes, coded.scales);
  coded.values(y);
}

// A byte that holds these digits to the base 3, the first one in front.
template <int kDigits>
RLX_INLINE uint8_t byte_of_digits(const float* x, int stride, float inverse) {
  int number = 0;
  for (int digit = 0; digit < 5; ++digit) {
    const int code = digit < kDigits
                         ? static_cast<int>(fit::clamp(__builtin_roundf(x[digit * stride] * inverse), -1.0f, 1.0f)) + 1
                         : 0;
    number = number * 3 + code;
  }
  // A fraction of 243 as one of 256, rounded up.
  return static_cast<uint8_t>((number * 256 + 242) / 243);
}

// ggml's rule, byte for byte: the largest magnitude is the scale.
RLX_INLINE void pack(const float* x, fit::Columns, Block& y) {
  const float d = fit::largest_magnitude<256>(x), inverse = fit::inverse_of(d);
  fit::store_half(d, y.d);
  for (int i = 0; i < 32; ++i) y.qs[i] = byte_of_digits<5>(x + i, 32, inverse);
  for (int i = 0; i < 16; ++i) y.qs[32 + i] = byte_of_digits<5>(x + 160 + i, 16, inverse);
  for (int i = 0; i < 4; ++i) y.qh[i] = byte_of_digits<4>(x + 240 + i, 4, inverse);
}

}  // namespace rlx::formats::tq1_0
