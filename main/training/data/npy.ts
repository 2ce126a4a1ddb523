/**
 * NumPy's array file: a magic word, a header that is written as a Python dictionary, then the numbers. The file is untrusted: its
 * header is read by a grammar of exactly three keys, and every size is held against the bytes that are there.
 */
import { WorkbenchError } from "../../diagnostics/errors.ts";
import type { DType } from "../../ir/dtype.ts";
import type { NumberArray } from "../../ir/hostBytes.ts";
import { numbersIn } from "../../ir/hostBytes.ts";

export interface NpyArray {
  readonly shape: readonly number[];
  /** As the file has it: "f4", "i8". */
  readonly type: string;
  /** Row by row, whatever order the file has; complex numbers are pairs. */
  readonly data: NumberArray;
}

export const isComplex = ({ type }: NpyArray): boolean => type.startsWith("c");

const MAGIC = [0x93, 0x4e, 0x55, 0x4d, 0x50, 0x59];
const LONGEST_HEADER = 65_536;
const MOST_AXES = 8;
const DTYPES: Readonly<Record<string, { readonly dtype: DType; readonly bytes: number } | undefined>> = {
  f2: { dtype: "f16", bytes: 2 },
  f4: { dtype: "f32", bytes: 4 },
  f8: { dtype: "f64", bytes: 8 },
  i1: { dtype: "i8", bytes: 1 },
  i2: { dtype: "i16", bytes: 2 },
  i4: { dtype: "i32", bytes: 4 },
  i8: { dtype: "i64", bytes: 8 },
  u1: { dtype: "u8", bytes: 1 },
  u4: { dtype: "u32", bytes: 4 },
  b1: { dtype: "u8", bytes: 1 },
  // Two floats each, as both are held here.
  c8: { dtype: "c64", bytes: 8 },
  c16: { dtype: "f64", bytes: 16 },
};

export function readNpy(file: string, bytes: Uint8Array): NpyArray {
  const { text, end } = headerOf(file, bytes);
  const { descr, fortran, shape } = fieldsOf(file, text);
  const [, order = "", type = ""] = /^([<>|=]?)([a-z]\d{1,2})$/u.exec(descr) ?? [];
  const known = Object.hasOwn(DTYPES, type) ? DTYPES[type] : undefined;
  if (known === undefined)
    throw new WorkbenchError(
      "UNSUPPORTED_TENSOR_TYPE",
      `[${file}] type: got ${JSON.stringify(descr.slice(0, 20))}, expected one of ${Object.keys(DTYPES).join(", ")}`,
      { hint: "Save it with astype(numpy.float32)." },
    );
  if (order === ">" && known.bytes > 1)
    throw new WorkbenchError(
      "UNSUPPORTED_TENSOR_TYPE",
      `[${file}] type: got ${descr}, expected little-endian numbers`,
      {
        hint: 'Save it with astype("<f4").',
      },
    );
  const count = shape.reduce((product, size) => product * size, 1);
  const wanted = count * known.bytes;
  if (!Number.isSafeInteger(wanted) || bytes.byteLength - end !== wanted)
    throw malformed(
      file,
      `data: got ${bytes.byteLength - end} bytes, expected ${wanted} for ${type}[${shape.join(",")}]`,
    );
  // A copy begins at a whole word, which views of larger numbers need.
  const body = bytes.slice(end);
  const data = numbersIn(known.dtype, body);
  if (known.dtype === "i64") requireExact(file, data, body);
  const array = { shape, type, data };
  return fortran && shape.length > 1 ? { ...array, data: rowByRow(array) } : array;
}

/** Numbers are held as float64, which has every whole number up to 2^53 only. */
function requireExact(file: string, held: NumberArray, bytes: Uint8Array): void {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const at = held.findIndex(
    (value, i) => Math.abs(value) >= 2 ** 53 && BigInt(value) !== view.getBigInt64(8 * i, true),
  );
  if (at < 0) return;
  throw new WorkbenchError(
    "INPUT_ARGUMENT",
    `[${file}] number ${at}: i64 numbers are held exactly up to 2^53: got ${view.getBigInt64(8 * at, true)}`,
    { hint: "Take smaller ones, or save them with astype(numpy.float64), which rounds them." },
  );
}

