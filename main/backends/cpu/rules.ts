/** The `cpu` entry of ops that are one native kernel: which element types the kernel takes, and how attributes become parameters. */
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
export const WHOLE: readonly ElementType[] = ["i32", "u8", "i8", "i16", "u32", "i64"];
export const NUMBERS: readonly ElementType[] = [...REALS, ...WHOLE];
export const TRUTH: readonly ElementType[] = ["bool"];
export const COMPARABLE: readonly ElementType[] = [...NUMBERS, "bool"];
/** Data is only moved. */
export const MOVABLE: readonly ElementType[] = [...COMPARABLE, "c64"];
/** What matrix kernels read in place: packed types without integer kernels are unpacked exactly and multiplied in f32. */
export const WEIGHTS: readonly ElementType[] = [...FLOATS, ...PACKED_TYPES];

export const castTo = (e: CpuEmitter, value: CpuValue, dtype: DType): CpuValue =>
  value.type.dtype === dtype ? value : e.one("cast", [value], like(value.type, dtype));

/** Converts floats, packed ones too, to f64; leaves other types. */
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
