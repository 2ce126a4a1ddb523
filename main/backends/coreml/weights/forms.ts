/**
 * How a model weight is stored in a package: which `constexpr` form each GGUF type takes under
 * which profile.
 *
 * - `gpu`: blockwise codes with fp16 scales, packed as in the file or nearly so. Types with a
 *   minimum per block (Q4_1, Q4_K, Q5_1, Q5_K) are a centred split, w = s·(q − c) + r: symmetric
 *   codes and a small fp16 matrix r per block, because a float offset of
 *   `constexpr_blockwise_shift_scale` has never been seen to work on a device. Types of whole codes
 *   (main/quant/coded.ts: IQ4_NL, MXFP4, the ternary and IQ types, Q3_K, Q8_K …) are int4 or int8
 *   codes with a scale for each of their groups. Q2_K has no mapping and is plain floats.
 * - `ane`: fp16, decompressed at export. The Neural Engine takes no per-block scales.
 * - `exact`: fp32 scales and offsets: the file's own float32 values to 1e-7, for CPU and GPU.
 * - `f32`: fp32, unpacked at export: the file's own float32 values, with nothing left to unpack. Large.
 *
 * Where a target asks for a palette, matrices that would be plain fp16 are places in tables of fp16 values (palette.ts). The
 * Neural Engine takes tables of a tensor or of a group of output channels.
 */
import type { ElementType, PackedType } from "../../../ir/dtype.ts";
import { PACKED_TYPES, isPacked } from "../../../ir/dtype.ts";
import type { HeldBytes } from "../../../ir/heldBytes.ts";
import { PACKED } from "../../../quant/registry.ts";
import type { PrecisionPolicy } from "../../../ir/precision.ts";
import type { MilDtype, MilOpset } from "../mil/types.ts";
import { MIL_DTYPES, elementCount } from "../mil/types.ts";

export const WEIGHT_PROFILES = ["gpu", "ane", "exact", "f32"] as const;
export type WeightProfile = (typeof WEIGHT_PROFILES)[number];

/**
 * In which floats a program computes: its weights' profile decides, here and nowhere else. None is
 * mixed.
 */
export const PROFILE_PRECISION = { gpu: "f16", ane: "f16", exact: "f32", f32: "f32" } as const satisfies Readonly<
  Record<WeightProfile, Exclude<PrecisionPolicy, "mixed">>
>;

/** Element type of a program's float arithmetic and of its plain weights. */
export const floatOf = (profile: WeightProfile): "fp16" | "fp32" =>
  PROFILE_PRECISION[profile] === "f32" ? "fp32" : "fp16";

/** Whether packed weights stay packed. */
export const keepsPacked = (profile: WeightProfile): boolean => profile === "gpu" || profile === "exact";

/** Whether caches are Core ML states: only where that works (f16, CoreML8), and for the Neural Engine only where it is asked for. */
export const keepsStates = (profile: WeightProfile, opset: MilOpset, asked: boolean): boolean =>
  (opset === "CoreML8" || opset === "CoreML9") && (profile === "gpu" || (profile === "ane" && asked));

/** Bits of a place in a table. */
export const PALETTE_BITS = [4, 6, 8] as const;
export type PaletteBits = (typeof PALETTE_BITS)[number];

/** How matrices become a palette. */
export interface PaletteWish {
  readonly bits: PaletteBits;
  /** One table and places in bytes, which is all that there is before CoreML8. */
  readonly inBytes: boolean;
}

export type WeightForm =
  | { readonly kind: "plain"; readonly dtype: "fp16" | "fp32" }
  /** table[place]: a table of 2^bits fp16 values for each `perTable` weights. */
  | {
      readonly kind: "palette";
      readonly bits: PaletteBits;
      readonly perTable: number;
      /** Rows that share a table; undefined: all of them. */
      readonly rows: number | undefined;
      readonly inBytes: boolean;
    }
  /** scale · (codes − offset); without offset it is 0. */
  | {
      readonly kind: "blockwise";
      readonly codes: "int4" | "int8" | "uint8" | "uint4";
      readonly block: number;
      readonly scale: "fp16" | "fp32";
      readonly offset?: "uint4" | "fp32";
    }
  /** scale · codes + rest, where rest is one number per block and is applied by the consumer. */
  | { readonly kind: "split"; readonly codes: "int4" | "int8"; readonly block: number };

