/**
 * Lowering recipes that op files share: each returns the `coreml` entry of an op definition.
 * `when` answers for one node: true, or why Core ML cannot run it.
 */
import type { ElementType } from "../../ir/dtype.ts";
import { dtypeBytes, isFloat as isFloatType, isInteger, isPacked } from "../../ir/dtype.ts";
import type { TensorType } from "../../ir/type.ts";
import { staticShape } from "../../ir/type.ts";
import type { NodeInfo } from "../../ir/nodeInfo.ts";
import { versionOf } from "./mil/opTable.ts";
import type { CoremlEmitter, CoremlRule, MilArgs, MilOpName, MilValue } from "./emitter.ts";

type One = readonly [MilValue];
type Two = readonly [MilValue, MilValue];

/** Operators of one argument `x` and nothing else. */
type UnaryName = { [N in MilOpName]: Record<"x", MilValue> extends MilArgs[N] ? N : never }[MilOpName];
type BinaryName = { [N in MilOpName]: Record<"x" | "y", MilValue> extends MilArgs[N] ? N : never }[MilOpName];

/** MIL tensors have at most five dimensions. */
export const MAX_RANK = 5;

/** Limits that hold for every operator: rank, empty tensors, and element types that Core ML has no arithmetic for. */
export function generalLimits(node: NodeInfo<unknown>): true | string {
  for (const type of [...node.inputs, ...node.outputs]) {
    const reason = whyNotHeld(type);
    if (reason !== undefined) return reason;
  }
  return true;
}

/** Why a package can neither take, hold nor give a value of the type; undefined where it can. Such values stay on the host. */
export function whyNotHeld({ dtype, shape }: TensorType): string | undefined {
  if (shape.length > MAX_RANK)
    return `Core ML tensors have at most ${MAX_RANK} dimensions, this one has ${shape.length}`;
  if (shape.includes(0)) return "Core ML has no tensors without elements";
  return whyNotElement(dtype);
}

/** Element types whose numbers int32, fp16 and fp32 would cut or wrap. */
export function whyNotElement(dtype: ElementType): string | undefined {
  if (dtype === "c64") return "Core ML has no complex numbers";
  if (dtype === "f64") return "Core ML has no float64 arithmetic";
  return dtype === "i64" || dtype === "u32" ? `Core ML has no ${dtype} arithmetic` : undefined;
}

/** For what can leave its type: whole numbers shorter than Core ML's own would go on counting in int32. */
export function wrapsAsInt32<Attrs>(node: NodeInfo<Attrs>): true | string {
  const narrow = node.outputs.find(({ dtype }) => !isPacked(dtype) && isInteger(dtype) && dtypeBytes(dtype) < 4);
  return narrow === undefined
    ? true
    : `Core ML holds whole numbers as int32, which does not wrap at the size of ${narrow.dtype}`;
}

const firstReason = (...answers: readonly (true | string)[]): true | string => answers.find((a) => a !== true) ?? true;

/** Whole numbers where the operator's own table allows int32. */
function numbersFor(what: UnaryName, type: TensorType | undefined): true | string {
  if (type === undefined || isFloatType(type.dtype) || isPacked(type.dtype)) return true;
  const argument = versionOf(what, "CoreML9")?.args.find((a) => a.name === "x");
  const wanted = type.dtype === "bool" ? "bool" : "int32";
  return argument?.types?.includes(wanted) === true
    ? true
    : `Core ML's ${what} takes floats, this operand is ${type.dtype}`;
}

/** `milUnary("sin")`: one operator on one float operand. */
export const milUnary = (type: UnaryName): CoremlRule<One, unknown> => ({
  kind: "native",
  emit: (e, [x]) => e.op(type, { x }),
  when: (node) =>
    firstReason(generalLimits(node), numbersFor(type, node.inputs[0]), type === "abs" ? wrapsAsInt32(node) : true),
});

/** `milBinary("add")`: element-wise with NumPy broadcasting, both operands of one type. */
export const milBinary = (type: BinaryName): CoremlRule<Two, unknown> => ({
  kind: "native",
  emit: (e, [x, y]) => e.op(type, { x, y }),
  when: (node) => {
    const boolean = node.inputs.some((t) => t.dtype === "bool") && !type.startsWith("logical_");
    return firstReason(
      generalLimits(node),
      boolean ? `${type} takes numbers, this operand is bool: cast first` : true,
      type === "maximum" || type === "minimum" ? true : wrapsAsInt32(node),
    );
  },
});

