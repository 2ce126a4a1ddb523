// The tables of the IQ types with AVX-512: 32 entries are found at a time, without a load for each.
// A table is words of 16 bits in registers, each of which permutes 64 of them by the low six bits
// of the places; the bits above choose between those.
#pragma once

#include <immintrin.h>

#include "block.h"
#include "grids.h"

namespace rlx::formats::grid {

template <size_t kEntries>
RLX_INLINE __m512i entries_at(const uint16_t* table, __m512i places) {
  if constexpr (kEntries == 64) {
    return _mm512_permutex2var_epi16(_mm512_loadu_si512(table), places, _mm512_loadu_si512(table + 32));
  } else {
    constexpr size_t half = kEntries / 2;
    const __m512i low = entries_at<half>(table, places), high = entries_at<half>(table + half, places);
    const __mmask32 above = _mm512_test_epi16_mask(places, _mm512_set1_epi16(static_cast<short>(half)));
    return _mm512_mask_blend_epi16(above, low, high);
  }
}

// Bytes as places.
RLX_INLINE __m512i places_of(__m256i bytes) { return _mm512_cvtepu8_epi16(bytes); }
RLX_INLINE __m512i places_of(const uint8_t* bytes) {
  return places_of(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(bytes)));
}

// 64 bytes, those with a sign negated.
RLX_INLINE void store_under(__m512i values, uint64_t signs, int8_t* codes) {
  _mm512_storeu_si512(codes, _mm512_mask_sub_epi8(values, signs, _mm512_setzero_si512(), values));
}

// Sixteen values, of which codes of 2 or 4 bits name one.
template <size_t kValues>
RLX_INLINE __m512i values_of(const int8_t (&values)[kValues]) {
  alignas(16) int8_t table[16] = {};
  for (size_t i = 0; i < kValues; ++i) table[i] = values[i];
  return _mm512_broadcast_i32x4(_mm_load_si128(reinterpret_cast<const __m128i*>(table)));
}

// 256 values of 32 places in a table of eights and, of 32 bytes of signs, which of them are
// negative.
template <size_t kEntries, size_t kValues>
RLX_INLINE void look_up_eights(const uint16_t (&table)[kEntries], const int8_t (&values)[kValues], __m512i places,
                               __m256i signs, __m512i (&found)[4], __mmask64 (&minus)[4]) {
  alignas(32) uint64_t masks[4];
  _mm256_store_si256(reinterpret_cast<__m256i*>(masks), signs);
  alignas(64) uint16_t entries[32];
  _mm512_store_si512(entries, entries_at<kEntries>(table, places));
  const __m512i each = _mm512_set1_epi64(0x0e0c0a0806040200), names = values_of(values);
  for (int i = 0; i < 4; ++i) {
    const __m512i eights = _mm512_cvtepu16_epi64(_mm_load_si128(reinterpret_cast<const __m128i*>(entries + 8 * i)));
    const __m512i two = _mm512_and_si512(_mm512_multishift_epi64_epi8(each, eights), _mm512_set1_epi8(3));
    found[i] = _mm512_shuffle_epi8(names, two);
    minus[i] = masks[i];
  }
}
template <size_t kEntries, size_t kValues>
RLX_INLINE void store_eights(const uint16_t (&table)[kEntries], const int8_t (&values)[kValues], __m512i places,
                             __m256i signs, int8_t* codes) {
  __m512i found[4];
  __mmask64 minus[4];
  look_up_eights(table, values, places, signs, found, minus);
  for (int i = 0; i < 4; ++i) store_under(found[i], minus[i], codes + 64 * i);
}

// 128 codes of 32 places in a table of fours, with 16 bytes of signs.
template <size_t kEntries, size_t kValues>
RLX_INLINE void store_fours(const uint16_t (&table)[kEntries], const int8_t (&values)[kValues], __m512i places,
                            const uint64_t* signs, int8_t* codes) {
  const __m512i entries = entries_at<kEntries>(table, places);
  const __m512i each = _mm512_set1_epi64(0x2c2824200c080400), names = values_of(values);
  const __m256i halves[2] = {_mm512_castsi512_si256(entries), _mm512_extracti64x4_epi64(entries, 1)};
  for (int i = 0; i < 2; ++i) {
    const __m512i fours = _mm512_cvtepu16_epi32(halves[i]);
    const __m512i four = _mm512_and_si512(_mm512_multishift_epi64_epi8(each, fours), _mm512_set1_epi8(15));
    store_under(_mm512_shuffle_epi8(names, four), signs[i], codes + 64 * i);
  }
}

// Seven signs in each byte become eight, of which an even number is set.
RLX_INLINE __m256i even_signs(__m256i sevens) {
  return _mm256_gf2p8affine_epi64_epi8(sevens, _mm256_set1_epi64x(0x010204081020407f), 0);
}
// The same from eight words of 4 x 7 bits.
RLX_INLINE __m256i even_signs_of(__m256i words) {
  return even_signs(_mm256_multishift_epi64_epi8(_mm256_set1_epi64x(0x352e2720150e0700), words));
}

// 16 whole scales 1 + 2 * nibble.
RLX_INLINE void store_odd_scales(const uint8_t* nibbles, int8_t* scales) {
  const __m128i x = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(nibbles)), low4 = _mm_set1_epi8(15);
  const __m128i each = _mm_unpacklo_epi8(_mm_and_si128(x, low4), _mm_and_si128(_mm_srli_epi16(x, 4), low4));
  const __m128i odd = _mm_or_si128(_mm_add_epi8(each, each), _mm_set1_epi8(1));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(scales), odd);
}

}  // namespace rlx::formats::grid
