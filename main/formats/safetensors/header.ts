/**
 * A safetensors file: 8 bytes with the length of a JSON header, the header with a type, a shape and
 * a range of bytes for each tensor, then the data. Every number is checked against the size of the
 * file.
 */
import { WorkbenchError } from "../../diagnostics/errors.ts";
import type { ByteSource } from "../byteSource.ts";
import { quote } from "../gguf/header.ts";
import { isObject, parseJson } from "../json.ts";

export interface SafeTensor {
  readonly name: string;
  /** As the file says it: "BF16". */
  readonly type: string;
  /** Row-major: the slowest dimension first. */
  readonly shape: readonly number[];
  readonly elements: number;
  /** From the beginning of the file. */
  readonly offset: number;
  readonly byteLength: number;
}

export interface SafetensorsFile {
  readonly source: ByteSource;
  readonly tensors: readonly SafeTensor[];
  /** Texts about the file; what is no text there is left out. */
  readonly metadata: ReadonlyMap<string, string>;
}

/** Parsed, a header takes some 30 times its bytes. The largest known files stay below 2 MB. */
const MOST_HEADER = 4 << 20;
const MOST_TENSORS = 100_000;
const MOST_DIMS = 8;

/** Bits of an element of each type of the format. */
const BITS: ReadonlyMap<string, number> = new Map([
  ["F64", 64],
  ["I64", 64],
  ["U64", 64],
  ["C64", 64],
  ["F32", 32],
  ["I32", 32],
  ["U32", 32],
  ["F16", 16],
  ["BF16", 16],
  ["I16", 16],
  ["U16", 16],
  ["I8", 8],
  ["U8", 8],
  ["BOOL", 8],
  ["F8_E5M2", 8],
  ["F8_E4M3", 8],
  ["F8_E5M2FNUZ", 8],
  ["F8_E4M3FNUZ", 8],
  ["F8_E8M0", 8],
  ["F6_E2M3", 6],
  ["F6_E3M2", 6],
  ["F4", 4],
]);

export async function readSafetensors(source: ByteSource, signal?: AbortSignal): Promise<SafetensorsFile> {
  const { name, byteLength } = source;
  if (byteLength < 10)
    throw new WorkbenchError(
      "INPUT_TRUNCATED",
      `[${name}] safetensors: got ${byteLength} bytes, expected at least 10`,
      {
        hint: "Download or copy the file again.",
      },
    );
  const length = Number(new DataView((await source.read(0, 8, signal)).buffer).getBigUint64(0, true));
  if (length > byteLength - 8)
    throw new WorkbenchError(
      "INPUT_TRUNCATED",
      `[${name}] safetensors header: got ${length} bytes, expected at most the ${byteLength - 8} behind its length`,
      { hint: "The file is cut off or damaged; download or copy it again." },
    );
  if (length > MOST_HEADER)
    throw new WorkbenchError(
      "INPUT_LIMIT",
      `[${name}] safetensors header: got ${length} bytes, expected at most ${MOST_HEADER}`,
      { hint: "No known model has a header this long; the file is probably damaged." },
    );
  const header = parseJson(name, await source.read(8, length, signal), "safetensors header");
  if (!isObject(header)) throw malformed(name, "its header is not an object");
  const tensors = tensorsOf(name, header, { dataStart: 8 + length, byteLength });
  checkOverlaps(name, tensors);
  return { source, tensors, metadata: textsIn(header["__metadata__"]) };
}

const textsIn = (metadata: unknown): ReadonlyMap<string, string> =>
  new Map(
    Object.entries(isObject(metadata) ? metadata : {}).filter(
      (entry): entry is [string, string] => typeof entry[1] === "string",
    ),
  );

interface Room {
  readonly dataStart: number;
  readonly byteLength: number;
}

function tensorsOf(file: string, header: Readonly<Record<string, unknown>>, room: Room): SafeTensor[] {
  const entries = Object.entries(header).filter(([name]) => name !== "__metadata__");
  if (entries.length > MOST_TENSORS)
    throw new WorkbenchError(
      "INPUT_LIMIT",
      `[${file}] tensors: got ${entries.length}, expected at most ${MOST_TENSORS}`,
      {
        hint: "No known model comes near this; the file is probably damaged.",
      },
    );
  return entries.map(([name, info]) => tensorOf(file, name, info, room));
}

function tensorOf(file: string, name: string, info: unknown, { dataStart, byteLength }: Room): SafeTensor {
  const label = `tensor ${quote(name)}`;
  if (name === "") throw malformed(file, "a tensor has no name");
  if (!isObject(info)) throw malformed(file, `${label}: expected an object`);
  const { dtype, shape, data_offsets: range } = info;
  const bits = typeof dtype === "string" ? BITS.get(dtype) : undefined;
  if (typeof dtype !== "string" || bits === undefined)
    throw malformed(
      file,
      `type of ${label}: got ${typeof dtype === "string" ? quote(dtype) : "no text"}, expected one of ${[...BITS.keys()].join(", ")}`,
    );
  if (!isCounts(shape) || shape.length > MOST_DIMS)
    throw malformed(file, `shape of ${label}: expected a list of at most ${MOST_DIMS} sizes`);
  const elements = shape.reduce((product, size) => product * size, 1);
  if (elements > Number.MAX_SAFE_INTEGER / 64) throw malformed(file, `${label} is impossibly large`);
  const [begin, end, ...rest] = isCounts(range) ? range : [];
  if (begin === undefined || end === undefined || rest.length > 0 || end < begin)
    throw malformed(file, `data_offsets of ${label}: expected [begin, end]`);
  if ((end - begin) * 8 !== elements * bits)
    throw malformed(
      file,
      `${label}: got ${end - begin} bytes, expected ${(elements * bits) / 8} for ${dtype} [${shape.join(", ")}]`,
    );
  if (dataStart + end > byteLength)
    throw new WorkbenchError(
      "INPUT_TRUNCATED",
      `[${file}] ${label} ends at byte ${dataStart + end}: got a file of ${byteLength} bytes`,
      { hint: "The file is cut off; download or copy it again.", details: { missing: dataStart + end - byteLength } },
    );
  return { name, type: dtype, shape, elements, offset: dataStart + begin, byteLength: end - begin };
}

function checkOverlaps(file: string, tensors: readonly SafeTensor[]): void {
  let last: SafeTensor | undefined;
  for (const tensor of tensors.toSorted((a, b) => a.offset - b.offset || a.byteLength - b.byteLength)) {
    if (last !== undefined && last.offset + last.byteLength > tensor.offset)
      throw malformed(file, `the tensors ${quote(last.name)} and ${quote(tensor.name)} overlap`);
    last = tensor;
  }
}

const isCounts = (value: unknown): value is readonly number[] =>
  Array.isArray(value) && value.every((item) => Number.isSafeInteger(item) && Number(item) >= 0);

const malformed = (file: string, message: string): WorkbenchError =>
  new WorkbenchError("INPUT_MALFORMED", `[${file}] ${message}`, {
    hint: "The header contradicts itself; the file is damaged or was written by a faulty program.",
  });
