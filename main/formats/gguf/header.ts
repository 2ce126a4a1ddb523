/**
 * The header of one GGUF file: version, metadata, tensor table, and where the data begins. Reads
 * windows that grow, never tensor bytes on purpose, and checks every number against the size of the
 * file.
 */
import { WorkbenchError, throwIfCancelled } from "../../diagnostics/errors.ts";
import type { ByteSource } from "../byteSource.ts";
import { HEADER_LIMITS, HeaderCursor, NeedMore } from "./cursor.ts";
import type { HeaderLimits } from "./cursor.ts";
import { foreignType, typeByRoom } from "./foreignTypes.ts";
import { ggmlTypeById, packedBytes } from "./types.ts";
import type { GgmlType } from "./types.ts";
import { StringTable } from "./values.ts";
import type { MetadataEntry } from "./values.ts";

export const MAGIC = 0x46554747; // "GGUF", little endian
export const DEFAULT_ALIGNMENT = 32;
export const MAX_DIMS = 4;
const FIRST_WINDOW = 256 << 10;
/** Smallest growth of the window: few steps for large vocabularies, few bytes read in vain. */
const STEP = 4 << 20;

export interface TensorInfo {
  readonly name: string;
  readonly type: GgmlType;
  /** As the file has them: the fastest dimension first. */
  readonly dims: readonly number[];
  readonly elements: number;
  readonly byteLength: number;
  /** From the beginning of the data. */
  readonly dataOffset: number;
}

export interface GgufHeader {
  readonly version: 2 | 3;
  readonly entries: readonly MetadataEntry[];
  readonly tensors: readonly TensorInfo[];
  readonly alignment: number;
  /** Where the data begins. */
  readonly dataStart: number;
  /** Everything before the padding that precedes the data. */
  readonly bytes: Uint8Array;
}

export interface HeaderOptions {
  readonly signal?: AbortSignal | undefined;
  readonly limits?: HeaderLimits;
  /** A header-only model: the data is not there and is not expected. */
  readonly withoutData?: boolean;
}

export async function readHeader(source: ByteSource, options: HeaderOptions = {}): Promise<GgufHeader> {
  const limits = options.limits ?? HEADER_LIMITS;
  const most = source.made === undefined ? FIRST_WINDOW : Math.min(source.made.headerBytes, limits.headerBytes);
  const first = await source.read(0, Math.min(most, source.byteLength), options.signal);
  const cursor = new HeaderCursor(source.name, source.byteLength, limits, first);
  const steps = headerSteps(cursor, options.withoutData === true);
  for (;;) {
    const before = cursor.mark();
    try {
      const step = steps.next();
      if (step !== undefined) return step;
    } catch (error) {
      if (!(error instanceof NeedMore)) throw error;
      cursor.rewind(before);
      throwIfCancelled(options.signal);
      await widen(cursor, source, error.end, options.signal);
    }
  }
}

async function widen(cursor: HeaderCursor, source: ByteSource, needed: number, signal?: AbortSignal): Promise<void> {
  const have = cursor.available;
  // Values of older windows keep them alive. When each is twice the one before, all of them
  // together are no more than the last one.
  const end = Math.min(Math.max(needed, have + STEP, have * 2), source.byteLength, cursor.limits.headerBytes);
  const window = new Uint8Array(end);
  window.set(cursor.slice(0, have));
  cursor.replaceWindow(window);
  // In pieces, after the old window is freed: a false size must not cost its memory twice.
  for (let at = have; at < end; at += STEP) window.set(await source.read(at, Math.min(STEP, end - at), signal), at);
}

interface Steps {
  /**
   * One more piece of the header; the header itself when it is complete. May be repeated after
   * NeedMore.
   */
  next(): GgufHeader | undefined;
}

function headerSteps(cursor: HeaderCursor, withoutData: boolean): Steps {
  let front: Front | undefined;
  const keys = new Map<string, MetadataSpan>();
  const names = new Set<string>();
  const infos: TensorInfo[] = [];
  let alignment = DEFAULT_ALIGNMENT;
  return {
    next() {
      if (front === undefined) {
        front = readFront(cursor);
        return undefined;
      }
      if (keys.size < front.keys) {
        const span = readEntry(cursor, keys.size);
        if (keys.has(span.key)) throw cursor.malformed(`the key ${quote(span.key)} appears twice`);
        keys.set(span.key, span);
        if (keys.size === front.keys) alignment = alignmentOf(cursor, keys);
        return undefined;
      }
      if (infos.length < front.tensors) {
        const info = readTensorInfo(cursor, infos.length, alignment);
        if (names.has(info.name)) throw cursor.malformed(`the tensor ${quote(info.name)} appears twice`);
        names.add(info.name);
        infos.push(info);
        return undefined;
      }
      const end = cursor.position;
      const dataStart = alignUp(end, alignment);
      const tensors = withBytesFromOffsets(infos, cursor.fileBytes - dataStart, alignment);
      if (!withoutData) checkLayout(cursor, tensors, dataStart);
      const bytes = cursor.slice(0, end);
      // The window may have moved since an entry was read: give all of them the final one.
      const entries = [...keys.values()].map((span) => finishEntry(cursor, span));
      return { version: front.version, entries, tensors, alignment, dataStart, bytes };
    },
  };
}

