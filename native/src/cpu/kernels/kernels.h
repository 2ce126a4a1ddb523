// Public interface of the CPU kernels: packed types, activations, matmul, attention, rows,
// element-wise, sampling.
//
// Rules that hold for every function here:
//  - No kernel starts a thread, allocates, throws, or reads the environment. The caller owns threads and
//    scratch, and cuts the work into ranges (rows, tokens, heads). Any cut gives bit-for-bit the same result.
//  - Weights are GGUF blocks read in place. Nothing is read outside [w, w + rows * row_bytes).
//  - Row-major everywhere: weights [n][k], activations [t][k], results [t][n].
//  - All sizes are elements unless the name says bytes.
//
// How a packed product is computed (why it is closer to the exact model than 8-bit activations with
// one scale): activations become integers with one scale per 256 values ("chunk"), products are
// summed exactly in 32-bit integers inside a chunk, and each chunk is added in f32. The integers
// have 15 bits for 32-blocks, and for K blocks 8 with a factor of their own for every 8 values.
// Decode and prompt share this format, so token-by-token and whole-prompt runs differ only by the
// order of a few f32 additions.
#pragma once

#include <cstddef>
#include <cstdint>

#include "../../core/formats/layouts.h"

namespace rlx::kernels {

// ---------------------------------------------------------------------------------------------- types

#define RLX_NAME(name) name,
enum class Type : uint8_t { f32, f16, bf16, RLX_PACKED_TYPES(RLX_NAME) };
#undef RLX_NAME
inline constexpr Type kFirstPacked = static_cast<Type>(static_cast<int>(Type::bf16) + 1);

struct TypeInfo {
  const char* name;
  uint32_t block;  // elements per block
  uint32_t bytes;  // bytes per block
};

#define RLX_INFO(name) {#name, formats::name::kElements, sizeof(formats::name::Block)},
inline constexpr TypeInfo kTypeInfo[] = {{"f32", 1, 4}, {"f16", 1, 2}, {"bf16", 1, 2}, RLX_PACKED_TYPES(RLX_INFO)};
#undef RLX_INFO
inline constexpr size_t kTypeCount = sizeof kTypeInfo / sizeof kTypeInfo[0];

static constexpr const TypeInfo& type_info(Type t) { return kTypeInfo[static_cast<size_t>(t)]; }
// Bytes of one row of k elements; k must be a multiple of the block.
static constexpr size_t row_bytes(Type t, size_t k) { return k / type_info(t).block * type_info(t).bytes; }
static constexpr bool is_float(Type t) { return t <= Type::bf16; }

// Values that share a scale in coded types (core/formats/block.h); 0 for the others.
static constexpr size_t coded_group(Type t) {
  switch (t) {
#define RLX_GROUP(name) \
  case Type::name: return formats::name::kGroup;
    RLX_CODED_TYPES(RLX_GROUP)
#undef RLX_GROUP
    default: return 0;
  }
}

// Their largest code.
static constexpr int coded_largest(Type t) {
  switch (t) {
#define RLX_LARGEST(name) \
  case Type::name: return formats::name::kLargest;
    RLX_CODED_TYPES(RLX_LARGEST)
#undef RLX_LARGEST
    default: return 0;
  }
}

// Whether they have whole scales of 16 values (the same header).
static constexpr bool has_whole_scales(Type t) {
  switch (t) {
#define RLX_WHOLE(name) case Type::name:
    RLX_WHOLE_TYPES(RLX_WHOLE)
#undef RLX_WHOLE
    return true;
    default: return false;
  }
}

// Coded types with scales of 16 values that are not whole.
static constexpr bool has_fine_scales(Type t) { return coded_group(t) == 16 && !has_whole_scales(t); }

// ------------------------------------------------------------------------------------------ activations

// Elements per activation chunk (one scale each).
inline constexpr size_t kChunk = 256;
static constexpr size_t chunks_of(size_t k) { return (k + kChunk - 1) / kChunk; }

// Types without integer kernels are unpacked exactly and multiplied in f32. `f16` are values
// rounded to f16, for f16 weights where ggml is followed (see MatmulArgs); they lie in memory as
// `f32` do.
// Weight types with the same kind read the same prepared activations, so q/k/v (or gate/up) of
// different packed types may share one buffer when the kinds are equal.
enum class ActKind : uint8_t { f32, f16, i16_block32, i8_groups256 };
inline constexpr size_t kActKinds = 4;
static constexpr ActKind act_kind(Type t) {
  switch (t) {
    case Type::q8_0:
    case Type::q4_0:
    case Type::q4_1:
    case Type::q5_0:
    case Type::q5_1: return ActKind::i16_block32;
    case Type::q2_k:
    case Type::q4_k:
    case Type::q5_k:
    case Type::q6_k: return ActKind::i8_groups256;
    // Coded types become 32-blocks of bytes while they are read, or with whole scales K blocks.
    default:
      if (has_whole_scales(t)) return ActKind::i8_groups256;
      return coded_group(t) != 0 ? ActKind::i16_block32 : ActKind::f32;
  }
}

// From how many prepared tokens on `matmul` goes through the tiled (prompt) path: an instruction
// set begins between these two (activations.h). The layout of prepared activations depends on it,
// so it goes by the `tokens` of the buffer, not by t1 - t0.
inline constexpr size_t kGemmLeastTokens = 6, kGemmMinTokens = 11;

struct PrepareArgs {
  ActKind kind;
  const float* x;  // [tokens][ldx]
  size_t ldx;
  size_t k;               // whole chunks for i8_groups256
  size_t tokens;          // rows of the whole buffer (the layout depends on it)
  size_t t0, t1;          // token range to write now
  size_t chunk0, chunk1;  // chunk range to write now: 0 .. chunks_of(k)
  void* act;
};

// ---------------------------------------------------------------------------------------------- matmul

enum class Glu : uint8_t { none, silu, gelu_tanh, gelu_erf, relu };

// How products of few tokens prefetch the weights ahead of where they read. Changes the speed only.
enum class Prefetch : uint8_t {
  none,  // left to the processor
  far,   // 8 KB ahead, into the second cache
  near,  // 1.5 KB ahead, into the first cache
};
// Rows of this length on are long: their activations do not fit into the first cache.
inline constexpr size_t kLongRow = 5120;

// Settings of the kernels that never change a result. cpu/tuning finds them.
struct Tuning {
  Prefetch prefetch(Type type, size_t k) const { return prefetches[static_cast<size_t>(type)][k >= kLongRow ? 1 : 0]; }
  void set_prefetch(Type type, size_t k, Prefetch setting) {
    prefetches[static_cast<size_t>(type)][k >= kLongRow ? 1 : 0] = setting;
  }

