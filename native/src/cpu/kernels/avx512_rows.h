// Shared by the AVX-512 kernels of packed rows. Activations are planes of bytes (activations.h),
// quants are unsigned bytes, and four products at a time add up in 32 bits (vpdpbusd). Needs VNNI,
// VBMI and GFNI.
#pragma once

#include "blocks.h"
#include "internal.h"

namespace rlx::kernels::RLX_ISA {

RLX_INLINE __m128i load128(const void* p) { return _mm_loadu_si128(static_cast<const __m128i*>(p)); }
RLX_INLINE __m256i load256(const void* p) { return _mm256_loadu_si256(static_cast<const __m256i*>(p)); }
RLX_INLINE __m512i load512(const void* p) { return _mm512_loadu_si512(p); }
// One load kept in a register: the compiler would rather load twice than spend a move, and a
// 64-byte load that crosses a cache line is dear.
RLX_INLINE __m512i load512_once(const void* p) {
  __m512i v = load512(p);
  __asm__("" : "+v"(v));
  return v;
}

// Bits of bytes moved by one affine transform over GF(2): row i of the 8 x 8 matrix, its byte 7 -
// i, names the bits that make bit i.
inline constexpr long long kLowNibble = 0x0102040800000000, kHighNibble = 0x1020408000000000;

// Lanes of 128 bits 0 2 of a and of b, and 1 3 of a and of b.
RLX_INLINE __m512i starts_of(__m512i a, __m512i b) { return _mm512_shuffle_i64x2(a, b, 0x88); }
RLX_INLINE __m512i ends_of(__m512i a, __m512i b) { return _mm512_shuffle_i64x2(a, b, 0xdd); }
// a, a + 1, a + 2, a + 3, each four times.
RLX_INLINE __m512i quarters32(int a) {
  const int b = a + 1, c = a + 2, d = a + 3;
  return _mm512_setr_epi32(a, a, a, a, b, b, b, b, c, c, c, c, d, d, d, d);
}

// sum + quants * activations of 128 quants, two of 64 that share lanes.
RLX_INLINE __m512i dot_two(__m512i sum, const __m512i* quants, __m512i first, __m512i second) {
  return _mm512_dpbusd_epi32(_mm512_dpbusd_epi32(sum, quants[0], first), quants[1], second);
}

// add(unpack(i), i) for `kCount` chunks from c on, written out: each is unpacked while the one
// before it is multiplied, because the processor does not look that far ahead by itself.
template <size_t kCount, class Chunk, class Unpack, class Add>
RLX_INLINE void in_line(const Chunk& chunk, size_t c, Unpack unpack, Add add) {
  if constexpr (kCount == 1) {
    add(chunk, c);
  } else {
    const auto next = unpack(c + 1);
    add(chunk, c);
    in_line<kCount - 1>(next, c + 1, unpack, add);
  }
}

// The same for a row. One token after the other waits for memory: a loop with one chunk a turn
// reads less, and in rows of 1024 values the places of the activations are constants besides. (In
// rows of 2048, too, Q6_K is an eighth slower from the second cache.)
template <int T, class Unpack, class Add>
RLX_INLINE void each_chunk(size_t chunks, Unpack unpack, Add add) {
  size_t c = 0;
  if constexpr (T == 1) {
    if (chunks == 4) return in_line<4>(unpack(c), c, unpack, add);
    for (; c + 8 <= chunks; c += 8) in_line<8>(unpack(c), c, unpack, add);
    for (; c + 4 <= chunks; c += 4) in_line<4>(unpack(c), c, unpack, add);
  }
  if (c == chunks) return;
  auto chunk = unpack(c);
  for (; c + 1 < chunks; ++c) {
    const auto next = unpack(c + 1);
    add(chunk, c);
    chunk = next;
  }
  add(chunk, c);
}

}  // namespace rlx::kernels::RLX_ISA
