/**
 * What keeps an operator off the Neural Engine, or makes it dear there. Each rule has an id, a verdict and a sentence for
 * people; sources are Apple's documents, public issues and measurements, so a prediction is a prediction.
 *
 * hard: not eligible · soft: eligible, at a cost or with a risk · function: a fact of the whole function that makes
 * every operator of it ineligible.
 */
import type { FunctionFacts, OpFacts } from "./facts.ts";
import { constantNumbers, constantText } from "./facts.ts";
import type { PlanTarget } from "./target.ts";
import { aneEdge, chipOf } from "./target.ts";

export type Verdict = "hard" | "soft";

/** Every rule that a prediction can name: those of RULES, what decides beside them, and those of a route's other nodes. */
export const RULE_IDS = [
  "ane-state",
  "ane-fp32",
  "ane-integer",
  "ane-integer-data",
  "ane-rank",
  "ane-dynamic",
  "ane-size",
  "ane-conv",
  "ane-no-kernel",
  "ane-gather",
  "ane-pad",
  "ane-sin-cos",
  "ane-order",
  "ane-reflect",
  "ane-control-flow",
  "ane-dynamic-slice",
  "ane-argmax",
  "ane-cast-int",
  "ane-block-weights",
  "ane-quantize",
  "ane-last-axis",
  "ane-pool-stride",
  "ane-linear",
  "ane-matmul",
  "ane-attention",
  "ane-select",
  "ane-tile",
  "ane-relayout",
  "ane-softmax-axis",
  "ane-square",
  "ane-program-size",
  "ane-eligible",
  "units",
  "free",
  "island",
  "gpu-faster",
  "host",
  "no-operation",
] as const;
export type RuleId = (typeof RULE_IDS)[number];

export interface Rule {
  readonly id: RuleId;
  readonly verdict: Verdict;
  /** What it is about, for lists of rules. */
  readonly title: string;
  readonly source: string;
  /** The reason in a sentence, or undefined when the rule does not apply. */
  readonly applies: (op: OpFacts, target: PlanTarget, f: FunctionFacts) => string | undefined;
}

export interface Finding {
  readonly rule: RuleId;
  readonly verdict: Verdict;
  readonly reason: string;
}

const rule = (id: RuleId, verdict: Verdict, title: string, source: string, applies: Rule["applies"]): Rule => ({
  id,
  verdict,
  title,
  source,
  applies,
});

const generation = (target: PlanTarget): number => chipOf(target.chip).generation;
const x = (op: OpFacts): readonly (number | null)[] =>
  (op.inputs.get("x") ?? op.inputs.get("input") ?? op.inputs.get("values") ?? op.inputs.get("query"))?.type.shape ?? [];
const inSet = (...names: readonly string[]): ((op: OpFacts) => boolean) => {
  const set = new Set(names);
  return (op) => set.has(op.type);
};

const noKernel = inSet(
  ...[
    "scatter",
    "scatter_along_axis",
    "scatter_nd",
    "one_hot",
    "non_zero",
    "band_part",
    "shape",
    "sliding_windows",
    "reverse_sequence",
  ],
  ...[
    "mod",
    "reduce_prod",
    "logical_and",
    "logical_or",
    "logical_xor",
    "make_list",
    "list_read",
    "list_write",
    "list_gather",
    "list_scatter",
  ],
  ...[
    "random_normal",
    "random_bernoulli",
    "random_categorical",
    "lstm",
    "gru",
    "rnn",
    "tan",
    "asin",
    "acos",
    "sinh",
    "cosh",
    "atanh",
    "constexpr_cast",
  ],
);
const gathers = inSet("gather", "gather_along_axis", "gather_nd");
const plumbing = inSet(
  "gather",
  "gather_along_axis",
  "gather_nd",
  "reshape",
  "expand_dims",
  "squeeze",
  "identity",
  "concat",
  "slice_update",
  "slice_by_index",
  "slice_by_size",
  "read_state",
  "write_state",
  "cast",
  "select",
  "split",
  "transpose",
  "reduce_argmax",
  "reduce_argmin",
  "argsort",
  "topk",
);
const ordering = inSet(
  "topk",
  "argsort",
  "crop_resize",
  "resample",
  "affine",
  "resize",
  "upsample_bilinear",
  "resize_bilinear",
);
const pools = inSet("avg_pool", "max_pool", "l2_pool");
const spatial = inSet(
  "conv",
  "conv_transpose",
  "avg_pool",
  "max_pool",
  "l2_pool",
  "upsample_nearest_neighbor",
  "batch_norm",
  "instance_norm",
);

