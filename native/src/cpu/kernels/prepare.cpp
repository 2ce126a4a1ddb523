// Activations become integers with one scale per 256 values, once per input, shared by all rows.
#include "internal.h"
#if defined(RLX_ISA_AVX512)
#include "avx512_lanes.h"
#endif

namespace rlx::kernels::RLX_ISA {
namespace {

void copy_chunk(const float* x, size_t n, float* out) {
  memcpy(out, x, n * 4);
  if (n < kChunk) memset(out + n, 0, (kChunk - n) * 4);
}

void round_chunk(const float* x, size_t n, float* out) {
  alignas(64) uint16_t halves[kChunk];
  f32_to_f16(x, halves, n);
  f16_to_f32(halves, out, n);
  if (n < kChunk) memset(out + n, 0, (kChunk - n) * 4);
}

// The largest magnitude; NaN when any value is infinite or NaN.
float largest_of(const float* x, size_t n) {
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
  return fsum(poison) == 0.0f ? fhmax(largest) : bits_to_f32(0x7fc00000u);
}
// The scale of a chunk that is all zeros as integers: nothing in it counts, or one value is not a
// number.
constexpr float kNothing = 1e-32f;
float scale_without_values(float amax) { return amax <= kNothing ? 0.0f : amax; }

// A chunk of i16_block32: n values rounded to whole numbers of at most kActMax32; returns the
// scale. Zero behind n.
float quantise_chunk(const float* x, size_t n, int16_t* out) {
  constexpr auto top = static_cast<float>(kActMax32);
  const float amax = largest_of(x, n);
  if (!(amax > kNothing)) {
    memset(out, 0, kChunk * 2);
    return scale_without_values(amax);
  }
  const F inverse = fset(top / amax);
  size_t i = 0;
  for (; i + W <= n; i += W) fstore_i16(out + i, fround(fload(x + i) * inverse));
  if (i < n) {
    fstore_i16(out + i, fround(fload_n(x + i, n - i) * inverse));
    i += W;
  }
  if (i < kChunk) memset(out + i, 0, (kChunk - i) * 2);
  return amax / top;
}

// A chunk of i8_groups256. Values are divided by the smallest factor that leaves them at most
// kGroupQuant.
struct Groups {
  alignas(64) int16_t values[kChunk];
  alignas(64) int16_t quants[kChunk];
  alignas(64) int16_t factors[32];
};
float quantise_groups(const float* x, Groups& out) {
  const float amax = largest_of(x, kChunk);
  if (!(amax > kNothing)) {
    memset(&out, 0, sizeof out);
    return scale_without_values(amax);
  }
  const F inverse = fset(static_cast<float>(kActMax256) / amax), unit = fset(1.0f / kGroupQuant);
  for (size_t block = 0; block < kChunk; block += 32) {
    int16_t factors[16];
    for (size_t i = 0; i < 16; i += W) {
      const F x0 = fload(x + block + i) * inverse, x1 = fload(x + block + 16 + i) * inverse;
      const F largest = fmax_of_fours(fmax(fabs(x0), fabs(x1)));
      const F factor = fmax(fset(1.0f), fmin(fceil(largest * unit), fset(static_cast<float>(kGroupFactor))));
      const F q0 = fround(x0 / factor), q1 = fround(x1 / factor);
      fstore_i16(out.quants + block + i, q0);
      fstore_i16(out.quants + block + 16 + i, q1);
      fstore_i16(out.values + block + i, q0 * factor);
      fstore_i16(out.values + block + 16 + i, q1 * factor);
      fstore_i16(factors + i, factor);
    }
    for (size_t group = 0; group < 4; ++group) out.factors[block / 8 + group] = factors[4 * group];
  }
  return amax / static_cast<float>(kActMax256);
}

void store_sums(const int16_t* q, float* sums, int16_t* minus16) {
  for (int b = 0; b < 8; ++b) {
    int32_t half[2] = {0, 0};
    for (int h = 0; h < 2; ++h) {
      for (int i = 0; i < 16; ++i) half[h] += q[32 * b + 16 * h + i];
      if (minus16 != nullptr) minus16[2 * b + h] = static_cast<int16_t>(-half[h]);
    }
    sums[b] = static_cast<float>(half[0] + half[1]);
  }
}

#if defined(RLX_ISA_AVX2)
// Of each 32 those at even places, then those at odd ones. (With plain loops this takes ten times
// as long, and each thread does it for every product.)
void store_pairs(const int16_t* q, int16_t* out) {
  const __m128i evens_odds = _mm_setr_epi8(0, 1, 4, 5, 8, 9, 12, 13, 2, 3, 6, 7, 10, 11, 14, 15);
  const __m256i order = _mm256_broadcastsi128_si256(evens_odds);
  const auto sorted = [&](size_t from) {
    const __m256i x = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(q + from));
    return _mm256_permute4x64_epi64(_mm256_shuffle_epi8(x, order), 0xd8);
  };
  for (size_t i = 0; i < kChunk; i += 32) {
    const __m256i a = sorted(i), b = sorted(i + 16);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + i), _mm256_permute2x128_si256(a, b, 0x20));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + i + 16), _mm256_permute2x128_si256(a, b, 0x31));
  }
}
#endif

