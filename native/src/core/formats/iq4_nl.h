// IQ4_NL: value = d * kIq4Values[code], codes of 4 bits.
#pragma once

#include "block.h"
#include "fit.h"
#include "layouts.h"

namespace rlx::formats::iq4_nl {

RLX_INLINE void read(const Block& x, int8_t* codes, float* scales) {
  scales[0] = load_half(x.d);
  look_up_nibbles(kIq4Values, x.qs, codes);
}

RLX_INLINE void unpack(const Block& x, float* y) {
  Coded<kElements, kGroup> coded;
  read(x, coded.codes, coded.scales);
  coded.values(y);
}

// The nearest of the values, and which it is.
struct Values {
  // The largest value may also get the last one.
  static constexpr float kOtherEdge = 117.0f;
  RLX_MEMBER static fit::Eight nearest_code(fit::Eight x) {
    fit::Eight found = fit::all(static_cast<float>(kIq4Values[0]));
    for (int i = 0; i < 15; ++i) {
      const float middle = 0.5f * static_cast<float>(kIq4Values[i] + kIq4Values[i + 1]);
      const float step = static_cast<float>(kIq4Values[i + 1] - kIq4Values[i]);
      found += x > fit::all(middle) ? fit::all(step) : fit::all(0.0f);
    }
    return found;
  }
};
RLX_INLINE int place_of(float value) {
  int place = 0;
  while (place < 15 && static_cast<float>(kIq4Values[place]) < value) ++place;
  return place;
}
RLX_INLINE void store_places(const float* codes, uint8_t* qs) {
  for (int i = 0; i < 16; ++i) qs[i] = static_cast<uint8_t>(place_of(codes[i]) | place_of(codes[i + 16]) << 4);
}

RLX_INLINE void pack(const float* x, fit::Columns columns, Block& y) {
  float w[32], codes[32];
  const float square = columns.importance == nullptr ? fit::mean_square<32>(x) : columns.mean_square;
  fit::weigh<32>(x, columns.importance, square, w);
  const float d = fit::as_half(fit::scale_for(fit::Group<32>{x, w}, Values{}, fit::peak<32>(x), -127.0f, 2.0f, 9));
  fit::store_half(d, y.d);
  fit::codes_with<32>(x, Values{}, d, codes);
  store_places(codes, y.qs);
}

}  // namespace rlx::formats::iq4_nl
