/**
 * The native kernels by name, with what each takes. A test checks that the addon exports exactly these names.
 *
 * Conventions: inputs and outputs are row-major and contiguous; `axis` counts from 0 (no negatives); parameters are
 * numbers, sizes with symbols, lists of them, or booleans. Kernels compute in f32 unless the line says otherwise;
 * the emitter casts f16 and bf16 operands to f32 and back around a kernel that does not take them.
 *   any = every plain dtype of 1, 2, 4 or 8 bytes (data is only moved) · num = f32, f64 and whole numbers
 *   real = f32, or f64 in plain loops: all floats of an instruction are of one of the two
 */
export const CPU_KERNELS = [
  // Element by element, NumPy broadcasting. (a, b) num → same dtype.
  "add",
  "sub",
  "mul",
  "div", // whole: towards zero; a zero divisor gives 0
  "max",
  "min",
  "pow",
  "mod", // C fmod: the sign of a
  "atan2", // real
  // (a, b) whole → same dtype; a count outside the bits of the type moves all of them out.
  "bit_and",
  "bit_or",
  "bit_xor",
  "shift_left",
  "shift_right", // of a signed number with its sign
  // (a, b) num or bool → bool.
  "eq",
  "ne",
  "lt",
  "le",
  "gt",
  "ge",
  // (a, b) bool → bool; (a) bool → bool.
  "logical_and",
  "logical_or",
  "logical_xor",
  "logical_not",
  // (condition bool, a, b) with broadcasting, any → dtype of a.
  "where",
  // (x) num for neg, abs, sign, square; real for the others.
  "neg",
  "abs",
  "sign",
  "square",
  "sqrt",
  "rsqrt",
  "reciprocal",
  "exp",
  "log",
  "sin",
  "cos",
  "tan",
  "atan",
  "asin",
  "acos",
  "sinh",
  "cosh",
  "asinh",
  "acosh",
  "atanh",
  "log1p",
  "expm1",
  "tanh",
  "sigmoid",
  "silu",
  "gelu", // exact, erf
  "gelu_tanh",
  "relu",
  "elu", // {alpha}
  "leaky_relu", // {alpha}
  "softplus",
  "erf",
  "floor",
  "ceil",
  "trunc",
  "round", // half to even
  // (operands...) {"<n> <kernel>": the values that step n reads, results: the values that are results} → results; values are
  // the operands and then what the steps give, stretched to the results. Kernels above, and cast_<type>.
  "elementwise_region",
  "cast", // (x) any to any; float to int truncates and saturates; to bool: nonzero
  // (x) num → {axes: list}; the output type says whether axes are kept. sum, mean, prod of i32 wrap or truncate.
  "reduce_sum",
  "reduce_mean",
  "reduce_max",
  "reduce_min",
  "reduce_prod",
  "argmax", // (x) num {axis} → i32, lowest index on ties
  "argmin",
  "softmax", // (x) real {axis}
  "log_softmax", // (x) real {axis}
  "cumsum", // (x) num {axis, exclusive, reverse}
  "cumprod", // (x) num {axis, reverse}
  "cummax",
  "sort", // (x) num {axis, descending}; NaN is the largest
  "argsort", // → i32, the first of equals first
  "topk", // (x) num {k, anyOfEquals?} over the last axis → values, i32 indices; largest first, lowest index on ties
  // Data movement.
  "copy", // (x) any: same bytes under another type (reshape)
  "transpose", // (x) any {perm}
  "expand", // (x) any: broadcast to the output type
  "narrow", // (x) any {axis, start}: the length is the output's
  "concat", // (x...) any {axis}
  "gather", // (table, indices i32) any {axis}: dims before axis ++ indices ++ dims after; a packed table: axis 0 → f32
  "scatter_add", // (updates, indices i32) num {axis}: zeros, plus updates at the positions named: the transpose of gather
  // By positions. nd: the indices' last axis names the table's first axes; elements: each index a place along {axis}.
  "gather_nd", // (table, indices i32) any
  "gather_elements", // (table, indices i32) any {axis}
  "scatter_nd", // (data, indices i32, updates) num {add}: in their stead or added; updates of one place are added up
  "scatter_elements", // (data, indices i32, updates) num {axis, add}
  "pad", // (x, value scalar) any {before: list, after: list}
  "slice", // (x) any {starts, steps}: steps may be negative
  "iota", // () num {axis}: 0, 1, 2 … along axis
  "philox", // (seed i32[4]: two words of the key, two of the counter's upper half) → u32, four words for each block
  "fill", // (scalar) any: the same value everywhere
  "dequantize", // (w packed) → f32
  // Products. Where asGgml.ts asks for it, kernels of products, rope_tables and attention have {asGgml} too.
  "matmul", // (a [..,M,K], b [..,K,N]) real {transposeA, transposeB} with batch broadcasting
  "linear", // (x [..,K] f32, w [N,K] f32, f16, bf16 or packed, bias [N]?) → [..,N]
  "linear_grouped", // (x [T,1 or k,K] f32, w [E,N,K] f32, f16, bf16 or packed, experts i32[T,k], bias [E,N]?) → [T,k,N]
  // (x, norm weight?, residual?, then for each result w, bias?; gated: gate, gate bias?, up, bias?) {normalise, eps, gated,
  // activation: 0 silu, 1 gelu_tanh, 2 gelu, 3 relu}
  "linear_block",
  // Factorisations of matrices [.., rows, columns], real, computed in double.
  "dense_solve", // (a [..,N,N], b [..,N,K]) → [..,N,K]
  "triangular_solve", // (a [..,N,N], b [..,N,K]) {upper, transposed, unit} → [..,N,K]
  "cholesky", // (a [..,N,N]) → lower triangle
  "qr", // (a [..,M,N]) → [..,M,K], [..,K,N]; K the smaller
  "svd", // (a [..,M,N]) → [..,M,K], [..,K], [..,K,N]
  "eigh", // (a [..,N,N]) → [..,N], [..,N,N]
  "det", // (a [..,N,N]) → [..]
  "logdet", // (a [..,N,N]) → sign, logarithm [..]
  // Windows over images [N, C, (H,) W], real; all lists have one number per size. The weight's kernel is its last sizes.
  "conv", // (x, w [F, C/groups, kernel]) {strides, padding, dilations, groups}
  "conv_transpose", // (x, w [C, F/groups, kernel]) {strides, padding, dilations, groups}: the result's size tells the output padding
  "pool_max", // (x) {kernel, strides, padding}; the padding never wins, counts as zero, or as one in a product
  "pool_mean", // divided by the whole window
  "pool_sum",
  "pool_min",
  "pool_prod",
  // Norms over the last axis.
  "rms_norm", // (x, weight?) real {eps}
  "layer_norm", // (x, weight?, bias?) real {eps}
  "group_norm", // (x [N,C,...], weight [C]?, bias [C]?) {groups, eps}
  // Attention. Layouts: q, k, v [T, heads, head_dim]; caches [kv_heads, capacity, head_dim] f32 or f16.
  "rope", // (x [T, H, D], cos [T, rotary/2], sin [T, rotary/2]) {interleaved, rotary}
  // (positions i32[T], factors f32[rotary/2]?) {frequencies: list of rotary/2 doubles, magnitude}: cos, sin [T, rotary/2] =
  // magnitude · cos, sin(position · frequency / factor), the angle in double; {asGgml, base, stretch, kept}: in f32
  "rope_tables",
  "kv_append", // (cache, new [T, kv_heads, head_dim], past i32[]) → cache, in place where it can; new of the cache's type (any float), or f32 into f16; {ring}: around its end
  "attention", // (q, k cache, v cache, past i32[], sinks [heads]?) {scale, softcap: 0 off, window: keys seen, own included; 0 off, chunk: 0 off, ring} → [T, heads, head_dim]
  // (q [T,H,D], k [T,Hkv,D], v [T,Hkv,D], q norm?, k norm?, cos?, sin?, k cache, v cache, past, sinks?) {as attention; interleaved, eps,
  // normQ, normK} → result, k cache, v cache in place: norms and rotation of q and k, the appends, attention
  "attention_block",
  "attention_general", // (q [..,Hq,Sq,D], k [..,Hkv,Sk,D], v [..,Hkv,Sk,Dv], mask?) {scale, softcap, window, mask}: 0 none, 1 causal, 2 sliding window, 3 keep [B,Sk], 4 bias [B,H,Sq,Sk]
  // Sequences and signals, all real.
  "fft", // (x [..,2N]: re block, im block) {inverse, norm: 0 backward, 1 forward, 2 ortho}
  "to_complex", // (x f32 [..,2N]: re block, im block) → c64 [..,N]
  "from_complex", // the other way
  "lstm", // (x [B,S,I], wIh, wHh, bias, h0?, c0?) {hidden, layers, bidirectional} → [B,S,D·hidden], h, c
  "gru", // (x, wIh, wHh, bIh, bHh, h0?) {hidden, layers, bidirectional} → [B,S,D·hidden], h
  "rnn", // (x, wIh, wHh, bias, h0?) {hidden, layers, bidirectional, relu} → [B,S,D·hidden], h
  // Recurrences with a state that stays, real; the state after may be the memory of the state before.
  "short_conv", // (x [T,C], before [k-1,C], w [C,k], bias [C]?) → [T,C], the last k-1 rows of before and x
  "gated_delta", // (q, k [T,H,N], v [T,H,V], gate [T,H] or [T,H,N], beta [T,H], S [H,N,V]) → [T,H,V], S after
  // (x [T,H,P], step [T,H,1 or N], rate [H,1 or N], b [T,G,N], c [T,G,N], state [H,P,N]) {before} → y [T,H,P], state
  "selective_scan",
  "wkv7", // (r, decay, k, v, a, b [T,H,N], state [H,N,N]) → y [T,H,N], state
  // (positions [N,3], log scales [N,3], rotations [N,4], opacities [N], colours [N,3], harmonics [N,C,3], camera [15]), real
  "splat_render", // {as gaussian_splat_render, all of them} → [height, width, 4]
] as const;
export type CpuKernel = (typeof CPU_KERNELS)[number];

/** Where the engine goes on; only `flatten` emits them. `target` is the number of an instruction, or their count for the end. */
export const CONTROL_KERNELS = [
  "branch", // (flag bool[]) {target}: on, or to the target when the flag is false
  "jump", // () {target}: a target before it makes a loop
  "loop", // () → counter i64[]: 0
  "loop_limit", // (counter) {most, target} → counter: one more, or to the target when it has reached the most
] as const;
export type ControlKernel = (typeof CONTROL_KERNELS)[number];