  Prefetch prefetches[kTypeCount][2] = {};  // of short and of long rows
};

// y[t][n] = glu( scale * dot(w[n], x[t]) + bias[n] ) (* the same of w2) + add[t][n]
// With glu != none and w2 set: y = act(w·x + bias) * (w2·x + bias2) + add. y may alias add.
struct MatmulArgs {
  Type type;
  const void* w;     // row 0 of the matrix (not row n0)
  size_t row_bytes;  // distance of rows in w
  size_t k;
  size_t n0, n1;    // rows to compute now
  const void* act;  // prepared for act_kind(type), `tokens` rows
  size_t tokens;    // rows of the prepared buffer
  size_t t0, t1;    // tokens to compute now
  float* y;
  size_t ldy;
  float scale = 1.0f;
  const float* bias = nullptr;
  const float* add = nullptr;
  size_t ldadd = 0;
  // Where the row of each token is, instead of y and add with their distances: rows of several
  // sessions.
  float* const* y_rows = nullptr;
  const float* const* add_rows = nullptr;
  // Second matrix of a gated pair.
  Glu glu = Glu::none;
  Type type2 = Type::f32;
  const void* w2 = nullptr;
  size_t row_bytes2 = 0;
  const void* act2 = nullptr;
  Prefetch prefetch2 = Prefetch::none;
  const float* bias2 = nullptr;
  // Weights of f32 and f16 (with ActKind::f16): sums in ggml's order (matmul_ggml.cpp), which
  // depends on how many rows the matrix has.
  bool as_ggml = false;
  size_t rows = 0;
  Prefetch prefetch = Prefetch::none;
};

// Rows per work item that cost nothing extra: cut n ranges at multiples of this.
inline constexpr size_t kRowStep = 32;
// Few tokens: rows of one matrix of a gated pair before its partner's turn (see matmul.cpp).
inline constexpr size_t kFewRows = 256;
// Many tokens go through a panel of kRowStep rows, of this size at most, and in passes of so many
// tokens, which bounds the scratch.
inline constexpr size_t kPanelBytes = kChunk * kRowStep * 4 + kRowStep * 32 * 2 + 16384;
inline constexpr size_t kPanelTokens = 512;
// Private scratch of one thread for any `matmul` call (64-byte aligned). 0 tokens = upper bound for
// all counts.
size_t matmul_scratch_bytes(size_t tokens);

// y[r][c] = sum over k of a[r][k] * b[k][c]: plain floats, b in rows of k.
struct GemmArgs {
  const float* a;
  size_t lda, rows, k;
  const float* b;
  size_t ldb, columns;
  float* y;
  size_t ldy;
  bool adds = false;  // to what y holds
};
// Columns that are packed together and rows that go by them; private scratch of one thread for any call.
inline constexpr size_t kGemmStrip = 128, kGemmPass = 256;
inline constexpr size_t kGemmScratchBytes = (kChunk * kGemmStrip + kGemmPass * kRowStep) * sizeof(float);

// ------------------------------------------------------------------------------------------- attention

// Causal attention over a cache [kv_heads][capacity][head_dim] that already holds the new tokens:
// token i (0..tokens) sees keys 0 .. past + i. GQA: q head h reads kv head h / (heads / kv_heads).
struct AttentionArgs {
  const float* q;  // element (t, h, d) at q[t*q_token_stride + h*q_head_stride + d]
  size_t q_token_stride, q_head_stride;
  Type kv_type;  // f32 | f16 | q8_0 | q4_0, the packed ones in whole blocks
  const void* k;
  const void* v;
  size_t kv_head_stride;             // elements between kv heads: capacity * head_dim, or bytes of packed rows
  size_t heads, kv_heads, head_dim;  // head_dim: at most kMaxHeadDim
  size_t tokens, past;
  float scale;                    // usually 1/sqrt(head_dim)
  float softcap = 0.0f;           // 0 = off; else softcap * tanh(s / softcap)
  size_t window = 0;              // 0 = off; else only the last `window` keys, the token's own included
  size_t chunk = 0;               // 0 = off; else only keys of the token's own run of `chunk` positions
  size_t ring = 0;                // 0 = off; else the rows of the cache: key p lies in row p modulo it
  size_t reach = 0;               // 0 = off; else, not causal: keys nearer to the token than that, on either side
  bool causal = true;             // false: every token sees all past + tokens keys
  const float* slopes = nullptr;  // [heads] or null: a score loses slope * |key - position|, after the softcap
  const float* sinks = nullptr;   // [heads] or null: a score that takes part in the softmax, without a value
  size_t begin = 0;               // Decode only: where the first of its splits begins, which has the sinks
  // Prompt only: added to the score of (h, t, key) from bias[h*bias_head_stride + t*bias_token_stride + key].
  const float* bias = nullptr;
  size_t bias_head_stride = 0, bias_token_stride = 0;
  float* out;  // element (t, h, d) at out[t*out_token_stride + h*out_head_stride + d]
  size_t out_token_stride, out_head_stride;
};
inline constexpr size_t kMaxHeadDim = 512;

// Prompt: one work item = (kv head, tokens t0..t1); cut t at multiples of kAttentionTokenStep.
inline constexpr size_t kAttentionTokenStep = 64;
// group = heads / kv_heads; packed: caches of blocks.
size_t attention_scratch_bytes(size_t head_dim, size_t group, bool packed = false);

// The same in ggml's order of sums, over f32 caches: scores of all keys first, softmax, then the
// values (attention_ggml.cpp).
size_t attention_ggml_scratch_bytes(size_t capacity, size_t head_dim);
inline constexpr size_t kGgmlTileRows =
    4;  // of ggml's smallest tile: matrices of other sizes are single products there
inline constexpr size_t kGgmlRows = 16, kGgmlTile = 128;  // query rows and keys that are handled together

// Decode (tokens small): one work item = (kv head, key split). Splits are fixed at kKeySplit keys,
// whatever the number of threads, so results do not depend on it. When there is one split, pass
// partial = nullptr and the result goes to `out`; else all splits first, a barrier, then
// attention_combine per kv head.
inline constexpr size_t kKeySplit = 1024;
inline constexpr size_t kDecodeKeys = 256;  // keys between two updates of the maximum; divides kKeySplit
static constexpr size_t key_splits(size_t keys) { return keys == 0 ? 1 : (keys + kKeySplit - 1) / kKeySplit; }
// Floats of one partial item: (head_dim + 2) per (token, head of the group), rounded up.
size_t attention_partial_floats(const AttentionArgs& a);

// ------------------------------------------------------------------------------- rows and element-wise

struct RopeArgs {
  float* x;  // in place; element (t, h, d) at x[t*token_stride + h*head_stride + d]
  size_t token_stride, head_stride;
  size_t heads, head_dim, rotary_dim;  // the first rotary_dim (even) of each head turn, the rest stay
  const float* cos;                    // [tokens][rotary_dim / 2], factors and magnitudes already inside
  const float* sin;
  size_t t0, t1;
  bool interleaved;  // true: pairs (2i, 2i+1); false (NeoX): (i, i + rotary_dim/2)
};

enum class Unary : uint8_t {
  neg,
  abs,
  sign,
  square,
  sqrt,
  rsqrt,
  reciprocal,
  exp,
  log,
  sin,
  cos,
  tanh,
  sigmoid,
  silu,
  gelu_tanh,
  gelu_half,
  gelu_erf,
  relu,
  softplus,
  erf,
  floor,
  ceil,
  round_even
};
enum class Binary : uint8_t { add, sub, mul, div, min, max };
enum class Reduce : uint8_t { sum, max, min, sum_squares };

struct TopEntry {
  float value;
  uint32_t index;
};

// ------------------------------------------------------------------------------------- stored weights

// Elements of a weight and, beside them, what a Core ML package stores for them, in the bytes of
// its weight file. What is read there is
//   w' = (scale * (code - offset) + rest) * unfold, the product rounded to f16 where scales are f16,
// and w' = value * unfold where values are stored and no codes. (The forms:
// main/backends/coreml/weights/forms.ts.)
enum class Codes : uint8_t { f16, f32, int4, uint4, int8, uint8 };  // the first two are values
enum class Scales : uint8_t { f16, f32 };
enum class Offsets : uint8_t { none, uint4, f32 };  // f32 with scales of f32 only
static constexpr bool is_value(Codes c) { return c <= Codes::f32; }

// Elements for each scale are a multiple of this and divide kStoredRun.
inline constexpr size_t kStoredGroup = 16;
// Runs that are compared one by one start at multiples of so many elements.
inline constexpr size_t kStoredRun = 1024;

struct StoredArgs {
  Type type;
  const void* original;  // blocks of `type`
  size_t count;          // whole blocks, whole groups
  Codes codes;
  const void* data;  // of 4 bits: the first of two in the low half of a byte
  size_t group;      // elements for each scale, offset and rest
  Scales scales = Scales::f16;
  const void* scale = nullptr;
  Offsets offsets = Offsets::none;
  const void* offset = nullptr;
  const void* rest = nullptr;  // f16; null: 0
  double unfold = 1.0;
};

struct StoredSums {
  double energy = 0.0;      // of the squares of the original
  double error = 0.0;       // of the squares of the differences
  uint64_t not_finite = 0;  // elements in neither sum because the file has an infinity or a NaN there
  uint64_t overflowed = 0;  // and those that are numbers in the file alone
};

// ------------------------------------------------------------------------------------------- dispatch

enum class Isa : uint8_t { scalar, avx2, avx512, amx, neon, neon_dot, neon_i8mm };
inline constexpr size_t kIsaCount = 7;
// Sixteen lanes; with `amx` prompts go through tiles, and everything else is the same.
static constexpr bool is_avx512(Isa isa) { return isa == Isa::avx512 || isa == Isa::amx; }
static constexpr bool is_x86(Isa isa) { return isa == Isa::avx2 || is_avx512(isa); }

// Rows of floats to pack, and how much each column matters (null: all the same).
struct PackArgs {
  Type type;
  const float* values;
  size_t rows, columns;  // columns: whole blocks
  const float* importance;
  void* out;
};
// Squares of the values, of their error, and of that times the importance; values that are not finite are in none of these.
struct PackSums {
  double energy = 0, error = 0, weighted = 0;
  size_t not_finite = 0;
};

// The table of one instruction set. All pointers are always set.
struct Dispatch {
  Isa isa;
  const char* name;  // "scalar", "avx2", "avx512", "amx", "neon", "neon-dot", "neon-i8mm"

