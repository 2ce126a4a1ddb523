/**
 * NumPy's archive: a zip file with an array in each entry, stored or deflated. Only what numpy.savez writes is read: no encryption,
 * no parts. The directory at the end says where entries lie; each size in it is held against the file before anything is read.
 */
import { throwIfCancelled, WorkbenchError } from "../../diagnostics/errors.ts";
import type { ByteSource } from "../../formats/byteSource.ts";
import type { NpyArray } from "./npy.ts";
import { readNpy } from "./npy.ts";

/** Raw deflate, which ends with an error where more than `most` bytes come out. */
export type Inflate = (bytes: Uint8Array, most: number) => Promise<Uint8Array>;

const END = 0x06054b50;
const END_BYTES = 22;
const ENTRY = 0x02014b50;
const ENTRY_BYTES = 46;
const LOCAL = 0x04034b50;
const LOCAL_BYTES = 30;
const LONGEST_COMMENT = 65_535;
const MOST_ENTRIES = 256;
const LARGEST_DIRECTORY = 1 << 20;
/** Of all arrays together, unpacked. */
const LARGEST = 2 ** 31;

interface Entry {
  readonly name: string;
  readonly method: number;
  readonly packed: number;
  readonly size: number;
  readonly crc: number;
  readonly offset: number;
}

/** All arrays by name, without the ending `.npy`. */
export async function readNpz(
  source: ByteSource,
  inflate: Inflate,
  signal?: AbortSignal,
): Promise<ReadonlyMap<string, NpyArray>> {
  const arrays = new Map<string, NpyArray>();
  let total = 0;
  for (const entry of await directory(source, signal)) {
    throwIfCancelled(signal);
    total += entry.size;
    if (total > LARGEST)
      throw new WorkbenchError("INPUT_LIMIT", `[${source.name}] got more than ${LARGEST} bytes of arrays`, {
        hint: "Split it into smaller files.",
      });
    if (!entry.name.endsWith(".npy")) continue;
    const bytes = await unpacked(source, entry, inflate, signal);
    const name = entry.name.slice(0, -".npy".length);
    if (arrays.has(name)) throw malformed(source, `entry ${JSON.stringify(name.slice(0, 60))} stands twice`);
    arrays.set(name, readNpy(`${source.name}: ${name.slice(0, 60)}`, bytes));
  }
  if (arrays.size === 0) throw malformed(source, "got no arrays, expected entries that end in .npy");
  return arrays;
}

const malformed = (source: ByteSource, what: string): WorkbenchError =>
  new WorkbenchError("INPUT_MALFORMED", `[${source.name}] ${what}`, { hint: "Save it again with numpy.savez." });

const viewOf = (bytes: Uint8Array): DataView => new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);

async function directory(source: ByteSource, signal: AbortSignal | undefined): Promise<readonly Entry[]> {
  const length = Math.min(source.byteLength, END_BYTES + LONGEST_COMMENT);
  const tail = await source.read(source.byteLength - length, length, signal);
  const view = viewOf(tail);
  let end = tail.byteLength - END_BYTES;
  while (
    end >= 0 &&
    !(view.getUint32(end, true) === END && view.getUint16(end + 20, true) === tail.byteLength - end - END_BYTES)
  )
    end--;
  if (end < 0) throw malformed(source, "got no directory at its end, expected a zip file");
  const count = view.getUint16(end + 10, true);
  const bytes = view.getUint32(end + 12, true);
  const offset = view.getUint32(end + 16, true);
  if (count > MOST_ENTRIES || bytes > LARGEST_DIRECTORY)
    throw malformed(source, `directory: got ${count} entries in ${bytes} bytes, expected ${MOST_ENTRIES} at most`);
  if (offset + bytes > source.byteLength) throw malformed(source, "directory: it lies beyond the end of the file");
  return entries(source, await source.read(offset, bytes, signal), count);
}

function entries(source: ByteSource, bytes: Uint8Array, count: number): readonly Entry[] {
  const view = viewOf(bytes);
  const found: Entry[] = [];
  let at = 0;
  for (let i = 0; i < count; i++) {
    if (at + ENTRY_BYTES > bytes.byteLength || view.getUint32(at, true) !== ENTRY)
      throw malformed(source, `directory: entry ${i} is cut off`);
    const nameBytes = view.getUint16(at + 28, true);
    const next = at + ENTRY_BYTES + nameBytes + view.getUint16(at + 30, true) + view.getUint16(at + 32, true);
    if (next > bytes.byteLength) throw malformed(source, `directory: entry ${i} is cut off`);
    const entry: Entry = {
      name: new TextDecoder("utf-8").decode(bytes.subarray(at + ENTRY_BYTES, at + ENTRY_BYTES + nameBytes)),
      method: view.getUint16(at + 10, true),
      crc: view.getUint32(at + 16, true),
      packed: view.getUint32(at + 20, true),
      size: view.getUint32(at + 24, true),
      offset: view.getUint32(at + 42, true),
    };
    if ((view.getUint16(at + 8, true) & 1) === 1) throw malformed(source, `entry ${i} is encrypted`);
    if (entry.offset + LOCAL_BYTES + entry.packed > source.byteLength)
      throw malformed(source, `entry ${i} lies beyond the end of the file`);
    found.push(entry);
    at = next;
  }
  return found;
}

async function unpacked(
  source: ByteSource,
  { name, method, packed, size, crc, offset }: Entry,
  inflate: Inflate,
  signal: AbortSignal | undefined,
): Promise<Uint8Array> {
  const who = `entry ${JSON.stringify(name.slice(0, 60))}`;
  const local = viewOf(await source.read(offset, LOCAL_BYTES, signal));
  if (local.getUint32(0, true) !== LOCAL) throw malformed(source, `${who}: got other bytes where it should begin`);
  const start = offset + LOCAL_BYTES + local.getUint16(26, true) + local.getUint16(28, true);
  if (start + packed > source.byteLength) throw malformed(source, `${who} lies beyond the end of the file`);
  if (method !== 0 && method !== 8)
    throw new WorkbenchError(
      "INPUT_MALFORMED",
      `[${source.name}] ${who}: got packing ${method}, expected stored or deflated`,
      {
        hint: "Save it with numpy.savez or numpy.savez_compressed.",
      },
    );
  const bytes = await source.read(start, packed, signal);
  const plain = method === 0 ? bytes : await inflate(bytes, size).catch(() => undefined);
  if (plain === undefined) throw malformed(source, `${who}: its packed bytes are damaged`);
  if (plain.byteLength !== size) throw malformed(source, `${who}: got ${plain.byteLength} bytes, expected ${size}`);
  if (crc32(plain) !== crc) throw malformed(source, `${who}: its check sum is another`);
  return plain;
}

const TABLE = Uint32Array.from({ length: 256 }, (_, byte) => {
  let rest = byte;
  for (let bit = 0; bit < 8; bit++) rest = (rest & 1) === 1 ? (rest >>> 1) ^ 0xedb88320 : rest >>> 1;
  return rest;
});

export function crc32(bytes: Uint8Array): number {
  let rest = 0xffff_ffff;
  for (const byte of bytes) rest = (rest >>> 8) ^ (TABLE[(rest ^ byte) & 255] ?? 0);
  return (rest ^ 0xffff_ffff) >>> 0;
}
