// IQ2_S: 16 groups of 16 with a 4-bit scale each: value = (d * (0.5 + scale) * 0.25) * code, codes
// from a table of eights with eight signs.
#pragma once

#include "grid.h"
#include "grid_fit.h"
#include "layouts.h"

namespace rlx::formats::iq2_s {

#if defined(__AVX512VBMI__)
RLX_INLINE __m512i places(const Block& x) {
  uint64_t high;
  std::memcpy(&high, x.qh, 8);
  alignas(64) static constexpr uint8_t kPairs[64] = {
      0,  0, 2,  0, 4,  0, 6,  0, 8,  0, 10, 0, 12, 0, 14, 0, 16, 0, 18, 0, 20, 0, 22, 0, 24, 0, 26, 0, 28, 0, 30, 0,
      32, 0, 34, 0, 36, 0, 38, 0, 40, 0, 42, 0, 44, 0, 46, 0, 48, 0, 50, 0, 52, 0, 54, 0, 56, 0, 58, 0, 60, 0, 62, 0};
  const __m512i pairs =
      _mm512_multishift_epi64_epi8(_mm512_load_si512(kPairs), _mm512_set1_epi64(static_cast<int64_t>(high)));
  const __m512i top = _mm512_slli_epi16(_mm512_and_si512(pairs, _mm512_set1_epi16(3)), 8);
  return _mm512_or_si512(grid::places_of(x.qs), top);
}
#endif

RLX_INLINE float read_whole(const Block& x, int8_t* codes, int8_t* scales) {
#if defined(__AVX512VBMI__)
  grid::store_odd_scales(x.scales, scales);
  const __m256i signs = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(x.signs));
  grid::store_eights(grids::kIq2S, grids::kIq2SValues, places(x), signs, codes);
#else
  for (int group = 0; group < 16; ++group) {
    const int scale = (x.scales[group / 2] >> (4 * (group % 2))) & 15;
    scales[group] = static_cast<int8_t>(2 * scale + 1);
  }
  for (unsigned eight = 0; eight < 32; ++eight, codes += 8) {
    const unsigned place = x.qs[eight] | ((x.qh[eight / 4] >> (2 * (eight % 4))) & 3u) << 8;
    grid::store_signed(grid::kIq2S[place], grid::kSigns[x.signs[eight]], codes);
  }
#endif
  return load_half(x.d) * 0.125f;
}

RLX_INLINE void read(const Block& x, int8_t* codes, float* scales) { scale_whole(x, read_whole, codes, scales); }

RLX_INLINE void unpack(const Block& x, float* y) {
  Coded<kElements, kGroup> coded;
  read(x, coded.codes, coded.scales);
  coded.values(y);
}

RLX_INLINE void pack(const float* x, fit::Columns columns, Block& y) {
  grid::Signed parts;
  grid::split_signs<16>(x, columns, false, parts);
  const auto found = grid::magnitude_block<grid::Iq2SGrid, 16, 16>(parts.x, parts.w, 8.0f);
  fit::store_half(8.0f * found.unit, y.d);
  std::memcpy(y.signs, parts.signs, sizeof y.signs);
  std::memset(y.qh, 0, sizeof y.qh);
  for (int pair = 0; pair < 8; ++pair)
    y.scales[pair] = static_cast<uint8_t>(found.scales[2 * pair] | found.scales[2 * pair + 1] << 4);
  for (int eight = 0; eight < 32; ++eight) {
    const int place = found.places[eight];
    y.qs[eight] = static_cast<uint8_t>(place);
    y.qh[eight / 4] = static_cast<uint8_t>(y.qh[eight / 4] | (place >> 8) << (2 * (eight % 4)));
  }
}

}  // namespace rlx::formats::iq2_s