  // y[0..k) = exact values of one packed row, bit-for-bit ggml's dequantize_row_*. k multiple of
  // the block.
  void (*dequantize)(Type, const void* row, float* y, size_t k);
  void (*f32_to_f16)(const float* x, uint16_t* y, size_t n);  // round to nearest even
  void (*f16_to_f32)(const uint16_t* x, float* y, size_t n);
  void (*f32_to_bf16)(const float* x, uint16_t* y, size_t n);  // round to nearest even, NaN stays NaN
  void (*bf16_to_f32)(const uint16_t* x, float* y, size_t n);

  // Bytes of a prepared buffer for `tokens` rows of k; 64-byte aligned memory is asked for.
  size_t (*act_bytes)(ActKind, size_t k, size_t tokens);
  void (*prepare)(const PrepareArgs&);
  void (*matmul)(const MatmulArgs&, void* scratch);
  void (*gemm)(const GemmArgs&, void* scratch);
  // y[0..n) += weight * x[0..n)
  void (*add_scaled)(float weight, const float* x, float* y, size_t n);
  // One stage of a Fourier transform (fft_stages.h).
  void (*fft_stage)(size_t radix, const float* re, const float* im, float* to_re, float* to_im, size_t m, size_t s,
                    const float* twiddles);

  void (*attention_prompt)(const AttentionArgs&, size_t kv_head, size_t t0, size_t t1, void* scratch);
  void (*attention_ggml)(const AttentionArgs&, size_t kv_head, size_t t0, size_t t1, void* scratch);
  void (*attention_decode)(const AttentionArgs&, size_t kv_head, size_t key0, size_t key1, float* partial,
                           void* scratch);
  // partials: `splits` items of attention_partial_floats(a), in key order, for this kv head.
  void (*attention_combine)(const AttentionArgs&, size_t kv_head, const float* partials, size_t splits);

