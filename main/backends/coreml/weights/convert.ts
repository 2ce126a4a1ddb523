/**
 * Rows of a GGUF tensor → the arrays of its form, with the rules that keep devices happy: positive
 * scales (codes are mirrored where the file's scale is negative), no zero scale (scale 1 and zero
 * codes instead), fp16 scales multiplied by 2^fold so that they are not subnormal (the consumer
 * multiplies by 2^-fold).
 */
import type { ElementType, PackedType } from "../../../ir/dtype.ts";
import { isPacked } from "../../../ir/dtype.ts";
import { invariant } from "../../../diagnostics/errors.ts";
import { f32ToF16, f16Table, roundToHalf } from "../../../quant/half.ts";
import type { BlockRun, BlockType } from "./blocks.ts";
import { blockType } from "./blocks.ts";
import type { PaletteForm, WeightForm, WeightPart } from "./forms.ts";
import type { Palette } from "./palette.ts";
import { HalfCounts, packPlaces, unpackPalette } from "./palette.ts";

/** Turns packed rows into float32: the formats layer has it, this folder must not import it. */
export type Dequantize = (type: ElementType, bytes: Uint8Array, count: number) => Float32Array;

/** Bytes of each part for the rows converted. */
export type ConvertedRows = ReadonlyMap<WeightPart, Uint8Array>;

/** What was met on the way, for the choice of `fold` and for the report. */
export interface ConversionFacts {
  /**
   * Energy bound of blocks whose fp16 scale is subnormal: what would be lost if a device flushed
   * them.
   */
  subnormalEnergy: number;
  smallestScale: number;
  largestScale: number;
  largestRest: number;
}

export const newFacts = (): ConversionFacts => ({
  subnormalEnergy: 0,
  smallestScale: Infinity,
  largestScale: 0,
  largestRest: 0,
});

const HALF_MIN_NORMAL = 2 ** -14;
const HALF_MAX = 65504;

const bytesOf = (array: ArrayBufferView): Uint8Array =>
  new Uint8Array(array.buffer, array.byteOffset, array.byteLength);

/**
 * Converts runs of rows of one tensor; buffers are reused, so each result is valid until the next
 * call.
 */
export class RowConverter {
  readonly #type: ElementType;
  readonly #form: WeightForm;
  readonly #fold: number;
  readonly #dequantize: Dequantize;
  readonly facts: ConversionFacts;
  readonly #palette: Palette | undefined;
  #counts: HalfCounts | undefined;
  #run: BlockRun | undefined;

  constructor(
    type: ElementType,
    form: WeightForm,
    fold: number,
    dequantize: Dequantize,
    facts: ConversionFacts = newFacts(),
    palette?: Palette,
  ) {
    this.#type = type;
    this.#form = form;
    this.#fold = fold;
    this.#dequantize = dequantize;
    this.facts = facts;
    this.#palette = palette;
  }

