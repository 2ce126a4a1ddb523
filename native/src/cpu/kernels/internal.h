// What the kernel files of one instruction set share: their declarations and the layout of prepared activations.
#pragma once

#include "kernels.h"
#include "simd/half.h"
#include "simd/isa.h"

namespace rlx::kernels::RLX_ISA {

RLX_INLINE size_t min_size(size_t a, size_t b) { return a < b ? a : b; }
RLX_INLINE size_t max_size(size_t a, size_t b) { return a > b ? a : b; }

// What lies in memory as numbers: a vector of them, and one, as f32.
struct Halves {
  using Element = uint16_t;
  RLX_INLINE F load(const Element* p) { return fload_f16(p); }
  RLX_INLINE float one(Element v) { return half_to_f32(v); }
};
struct Floats {
  using Element = float;
  RLX_INLINE F load(const Element* p) { return fload(p); }
  RLX_INLINE float one(Element v) { return v; }
};

// ---- prepared activations -------------------------------------------------------------------------
// Arrays, one behind the other, each with an entry per chunk of 256:
//   values  [tokens][value_bytes]: int16 (f32 for ActKind::f32 and f16), zero behind the end of the row; i16_block32, few tokens on
//           AVX2: of each 32 those at even places, then those at odd ones
//   lanes   [tokens][8] int32: minus the sums of the blocks (i16_block32, few tokens on AVX-512)
//   sums    [tokens][8] f32: sum of the values of each 32 (whole numbers, exact)
//   scales  [tokens] f32: x = scale * value
//   sums16  [tokens][16] int16: minus the sum of the values of each 16 (i8_groups256, few tokens)
// Where bytes are multiplied, the values are planes of 256 int8 instead, value = unit * high + low:
//   i8_groups256, many tokens on arm64: unit 16, low in 0..15
//   i16_block32, few tokens on AVX-512: unit 128, signed low, an order of its own
//   i16_block32 on arm64: unit 256, signed low
//   many tokens on AMX: signed low, unit 128 (i16_block32) or 64
// i8_groups256: a value is factor * quant, both whole, with a factor for every 8 values: those with i / 32 and i % 16 / 4
//   in common, which are added up first wherever 32 bytes meet 32 quants in lanes of 128 bits. Few tokens have one plane
//   of quants (on AVX2 and AVX-512 the first and the last 16 of sub-blocks 0 2 4 6, then of 1 3 5 7) and behind it the
//   factors, int16 [8][4] (on AVX2 in the order of the quants, each twice).
// (prepare.cpp writes them.)

// Bits of the signed low planes of AMX.
inline constexpr int kPlaneBits32 = 7, kPlaneBits256 = 6;

// A chunk as two signed planes of bytes, value = 2^kBits * high + low.
template <int kBits>
RLX_INLINE void split_planes(const int16_t* values, int8_t* high, int8_t* low) {
  constexpr int half = 1 << (kBits - 1), mask = 2 * half - 1;
  for (size_t i = 0; i < kChunk; ++i) {
    const int l = ((values[i] + half) & mask) - half;
    low[i] = static_cast<int8_t>(l);
    high[i] = static_cast<int8_t>((values[i] - l) >> kBits);
  }
}

// Largest magnitude of an int16 activation. With K blocks a chunk of 256 products must fit int32,
// |scale * quant| <= 128 * 32 (Q6_K) and 4096 * 2016 * 256 < 2^31. Sums of products that share a lane must fit int16:
// at most 4 * 63 * 126 = 31752 (Q6_K) and 8 * 31 * 126 = 31248 (Q5_K).
inline constexpr int kActMax256 = 2016;
inline constexpr int kGroupFactor = 16, kGroupQuant = kActMax256 / kGroupFactor;
// 127 * 128: a plane of units of 128 is int8. All paths round alike.
inline constexpr int kActMax32 = 16256;
// Four products of 256 times a byte fit int32 (matvec_avx2.cpp).
static_assert(int64_t{4} * 128 * 256 * kActMax32 < int64_t{1} << 31);

RLX_INLINE constexpr bool holds_floats(ActKind kind) { return kind == ActKind::f32 || kind == ActKind::f16; }
RLX_INLINE constexpr bool is_k_block(Type t) { return type_info(t).block == kChunk; }

struct ActView {
  const uint8_t* values;  // of chunk 0
  const uint8_t* lanes;
  const float* sums_of_all;
  size_t chunks;
  size_t tokens;
  size_t value_bytes;
  size_t lane_bytes;
  ptrdiff_t value_step;  // from chunk to chunk