void store_planes16(const int16_t* q, int8_t* out) {
  for (size_t i = 0; i < kChunk; ++i) {
    out[i] = static_cast<int8_t>(q[i] >> 4);
    out[kChunk + i] = static_cast<int8_t>(q[i] & 15);
  }
}

// One plane of quants and the factors, in the order of activations.h.
void store_groups(const Groups& g, int8_t* out) {
#if defined(RLX_ISA_NEON)
  for (size_t i = 0; i < kChunk; ++i) out[i] = static_cast<int8_t>(g.quants[i]);
#else
  for (size_t part = 0; part < 4; ++part) {
    for (size_t lane = 0; lane < 4; ++lane) {
      int8_t* to = out + 64 * part + 16 * lane;
      const int16_t* from = g.quants + 64 * lane + 16 * part;
      for (size_t i = 0; i < 16; ++i) to[i] = static_cast<int8_t>(from[i]);
    }
  }
#endif
#if defined(RLX_ISA_AVX2)
  alignas(32) int16_t factors[64];
  for (size_t i = 0; i < 64; ++i) {
    const size_t lane = i / 8 % 4, block = 2 * lane + i / 32;
    factors[i] = g.factors[4 * block + i % 8 / 2];
  }
  memcpy(out + kChunk, factors, sizeof factors);
#else
  memcpy(out + kChunk, g.factors, sizeof g.factors);
#endif
}

// A view is for readers; the buffer behind it is ours to write.
template <class T>
T* writable(const T* p) {
  return const_cast<T*>(p);
}

}  // namespace

size_t act_bytes(ActKind kind, size_t k, size_t tokens) { return act_layout(kind, k, tokens).bytes(k, tokens); }

void prepare(const PrepareArgs& a) {
  const ActLayout layout = act_layout(a.kind, a.k, a.tokens);
  const ActView view = view_act(layout, a.act, a.k, a.tokens);
  for (size_t c = a.chunk0; c < a.chunk1; ++c) {
    const size_t n = min_size(kChunk, a.k - c * kChunk);
    for (size_t t = a.t0; t < a.t1; ++t) {
      const float* x = a.x + t * a.ldx + c * kChunk;
      uint8_t* out = writable(view.at(c, t));
      if (a.kind == ActKind::f32) {
        copy_chunk(x, n, reinterpret_cast<float*>(out));
        continue;
      }
      if (a.kind == ActKind::f16) {
        round_chunk(x, n, reinterpret_cast<float*>(out));
        continue;
      }
      Groups g;
      float& scale = writable(view.scales(c))[t];
      scale = a.kind == ActKind::i8_groups256 ? quantise_groups(x, g) : quantise_chunk(x, n, g.values);
      float* sums = writable(view.sums(c)) + 8 * t;
      store_sums(g.values, sums, layout.has_sums16 ? writable(view.sums16(c)) + 16 * t : nullptr);
      int8_t* bytes = reinterpret_cast<int8_t*>(out);
      switch (layout.form) {
        case Form::floats: break;
        case Form::words: memcpy(out, g.values, sizeof g.values); break;
        case Form::groups: store_groups(g, bytes); break;
        case Form::pairs:
#if defined(RLX_ISA_AVX2)
          store_pairs(g.values, reinterpret_cast<int16_t*>(out));
#endif
          break;
        case Form::planes16: store_planes16(g.values, bytes); break;
        case Form::planes256: split_planes<8>(g.values, bytes, bytes + kChunk); break;
        case Form::planes64: split_planes<kPlaneBits256>(g.values, bytes, bytes + kChunk); break;
        case Form::planes128: split_planes<kPlaneBits32>(g.values, bytes, bytes + kChunk); break;
        case Form::lanes32:
#if defined(RLX_ISA_AVX512)
          store_lanes32(g.values, sums, bytes, writable(view.lane_planes(c, t)));
#endif
          break;
      }
    }
  }
}

}  // namespace rlx::kernels::RLX_ISA
