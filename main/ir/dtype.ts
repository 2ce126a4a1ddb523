/**
 * Element types: plain dtypes, and the packed (block-quantised) types a weight keeps through the
 * whole compiler. The packed types come from main/quant/registry.ts.
 */
import { WorkbenchError } from "../diagnostics/errors.ts";
import { PACKED, PACKED_TYPES } from "../quant/registry.ts";
import type { PackedType } from "../quant/registry.ts";

export const DTYPES = ["bool", "u8", "i8", "i16", "bf16", "f16", "u32", "i32", "i64", "f32", "f64", "c64"] as const;
export type DType = (typeof DTYPES)[number];

export { PACKED_TYPES };
export type { PackedType };

export type ElementType = DType | PackedType;

const BYTES: { readonly [D in DType]: number } = {
  bool: 1,
  u8: 1,
  i8: 1,
  i16: 2,
  bf16: 2,
  f16: 2,
  u32: 4,
  i32: 4,
  i64: 8,
  f32: 4,
  f64: 8,
  c64: 8,
};

export interface BlockLayout {
  /** Elements in a block, along the last axis. */
  readonly elements: number;
  readonly bytes: number;
}

const PACKED_SET: ReadonlySet<string> = new Set(PACKED_TYPES);
const DTYPE_SET: ReadonlySet<string> = new Set(DTYPES);

export const isPacked = (type: ElementType): type is PackedType => PACKED_SET.has(type);
export const isDType = (type: string): type is DType => DTYPE_SET.has(type);
/** What the CPU engine unpacks: packed types, and floats of up to 32 bits. */
export const isUnpacked = (type: ElementType): boolean =>
  isPacked(type) || type === "f32" || type === "f16" || type === "bf16";
export const isElementType = (type: string): type is ElementType => DTYPE_SET.has(type) || PACKED_SET.has(type);

/** A plain dtype is a block of one. */
export const blockLayout = (type: ElementType): BlockLayout =>
  isPacked(type) ? PACKED[type] : { elements: 1, bytes: BYTES[type] };

export const dtypeBytes = (type: DType): number => BYTES[type];

const FLOATS: ReadonlySet<ElementType> = new Set<ElementType>(["bf16", "f16", "f32", "f64"]);
const INTEGERS: ReadonlySet<ElementType> = new Set<ElementType>(["u8", "i8", "i16", "u32", "i32", "i64"]);
export const isFloat = (type: ElementType): boolean => FLOATS.has(type);
/** Whether numbers of the type have neighbours to differentiate by. */
export const isContinuous = (type: ElementType): boolean => isFloat(type) || type === "c64";
export const isInteger = (type: ElementType): boolean => INTEGERS.has(type);

/** From the least to behind the largest number. */
const RANGES: { readonly [D in DType]?: readonly [least: number, end: number] } = {
  u8: [0, 2 ** 8],
  i8: [-(2 ** 7), 2 ** 7],
  i16: [-(2 ** 15), 2 ** 15],
  u32: [0, 2 ** 32],
  i32: [-(2 ** 31), 2 ** 31],
  i64: [-(2 ** 63), 2 ** 63],
};

/** What of these numbers a type of whole numbers cannot hold: a device would cut or wrap it. */
export function unheld(type: ElementType, numbers: ArrayLike<number>): number | undefined {
  const [least, end] = (isPacked(type) ? undefined : RANGES[type]) ?? [];
  if (least === undefined || end === undefined) return undefined;
  for (let i = 0; i < numbers.length; i++) {
    const number = numbers[i] ?? 0;
    if (!Number.isInteger(number) || number < least || number >= end) return number;
  }
  return undefined;
}

/** True if a cast to `via` keeps every value of the float type `from`. */
export const keepsValues = (from: DType, via: DType): boolean =>
  from === via || (isFloat(from) && (via === "f64" || (via === "f32" && from !== "f64")));

/** The plain dtype, or an IR_TYPE error that names its source. */
export function plainDType(type: ElementType, source: string): DType {
  if (isPacked(type))
    throw new WorkbenchError("IR_TYPE", `[${source}] operand is packed: got ${type}, expected a plain dtype`, {
      hint: "Only linear, gather and dequantize take packed weights; insert dequantize first.",
    });
  return type;
}

const DTYPE_KINDS = {
  floats: isFloat,
  "whole numbers": isInteger,
  bool: (type: ElementType) => type === "bool",
  numbers: (type: ElementType) => isFloat(type) || isInteger(type),
  "numbers or bool": (type: ElementType) => isFloat(type) || isInteger(type) || type === "bool",
} as const;

/** The plain dtype where it is one of a kind, or an IR_TYPE error that names its source. */
export function dtypeAmong(kind: keyof typeof DTYPE_KINDS, type: ElementType, source: string): DType {
  const dtype = plainDType(type, source);
  if (!DTYPE_KINDS[kind](dtype)) {
    const [how, hint] =
      dtype === "c64" ? [", which from_complex makes of it", "Insert from_complex."] : ["", "Insert a cast."];
    throw new WorkbenchError("IR_TYPE", `[${source}] operand: got ${dtype}, expected ${kind}${how}`, { hint });
  }
  return dtype;
}