  // y[r] = x[r] / sqrt(mean(x[r]^2) + eps) * weight; rows r0..r1 of length n; y may be x. weight
  // may be null. A per-head norm (q_norm, k_norm) is the same with n = head_dim.
  void (*rms_norm)(const float* x, size_t ldx, const float* weight, float eps, float* y, size_t ldy, size_t r0,
                   size_t r1, size_t n);
  void (*layer_norm)(const float* x, size_t ldx, const float* weight, const float* bias, float eps, float* y,
                     size_t ldy, size_t r0, size_t r1, size_t n);
  void (*rope)(const RopeArgs&);
  // Softmax of each row of scale * x; y may be x.
  void (*softmax)(const float* x, size_t ldx, float scale, float* y, size_t ldy, size_t r0, size_t r1, size_t n);
  // log(sum(exp(x))) of one row: log-probabilities without a second pass.
  float (*log_sum_exp)(const float* x, size_t n);

  void (*unary)(Unary, const float* x, float* y, size_t n);
  // stride 0 broadcasts a scalar, 1 is contiguous.
  void (*binary)(Binary, const float* a, size_t stride_a, const float* b, size_t stride_b, float* y, size_t n);
  // y[r] = reduction of row r.
  void (*reduce)(Reduce, const float* x, size_t ldx, float* y, size_t r0, size_t r1, size_t n);

