/**
 * Every tensor type a GGUF file can name: its number, block size, and which of our element types it
 * is. Numbers and sizes are ggml's own (an oracle test compares the whole table with the library).
 */
import type { ElementType } from "../../ir/dtype.ts";
import { PACKED, PACKED_TYPES } from "../../quant/registry.ts";

export interface GgmlType {
  readonly id: number;
  /** As ggml writes it, in lower case: "q4_k". */
  readonly name: string;
  /** Elements of a block, along the first (fastest) dimension. */
  readonly blockSize: number;
  /** 0 for a type that is not known here: the bytes of its tensors follow from their offsets. */
  readonly blockBytes: number;
  /**
   * The element type the graph knows it by; undefined when a file with it can be inspected but not
   * run.
   */
  readonly element: ElementType | undefined;
  /** Whose type it is, where it is none of ggml's (foreignTypes.ts). */
  readonly from?: string;
}

const type = (id: number, name: string, blockSize: number, blockBytes: number, element?: ElementType): GgmlType => ({
  id,
  name,
  blockSize,
  blockBytes,
  element,
});

const PACKED_ENTRIES = PACKED_TYPES.map((name) => {
  const { ggml, elements, bytes } = PACKED[name];
  return type(ggml, name, elements, bytes, name);
});

/** Plain types, and q8_1, which is a form of activations: no file carries it. */
const OTHERS = [
  type(0, "f32", 1, 4, "f32"),
  type(1, "f16", 1, 2, "f16"),
  type(9, "q8_1", 32, 36),
  type(24, "i8", 1, 1, "i8"),
  type(25, "i16", 1, 2, "i16"),
  type(26, "i32", 1, 4, "i32"),
  type(27, "i64", 1, 8, "i64"),
  type(28, "f64", 1, 8, "f64"),
  type(30, "bf16", 1, 2, "bf16"),
];

export const GGML_TYPES: readonly GgmlType[] = [...PACKED_ENTRIES, ...OTHERS].toSorted((a, b) => a.id - b.id);

const BY_ID: ReadonlyMap<number, GgmlType> = new Map(GGML_TYPES.map((t) => [t.id, t]));
const BY_NAME: ReadonlyMap<string, GgmlType> = new Map(GGML_TYPES.map((t) => [t.name, t]));

export const ggmlTypeById = (id: number): GgmlType | undefined => BY_ID.get(id);
export const ggmlTypeByName = (name: string): GgmlType | undefined => BY_NAME.get(name.toLowerCase());

/** Bytes of `elements` values laid out in whole blocks. */
export const packedBytes = (type: GgmlType, elements: number): number => (elements / type.blockSize) * type.blockBytes;

/** `general.file_type` (llama.cpp's ftype): the name of a whole file's mix. */
const FILE_TYPES: ReadonlyMap<number, string> = new Map([
  [0, "F32"],
  [1, "F16"],
  [2, "Q4_0"],
  [3, "Q4_1"],
  [7, "Q8_0"],
  [8, "Q5_0"],
  [9, "Q5_1"],
  [10, "Q2_K"],
  [11, "Q3_K_S"],
  [12, "Q3_K_M"],
  [13, "Q3_K_L"],
  [14, "Q4_K_S"],
  [15, "Q4_K_M"],
  [16, "Q5_K_S"],
  [17, "Q5_K_M"],
  [18, "Q6_K"],
  [19, "IQ2_XXS"],
  [20, "IQ2_XS"],
  [21, "Q2_K_S"],
  [22, "IQ3_XS"],
  [23, "IQ3_XXS"],
  [24, "IQ1_S"],
  [25, "IQ4_NL"],
  [26, "IQ3_S"],
  [27, "IQ3_M"],
  [28, "IQ2_S"],
  [29, "IQ2_M"],
  [30, "IQ4_XS"],
  [31, "IQ1_M"],
  [32, "BF16"],
  [36, "TQ1_0"],
  [37, "TQ2_0"],
  [38, "MXFP4_MOE"],
  [39, "NVFP4"],
  [40, "Q1_0"],
  [41, "Q2_0"],
]);
export const fileTypeName = (ftype: number): string | undefined => FILE_TYPES.get(ftype);
export const fileTypeNumber = (name: string): number | undefined =>
  [...FILE_TYPES].find(([, known]) => known === name)?.[0];
