/**
 * The steps of `elementwise_region`. A step is a text, "mul 0 3": the CPU's kernel and the values that it reads. Values
 * are counted through: first the operands, then what the steps give. Its fusion writes steps, the op reads them, and its
 * kernel gets them as parameters.
 */
import { WorkbenchError } from "../../diagnostics/errors.ts";
import type { AttrRecord } from "../../ir/attributes.ts";
import type { ElementType } from "../../ir/dtype.ts";
import { isDType } from "../../ir/dtype.ts";
import type { KernelParams } from "./emitter.ts";

export interface RegionAttrs {
  readonly steps: readonly string[];
  /** The values that are results, in their order. */
  readonly results: readonly number[];
}

export interface RegionStep {
  /** A kernel of the CPU; a cast with the type that it gives, "cast_f32". */
  readonly kernel: string;
  readonly reads: readonly number[];
}

/** What the fusion puts into one region at most. */
export const MOST = { steps: 32, operands: 16, results: 8 } as const;

/** The ops that may be steps, each with its kernel and the number of its operands; further ones differ by an attribute. */
const PLAIN: { readonly [op: string]: readonly [kernel: string, operands: number] } = {
  ...Object.fromEntries(
    [
      ...["neg", "abs", "sign", "square", "sqrt", "rsqrt", "reciprocal", "exp", "expm1", "log", "log1p", "sin", "cos"],
      ...["tan", "asin", "acos", "atan", "sinh", "cosh", "asinh", "acosh", "atanh", "tanh", "sigmoid", "silu", "relu"],
      ...["softplus", "erf", "floor", "ceil", "trunc", "round", "logical_not"],
    ].map((op) => [op, [op, 1]]),
  ),
  ...Object.fromEntries(
    ["add", "sub", "mul", "div", "pow", "mod", "atan2", "logical_and", "logical_or", "logical_xor"].map((op) => [
      op,
      [op, 2],
    ]),
  ),
  maximum: ["max", 2],
  minimum: ["min", 2],
  where: ["where", 3],
};

const COMPARISONS = ["eq", "ne", "lt", "le", "gt", "ge"];

/** The kernel of a node that may be a step. */
export function stepKernel(op: string, attrs: AttrRecord): string | undefined {
  const plain = PLAIN[op];
  if (plain !== undefined) return plain[0];
  if (op === "compare") return String(attrs["op"]);
  if (op === "gelu") return attrs["approx"] === true ? "gelu_tanh" : "gelu";
  return op === "cast" ? `cast_${String(attrs["to"])}` : undefined;
}

export interface StepMeaning {
  readonly op: string;
  readonly attrs: AttrRecord;
  readonly operands: number;
}

const MEANINGS: ReadonlyMap<string, StepMeaning> = new Map([
  ...Object.entries(PLAIN).map(([op, [kernel, operands]]) => [kernel, { op, attrs: {}, operands }] as const),
  ...COMPARISONS.map((name) => [name, { op: "compare", attrs: { op: name }, operands: 2 }] as const),
  ["gelu", { op: "gelu", attrs: { approx: false }, operands: 1 }],
  ["gelu_tanh", { op: "gelu", attrs: { approx: true }, operands: 1 }],
]);

function meaningOf(kernel: string): StepMeaning | undefined {
  const to = kernel.startsWith("cast_") ? kernel.slice("cast_".length) : "";
  return isDType(to) ? { op: "cast", attrs: { to }, operands: 1 } : MEANINGS.get(kernel);
}

const refuse = (what: string, got: string, expected: string): WorkbenchError =>
  new WorkbenchError("IR_ATTRIBUTE", `[elementwise_region] ${what}: got ${got}, expected ${expected}`);

/** The steps with what each means, checked for `operands` operands. */
export function readSteps(
  { steps, results }: RegionAttrs,
  operands: number,
): readonly (RegionStep & { readonly meaning: StepMeaning })[] {
  const known = operands + steps.length;
  if (steps.length === 0) throw refuse("steps", "none", "one at least");
  const isResult = (at: number): boolean => at >= operands && at < known;
  if (results.length === 0 || new Set(results).size !== results.length || !results.every(isResult))
    throw refuse("results", results.join(", ") || "none", `different values from ${operands} to ${known - 1}`);
  return steps.map((text, i) => {
    const [kernel = "", ...rest] = text.split(" ");
    const reads = rest.map(Number);
    const meaning = meaningOf(kernel);
    if (meaning === undefined) throw refuse(`step ${i}`, JSON.stringify(text), "an element-wise kernel and its values");
    if (reads.length !== meaning.operands)
      throw refuse(`step ${i}`, JSON.stringify(text), `${meaning.operands} values behind ${kernel}`);
    if (!rest.every((digits) => /^(0|[1-9]\d*)$/.test(digits)) || reads.some((at) => at >= operands + i))
      throw refuse(`step ${i}`, JSON.stringify(text), `values before it, 0 to ${operands + i - 1}`);
    return { kernel, reads, meaning };
  });
}

const isHalf = (type: ElementType | undefined): boolean => type === "f16" || type === "bf16";

/**
 * As the kernel takes them. It computes in f32 where values are half floats: they are widened before a step and its
 * result is rounded, as around single kernels. `types` are those of all values.
 */
export function kernelSteps(attrs: RegionAttrs, types: readonly ElementType[], operands: number): KernelParams {
  const params: Record<string, readonly number[]> = {};
  let count = 0;
  const push = (kernel: string, reads: readonly number[]): number => {
    params[`${count} ${kernel}`] = reads;
    return operands + count++;
  };
  /** Of each value: where it is now, and where it is in f32. */
  const places = Array.from({ length: operands }, (_, i) => i);
  const wide = new Map<number, number>();
  const widened = (value: number): number => {
    const place = places[value] ?? value;
    if (!isHalf(types[value])) return place;
    const found = wide.get(value) ?? push("cast_f32", [place]);
    wide.set(value, found);
    return found;
  };
  readSteps(attrs, operands).forEach(({ kernel, reads, meaning }, i) => {
    const type = types[operands + i];
    const isCast = meaning.op === "cast";
    const made = push(kernel, isCast ? reads.map((value) => places[value] ?? value) : reads.map(widened));
    places.push(isHalf(type) && !isCast ? push(`cast_${type ?? ""}`, [made]) : made);
  });
  return { ...params, results: attrs.results.map((value) => places[value] ?? value) };
}
