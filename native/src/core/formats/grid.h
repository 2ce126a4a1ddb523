// The tables of the IQ types with a byte for each value, and signs as masks of bytes: eight values
// are one 64-bit word.
#pragma once

#include <array>

#include "block.h"
#include "grids.h"
#if defined(__AVX512VBMI__)
#include "grid_avx512.h"
#endif

namespace rlx::formats::grid {

inline constexpr uint64_t kOnes = 0x0101010101010101;

// The bytes of each entry: kPerEntry values, times `times`, plus `plus`.
template <class Word, size_t kEntries, size_t kValues>
constexpr std::array<Word, kEntries> spread(const uint16_t (&entries)[kEntries], const int8_t (&values)[kValues],
                                            int times = 1, int plus = 0) {
  constexpr size_t count = sizeof(Word), bits = 16 / count;
  std::array<Word, kEntries> out{};
  for (size_t e = 0; e < kEntries; ++e) {
    for (size_t i = 0; i < count; ++i) {
      const int value = values[(entries[e] >> (bits * i)) & ((1u << bits) - 1)] * times + plus;
      out[e] = static_cast<Word>(out[e] | static_cast<Word>(static_cast<uint8_t>(value)) << (8 * i));
    }
  }
  return out;
}

inline constexpr auto kIq2Xxs = spread<uint64_t>(grids::kIq2Xxs, grids::kIq2XxsValues);
inline constexpr auto kIq2Xs = spread<uint64_t>(grids::kIq2Xs, grids::kIq2XsValues);
inline constexpr auto kIq2S = spread<uint64_t>(grids::kIq2S, grids::kIq2SValues);
inline constexpr auto kIq3Xxs = spread<uint32_t>(grids::kIq3Xxs, grids::kIq3XxsValues);
inline constexpr auto kIq3S = spread<uint32_t>(grids::kIq3S, grids::kIq3SValues);
// 8 t + 7 with the top bit turned, so that adding 2 to every byte carries into no other.
inline constexpr auto kIq1S = spread<uint64_t>(grids::kIq1S, grids::kIq1SValues, 8, 127);

// 255 in byte i where bit i is set.
constexpr std::array<uint64_t, 256> sign_masks() {
  std::array<uint64_t, 256> out{};
  for (size_t signs = 0; signs < 256; ++signs) {
    for (size_t i = 0; i < 8; ++i) out[signs] |= (signs >> i & 1) * (uint64_t{255} << (8 * i));
  }
  return out;
}
inline constexpr auto kSigns = sign_masks();

// The same from seven bits: an even number of signs is set.
constexpr std::array<uint64_t, 128> even_sign_masks() {
  std::array<uint64_t, 128> out{};
  for (size_t seven = 0; seven < 128; ++seven) {
    size_t odd = 0;
    for (size_t i = 0; i < 7; ++i) odd ^= seven >> i & 1;
    out[seven] = kSigns[seven | odd << 7];
  }
  return out;
}
inline constexpr auto kEvenSigns = even_sign_masks();

// Eight bytes of 1..127, those under the mask negated.
RLX_INLINE void store_signed(uint64_t values, uint64_t mask, int8_t* codes) {
  const uint64_t turned = (values ^ mask) + (mask & kOnes);
  std::memcpy(codes, &turned, 8);
}
RLX_INLINE uint64_t two(uint32_t first, uint32_t second) { return first | static_cast<uint64_t>(second) << 32; }

// IQ1: codes 8 t + 1, or 8 t - 1 where `minus`.
RLX_INLINE void store_shifted(uint64_t entry, bool minus, int8_t* codes) {
  const uint64_t shifted = (entry + (minus ? 0 : 2 * kOnes)) ^ (kOnes << 7);
  std::memcpy(codes, &shifted, 8);
}

}  // namespace rlx::formats::grid
