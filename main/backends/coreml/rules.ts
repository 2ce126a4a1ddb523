/**
 * Lowering recipes that op files share: each returns the `coreml` entry of an op definition.
 * `when` answers for one node: true, or why CoreML cannot run it.
 */
import { isFloat as isFloatType, isPacked } from "../../ir/dtype.ts";
import type { TensorType } from "../../ir/type.ts";
import type { CoremlEmitter, CoremlRule, MilArgs, MilOpName, MilValue, RuleNode } from "./emitter.ts";

type One = readonly [MilValue];
type Two = readonly [MilValue, MilValue];

/** Operators of one argument `x` and nothing else. */
type UnaryName = { [N in MilOpName]: Record<"x", MilValue> extends MilArgs[N] ? N : never }[MilOpName];
type BinaryName = { [N in MilOpName]: Record<"x" | "y", MilValue> extends MilArgs[N] ? N : never }[MilOpName];

/** MIL tensors have at most five dimensions. */
export const MAX_RANK = 5;

/** Limits that hold for every operator: rank, and element types that CoreML has no arithmetic for. */
export function generalLimits(node: RuleNode<unknown>): true | string {
  for (const type of [...node.inputs, ...node.outputs]) {
    if (type.shape.length > MAX_RANK) return `CoreML tensors have at most ${MAX_RANK} dimensions, this one has ${type.shape.length}`;
    if (type.dtype === "c64") return "CoreML has no complex numbers";
    if (type.dtype === "f64") return "CoreML has no float64 arithmetic";
    if (type.dtype === "i64" || type.dtype === "u32") return `CoreML has no ${type.dtype} arithmetic`;
  }
  return true;
}

const firstReason = (...answers: readonly (true | string)[]): true | string => answers.find((a) => a !== true) ?? true;

const floatOnly = (what: string, type: TensorType | undefined): true | string =>
  type === undefined || isFloatType(type.dtype) || isPacked(type.dtype) ? true : `${what} takes floats, this operand is ${type.dtype}`;

/** `milUnary("sin")`: one operator on one float operand. */
export const milUnary = (type: UnaryName): CoremlRule<One, unknown> => ({
  kind: "native",
  emit: (e, [x]) => e.op(type, { x } as MilArgs[UnaryName]),
  when: (node) => firstReason(generalLimits(node), floatOnly(type, node.inputs[0])),
});

/** `milBinary("add")`: element-wise with NumPy broadcasting, both operands of one type. */
export const milBinary = (type: BinaryName): CoremlRule<Two, unknown> => ({
  kind: "native",
  emit: (e, [x, y]) => e.op(type, { x, y } as MilArgs[BinaryName]),
  when: (node) => {
    const boolean = node.inputs.some((t) => t.dtype === "bool") && !type.startsWith("logical_");
    return firstReason(generalLimits(node), boolean ? `${type} takes numbers, this operand is bool: cast first` : true);
  },
});

/** `e => …` with the limits that every operator has, and more of one's own. */
export const milNative = <Inputs, Attrs>(
  emit: CoremlRule<Inputs, Attrs>["emit"],
  when: (node: RuleNode<Attrs>) => true | string = () => true,
): CoremlRule<Inputs, Attrs> => ({
  kind: "native",
  emit,
  when: (node) => firstReason(generalLimits(node), when(node)),
});

/**
 * x / √(mean(x²) + ε) · γ over the last axis. In fp16, x² overflows from |x| = 256 on, so x is divided by its largest
 * element m first: with s = x / m it is s / √(mean(s²) + (√ε / m)²), the same for every m > 0.
 */
export function rmsNorm(e: CoremlEmitter, x: MilValue, gamma: MilValue | undefined, epsilon: number): MilValue {
  const mean = (v: MilValue): MilValue => e.op("reduce_mean", { x: e.op("square", { x: v }), axes: [-1], keep_dims: true });
  const scaleOf = (v: MilValue, extra: MilValue | number): MilValue =>
    e.op("rsqrt", { x: e.op("add", { x: mean(v), y: typeof extra === "number" ? e.constant(e.float, [], [extra]) : extra }), epsilon: 0 });
  let y: MilValue;
  if (e.float === "fp32") y = e.op("mul", { x, y: scaleOf(x, epsilon) });
  else {
    const largest = e.op("reduce_max", { x: e.op("abs", { x }), axes: [-1], keep_dims: true });
    const m = e.op("maximum", { x: largest, y: e.constant(e.float, [], [2 ** -10]) });
    const s = e.op("real_div", { x, y: m });
    const small = e.op("real_div", { x: e.constant(e.float, [], [Math.sqrt(epsilon)]), y: m });
    y = e.op("mul", { x: s, y: scaleOf(s, e.op("square", { x: small })) });
  }
  return gamma === undefined ? y : e.op("mul", { x: y, y: gamma });
}

/**
 * Rotates pairs of the last axis of x [.., rows, size] by angles [rows, pairs]; dimensions beyond 2·pairs are copied.
 * `halves`: pair i with i + pairs. `neighbours`: 2i with 2i + 1.
 */
export function rotate(e: CoremlEmitter, x: MilValue, cos: MilValue, sin: MilValue, style: "halves" | "neighbours"): MilValue {
  const shape = e.sizes(x, "rope");
  const rank = shape.length;
  const size = shape[rank - 1] ?? 0;
  const pairs = e.sizes(cos, "rope")[1] ?? 0;
  const slice = (v: MilValue, begin: number, width: number): MilValue =>
    e.op("slice_by_size", { x: v, begin: [...new Array<number>(rank - 1).fill(0), begin], size: [...shape.slice(0, -1), width] });
  const turned = (a: MilValue, b: MilValue, c: MilValue, s: MilValue): readonly [MilValue, MilValue] => [
    e.op("sub", { x: e.op("mul", { x: a, y: c }), y: e.op("mul", { x: b, y: s }) }),
    e.op("add", { x: e.op("mul", { x: b, y: c }), y: e.op("mul", { x: a, y: s }) }),
  ];
  const copied = size > 2 * pairs ? [slice(x, 2 * pairs, size - 2 * pairs)] : [];
  if (style === "halves") {
    const [low, high] = turned(slice(x, 0, pairs), slice(x, pairs, pairs), cos, sin);
    return e.op("concat", { values: [low, high, ...copied], axis: -1, interleave: false });
  }
  const rotated = size > 2 * pairs ? slice(x, 0, 2 * pairs) : x;
  const split = e.op("reshape", { x: rotated, shape: [...shape.slice(0, -1), pairs, 2] });
  const [even, odd] = e.ops("split", { x: split, split_sizes: [1, 1], axis: -1 });
  if (even === undefined || odd === undefined) return x;
  const flat = (v: MilValue): MilValue => e.op("squeeze", { x: v, axes: [-1] });
  const [low, high] = turned(flat(even), flat(odd), cos, sin);
  const joined = e.op("stack", { values: [low, high], axis: rank });
  const whole = e.op("reshape", { x: joined, shape: [...shape.slice(0, -1), 2 * pairs] });
  return copied.length === 0 ? whole : e.op("concat", { values: [whole, ...copied], axis: -1, interleave: false });
}
