// Activations become 16-bit integers with one scale per 256 values, once per input, shared by all rows.
#include "internal.h"

#include <initializer_list>

namespace rlx::kernels::RLX_ISA {
namespace {

// See the layout in internal.h. The decode path of x86 multiplies bytes. arm64 has byte dot products only, so both kinds
// are planes there; block32 values need 256 * high + low with a signed low.
enum class Form { words, planes16, planes256, lanes256, lanes32 };

Form form_of(ActKind kind, size_t tokens) {
  const bool block256 = kind == ActKind::i16_block256;
#if defined(RLX_ISA_NEON)
  (void)tokens;
  return block256 ? Form::planes16 : Form::planes256;
#elif defined(RLX_ISA_AVX512)
  if (tokens >= kGemmMinTokens) return Form::words;
  return block256 ? Form::lanes256 : Form::lanes32;
#elif defined(RLX_ISA_AVX2)
  return block256 && tokens < kGemmMinTokens ? Form::planes16 : Form::words;
#else
  (void)block256;
  (void)tokens;
  return Form::words;
#endif
}

void copy_chunk(const float* x, size_t n, float* out) {
  memcpy(out, x, n * 4);
  if (n < kChunk) memset(out + n, 0, (kChunk - n) * 4);
}

// Rounds n values to whole numbers of at most `top`; returns the scale. Zero behind n.
float quantise_chunk(const float* x, size_t n, float top, int16_t* out) {
  F largest = fzero(), poison = fzero();  // poison turns NaN when any value is infinite or NaN
  size_t i = 0;
  for (; i + W <= n; i += W) {
    const F v = fload(x + i);
    largest = fmax(largest, fabs(v));
    poison = ffma(v, fzero(), poison);
  }
  if (i < n) {
    const F v = fload_n(x + i, n - i);
    largest = fmax(largest, fabs(v));
    poison = ffma(v, fzero(), poison);
  }
  const float amax = fhmax(largest);
  const bool finite = fsum(poison) == 0.0f;
  if (!finite || !(amax > 1e-32f)) {
    memset(out, 0, kChunk * 2);
    return finite ? 0.0f : bits_to_f32(0x7fc00000u);
  }
  const F inverse = fset(top / amax);
  i = 0;
  for (; i + W <= n; i += W) fstore_i16(out + i, fround(fload(x + i) * inverse));
  if (i < n) {
    fstore_i16(out + i, fround(fload_n(x + i, n - i) * inverse));
    i += W;
  }
  if (i < kChunk) memset(out + i, 0, (kChunk - i) * 2);
  return amax / top;
}

void store_sums(const int16_t* q, float* sums, int16_t* sums16) {
  for (int b = 0; b < 8; ++b) {
    int32_t half[2] = {0, 0};
    for (int h = 0; h < 2; ++h) {
      for (int i = 0; i < 16; ++i) half[h] += q[32 * b + 16 * h + i];
      if (sums16 != nullptr) sums16[2 * b + h] = static_cast<int16_t>(half[h]);
    }
    sums[b] = static_cast<float>(half[0] + half[1]);
  }
}

void store_planes16(const int16_t* q, int8_t* out) {
  for (size_t i = 0; i < kChunk; ++i) {
    out[i] = static_cast<int8_t>(q[i] >> 4);
    out[kChunk + i] = static_cast<int8_t>(q[i] & 15);
  }
}

void store_planes256(const int16_t* q, int8_t* out) {
  for (size_t i = 0; i < kChunk; ++i) {
    const int high = (q[i] + 128) >> 8;
    out[i] = static_cast<int8_t>(high);
    out[kChunk + i] = static_cast<int8_t>(q[i] - 256 * high);
  }
}

// The orders of avx512_k.h. Q4_K and Q5_K: the first and the last 16 values of sub-blocks 0 2 4 6, then of 1 3 5 7.
void order_q45(const int16_t* q, int16_t* out) {
  for (size_t at : {0u, 16u, 32u, 48u}) {
    for (size_t pair = 0; pair < 4; ++pair, out += 16) memcpy(out, q + 64 * pair + at, 32);
  }
}
// Q6_K: 8 values of each of the sub-blocks 0 8 1 9 2 10 3 11, the next 8, and the same of 4 12 5 13 6 14 7 15.
void order_q6(const int16_t* q, int16_t* out) {
  for (size_t at : {0u, 8u, 64u, 72u}) {
    for (size_t lane = 0; lane < 4; ++lane, out += 16) {
      memcpy(out, q + 16 * lane + at, 16);
      memcpy(out + 8, q + 128 + 16 * lane + at, 16);
    }
  }
}

// factor * (sum of the eight values that share a lane): four of one register and four of the next.
void store_lane_sums(const int16_t* ordered, int factor, int8_t* out) {
  int32_t* sums = reinterpret_cast<int32_t*>(out);
  for (size_t lane = 0; lane < 32; ++lane) {
    const int16_t* q = ordered + 128 * (lane / 16) + 4 * (lane % 16);
    sums[lane] = factor * (q[0] + q[1] + q[2] + q[3] + q[64] + q[65] + q[66] + q[67]);
  }
}

void store_lanes256(const int16_t* q, int8_t* planes) {
  alignas(64) int16_t ordered[kChunk];
  order_q45(q, ordered);
  store_planes16(ordered, planes);
  order_q6(q, ordered);
  store_planes16(ordered, planes + 2 * kChunk);
  store_lane_sums(ordered, -2, planes + 4 * kChunk);
}

// The order of avx512_block32.h: the first and the last 16 values of the blocks 0 1 2 3, then of 4 5 6 7.
void order_block32(const int16_t* q, int16_t* out) {
  for (size_t at : {0u, 16u, 128u, 144u}) {
    for (size_t block = 0; block < 4; ++block, out += 16) memcpy(out, q + 32 * block + at, 32);
  }
}

void store_lanes32(const int16_t* q, int8_t* planes) {
  alignas(64) int16_t ordered[kChunk];
  order_block32(q, ordered);
  for (size_t i = 0; i < kChunk; ++i) {
    const int high = (ordered[i] + 64) >> 7;
    planes[i] = static_cast<int8_t>(high);
    planes[kChunk + i] = static_cast<int8_t>(ordered[i] - 128 * high);
  }
  store_lane_sums(ordered, -1, planes + 2 * kChunk);
}

}  // namespace

void prepare(const PrepareArgs& a) {
  const Form form = form_of(a.kind, a.tokens);
  const bool blocks256 = a.kind == ActKind::i16_block256;
  const ActView view = view_act(a.kind, a.act, a.tokens);
  for (size_t c = a.chunk0; c < a.chunk1; ++c) {
    uint8_t* base = static_cast<uint8_t*>(a.act) + c * view.chunk_bytes;
    float* scales = reinterpret_cast<float*>(base + a.tokens * view.token_bytes);
    float* sums = scales + a.tokens;
    int16_t* sums16 = reinterpret_cast<int16_t*>(sums + a.tokens * 8);
    const size_t n = min_size(kChunk, a.k - c * kChunk);
    for (size_t t = a.t0; t < a.t1; ++t) {
      const float* x = a.x + t * a.ldx + c * kChunk;
      uint8_t* values = base + t * view.token_bytes;
      if (a.kind == ActKind::f32) {
        copy_chunk(x, n, reinterpret_cast<float*>(values));
        continue;
      }
      alignas(64) int16_t q[kChunk];
      scales[t] = quantise_chunk(x, n, static_cast<float>(blocks256 ? kActMax256 : kActMax32), q);
      store_sums(q, sums + 8 * t, blocks256 ? sums16 + 16 * t : nullptr);
      int8_t* planes = reinterpret_cast<int8_t*>(values);
      switch (form) {
        case Form::words: memcpy(values, q, sizeof q); break;
        case Form::planes16: store_planes16(q, planes); break;
        case Form::planes256: store_planes256(q, planes); break;
        case Form::lanes256: store_lanes256(q, planes); break;
        case Form::lanes32: store_lanes32(q, planes); break;
      }
    }
  }
}

}  // namespace rlx::kernels::RLX_ISA
