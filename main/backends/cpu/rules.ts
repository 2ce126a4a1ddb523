/** The `cpu` entry of ops that are one native kernel: which element types the kernel takes, and how attributes become parameters. */
import { invariant } from "../../diagnostics/errors.ts";
import type { AttrRecord } from "../../ir/attributes.ts";
import type { DType, ElementType } from "../../ir/dtype.ts";
import { PACKED_TYPES, isFloat, isPacked, plainDType } from "../../ir/dtype.ts";
import type { NodeInfo } from "../../ir/nodeInfo.ts";
import { like } from "../../ir/type.ts";
import type { CpuEmitter, CpuValue, KernelParams } from "./emitter.ts";
import type { CpuKernel } from "./kernels.ts";

/** Inputs of any op; missing optional ones are undefined. */
type Operands = readonly (CpuValue | undefined)[];

/** Structurally the native `Lowering<CpuEmitter, …>` of main/ops, which this folder must not import. */
interface Entry<Attrs> {
  readonly kind: "native";
  readonly emit: (
    e: CpuEmitter,
    inputs: Operands,
    attrs: Attrs,
    node: NodeInfo<Attrs>,
  ) => CpuValue | readonly CpuValue[];
  readonly when: (node: NodeInfo<Attrs>) => true | string;
}

/** Computed in f32: half floats are cast around the kernel. */
export const FLOATS: readonly ElementType[] = ["f32", "f16", "bf16"];
/** Kernels that have a loop in double precision beside it. */
export const REALS: readonly ElementType[] = [...FLOATS, "f64"];
export const NUMBERS: readonly ElementType[] = [...REALS, "i32", "u8", "i8", "i16", "u32", "i64"];
export const COMPARABLE: readonly ElementType[] = [...NUMBERS, "bool"];
/** Data is only moved. */
export const MOVABLE: readonly ElementType[] = [...COMPARABLE, "c64"];
/** What matrix kernels read in place: packed types without integer kernels are unpacked exactly and multiplied in f32. */
export const WEIGHTS: readonly ElementType[] = [...FLOATS, ...PACKED_TYPES];

export const castTo = (e: CpuEmitter, value: CpuValue, dtype: DType): CpuValue =>
  value.type.dtype === dtype ? value : e.one("cast", [value], like(value.type, dtype));

/** Floats of any type, packed ones too, as f64; whatever else as it is. */
export function inDouble(e: CpuEmitter, value: CpuValue): CpuValue {
  const { dtype } = value.type;
  if (isPacked(dtype)) return castTo(e, e.one("dequantize", [value], like(value.type, "f32")), "f64");
  return isFloat(dtype) ? castTo(e, value, "f64") : value;
}

/** Kernels whose operands are all f32 or all f64: as soon as one is f64 they compute in that, and the result is rounded to its own. */
export const inOneType = <Attrs>(kernel: CpuKernel, params: (attrs: Attrs) => KernelParams): Entry<Attrs> => ({
  kind: "native",
  emit: (e, inputs, attrs, { outputs }) => {
    const given = inputs.filter((value) => value !== undefined);
    if (given.every((value) => value.type.dtype !== "f64")) return e.instr(kernel, given, outputs, params(attrs));
    const wide = given.map((value) => inDouble(e, value));
    const types = outputs.map((type) => like(type, "f64"));
    const results = e.instr(kernel, wide, types, params(attrs));
    return results.map((result, i) => castTo(e, result, plainDType(outputs[i]?.dtype ?? "f64", kernel)));
  },
  when: (node) => takesTypes(kernel, REALS, node),
});

export interface CpuOptions<Attrs> {
  readonly params?: (attrs: Attrs, node: NodeInfo<Attrs>) => KernelParams;
  /** Element types of all inputs, or of each (the last holds for the rest). */
  readonly takes?: readonly ElementType[] | readonly (readonly ElementType[])[];
  readonly when?: (node: NodeInfo<Attrs>) => true | string;
}

const perInput = (
  takes: readonly ElementType[] | readonly (readonly ElementType[])[],
  i: number,
): readonly ElementType[] => {
  const entry = takes[Math.min(i, takes.length - 1)];
  return typeof entry === "object" ? entry : (takes as readonly ElementType[]);
};