/** `e => …` with the limits that every operator has, and more of one's own. */
export const milNative = <Inputs, Attrs>(
  emit: CoremlRule<Inputs, Attrs>["emit"],
  when: (node: NodeInfo<Attrs>) => true | string = () => true,
): CoremlRule<Inputs, Attrs> => ({
  kind: "native",
  emit,
  when: (node) => firstReason(generalLimits(node), when(node)),
});

// Recipes of more than one operator.

/** Stretches `x` (of IR type `from`) to `shape`: unit axes in front, then `tile`. */
export function milExpand(e: CoremlEmitter, x: MilValue, from: TensorType, shape: readonly number[]): MilValue {
  const own = staticShape(from, "expand");
  const missing = shape.length - own.length;
  const aligned = [...new Array<number>(missing).fill(1), ...own];
  const ranked = missing > 0 ? e.op("expand_dims", { x, axes: aligned.slice(0, missing).map((_, i) => i) }) : x;
  const reps = shape.map((size, i) => (size === aligned[i] ? 1 : size));
  if (reps.every((rep) => rep === 1)) return ranked === x ? e.op("identity", { x }) : ranked;
  return e.op("tile", { x: ranked, reps });
}

/** A weight as a plain tensor; a computed value as it is. */
export const milPlain = (e: CoremlEmitter, x: MilValue): MilValue => (x.weight === undefined ? x : e.dense(x));

/**
 * x / y of int32, towards zero, by zero 0: what `real_div` does with whole numbers is nowhere said, `floor_div` rounds down. One more
 * is right where a rest is left whose sign is not that of x. x − q·y may wrap in between and is exact all the same.
 */
export function milDivideWhole(e: CoremlEmitter, x: MilValue, y: MilValue): MilValue {
  const divides = e.op("not_equal", { x: y, y: 0 });
  const q = e.op("floor_div", { x, y: e.op("select", { cond: divides, a: y, b: 1 }) });
  const rest = e.op("sub", { x, y: e.op("mul", { x: q, y }) });
  const signs = e.op("logical_xor", { x: negative(e, x), y: negative(e, rest) });
  const low = e.op("logical_and", { x: signs, y: e.op("not_equal", { x: rest, y: 0 }) });
  return e.op("mul", { x: e.op("add", { x: q, y: e.cast(low, "int32") }), y: e.cast(divides, "int32") });
}

/** The remainder of milDivideWhole: the sign of x, by zero 0. */
export function milModWhole(e: CoremlEmitter, x: MilValue, y: MilValue): MilValue {
  const rest = e.op("sub", { x, y: e.op("mul", { x: milDivideWhole(e, x, y), y }) });
  return e.op("mul", { x: rest, y: e.cast(e.op("not_equal", { x: y, y: 0 }), "int32") });
}

/** The remainder of floats with the sign of x: `mod` has that of y, and of an infinite y it makes no number. */
export function milMod(e: CoremlEmitter, x: MilValue, y: MilValue): MilValue {
  const by = e.op("abs", { x: y });
  const size = e.op("mod", { x: e.op("abs", { x }), y: by });
  const rest = e.op("select", { cond: negative(e, x), a: e.op("mul", { x: size, y: -1 }), b: size });
  const all = e.op("add", { x, y: e.op("sub", { x, y: x }) });
  return e.op("select", { cond: e.op("equal", { x: by, y: Infinity }), a: all, b: rest });
}

/**
 * x^y of int32 by repeated squares, a step for each bit of the exponent, so that large powers wrap as products do: how `pow` rounds
 * whole numbers is nowhere said. Under a negative exponent only 1 and −1 stay whole; everything else is cut off to 0.
 */
export function milPowerWhole(e: CoremlEmitter, x: MilValue, y: MilValue): MilValue {
  const vanishes = e.op("logical_and", {
    x: negative(e, y),
    y: e.op("not_equal", { x: e.op("abs", { x }), y: 1 }),
  });
  // Of the shape of both: a choice has no more elements than its branches.
  let base = e.op("add", { x, y: e.op("mul", { x: y, y: 0 }) });
  let rest = e.op("abs", { x: y });
  let power = e.cast(e.op("logical_not", { x: vanishes }), "int32");
  for (let bit = 0; bit < EXPONENT_BITS; bit++) {
    const odd = e.op("not_equal", { x: e.op("mod", { x: rest, y: 2 }), y: 0 });
    power = e.op("mul", { x: power, y: e.op("select", { cond: odd, a: base, b: 1 }) });
    base = e.op("mul", { x: base, y: base });
    rest = e.op("floor_div", { x: rest, y: 2 });
  }
  return power;
}

/** Of an int32 without its sign. */
const EXPONENT_BITS = 31;

const negative = (e: CoremlEmitter, x: MilValue): MilValue => e.op("less", { x, y: 0 });