/** The largest prime factor of a stride that hardware steps by must be 2 or 3. */
const madeOf = (n: number, ...factors: readonly number[]): boolean => {
  let rest = n;
  for (const f of factors) while (rest > 1 && rest % f === 0) rest /= f;
  return rest === 1;
};

export const RULES: readonly Rule[] = [
  rule("ane-state", "hard", "Functions with Core ML states", "coremltools issues 2325, 2553, 2631", (_op, _t, f) =>
    f.hasState
      ? "This function keeps its cache in Core ML state, and stateful models have been refused by the Neural Engine; with f16 weights, caches are passed in and out instead."
      : undefined,
  ),
  rule("ane-fp32", "hard", "fp32 values", "Apple, Neural Engine rules", (op) =>
    op.tensors.some((t) => t.dtype === "fp32") && op.type !== "cast"
      ? "The Neural Engine computes in fp16; this operator has fp32 values."
      : undefined,
  ),
  rule(
    "ane-integer",
    "hard",
    "Integer and boolean arithmetic",
    "Apple, Neural Engine rules; published compute plans",
    (op) => {
      const whole = op.tensors.find((t) => t.dtype === "int32" || t.dtype === "bool" || t.dtype === "uint16");
      return whole !== undefined && !plumbing(op)
        ? `The Neural Engine has no ${whole.dtype} arithmetic; such values only serve as indices and shapes.`
        : undefined;
    },
  ),
  rule("ane-integer-data", "hard", "Moving integers and booleans", "published compute plans", (op) => {
    const data = op.outputs[0];
    return data !== undefined &&
      (data.dtype === "int32" || data.dtype === "bool") &&
      plumbing(op) &&
      op.type !== "cast" &&
      !gathers(op)
      ? `The result is ${data.dtype}: index plumbing, which Core ML keeps on the CPU.`
      : undefined;
  }),
  rule("ane-rank", "hard", "More than five dimensions", "Apple, Neural Engine rules", (op) =>
    op.tensors.some((t) => t.shape.length > 5) ? "The Neural Engine takes at most five dimensions." : undefined,
  ),
  rule("ane-dynamic", "hard", "Sizes known only at run time", "coremltools issues 1764, 1909, 2370, 2825", (op) =>
    op.tensors.some((t) => [...t.shape].some((d) => d === null))
      ? "A size is only known when the model runs; the Neural Engine compiles for fixed shapes."
      : undefined,
  ),
  rule("ane-size", "hard", "Dimensions beyond the hardware's limits", "ane-guide", (op, target) => {
    const edge = aneEdge(chipOf(target.chip));
    const big = op.tensors.flatMap((t) => [...t.shape].slice(-2)).find((d) => d !== null && d > edge);
    const channels = spatial(op) ? Math.max(0, ...op.tensors.map((t): number => t.shape[1] ?? 0)) : 0;
    if (big !== undefined && big !== null)
      return `A dimension of ${big} exceeds the ${edge} that this chip's Neural Engine holds along width or height.`;
    return channels > 65536 ? `${channels} channels exceed the 65536 that the Neural Engine holds.` : undefined;
  }),
  rule("ane-conv", "hard", "Convolution windows", "ane-guide", (op, target) => {
    if (op.type !== "conv") return undefined;
    const kernel = (op.inputs.get("weight")?.type.shape ?? []).slice(2);
    const [height, width] = kernel.length === 1 ? [1, kernel[0] ?? 1] : [kernel[0] ?? 1, kernel[1] ?? 1];
    const widest = generation(target) >= 2 ? 16 : 13;
    if (kernel.length > 2) return "Three-dimensional convolution is not lowered to the Neural Engine.";
    if (width > widest || height > 29) return `A ${height}×${width} kernel exceeds 29×${widest}.`;
    const steps = [...(constantNumbers(op, "strides") ?? []), ...(constantNumbers(op, "dilations") ?? [])];
    const odd = steps.find((s) => !madeOf(s, 2, 3));
    return odd === undefined
      ? undefined
      : `Strides and dilations are products of 2 and 3 on the Neural Engine, this one is ${odd}.`;
  }),
  rule(
    "ane-no-kernel",
    "hard",
    "Operators without a Neural Engine kernel",
    "ane-guide table A; coremltools comments",
    (op) => (noKernel(op) ? `The Neural Engine has no ${op.type}.` : undefined),
  ),
  rule("ane-gather", "hard", "Gathers by index", "coremltools issue 1103; WhisperKit plans", (op) =>
    gathers(op) ? "Published compute plans keep gathers by index on the CPU." : undefined,
  ),
  rule("ane-pad", "hard", "Padding", "ane-guide; WhisperKit plans", (op) =>
    op.type === "pad" ? "Published compute plans keep padding on the CPU." : undefined,
  ),
  rule("ane-sin-cos", "hard", "Sine and cosine before M3", "ane-guide", (op, target) =>
    (op.type === "sin" || op.type === "cos") && generation(target) < 3
      ? `The Neural Engine has ${op.type} from M3 on.`
      : undefined,
  ),
  rule("ane-order", "hard", "Sorting and resampling before M2", "ane-guide", (op, target) =>
    ordering(op) && generation(target) < 2 ? `The Neural Engine has ${op.type} from M2 on.` : undefined,
  ),
  rule("ane-reflect", "hard", "Reflecting pads before M2", "ane-guide", (op, target) =>
    op.type === "pad" && constantText(op, "mode") === "reflect" && generation(target) < 2
      ? "Reflecting pads exist from M2 on."
      : undefined,
  ),
  rule("ane-control-flow", "hard", "Control flow and made-up ranges", "ane-guide", (op) =>
    op.type === "cond" || op.type === "while_loop" || op.type === "range_1d"
      ? `${op.type} runs on the CPU.`
      : undefined,
  ),
  rule("ane-dynamic-slice", "hard", "Slices at computed places", "ane-guide", (op) => {
    if (op.type !== "slice_by_index" && op.type !== "slice_by_size" && op.type !== "slice_update") return undefined;
    return op.inputs.get("begin")?.constness === "computed"
      ? "The slice begins at a computed place; the Neural Engine slices at fixed ones."
      : undefined;
  }),
  rule("ane-argmax", "hard", "Positions of extremes", "ane-guide", (op) =>
    op.type === "reduce_argmax" || op.type === "reduce_argmin"
      ? "Core ML's cost model has no Neural Engine entry for positions of extremes."
      : undefined,
  ),
  rule("ane-cast-int", "hard", "Casts from and to integers", "ane-guide", (op) => {
    if (op.type !== "cast") return undefined;
    const whole = [op.inputs.get("x")?.type.dtype, op.outputs[0]?.dtype].find((d) => d === "int32" || d === "bool");
    return whole === undefined ? undefined : `Casts with ${whole} are done where the integers are, on the CPU.`;
  }),
  rule(
    "ane-block-weights",
    "hard",
    "Weights with a scale per block",
    "coremltools issue 2510; FluidAudio on M2",
    (op) => {
      const blocks = Math.max(
        0,
        ...[...op.inputs.values()].map((i) => (i.constness === "constexpr" ? (i.blocksPerRow ?? 1) : 0)),
      );
      return blocks > 1
        ? "The weight has a scale per block; the Neural Engine takes one per tensor or per output channel. With Weights set to f16 there are no blocks."
        : undefined;
    },
  ),
  rule("ane-quantize", "soft", "Quantised activations", "FluidAudio", (op) =>
    op.type === "quantize" || op.type === "dequantize"
      ? "Parts of quantised activations have been seen to fall back to the CPU."
      : undefined,
  ),
  rule("ane-last-axis", "soft", "Padding of the last axis", "Apple, Neural Engine rules", (op) => {
    const factor = paddingFactor(op);
    return factor > 1.5
      ? `The last axis is padded to 64 bytes: ${factor.toFixed(factor < 10 ? 1 : 0)} times the memory.`
      : undefined;
  }),
  rule("ane-pool-stride", "soft", "Pooling strides", "Apple, Neural Engine rules", (op) => {
    const odd = pools(op) ? (constantNumbers(op, "strides") ?? []).find((s) => s !== 2 && s !== 4) : undefined;
    return odd === undefined ? undefined : `Pooling strides of 2 and 4 are native, this one is ${odd}.`;
  }),
  rule("ane-linear", "soft", "Linear layers", "Apple, Neural Engine rules", (op) =>
    op.type === "linear" ? "A linear layer is turned into a 1×1 convolution first." : undefined,
  ),
  rule("ane-matmul", "soft", "Large matrix products", "ane-guide", (op) => {
    if (op.type !== "matmul") return undefined;
    const inner = x(op).at(-1) ?? 0;
    const streamed = op.activationBytes > 2 * 2 ** 20;
    if (inner > 2048) return `Sums over ${inner} products lose accuracy in the Neural Engine's matmul.`;
    return streamed ? "Operands beyond 2 MB are streamed from memory." : undefined;
  }),
  rule("ane-attention", "soft", "Fused attention", "Apple, Neural Engine rules", (op) =>
    op.type === "scaled_dot_product_attention"
      ? "There is no fused attention on the Neural Engine: it is split into products, and boolean masks are unsafe."
      : undefined,
  ),
  rule("ane-select", "soft", "Select and fill", "third-party plans", (op) =>
    op.type === "select" || op.type === "fill" || op.type === "fill_like"
      ? `${op.type} has been seen to fall back to the CPU.`
      : undefined,
  ),
  rule("ane-tile", "soft", "Tile factors", "ane-guide", (op) => {
    const odd =
      op.type === "tile" ? (constantNumbers(op, "reps") ?? []).find((r) => ![1, 2, 3, 4, 8].includes(r)) : undefined;
    return odd === undefined ? undefined : `Tiling by 2, 3, 4 and 8 is native, this one is ${odd}.`;
  }),
  rule("ane-relayout", "soft", "Transposes that move the last axis", "Apple, Neural Engine rules", (op) => {
    const perm = op.type === "transpose" ? constantNumbers(op, "perm") : undefined;
    return perm !== undefined && perm.at(-1) !== perm.length - 1 && perm.at(-1) !== -1
      ? "Moving the last axis rewrites the whole tensor."
      : undefined;
  }),
  rule("ane-softmax-axis", "soft", "Softmax over a spatial axis", "Apple, Neural Engine rules", (op) => {
    if (op.type !== "softmax") return undefined;
    const axis = constantNumbers(op, "axis")?.[0] ?? -1;
    const at = axis < 0 ? axis + x(op).length : axis;
    return at !== 1 ? "Softmax over another axis than the channels limits tiling." : undefined;
  }),
  rule("ane-square", "soft", "Squares of unscaled values", "coremltools pass", (op) => {
    const squared = op.type === "square" || op.type === "reduce_sum_square" || op.type === "reduce_l2_norm";
    return squared && op.outputs[0]?.dtype === "fp16"
      ? "In fp16 a square overflows from 256 on: scale by the largest element first."
      : undefined;
  }),
  rule("ane-program-size", "soft", "Very large programs", "coremltools issue 2758", (_op, _t, f) =>
    f.weightBytes > 4 * 2 ** 30
      ? "With more than 4 GB of fp16 weights the Neural Engine's compiler has failed before."
      : undefined,
  ),
];

/** Memory of a tensor on the Neural Engine over its own: the last axis is padded to 64 bytes. */
export function paddingFactor(op: OpFacts): number {
  const [output] = op.outputs;
  const last = output?.shape.at(-1);
  if (output === undefined || last === undefined || last === null || last === 0) return 1;
  const lane = output.dtype === "int8" || output.dtype === "uint8" ? 64 : 32;
  return (Math.ceil(last / lane) * lane) / last;
}

export function findingsFor(op: OpFacts, target: PlanTarget, f: FunctionFacts): readonly Finding[] {
  const found: Finding[] = [];
  for (const r of RULES) {
    const reason = r.applies(op, target, f);
    if (reason !== undefined) found.push({ rule: r.id, verdict: r.verdict, reason });
  }
  return found;
}