  const uint8_t* at(size_t chunk, size_t t) const {
    return values + static_cast<ptrdiff_t>(chunk) * value_step + t * value_bytes;
  }
  const int16_t* words(size_t chunk, size_t t) const { return reinterpret_cast<const int16_t*>(at(chunk, t)); }
  const int8_t* planes(size_t chunk, size_t t) const { return reinterpret_cast<const int8_t*>(at(chunk, t)); }
  const float* floats(size_t chunk, size_t t) const { return reinterpret_cast<const float*>(at(chunk, t)); }
  const int8_t* lane_planes(size_t chunk, size_t t) const {
    return reinterpret_cast<const int8_t*>(lanes + (chunk * tokens + t) * lane_bytes);
  }
  const float* sums(size_t chunk) const { return sums_of_all + chunk * tokens * 8; }
  const float* scales(size_t chunk) const { return sums(chunks) + chunk * tokens; }
  const int16_t* sums16(size_t chunk) const {
    return reinterpret_cast<const int16_t*>(scales(chunks)) + chunk * tokens * 16;
  }
};

// How AVX2 and AVX-512 lay out few tokens is a matter of the first cache and of prefetchers, not of arithmetic.
// Activations that miss the cache between the weights break the walk that the prefetchers follow, and then memory gives
// half of what it can. So a product touches as few lines as possible: the arrays are apart. What looks like a second
// walk disturbs too: 32-blocks go from the end of the row to its beginning, groups leave half of the place empty where
// the cache has room for it, and a gap before the next array. (All measured on one core: rows of 8192 in Q8_0 were read
// at 15 GB/s from the beginning and are at 25 from the end, on AVX2 17 and 25; rows of 2048 in Q4_K at 19 without the
// empty places, with them at 28, on AVX2 17 and 20.)
#if defined(RLX_ISA_AVX2)
inline constexpr size_t kGroupPlane = kChunk + 128;
#else
inline constexpr size_t kGroupPlane = kChunk + 64;
#endif
inline constexpr size_t kActGap = 512;

RLX_INLINE ActView view_act(ActKind kind, const void* act, size_t k, size_t tokens) {
  size_t value = holds_floats(kind) ? 1024 : 512, lane = 0, gap = 0;
  bool backwards = false;
  [[maybe_unused]] const bool few = tokens < kGemmMinTokens;
#if defined(RLX_ISA_NEON)
  if (kind == ActKind::i8_groups256 && few) value = kGroupPlane;
#elif defined(RLX_ISA_AVX2) || defined(RLX_ISA_AVX512)
  const bool is_long = k >= kLongRow;
  if (kind == ActKind::i8_groups256 && few) {
    value = is_long ? kGroupPlane : 2 * kGroupPlane;
    gap = kActGap;
  }
  backwards = kind == ActKind::i16_block32 && few;
#endif
#if defined(RLX_ISA_AVX512)
  if (backwards) lane = 32;
#endif
  const size_t chunks = chunks_of(k);
  const ptrdiff_t step = static_cast<ptrdiff_t>(tokens * value);
  const uint8_t* values = static_cast<const uint8_t*>(act);
  const uint8_t* lanes = values + chunks * tokens * value;
  const float* sums = reinterpret_cast<const float*>(lanes + chunks * tokens * lane + gap);
  if (backwards && chunks != 0) values += static_cast<ptrdiff_t>(chunks - 1) * step;
  return {values, lanes, sums, chunks, tokens, value, lane, backwards ? -step : step};
}

// ---- products: raw dot results, before the epilogue ------------------------------------------------

// Rows n0..n1 against tokens t0..t1 of a small buffer: out[(t - t0) * kRowStep + (n - n0)], n1 - n0 <= kRowStep, for one token
// <= kTokenRows.
inline constexpr size_t kTokenRows = 2 * kRowStep;
struct RowsTask {
  Type type;
  const uint8_t* w;  // row n0
  size_t row_bytes;
  size_t rows;
  size_t k;
  ActView act;
  size_t t0, t1;
  float* out;
  Ask ask = Ask::none;
};
void rows_packed(const RowsTask&);

// rows(Index<T>) for the T tokens of a task that is not the panels' business.
template <class Rows>
RLX_INLINE void for_few_tokens(const RowsTask& task, Rows rows) {
  static_assert(kGemmMinTokens == 6);
  switch (task.t1 - task.t0) {
    case 1: return rows(Index<1>{});
    case 2: return rows(Index<2>{});
    case 3: return rows(Index<3>{});
    case 4: return rows(Index<4>{});
    case 5: return rows(Index<5>{});
    default: return;
  }
}

// Rows are read once, one behind the other. The processor's own prefetchers follow such a walk but stop at the end of a
// 4 KB page, and the first touch of the next one also waits for its translation: touch it while this one is read.
RLX_INLINE void touch_next_pages(const uint8_t* row, size_t bytes) {
  for (size_t at = 0; at < bytes; at += 4096) __builtin_prefetch(row + at + 4096, 0, 2);
}

// And those of x86 lose the walk when activations miss the first cache, which another program on the same core may have
// half of, and where memory is far they do not look far enough ahead: then what comes is asked for, 1024 values at a time with
// AVX-512 (a multiple of 64 bytes in all types but Q6_K: so in rows of whole 1024 values each line once; two rows
// of 32-blocks have a way of their own, pair_block32), 256 with AVX2.
// Ask::far: 8 KB ahead into the second cache; processors that do not follow where software was first have time to. (On two
// cores, by what the neighbours do: rows of 8192 1.0 to 2 times as fast, Q6_K of 1024 and 2048 0.95 to 1.45 times, but
// Q4_K of those 0.9 to 1.1 times. In a whole model rows of 8192 take 5 to 8 % less time.)
// Ask::near: 1.5 KB ahead into the first one. On a processor whose core gets 15 GB/s and reads alone at that rate, Q4_K is read
// 1.3 to 1.4 times as fast, Q6_K 1.25, Q8_0 1.0 to 1.25; on others at half speed, because software may ask for fewer lines at once.
inline constexpr size_t kNear = 1536;
template <size_t Bytes>
RLX_INLINE void ask_ahead(Ask ask, const uint8_t* piece) {
  if (ask == Ask::near) {
    for (size_t line = 0; line < Bytes; line += 64) __builtin_prefetch(piece + kNear + line, 0, 3);
  } else if (ask == Ask::far) {
    for (size_t line = 0; line < Bytes; line += 64) __builtin_prefetch(piece + 8192 + line, 0, 2);
  }
}

void rows_float(const RowsTask&);
void rows_ggml(const RowsTask&, size_t matrix_rows);  // any number of tokens; the order depends on the whole matrix

// The same for many tokens, through a panel of kRowStep rows. out[(t - t0) * kRowStep + r].
struct PanelTask {
  RowsTask rows;
  void* panel;
};
void panel_packed(const PanelTask&);
void panel_float(const PanelTask&);

// ---- entries of the table ----------------------------------------------------------------------------

void dequantize(Type, const void* row, float* y, size_t k);
void f32_to_f16(const float* x, uint16_t* y, size_t n);
void f16_to_f32(const uint16_t* x, float* y, size_t n);
void f32_to_bf16(const float* x, uint16_t* y, size_t n);
void bf16_to_f32(const uint16_t* x, float* y, size_t n);
void prepare(const PrepareArgs&);
void matmul(const MatmulArgs&, void* scratch);
void attention_prompt(const AttentionArgs&, size_t kv_head, size_t t0, size_t t1, void* scratch);
void attention_ggml(const AttentionArgs&, size_t kv_head, size_t t0, size_t t1, void* scratch);
void attention_decode(const AttentionArgs&, size_t kv_head, size_t key0, size_t key1, float* partial, void* scratch);
void attention_combine(const AttentionArgs&, size_t kv_head, const float* partials, size_t splits);
void rms_norm(const float* x, size_t ldx, const float* weight, float eps, float* y, size_t ldy, size_t r0, size_t r1,
              size_t n);
void layer_norm(const float* x, size_t ldx, const float* weight, const float* bias, float eps, float* y, size_t ldy,
                size_t r0, size_t r1, size_t n);
void rope(const RopeArgs&);
void softmax(const float* x, size_t ldx, float scale, float* y, size_t ldy, size_t r0, size_t r1, size_t n);
float log_sum_exp(const float* x, size_t n);
void unary(Unary, const float* x, float* y, size_t n);
void binary(Binary, const float* a, size_t stride_a, const float* b, size_t stride_b, float* y, size_t n);
void reduce(Reduce, const float* x, size_t ldx, float* y, size_t r0, size_t r1, size_t n);
size_t argmax(const float* x, size_t n);
size_t top_k(const float* x, size_t n, TopEntry* out, size_t count);

}  // namespace rlx::kernels::RLX_ISA