interface Front {
  readonly version: 2 | 3;
  readonly tensors: number;
  readonly keys: number;
}

function readFront(cursor: HeaderCursor): Front {
  if (cursor.fileBytes < 24) {
    const what = cursor.fileBytes === 0 ? "the file is empty" : `got ${cursor.fileBytes} bytes, expected at least 24`;
    throw new WorkbenchError("INPUT_NOT_GGUF", `[${cursor.name}] not a GGUF: ${what}`, { hint: NOT_GGUF_HINT });
  }
  cursor.position = 0;
  const magic = cursor.u32("magic");
  const version = cursor.u32("version");
  if (magic !== MAGIC)
    throw new WorkbenchError(
      "INPUT_NOT_GGUF",
      `[${cursor.name}] not a GGUF: got magic ${hex(magic)}, expected ${hex(MAGIC)}`,
      {
        hint: NOT_GGUF_HINT,
      },
    );
  // Version 1 and big-endian files come translated (otherForms.ts).
  if (version !== 2 && version !== 3)
    throw new WorkbenchError("INPUT_NOT_GGUF", `[${cursor.name}] GGUF version: got ${version}, expected 1, 2 or 3`, {
      hint: "The file is newer than this program, or damaged.",
    });
  // A tensor takes at least 8 (name) + 4 (dimensions) + 8 (one of them) + 4 (type) + 8 (offset)
  // bytes.
  const tensors = cursor.count("number of tensors", 32);
  const keys = cursor.count("number of keys", 13);
  limit(cursor, "tensors", tensors, cursor.limits.tensors);
  limit(cursor, "keys", keys, cursor.limits.keys);
  return { version, tensors, keys };
}

const NOT_GGUF_HINT = "Choose a model file in GGUF format (its name usually ends in .gguf).";

function limit(cursor: HeaderCursor, what: string, value: number, most: number): void {
  if (value > most)
    throw new WorkbenchError(
      "INPUT_LIMIT",
      `[${cursor.name}] number of ${what}: got ${value}, expected at most ${most}`,
      {
        hint: "No known model comes near this; the file is probably damaged.",
      },
    );
}

interface MetadataSpan {
  readonly key: string;
  readonly type: MetadataEntry["type"];
  readonly start: number;
  readonly end: number;
  readonly value: MetadataEntry["value"];
  /**
   * The window the value was read from; values of an older window still see right bytes, but keep
   * it alive.
   */
  readonly window: number;
}

function readEntry(cursor: HeaderCursor, index: number): MetadataSpan {
  const key = cursor.name64(`key ${index}`, cursor.limits.keyBytes);
  if (key === "") throw cursor.malformed(`key ${index} is empty`);
  const what = `value of ${quote(key)}`;
  const type = cursor.valueType(`type of ${quote(key)}`);
  const start = cursor.position;
  const value = cursor.value(type, what);
  return { key, type, start, end: cursor.position, value, window: cursor.available };
}

function finishEntry(cursor: HeaderCursor, span: MetadataSpan): MetadataEntry {
  const raw = cursor.slice(span.start, span.end);
  if (span.window === cursor.available) return { key: span.key, type: span.type, raw, value: span.value };
  if (span.value.kind === "strings") {
    // The long ones are not walked again: where their strings begin is known. 12 bytes are element
    // type and length.
    const strings = new StringTable(raw.subarray(12), span.value.strings.starts);
    return { key: span.key, type: span.type, raw, value: { kind: "strings", strings } };
  }
  const after = cursor.mark();
  cursor.rewind({ position: span.start, nested: 0 });
  const value = cursor.value(span.type, quote(span.key));
  cursor.rewind(after);
  return { key: span.key, type: span.type, raw, value };
}