  /** `count` elements (whole rows) from their file bytes. */
  convert(bytes: Uint8Array, count: number): ConvertedRows {
    const form = this.#form;
    if (form.kind === "plain") return new Map([["data", this.#plain(form.dtype, bytes, count)]]);
    if (form.kind === "palette") return this.#places(form, bytes, count);
    const type = this.#type;
    invariant(isPacked(type), `${type} has no blocks`);
    return this.#packed(type, form, evenBytes(bytes), count);
  }

  /** The halves that `count` elements are before they get their places. */
  halves(bytes: Uint8Array, count: number): Uint16Array {
    const plain = evenBytes(this.#plain("fp16", bytes, count));
    return new Uint16Array(plain.buffer, plain.byteOffset, count);
  }

  /** Whole groups of rows, each with a table of its own; or rows of a tensor whose table is known. */
  #places(form: PaletteForm, bytes: Uint8Array, count: number): ConvertedRows {
    const halves = this.halves(bytes, count);
    const data = new Uint8Array((count * form.bits) / 8);
    if (form.rows === undefined) {
      const known = this.#palette;
      invariant(known, "the table of a tensor comes before its rows");
      packPlaces(halves, known.placeOf, form.bits, data);
      return new Map([
        ["data", data],
        ["table", bytesOf(known.table)],
      ]);
    }
    const counts = (this.#counts ??= new HalfCounts());
    const [tables, size] = [count / form.perTable, 2 ** form.bits];
    invariant(Number.isInteger(tables), "rows come in whole groups");
    const table = new Uint16Array(tables * size);
    for (let t = 0; t < tables; t++) {
      const own = halves.subarray(t * form.perTable, (t + 1) * form.perTable);
      counts.clear();
      counts.add(own);
      const palette = counts.palette(size);
      table.set(palette.table, t * size);
      const [from, to] = [t, t + 1].map((at) => (at * form.perTable * form.bits) / 8);
      packPlaces(own, palette.placeOf, form.bits, data.subarray(from, to));
    }
    return new Map([
      ["data", data],
      ["table", bytesOf(table)],
    ]);
  }

  #plain(dtype: "fp16" | "fp32", bytes: Uint8Array, count: number): Uint8Array {
    // F16 files need no rounding, and norms and biases dominate nothing: the common case stays a
    // copy.
    if (this.#type === "f16" && dtype === "fp16" && this.#fold === 0) return bytes;
    if (this.#type === "f32" && dtype === "fp32") return bytes;
    const values = this.#dequantize(this.#type, bytes, count);
    if (dtype === "fp32") return bytesOf(values);
    const factor = 2 ** this.#fold;
    const out = new Uint16Array(count);
    let largest = this.facts.largestScale;
    for (let i = 0; i < count; i++) {
      const value = (values[i] as number) * factor;
      const size = Math.abs(value);
      // No power of two brings an infinity into range; it must not move the rest of the tensor.
      if (size > largest && size !== Infinity) largest = size;
      out[i] = f32ToF16(value);
    }
    this.facts.largestScale = largest;
    return bytesOf(out);
  }

  #packed(
    type: PackedType,
    form: Extract<WeightForm, { kind: "blockwise" | "split" }>,
    bytes: Uint8Array,
    count: number,
  ): ConvertedRows {
    const block = blockType(type);
    const units = count / block.elements;
    const groups = count / block.group;
    const run = this.#runFor(count, groups, block);
    block.unpack(bytes, units, run);
    if (form.kind === "split") return splitForm(block, form.codes, run, count, groups, this.#fold, this.facts);
    const parts =
      form.scale === "fp32"
        ? exactForm(block, form, run, count, groups)
        : form.offset === "uint4"
          ? offsetForm(run, count, groups, this.#fold, this.facts)
          : signedForm(block, run, count, groups, this.#fold, this.facts);
    return form.codes === "int4" ? asNibbles(parts) : parts;
  }

  #runFor(count: number, groups: number, block: BlockType): BlockRun {
    const codeBytes = (count * block.codeBits) / 8;
    const fits = this.#run !== undefined && this.#run.codes.length === codeBytes && this.#run.scale.length === groups;
    if (!fits || this.#run === undefined)
      this.#run = { codes: new Uint8Array(codeBytes), scale: new Float32Array(groups), add: new Float32Array(groups) };
    return this.#run;
  }
}

/** A view that 16-bit reads accept. */
const evenBytes = (bytes: Uint8Array): Uint8Array => (bytes.byteOffset % 2 === 0 ? bytes : bytes.slice());

/**
 * The fp16 scale of a block as bits: positive, never zero; 0 means "store scale 1 and zero codes".
 */
function scaleBits(scale: number, factor: number, group: number, maxCode: number, facts: ConversionFacts): number {
  const size = Math.abs(scale) * factor;
  if (size === 0) return 0;
  if (size < facts.smallestScale) facts.smallestScale = size;
  if (size > facts.largestScale && size !== Infinity) facts.largestScale = size;
  // Codes spread evenly up to maxCode have a mean square of maxCode²/3.
  if (size < HALF_MIN_NORMAL) facts.subnormalEnergy += (scale * scale * group * maxCode * maxCode) / 3;
  return f32ToF16(size);
}

const ONE = 0x3c00;

/** Codes of a byte each that fit into four bits, as pairs: element 0 in the low nibble. */
function asNibbles(parts: ConvertedRows): ConvertedRows {
  const codes = parts.get("data") ?? new Uint8Array(0);
  const packed = new Uint8Array(codes.length >> 1);
  for (let i = 0; i < packed.length; i++)
    packed[i] = ((codes[2 * i] as number) & 15) | (((codes[2 * i + 1] as number) & 15) << 4);
  return new Map([...parts, ["data", packed]]);
}

// Words of codes are handled as signed 32-bit integers, and so are their constants: unsigned ones
// would be doubles to the engine.
const HIGH_BITS = 0x80808080 | 0;
const HIGH_NIBBLE_BITS = 0x88888888 | 0;
const LOW_NIBBLE_BITS = 0x77777777;

/** int8 codes around zero, no offset: Q8_0, Q5_0, Q6_K, and types of whole codes. */
function signedForm(
  block: BlockType,
  run: BlockRun,
  count: number,
  groups: number,
  fold: number,
  facts: ConversionFacts,
): ConvertedRows {
  const { codes, scale } = run;
  const factor = 2 ** fold;
  const out = new Uint16Array(groups);
  const words = new Int32Array(codes.buffer, codes.byteOffset, count >> 2);
  const perGroup = block.group >> 2;
  // Four bytes at once: with bit 7 set there is no borrow between bytes.
  const zero = block.zero * 0x01010101;
  const lowest = HIGH_BITS;
  for (let g = 0; g < groups; g++) {
    const s = scale[g] as number;
    const bits = scaleBits(s, factor, block.group, block.largest, facts);
    const at = g * perGroup;
    if (bits === 0) words.fill(0, at, at + perGroup);
    else if (s >= 0) {
      if (zero !== 0)
        for (let i = at; i < at + perGroup; i++) words[i] = (((words[i] as number) | lowest) - zero) ^ lowest;
    } else if (block.zero !== 0)
      for (let i = at; i < at + perGroup; i++) words[i] = ((zero | lowest) - (words[i] as number)) ^ lowest;
    else if (!mirror(codes, g * block.group, block.group)) {
      // −128 has no positive twin: keep the file's sign for this block.
      out[g] = bits | 0x8000;
      continue;
    }
    out[g] = bits === 0 ? ONE : bits;
  }
  return new Map([
    ["data", codes.subarray(0, count)],
    ["scale", bytesOf(out)],
  ]);
}

/** Negates int8 codes in place; false (and nothing done) when one of them is −128. */
function mirror(codes: Uint8Array, from: number, count: number): boolean {
  for (let i = from; i < from + count; i++) if (codes[i] === 0x80) return false;
  for (let i = from; i < from + count; i++) codes[i] = -(codes[i] as number) & 0xff;
  return true;
}

/** Q4_0: uint4 codes with offset 8; for a negative scale 15 − code with offset 7. */
function offsetForm(run: BlockRun, count: number, groups: number, fold: number, facts: ConversionFacts): ConvertedRows {
  const { codes, scale } = run;
  const factor = 2 ** fold;
  const out = new Uint16Array(groups);
  const offsets = new Uint8Array(Math.ceil(groups / 2));
  const words = new Int32Array(codes.buffer, codes.byteOffset, count >> 3);
  for (let g = 0; g < groups; g++) {
    const s = scale[g] as number;
    const bits = scaleBits(s, factor, 32, 8, facts);
    let offset = 8;
    if (bits === 0) words.fill(HIGH_NIBBLE_BITS, 4 * g, 4 * g + 4);
    else if (s < 0) {
      offset = 7;
      for (let i = 4 * g; i < 4 * g + 4; i++) words[i] = ~(words[i] as number);
    }
    out[g] = bits === 0 ? ONE : bits;
    offsets[g >> 1] = (offsets[g >> 1] as number) | (offset << (4 * (g & 1)));
  }
  return new Map([
    ["data", codes.subarray(0, count >> 1)],
    ["scale", bytesOf(out)],
    ["offset", offsets],
  ]);
}

/** Codes around the middle of their range and a rest per block: w = s·(q − c) + (c·s + add). */
function splitForm(
  block: BlockType,
  form: "int4" | "int8",
  run: BlockRun,
  count: number,
  groups: number,
  fold: number,
  facts: ConversionFacts,
): ConvertedRows {
  const { codes, scale, add } = run;
  const factor = 2 ** fold;
  const middle = form === "int4" ? 8 : 16;
  const words = new Int32Array(codes.buffer, codes.byteOffset, codes.byteLength >> 2);
  const perGroup = form === "int4" ? block.group >> 3 : block.group >> 2;
  const out = new Uint16Array(groups);
  const rest = new Uint16Array(groups);
  const zero = 0x10101010;
  for (let g = 0; g < groups; g++) {
    const s = scale[g] as number;
    const bits = scaleBits(s, factor, block.group, middle, facts);
    const at = g * perGroup;
    // Mirrored int4 codes reach from −8 to 7 around 7 instead of 8.
    const r = ((form === "int4" && s < 0 ? 7 : middle) * s + (add[g] as number)) * factor;
    const size = Math.abs(r);
    if (size > facts.largestRest && size !== Infinity) facts.largestRest = size;
    rest[g] = f32ToF16(r);
    out[g] = bits === 0 ? ONE : bits;
    const end = at + perGroup;
    if (bits === 0) words.fill(0, at, end);
    else if (form === "int4") {
      // q − 8 in two's complement is q with its top bit turned; 7 − q is that of 15 − q.
      const turn = s >= 0 ? HIGH_NIBBLE_BITS : LOW_NIBBLE_BITS;
      for (let i = at; i < end; i++) words[i] = (words[i] as number) ^ turn;
    } else if (s >= 0)
      for (let i = at; i < end; i++) words[i] = (((words[i] as number) | HIGH_BITS) - zero) ^ HIGH_BITS;
    else for (let i = at; i < end; i++) words[i] = ((zero | HIGH_BITS) - (words[i] as number)) ^ HIGH_BITS;
  }
  return new Map([
    ["data", codes.subarray(0, form === "int4" ? count >> 1 : count)],
    ["scale", bytesOf(out)],
    ["rest", bytesOf(rest)],
  ]);
}

/** fp32 scales, and fp32 offsets where the type has a minimum: w = s·(q − offset). */
function exactForm(
  block: BlockType,
  form: Extract<WeightForm, { kind: "blockwise" }>,
  run: BlockRun,
  count: number,
  groups: number,
): ConvertedRows {
  if (!block.hasMinimum) {
    // The same codes as with fp16 scales, but the scale kept whole.
    const exact = Float32Array.from(run.scale, (s) => (s === 0 ? 1 : Math.abs(s)));
    const nothing = newFacts();
    const made =
      form.offset === "uint4"
        ? offsetForm(big(run), count, groups, 0, nothing)
        : signedForm(block, big(run), count, groups, 0, nothing);
    const parts = new Map(made);
    const signs = new Uint16Array(bufferOf(made.get("scale")));
    for (let g = 0; g < groups; g++) if (((signs[g] ?? 0) & 0x8000) !== 0) exact[g] = -(exact[g] ?? 0);
    parts.set("scale", bytesOf(exact));
    return parts;
  }
  const scale = new Float32Array(groups);
  const offset = new Float32Array(groups);
  const perGroup = (block.group * block.codeBits) / 8;
  for (let g = 0; g < groups; g++) {
    const [s, a] = [run.scale[g] as number, run.add[g] as number];
    if (s !== 0 && Math.abs(a / s) <= 2 ** 14) {
      scale[g] = s;
      offset[g] = -a / s;
      continue;
    }
    // A scale of zero (or one lost beside its minimum): the whole block is its minimum.
    run.codes.fill(0, g * perGroup, (g + 1) * perGroup);
    scale[g] = a === 0 ? 1 : Math.abs(a);
    offset[g] = a === 0 ? 0 : -Math.sign(a);
  }
  return new Map([
    ["data", run.codes.subarray(0, (count * block.codeBits) / 8)],
    ["scale", bytesOf(scale)],
    ["offset", bytesOf(offset)],
  ]);
}

/**
 * Scales that fp16 would lose must not zero the codes of the exact form: only their sign matters
 * there.
 */
const big = (run: BlockRun): BlockRun => ({ ...run, scale: run.scale.map((s) => Math.sign(s)) });

function bufferOf(bytes: Uint8Array | undefined): ArrayBuffer {
  const copy = (bytes ?? new Uint8Array(0)).slice();
  return copy.buffer;
}

/**
 * The power of two to fold out of a tensor: 0 unless flushing its subnormal fp16 scales would cost
 * more than fp16 rounding itself does (2e-4 of the tensor's size), or its values do not fit into
 * fp16.
 */
export function foldFor(facts: ConversionFacts, energy: number): number {
  const largest = Math.max(facts.largestScale, facts.largestRest);
  if (largest > HALF_MAX) return Math.floor(Math.log2(HALF_MAX / largest));
  if (!(facts.subnormalEnergy > energy * 1e-4 ** 2)) return 0;
  const wanted = Math.ceil(Math.log2(HALF_MIN_NORMAL / facts.smallestScale));
  const room = Math.floor(Math.log2(2 ** 14 / largest));
  return Math.max(0, Math.min(wanted, room));
}

/**
 * What the stored parts of some rows mean when Core ML decompresses them (fp16 results are rounded
 * to fp16, a rest is added by the consumer): the yardstick of the measured error, and of the tests.
 */
export function reconstruct(form: WeightForm, parts: ConvertedRows, count: number, fold: number): Float64Array {
  if (form.kind === "palette") {
    const plain = asHalves(form, parts, 0, count);
    return reconstruct(plain.form, plain.parts, count, fold);
  }
  const out = new Float64Array(count);
  const unfold = 2 ** -fold;
  const data = evenCopy(parts.get("data"));
  if (form.kind === "plain") {
    const values = form.dtype === "fp32" ? new Float32Array(data.buffer) : new Uint16Array(data.buffer);
    const half = f16Table();
    for (let i = 0; i < count; i++)
      out[i] = (form.dtype === "fp32" ? (values[i] as number) : (half[values[i] as number] as number)) * unfold;
    return out;
  }
  const groups = count / form.block;
  const scale = floatsOf(parts.get("scale"), form.kind === "blockwise" ? form.scale : "fp16", groups);
  const rest = form.kind === "split" ? floatsOf(parts.get("rest"), "fp16", groups) : undefined;
  const offset =
    form.kind === "blockwise" && form.offset !== undefined
      ? floatsOf(parts.get("offset"), form.offset, groups)
      : undefined;
  const round = form.kind === "blockwise" && form.scale === "fp32" ? (v: number): number => v : roundToHalf;
  for (let i = 0; i < count; i++) {
    const g = Math.floor(i / form.block);
    const product = (scale[g] as number) * (codeAt(data, form.codes, i) - (offset?.[g] ?? 0));
    out[i] = (round(product) + (rest?.[g] ?? 0)) * unfold;
  }
  return out;
}

/** Some of the values that the places of converted rows stand for, as plain fp16. */
export function asHalves(
  form: PaletteForm,
  parts: ConvertedRows,
  from: number,
  count: number,
): { readonly form: Extract<WeightForm, { kind: "plain" }>; readonly parts: ConvertedRows } {
  const [data, table] = [parts.get("data"), parts.get("table")];
  invariant(data && table, "a palette has places and tables");
  const halves = unpackPalette(form, data, new Uint16Array(evenCopy(table).buffer), from, count);
  return { form: { kind: "plain", dtype: "fp16" }, parts: new Map([["data", bytesOf(halves)]]) };
}

const evenCopy = (bytes: Uint8Array | undefined): Uint8Array<ArrayBuffer> => (bytes ?? new Uint8Array(0)).slice();

function codeAt(data: Uint8Array, codes: "int4" | "uint4" | "int8" | "uint8", i: number): number {
  if (codes === "int8") return ((data[i] as number) << 24) >> 24;
  if (codes === "uint8") return data[i] as number;
  const nibble = ((data[i >> 1] as number) >> (4 * (i & 1))) & 15;
  return codes === "int4" ? (nibble ^ 8) - 8 : nibble;
}

function floatsOf(bytes: Uint8Array | undefined, dtype: "fp16" | "fp32" | "uint4", count: number): Float64Array {
  const copy = evenCopy(bytes);
  if (dtype === "fp32") return Float64Array.from(new Float32Array(copy.buffer));
  if (dtype === "fp16") return Float64Array.from(new Uint16Array(copy.buffer), (h) => f16Table()[h] as number);
  return Float64Array.from({ length: count }, (_, g) => codeAt(copy, "uint4", g));
}