  // Index of the largest value (lowest index on ties; NaN never wins); n >= 1.
  size_t (*argmax)(const float* x, size_t n);
  // The `count` largest values, sorted from large to small (lower index first on ties). Returns
  // min(count, n) minus any NaN.
  size_t (*top_k)(const float* x, size_t n, TopEntry* out, size_t count);

  // Adds to `sums`, which sums in an order of its own: the last places of two instruction sets
  // differ.
  void (*stored_error)(const StoredArgs&, StoredSums* sums);

  // Adds to `sums`. False where nothing packs the type: `out` is as it was.
  bool (*pack)(const PackArgs&, PackSums* sums);

  bool watched;  // compiled with AddressSanitizer
};

// What this processor and this build can run, best last. Returns the count, at most kIsaCount.
size_t available_isas(Isa* out);
Isa best_isa();
const char* isa_name(Isa);
// The ISA of a name as in RLX_KERNEL_DISPATCH; false if the name is unknown.
bool parse_isa(const char* name, Isa* out);
// nullptr when this build or this processor lacks it.
const Dispatch* dispatch_for(Isa);
// The best table. `forced` may be null; a forced table that is not available gives nullptr.
const Dispatch* dispatch(const char* forced);

// For the support report: how a table runs its kernels. 0 notes when this build lacks the
// instruction set.
struct KernelNote {
  const char* kernel;  // "matmul q4_k q5_k"
  const char* how;     // "8-bit activations, a factor for every 8; decode vpdpbusd, prompt vpdpwssd"
};
size_t kernel_notes(Isa, const KernelNote** out);

}  // namespace rlx::kernels