/** A value stored for a weight, as a suffix of its record's name. */
export type WeightPart = "data" | "scale" | "offset" | "rest" | "table";

export interface PartInfo {
  readonly part: WeightPart;
  readonly dtype: MilDtype;
  readonly shape: readonly number[];
}

const BLOCKS: { readonly [T in PackedType]?: number } = {
  q4_0: 32,
  q4_1: 32,
  q5_0: 32,
  q5_1: 32,
  q8_0: 32,
  q4_k: 32,
  q5_k: 32,
  q6_k: 16,
};

/** Packed types with a mapping of their own; those of whole codes share one. */
export const MAPPED_TYPES: readonly PackedType[] = Object.keys(BLOCKS) as PackedType[];

/** Weights that a package can hold. */
export const STORED_TYPES: readonly ElementType[] = ["f32", "f16", "bf16", ...PACKED_TYPES, "i32"];

export function formFor(type: ElementType, profile: WeightProfile): WeightForm {
  switch (type) {
    case "f32":
    case "f16":
    case "bf16":
    case "f64":
      return plain(profile);
    // Tables of whole numbers are floats in the file: exact up to 2^24.
    case "i32":
      return { kind: "plain", dtype: "fp32" };
    case "q8_0":
    case "q5_0":
    case "q6_k":
      return packed(type, profile, (scale, block) => ({ kind: "blockwise", codes: "int8", block, scale }));
    case "q4_0":
      return packed(type, profile, (scale, block) => ({
        kind: "blockwise",
        codes: "uint4",
        block,
        scale,
        offset: "uint4",
      }));
    case "q4_1":
    case "q4_k":
      return withMinimum(type, profile, "uint4", "int4");
    case "q5_1":
    case "q5_k":
      return withMinimum(type, profile, "uint8", "int8");
    default:
      return codedForm(type, profile);
  }
}

/** Of codes up to 7 in size both signs fit into four bits. */
function codedForm(type: ElementType, profile: WeightProfile): WeightForm {
  const coded = isPacked(type) ? PACKED[type].coded : undefined;
  if (coded === undefined || !keepsPacked(profile)) return plain(profile);
  const scale = floatOf(profile);
  return { kind: "blockwise", codes: coded.largest <= 7 ? "int4" : "int8", block: coded.group, scale };
}

const plain = (profile: WeightProfile): WeightForm => ({ kind: "plain", dtype: floatOf(profile) });

function packed(
  type: PackedType,
  profile: WeightProfile,
  make: (scale: "fp16" | "fp32", block: number) => WeightForm,
): WeightForm {
  return keepsPacked(profile) ? make(floatOf(profile), BLOCKS[type] ?? 32) : plain(profile);
}

function withMinimum(
  type: PackedType,
  profile: WeightProfile,
  whole: "uint4" | "uint8",
  centred: "int4" | "int8",
): WeightForm {
  const block = BLOCKS[type] ?? 32;
  if (!keepsPacked(profile)) return plain(profile);
  return profile === "exact"
    ? { kind: "blockwise", codes: whole, block, scale: "fp32", offset: "fp32" }
    : { kind: "split", codes: centred, block };
}

/** Output channels that share a table: Apple's guide calls 8 or 16 accurate and still fast. */
const TABLE_ROWS = 16;
/** Smaller weights stay as they are. */
const LEAST_PALETTE = 1 << 13;

/** The form of a weight of a package with this profile; with a palette, of the matrices that would be plain fp16. */
export function storedForm(
  { type, shape }: { readonly type: ElementType; readonly shape: readonly number[] },
  profile: WeightProfile,
  palette?: PaletteWish,
): WeightForm {
  const form = formFor(type, profile);
  const isHalf = form.kind === "plain" && form.dtype === "fp16";
  return (isHalf && palette !== undefined ? paletteForm(shape, palette) : undefined) ?? form;
}

