/**
 * Element types: plain dtypes, and the packed (block-quantised) types a weight keeps through the whole compiler.
 * Sizes and names only; what a block means is told by main/formats/quant.
 */
import { WorkbenchError } from "../diagnostics/errors.ts";

export const DTYPES = ["bool", "u8", "i8", "i16", "bf16", "f16", "u32", "i32", "i64", "f32", "f64", "c64"] as const;
export type DType = (typeof DTYPES)[number];

export const PACKED_TYPES = [
  "q4_0",
  "q4_1",
  "q5_0",
  "q5_1",
  "q8_0",
  "q2_k",
  "q3_k",
  "q4_k",
  "q5_k",
  "q6_k",
  "q8_k",
  "iq4_nl",
] as const;
export type PackedType = (typeof PACKED_TYPES)[number];

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

const BLOCKS: { readonly [P in PackedType]: BlockLayout } = {
  q4_0: { elements: 32, bytes: 18 },
  q4_1: { elements: 32, bytes: 20 },
  q5_0: { elements: 32, bytes: 22 },
  q5_1: { elements: 32, bytes: 24 },
  q8_0: { elements: 32, bytes: 34 },
  q2_k: { elements: 256, bytes: 84 },
  q3_k: { elements: 256, bytes: 110 },
  q4_k: { elements: 256, bytes: 144 },
  q5_k: { elements: 256, bytes: 176 },
  q6_k: { elements: 256, bytes: 210 },
  q8_k: { elements: 256, bytes: 292 },
  iq4_nl: { elements: 32, bytes: 18 },
};

const PACKED_SET: ReadonlySet<string> = new Set(PACKED_TYPES);
const DTYPE_SET: ReadonlySet<string> = new Set(DTYPES);

export const isPacked = (type: ElementType): type is PackedType => PACKED_SET.has(type);
export const isDType = (type: string): type is DType => DTYPE_SET.has(type);
export const isElementType = (type: string): type is ElementType => DTYPE_SET.has(type) || PACKED_SET.has(type);

/** A plain dtype is a block of one. */
export const blockLayout = (type: ElementType): BlockLayout =>
  isPacked(type) ? BLOCKS[type] : { elements: 1, bytes: BYTES[type] };

export const dtypeBytes = (type: DType): number => BYTES[type];

const FLOATS: ReadonlySet<ElementType> = new Set<ElementType>(["bf16", "f16", "f32", "f64"]);
const INTEGERS: ReadonlySet<ElementType> = new Set<ElementType>(["u8", "i8", "i16", "u32", "i32", "i64"]);
export const isFloat = (type: ElementType): boolean => FLOATS.has(type);
export const isInteger = (type: ElementType): boolean => INTEGERS.has(type);

/** The plain dtype, or an IR_TYPE error that names who asked. */
export function plainDType(type: ElementType, who: string): DType {
  if (isPacked(type))
    throw new WorkbenchError("IR_TYPE", `[${who}] operand is packed: got ${type}, expected a plain dtype`, {
      hint: "Only linear, gather and dequantize take packed weights; insert dequantize first.",
    });
  return type;
}

const DTYPE_KINDS = {
  floats: isFloat,
  numbers: (type: ElementType) => isFloat(type) || isInteger(type),
  "numbers or bool": (type: ElementType) => isFloat(type) || isInteger(type) || type === "bool",
} as const;

/** The plain dtype where it is one of a kind, or an IR_TYPE error that names who asked. */
export function dtypeAmong(kind: keyof typeof DTYPE_KINDS, type: ElementType, who: string): DType {
  const dtype = plainDType(type, who);
  if (!DTYPE_KINDS[kind](dtype))
    throw new WorkbenchError("IR_TYPE", `[${who}] operand: got ${dtype}, expected ${kind}`, { hint: "Insert a cast." });
  return dtype;
}
