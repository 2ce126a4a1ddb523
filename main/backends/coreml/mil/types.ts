/**
 * A MIL program as plain data: what the builder makes, the printer prints, the protobuf layer writes and reads back,
 * the predicted plan judges and the simulator runs. No protobuf object leaves `program.ts`.
 */

/** Element types by their MIL name, with the numbers the two file formats give them. `blob: 0` = never in the weight file. */
export const MIL_DTYPES = {
  bool: { bits: 8, proto: 1, blob: 0 },
  string: { bits: 0, proto: 2, blob: 0 },
  fp16: { bits: 16, proto: 10, blob: 1 },
  fp32: { bits: 32, proto: 11, blob: 2 },
  int8: { bits: 8, proto: 21, blob: 4 },
  int16: { bits: 16, proto: 22, blob: 6 },
  int32: { bits: 32, proto: 23, blob: 14 },
  int4: { bits: 4, proto: 25, blob: 8 },
  uint8: { bits: 8, proto: 31, blob: 3 },
  uint16: { bits: 16, proto: 32, blob: 7 },
  uint32: { bits: 32, proto: 33, blob: 15 },
  uint4: { bits: 4, proto: 35, blob: 11 },
  uint2: { bits: 2, proto: 36, blob: 10 },
  uint1: { bits: 1, proto: 37, blob: 9 },
  uint6: { bits: 6, proto: 38, blob: 13 },
  uint3: { bits: 3, proto: 39, blob: 12 },
} as const;

export type MilDtype = keyof typeof MIL_DTYPES;

export function isMilDtype(text: string): text is MilDtype {
  return Object.hasOwn(MIL_DTYPES, text);
}

/** Operator sets by name: the iOS version that names their operators, and the model version they pair with. */
export const MIL_OPSETS = {
  CoreML5: { ios: 15, specificationVersion: 6, macos: 12 },
  CoreML6: { ios: 16, specificationVersion: 7, macos: 13 },
  CoreML7: { ios: 17, specificationVersion: 8, macos: 14 },
  CoreML8: { ios: 18, specificationVersion: 9, macos: 15 },
  CoreML9: { ios: 26, specificationVersion: 10, macos: 26 },
} as const;

export type MilOpset = keyof typeof MIL_OPSETS;

/** A dimension; `null` is one that is only known when the model runs. */
export type MilDim = number | null;

export interface MilTensorType {
  readonly kind: "tensor";
  readonly dtype: MilDtype;
  readonly shape: readonly MilDim[];
}

export interface MilStateType {
  readonly kind: "state";
  readonly dtype: MilDtype;
  readonly shape: readonly number[];
}

export type MilType = MilTensorType | MilStateType;

/** Contents of a constant: written into the program, or a record of the weight file (by its metadata offset). */
export type MilData =
  | { readonly kind: "numbers"; readonly values: ArrayLike<number> }
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "blob"; readonly offset: number };

export interface MilConstant {
  readonly type: MilTensorType;
  readonly data: MilData;
}

export interface MilNamed {
  readonly name: string;
  readonly type: MilType;
}

/** A value while a program is built: a name with a type, and whether it is known when the model is compiled. */
export interface MilValue extends MilNamed {
  /** Of the function that is built: values with one number are one value. */
  readonly number: number;
  /** `no`: computed; `const`: a const op; `constexpr`: decompressed from constants. */
  readonly constness: "no" | "const" | "constexpr";
  /** Present for small constants, for operators whose output shape depends on them. */
  readonly constant?: MilConstant;
  /** The reference to it, made once: a program names its values many times. */
  readonly bindings: readonly MilBinding[];
  /** Set for model weights: they are planned (`weights.ts`) and only `emitter.linear/rows/dense` know their form. */
  readonly weight?: WeightHandle;
  /** Set for a cache that a function returns piecewise: what lies where along the key axis. */
  readonly cache?: CacheLayout;
}

/** Names a planned weight inside one program. */
export interface WeightHandle {
  readonly name: string;
  readonly shape: readonly number[];
}

/** A functional cache in its pieces: old keys (valid below `past`) and the new ones, which follow them. */
export interface CacheLayout {
  readonly stored: MilValue;
  readonly fresh: MilValue;
  /** Where the fresh keys belong. */
  readonly past: MilValue;
}

export type MilBinding =
  { readonly kind: "name"; readonly name: string } | { readonly kind: "value"; readonly value: MilConstant };

export interface MilOperation {
  /** Operator name, or `const`. */
  readonly type: string;
  /** The op's own name (the `name` attribute). */
  readonly name: string;
  readonly inputs: readonly (readonly [argument: string, bindings: readonly MilBinding[]])[];
  readonly outputs: readonly MilNamed[];
  /** `const` only. */
  readonly value?: MilConstant;
  /** Of `cond` (true, false) and `while_loop` (condition, body). They read outer values by name. */
  readonly blocks?: readonly MilBlock[];
  /** IR nodes this operation computes; empty for plumbing and after reading a package back. */
  readonly origins: readonly number[];
}

export interface MilBlock {
  readonly inputs: readonly MilNamed[];
  readonly operations: readonly MilOperation[];
  readonly outputs: readonly string[];
}

/** Every operation in blocks below, outermost first. */
export function* nestedOperations(op: MilOperation): Generator<MilOperation> {
  for (const block of op.blocks ?? [])
    for (const inner of block.operations) {
      yield inner;
      yield* nestedOperations(inner);
    }
}

export interface MilFunction {
  readonly name: string;
  readonly opset: MilOpset;
  readonly inputs: readonly MilNamed[];
  readonly operations: readonly MilOperation[];
  readonly outputs: readonly string[];
}

export interface MilProgram {
  readonly functions: readonly MilFunction[];
  /** Free text pairs, shown by tools; kept small. */
  readonly buildInfo: Readonly<Record<string, string>>;
}

/** What an optional argument becomes when it is not given (it is always written out). */
export type MilFallback =
  | { readonly kind: "value"; readonly value: number | boolean | string }
  | { readonly kind: "spatial" | "spatialPads"; readonly value: number }
  | { readonly kind: "allAxes" | "zeroBias" | "mustGive" };

export interface MilArgument {
  readonly name: string;
  readonly kind: "tensor" | "tuple" | "state" | "other";
  readonly constant?: true;
  readonly optional?: true;
  readonly types?: readonly MilDtype[];
  /** Arguments with the same letter share one element type. */
  readonly domain?: string;
  readonly fallback?: MilFallback;
}

export interface MilOpVersion {
  readonly since: number;
  readonly args: readonly MilArgument[];
}

export function elementCount(shape: readonly MilDim[]): number {
  let count = 1;
  for (const dim of shape) count *= dim ?? Number.NaN;
  return count;
}

/** Bytes of a packed tensor: sub-byte types are one bit stream without row padding. */
export function packedByteLength(dtype: MilDtype, count: number): number {
  return Math.ceil((count * MIL_DTYPES[dtype].bits) / 8);
}

export function tensorType(dtype: MilDtype, shape: readonly MilDim[]): MilTensorType {
  return { kind: "tensor", dtype, shape };
}

export function isFloat(dtype: MilDtype): boolean {
  return dtype === "fp16" || dtype === "fp32";
}

/** `fp16[1, 64]`, `state fp16[2, 8]`: for messages and tests. */
export function typeText(type: MilType): string {
  const dims = type.shape.map((d) => d ?? "?").join(", ");
  return `${type.kind === "state" ? "state " : ""}${type.dtype}[${dims}]`;
}