const malformed = (file: string, what: string): WorkbenchError =>
  new WorkbenchError("INPUT_MALFORMED", `[${file}] ${what}`, { hint: "Save it again with numpy.save." });

function headerOf(file: string, bytes: Uint8Array): { readonly text: string; readonly end: number } {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (bytes.byteLength < 12 || MAGIC.some((byte, i) => bytes[i] !== byte))
    throw malformed(file, "magic: got other bytes, expected a NumPy array");
  const major = bytes[6] ?? 0;
  if (major < 1 || major > 3) throw malformed(file, `version: got ${major}, expected 1, 2 or 3`);
  const start = major === 1 ? 10 : 12;
  const length = major === 1 ? view.getUint16(8, true) : view.getUint32(8, true);
  if (length > LONGEST_HEADER || start + length > bytes.byteLength)
    throw malformed(file, `header: got ${length} bytes, expected at most ${bytes.byteLength - start}`);
  return { text: new TextDecoder("latin1").decode(bytes.subarray(start, start + length)), end: start + length };
}

interface Fields {
  readonly descr: string;
  readonly fortran: boolean;
  readonly shape: readonly number[];
}

/** `{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }`, its keys in any order and each once. */
function fieldsOf(file: string, text: string): Fields {
  const body = /^\s*\{(.*)\}\s*$/su.exec(text)?.[1];
  if (body === undefined) throw malformed(file, "header: expected a dictionary");
  const field =
    /\s*'(descr|fortran_order|shape)'\s*:\s*(?:'([^']{0,40})'|(True|False)|\(([\d\s,L]{0,400})\))\s*(?:,|$)/uy;
  const found = new Map<string, RegExpExecArray>();
  let at = 0;
  while (body.slice(at).trim() !== "") {
    field.lastIndex = at;
    const match = field.exec(body);
    const key = match?.[1];
    if (match === null || key === undefined || found.has(key))
      throw malformed(
        file,
        `header: got ${JSON.stringify(body.slice(at, at + 40))}, expected descr, fortran_order and shape`,
      );
    found.set(key, match);
    at = field.lastIndex;
  }
  const descr = found.get("descr")?.[2];
  const fortran = found.get("fortran_order")?.[3];
  const sizes = found.get("shape")?.[4];
  if (descr === undefined || fortran === undefined || sizes === undefined)
    throw malformed(file, "header: expected descr, fortran_order and shape");
  const parts = sizes.split(",").map((part) => part.trim());
  if (parts.at(-1) === "") parts.pop();
  const shape = parts.map((part) => (/^\d{1,15}L?$/u.test(part) ? Number.parseInt(part, 10) : NaN));
  if (shape.length > MOST_AXES || shape.some((size) => !Number.isSafeInteger(size)))
    throw malformed(file, `shape: got (${sizes.trim().slice(0, 60)}), expected at most ${MOST_AXES} whole numbers`);
  return { descr, fortran: fortran === "True", shape };
}

/** From the first axis moving fastest to the last one moving fastest. */
function rowByRow(array: NpyArray): NumberArray {
  const { data, shape } = array;
  const width = isComplex(array) ? 2 : 1;
  const out = data.slice();
  const place = shape.map(() => 0);
  const strides = shape.map((_, axis) => shape.slice(0, axis).reduce((product, size) => product * size, 1));
  for (let i = 0; i < out.length; i += width) {
    const from = width * place.reduce((sum, index, axis) => sum + index * (strides[axis] ?? 0), 0);
    for (let part = 0; part < width; part++) out[i + part] = data[from + part] ?? 0;
    for (let axis = shape.length - 1; axis >= 0; axis--) {
      const next = (place[axis] ?? 0) + 1;
      place[axis] = next < (shape[axis] ?? 1) ? next : 0;
      if (next < (shape[axis] ?? 1)) break;
    }
  }
  return out;
}
