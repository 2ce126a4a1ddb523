// Shared by the kernel files of one instruction set: declarations, prefetching and small helpers.
#pragma once

#include "activations.h"
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

}  // namespace rlx::kernels::RLX_ISA

// ---- products: raw dot results, before the epilogue ------------------------------------------------
namespace rlx::kernels::RLX_BASE {

// Rows n0..n1 against tokens t0..t1 of a small buffer: out[(t - t0) * kRowStep + (n - n0)], n1 - n0
// <= kRowStep, for one token <= kTokenRows.
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
  Prefetch prefetch = Prefetch::none;
};
void rows_packed(const RowsTask&);
void rows_float(const RowsTask&);
void rows_ggml(const RowsTask&, size_t matrix_rows);  // any number of tokens; the order depends on the whole matrix

// The same for many tokens, through a panel of kRowStep rows. out[(t - t0) * kRowStep + r].
struct PanelTask {
  RowsTask rows;
  void* panel;
};
void panel_float(const PanelTask&);

}  // namespace rlx::kernels::RLX_BASE
namespace rlx::kernels::RLX_ISA {

void panel_packed(const PanelTask&);

// rows(Index<T>, task) for the T tokens of a task that is not the panels' business: at most five at
// a time, because their sums stay in registers. More come in groups that are as equal as can be,
// and the weights of the second one lie in a cache.
template <class Rows>
RLX_INLINE void for_few_tokens(const RowsTask& task, Rows rows) {
  constexpr size_t most = 5;
  const size_t tokens = task.t1 - task.t0, groups = (tokens + most - 1) / most;
  for (size_t g = 0; g < groups; ++g) {
    RowsTask part = task;
    part.t0 = task.t0 + tokens * g / groups;
    part.t1 = task.t0 + tokens * (g + 1) / groups;
    part.out = task.out + (part.t0 - task.t0) * kRowStep;
    switch (part.t1 - part.t0) {
      case 1: rows(Index<1>{}, part); break;
      case 2: rows(Index<2>{}, part); break;
      case 3: rows(Index<3>{}, part); break;
      case 4: rows(Index<4>{}, part); break;
      default: rows(Index<5>{}, part); break;
    }
  }
}

// Rows are read once, one behind the other. The processor's own prefetchers follow such a walk but
// stop at the end of a 4 KB page, and the first touch of the next one also waits for its
// translation: touch it while this one is read.
RLX_INLINE void touch_next_pages(const uint8_t* row, size_t bytes) {
  for (size_t at = 0; at < bytes; at += 4096) __builtin_prefetch(row + at + 4096, 0, 2);
}

// The prefetchers of x86 lose that walk where activations miss the first cache, and look too short
// a way ahead where memory is far. So these kernels prefetch themselves, in pieces of 1024 values
// with AVX-512 (whole lines in all types but Q6_K) and of 256 with AVX2. What each setting gains on
// which machine: docs/performance/kernels.md.
inline constexpr size_t kNearBytes = 1536, kFarBytes = 8192;
template <size_t Bytes>
RLX_INLINE void prefetch_ahead(Prefetch prefetch, const uint8_t* piece) {
  if (prefetch == Prefetch::near) {
    for (size_t line = 0; line < Bytes; line += 64) __builtin_prefetch(piece + kNearBytes + line, 0, 3);
  } else if (prefetch == Prefetch::far) {
    for (size_t line = 0; line < Bytes; line += 64) __builtin_prefetch(piece + kFarBytes + line, 0, 2);
  }
}

// ---- entries of the table ----------------------------------------------------------------------------

// What depends on the form of activations for many tokens, each set has itself.
size_t act_bytes(ActKind, size_t k, size_t tokens);
void prepare(const PrepareArgs&);
void matmul(const MatmulArgs&, void* scratch);

}  // namespace rlx::kernels::RLX_ISA
namespace rlx::kernels::RLX_BASE {

void dequantize(Type, const void* row, float* y, size_t k);
void f32_to_f16(const float* x, uint16_t* y, size_t n);
void f16_to_f32(const uint16_t* x, float* y, size_t n);
void f32_to_bf16(const float* x, uint16_t* y, size_t n);
void bf16_to_f32(const uint16_t* x, float* y, size_t n);
void gemm(const GemmArgs&, void* scratch);
void add_scaled(float weight, const float* x, float* y, size_t n);
void fft_stage(size_t radix, const float* re, const float* im, float* to_re, float* to_im, size_t m, size_t s,
               const float* twiddles);
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

}  // namespace rlx::kernels::RLX_BASE