function alignmentOf(cursor: HeaderCursor, keys: ReadonlyMap<string, MetadataSpan>): number {
  const value = keys.get("general.alignment")?.value;
  if (value === undefined) return DEFAULT_ALIGNMENT;
  if (value.kind !== "number" || value.type !== "u32") throw cursor.malformed("general.alignment: expected a u32");
  const alignment = value.value;
  if (alignment < 8 || alignment > 1 << 20 || (alignment & (alignment - 1)) !== 0)
    throw cursor.malformed(`general.alignment: got ${alignment}, expected a power of two from 8 to 1048576`);
  return alignment;
}

function readTensorInfo(cursor: HeaderCursor, index: number, alignment: number): TensorInfo {
  const name = cursor.name64(`name of tensor ${index}`, cursor.limits.tensorNameBytes);
  if (name === "") throw cursor.malformed(`tensor ${index} has no name`);
  const label = `tensor ${quote(name)}`;
  const rank = cursor.u32(`dimensions of ${label}`);
  if (rank > MAX_DIMS) throw cursor.malformed(`dimensions of ${label}: got ${rank}, expected at most ${MAX_DIMS}`);
  const dims: number[] = [];
  let elements = 1;
  for (let i = 0; i < rank; i++) {
    const dim = cursor.u64(`dimension ${i} of ${label}`);
    if (dim === 0) throw cursor.malformed(`dimension ${i} of ${label} is 0`);
    elements *= dim;
    if (elements > Number.MAX_SAFE_INTEGER / 8)
      throw cursor.malformed(`${label} is impossibly large: ${[...dims, dim].join(" × ")}`);
    dims.push(dim);
  }
  const typeId = cursor.u32(`type of ${label}`);
  const type = ggmlTypeById(typeId) ?? foreignType(typeId);
  const columns = dims[0] ?? 1;
  if (columns % type.blockSize !== 0)
    throw cursor.malformed(
      `${label} is ${type.name}: got rows of ${columns} values, expected a multiple of ${type.blockSize}`,
    );
  const dataOffset = cursor.u64(`offset of ${label}`);
  if (dataOffset % alignment !== 0)
    throw cursor.malformed(`offset of ${label}: got ${dataOffset}, expected a multiple of the alignment ${alignment}`);
  return { name, type, dims, elements, byteLength: packedBytes(type, elements), dataOffset };
}

/**
 * Tensors of a type that is not known here reach to the next tensor, or to the end of the data. A
 * number with two meanings is told by the same bytes.
 */
function withBytesFromOffsets(
  tensors: readonly TensorInfo[],
  dataBytes: number,
  alignment: number,
): readonly TensorInfo[] {
  const offsets = [...new Set(tensors.map(({ dataOffset }) => dataOffset)), dataBytes].sort((a, b) => a - b);
  const next = new Map(offsets.map((offset, i) => [offset, offsets[i + 1] ?? offset]));
  return tensors.map((tensor) => {
    const room = (next.get(tensor.dataOffset) ?? tensor.dataOffset) - tensor.dataOffset;
    const type = typeByRoom(tensor.type, tensor.elements, room, alignment);
    return type.blockBytes > 0 ? tensor : { ...tensor, type, byteLength: room };
  });
}

/** Tensors lie inside the file and do not share bytes. */
function checkLayout(cursor: HeaderCursor, tensors: readonly TensorInfo[], dataStart: number): void {
  const order = tensors.toSorted((a, b) => a.dataOffset - b.dataOffset);
  let last: TensorInfo | undefined;
  for (const tensor of order) {
    const end = dataStart + tensor.dataOffset + tensor.byteLength;
    if (end > cursor.fileBytes)
      throw new WorkbenchError(
        "INPUT_TRUNCATED",
        `[${cursor.name}] tensor ${quote(tensor.name)} ends at byte ${end}: got a file of ${cursor.fileBytes} bytes`,
        { hint: "The file is cut off; download or copy it again.", details: { missing: end - cursor.fileBytes } },
      );
    if (last !== undefined && last.dataOffset + last.byteLength > tensor.dataOffset)
      throw cursor.malformed(`the tensors ${quote(last.name)} and ${quote(tensor.name)} overlap`);
    last = tensor;
  }
}

export const alignUp = (value: number, alignment: number): number => Math.ceil(value / alignment) * alignment;

/** Names are untrusted: shown short and without control characters. */
export function quote(text: string): string {
  const clean = text.replace(/[\p{Cc}\p{Cf}\u2028\u2029]/gu, "�");
  return `"${clean.length > 80 ? `${clean.slice(0, 80)}…` : clean}"`;
}

const hex = (value: number): string => `0x${value.toString(16).padStart(8, "0")}`;