/** True, or the first operand that the kernel cannot read. */
export function takesTypes<Attrs>(
  kernel: string,
  takes: readonly ElementType[] | readonly (readonly ElementType[])[],
  node: NodeInfo<Attrs>,
): true | string {
  for (const [i, type] of node.inputs.entries()) {
    const accepted = perInput(takes, i);
    if (!accepted.includes(type.dtype))
      return `the CPU kernel ${kernel} takes ${accepted.join(", ")}; operand ${i} is ${type.dtype}`;
  }
  return true;
}

/** One instruction; outputs are the node's. */
export const cpuKernel = <Attrs>(
  kernel: CpuKernel | ((attrs: Attrs) => CpuKernel),
  options: CpuOptions<Attrs> = {},
): Entry<Attrs> => {
  const nameOf = (attrs: Attrs): CpuKernel => (typeof kernel === "function" ? kernel(attrs) : kernel);
  return {
    kind: "native",
    emit: (e, inputs, attrs, node) => {
      const given = inputs.filter((value) => value !== undefined);
      return e.instr(nameOf(attrs), given, node.outputs, options.params?.(attrs, node) ?? {});
    },
    when: (node) => {
      const types = takesTypes(nameOf(node.attrs), options.takes ?? FLOATS, node);
      return types === true ? (options.when?.(node) ?? true) : types;
    },
  };
};
// How the CPU backend's own ops lay out their operands: the fusions write the layout, the op files read it.

/** Of `linear_block`. Its operands: x, gamma (with a norm), residual (with one), then each weight and its bias. */
export interface LinearBlockAttrs {
  /** Of the RMS norm of x; absent without a norm. */
  readonly eps?: number;
  readonly residual: boolean;
  /** Products come in pairs, gate and up: a result is silu(gate) · up. */
  readonly gated: boolean;
  /** For each product 1 if its weight is followed by a bias, else 0. */
  readonly biases: readonly number[];
}

export interface LinearProduct<T> {
  readonly weight: T;
  readonly bias: T | undefined;
}

/** The same by name. */
export interface LinearBlock<T> {
  readonly x: T;
  readonly norm: { readonly gamma: T; readonly eps: number } | undefined;
  readonly residual: T | undefined;
  readonly gated: boolean;
  readonly products: readonly LinearProduct<T>[];
}

/** How many operands a node with these attributes has. */
export const linearBlockOperands = ({ eps, residual, biases }: LinearBlockAttrs): number =>
  1 + Number(eps !== undefined) + Number(residual) + biases.length + biases.reduce((sum, bias) => sum + bias, 0);

/** The attributes were checked when the node was built. */
export function openLinearBlock<T>(operands: readonly T[], attrs: AttrRecord): LinearBlock<T> {
  const { eps, residual, gated, biases } = attrs;
  let at = 0;
  const next = (): T => {
    const value = operands[at++];
    invariant(value !== undefined, "[linear_block] an operand is missing");
    return value;
  };
  return {
    x: next(),
    norm: typeof eps === "number" ? { gamma: next(), eps } : undefined,
    residual: residual === true ? next() : undefined,
    gated: gated === true,
    products: (Array.isArray(biases) ? biases : []).map((bias) => ({
      weight: next(),
      bias: bias === 1 ? next() : undefined,
    })),
  };
}

export const closeLinearBlock = <T>({
  x,
  norm,
  residual,
  gated,
  products,
}: LinearBlock<T>): { readonly operands: readonly T[]; readonly attrs: LinearBlockAttrs } => ({
  operands: [
    x,
    ...(norm === undefined ? [] : [norm.gamma]),
    ...(residual === undefined ? [] : [residual]),
    ...products.flatMap(({ weight, bias }) => (bias === undefined ? [weight] : [weight, bias])),
  ],
  attrs: {
    ...(norm === undefined ? {} : { eps: norm.eps }),
    residual: residual !== undefined,
    gated,
    biases: products.map(({ bias }) => (bias === undefined ? 0 : 1)),
  },
});