function paletteForm(shape: readonly number[], { bits, inBytes }: PaletteWish): WeightForm | undefined {
  const count = elementCount(shape);
  const [rows = 1, columns = 1] = shape;
  // Places of a row must fill whole bytes where a writer comes row by row.
  if (shape.length < 2 || count < LEAST_PALETTE || !Number.isInteger((count * bits) / 8)) return undefined;
  const perTable = TABLE_ROWS * columns;
  const tableBits = 16 * 2 ** bits;
  // Tables must stay small beside the places.
  const grouped = !inBytes && shape.length === 2 && rows % TABLE_ROWS === 0 && 4 * tableBits <= perTable * bits;
  return grouped
    ? { kind: "palette", bits, perTable, rows: TABLE_ROWS, inBytes }
    : { kind: "palette", bits, perTable: count, rows: undefined, inBytes };
}

/** What is stored for a [rows, columns] weight of a form. Weights of another rank are plain, or have one table. */
export function partsOf(form: WeightForm, shape: readonly number[]): readonly PartInfo[] {
  if (form.kind === "plain") return [{ part: "data", dtype: form.dtype, shape }];
  if (form.kind === "palette") return paletteParts(form, shape);
  const columns = shape.at(-1) ?? 1;
  const perBlock = [...shape.slice(0, -1), columns / form.block];
  const data: PartInfo = { part: "data", dtype: form.codes, shape };
  if (form.kind === "split")
    return [data, { part: "scale", dtype: "fp16", shape: perBlock }, { part: "rest", dtype: "fp16", shape: perBlock }];
  const scale: PartInfo = { part: "scale", dtype: form.scale, shape: perBlock };
  return form.offset === undefined
    ? [data, scale]
    : [data, scale, { part: "offset", dtype: form.offset, shape: perBlock }];
}

export type PaletteForm = Extract<WeightForm, { kind: "palette" }>;

function paletteParts(form: PaletteForm, shape: readonly number[]): readonly PartInfo[] {
  const { bits, inBytes, perTable } = form;
  const [count, size] = [elementCount(shape), 2 ** bits];
  if (inBytes)
    return [
      { part: "data", dtype: "uint8", shape: [(count * bits) / 8] },
      { part: "table", dtype: "fp16", shape: [size] },
    ];
  const groups = shape.map((_, axis) => (axis === 0 ? count / perTable : 1));
  return [
    { part: "data", dtype: `uint${bits}`, shape },
    // The last axis: a table of vectors would have longer ones.
    { part: "table", dtype: "fp16", shape: [...groups, size, 1] },
  ];
}

/** Bits per weight of a form. */
export function bitsPerWeight(form: WeightForm): number {
  if (form.kind === "plain") return MIL_DTYPES[form.dtype].bits;
  if (form.kind === "palette") return form.bits + (16 * 2 ** form.bits) / form.perTable;
  const perBlock =
    form.kind === "split"
      ? 32
      : MIL_DTYPES[form.scale].bits + (form.offset === undefined ? 0 : MIL_DTYPES[form.offset].bits);
  return MIL_DTYPES[form.codes].bits + perBlock / form.block;
}

/** Of a package with this profile, and with a palette where there is one. */
export const heldInPackage =
  (profile: WeightProfile, palette?: PaletteWish): HeldBytes =>
  ({ type, shape, elements }) =>
    (bitsPerWeight(storedForm({ type, shape }, profile, palette)) * elements) / 8;

/** "int4 centred, fp16 scale and rest per 32": for reports. */
export function formText(form: WeightForm): string {
  switch (form.kind) {
    case "plain":
      return form.dtype;
    case "palette":
      return `${form.bits}-bit palette, ${form.rows === undefined ? "one fp16 table" : `an fp16 table per ${form.rows} rows`}`;
    case "split":
      return `${form.codes} centred, fp16 scale and rest per ${form.block}`;
    case "blockwise":
      return `${form.codes}, ${form.scale} scale${form.offset === undefined ? "" : ` and ${form.offset} offset`} per ${form.block}`;
  }
}
