/**
 * The weight file of a package (MIL blob storage, version 2): a 64-byte header, then per weight a 64-byte metadata record
 * and its data, all on 64-byte boundaries, little endian. Places are planned from types alone, before any data is read, so
 * that a program can refer to them; the data is then written in any order, a piece at a time.
 */
import { WorkbenchError, invariant } from "../../diagnostics/errors.ts";
import type { MilDtype } from "./mil/types.ts";
import { MIL_DTYPES, packedByteLength } from "./mil/types.ts";

export const BLOB_ALIGNMENT = 64;
const SENTINEL = 0xdeadbeef;
const VERSION = 2;

/** A file (or buffer) written at positions. Gaps read as zero. */
export interface PositionedSink {
  write(position: number, bytes: Uint8Array): Promise<void>;
}

/** A file (or buffer) read in ranges. */
export interface RangeSource {
  readonly byteLength: number;
  read(offset: number, length: number): Promise<Uint8Array>;
}

export interface BlobRecord {
  readonly dtype: MilDtype;
  readonly count: number;
  /** Of the metadata record: what a program refers to. */
  readonly offset: number;
  /** Of the data: always `offset + 64`. */
  readonly dataOffset: number;
  readonly byteLength: number;
}

const align = (position: number): number => Math.ceil(position / BLOB_ALIGNMENT) * BLOB_ALIGNMENT;

/** Unused high bits of the last byte; only sub-byte types have any. */
const paddingBits = (dtype: MilDtype, count: number): number =>
  packedByteLength(dtype, count) * 8 - count * MIL_DTYPES[dtype].bits;

/** Places of all weights of a file, in order of first mention. The same key twice is the same record. */
export class BlobPlan {
  readonly #records: BlobRecord[] = [];
  readonly #byKey = new Map<string, BlobRecord>();
  #end = BLOB_ALIGNMENT;

  place(key: string, dtype: MilDtype, count: number): BlobRecord {
    const known = this.#byKey.get(key);
    if (known !== undefined) {
      invariant(known.dtype === dtype && known.count === count, `weight ${key} is placed with two types`);
      return known;
    }
    invariant(MIL_DTYPES[dtype].blob !== 0, `${dtype} cannot be in the weight file`);
    const offset = align(this.#end);
    const byteLength = packedByteLength(dtype, count);
    const record: BlobRecord = { dtype, count, offset, dataOffset: offset + BLOB_ALIGNMENT, byteLength };
    this.#end = record.dataOffset + byteLength;
    this.#records.push(record);
    this.#byKey.set(key, record);
    return record;
  }

  get records(): readonly BlobRecord[] {
    return this.#records;
  }

  /** Size of the finished file: no padding after the last record. */
  get byteLength(): number {
    return this.#end;
  }
}

function header(count: number): Uint8Array {
  const bytes = new Uint8Array(BLOB_ALIGNMENT);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, count, true);
  view.setUint32(4, VERSION, true);
  return bytes;
}

function metadata(record: BlobRecord): Uint8Array {
  const bytes = new Uint8Array(BLOB_ALIGNMENT);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, SENTINEL, true);
  view.setUint32(4, MIL_DTYPES[record.dtype].blob, true);
  view.setBigUint64(8, BigInt(record.byteLength), true);
  view.setBigUint64(16, BigInt(record.dataOffset), true);
  view.setBigUint64(24, BigInt(paddingBits(record.dtype, record.count)), true);
  return bytes;
}

/** The header and every metadata record; the data is the caller's to write at `dataOffset`. */
export async function writeBlobFrame(plan: BlobPlan, sink: PositionedSink): Promise<void> {
  await sink.write(0, header(plan.records.length));
  for (const record of plan.records) await sink.write(record.offset, metadata(record));
}

function bad(what: string): never {
  throw new WorkbenchError("INPUT_MALFORMED", `[weight.bin] ${what}`, { hint: "Export the model again." });
}

const BY_CODE = new Map<number, MilDtype>(
  (Object.keys(MIL_DTYPES) as MilDtype[]).filter((d) => MIL_DTYPES[d].blob !== 0).map((d) => [MIL_DTYPES[d].blob, d]),
);

/** Reads records by the offset a program gives, checking each against the file and the wanted type. */
export class BlobReader {
  readonly #source: RangeSource;
  readonly recordCount: number;

  private constructor(source: RangeSource, recordCount: number) {
    this.#source = source;
    this.recordCount = recordCount;
  }

  static async open(source: RangeSource): Promise<BlobReader> {
    if (source.byteLength < BLOB_ALIGNMENT) bad(`the file has ${source.byteLength} bytes, less than its header`);
    const view = viewOf(await source.read(0, BLOB_ALIGNMENT));
    if (view.getUint32(4, true) !== VERSION) bad(`version ${view.getUint32(4, true)}, expected ${VERSION}`);
    return new BlobReader(source, view.getUint32(0, true));
  }

  async record(offset: number): Promise<BlobRecord> {
    const inside =
      Number.isSafeInteger(offset) &&
      offset >= BLOB_ALIGNMENT &&
      offset % BLOB_ALIGNMENT === 0 &&
      offset + BLOB_ALIGNMENT <= this.#source.byteLength;
    if (!inside) bad(`no record at ${offset}`);
    const view = viewOf(await this.#source.read(offset, BLOB_ALIGNMENT));
    if (view.getUint32(0, true) !== SENTINEL) bad(`no record at ${offset}: the mark is missing`);
    const dtype =
      BY_CODE.get(view.getUint32(4, true)) ?? bad(`element type number ${view.getUint32(4, true)} at ${offset}`);
    const byteLength = Number(view.getBigUint64(8, true));
    const dataOffset = Number(view.getBigUint64(16, true));
    const padding = Number(view.getBigUint64(24, true));
    if (
      dataOffset % BLOB_ALIGNMENT !== 0 ||
      dataOffset < BLOB_ALIGNMENT ||
      !(dataOffset + byteLength <= this.#source.byteLength)
    )
      bad(`the record at ${offset} points outside the file`);
    const { bits } = MIL_DTYPES[dtype];
    const count = (byteLength * 8 - (bits < 8 ? padding : 0)) / bits;
    if (padding > 7 || !Number.isInteger(count)) bad(`the record at ${offset} has ${byteLength} bytes of ${dtype}`);
    return { dtype, count, offset, dataOffset, byteLength };
  }

  /** The packed bytes of a record that must hold `count` elements of `dtype`. */
  async read(offset: number, dtype: MilDtype, count: number): Promise<Uint8Array> {
    const record = await this.record(offset);
    if (record.dtype !== dtype || record.count !== count)
      bad(`the record at ${offset} holds ${record.count} of ${record.dtype}, the program wants ${count} of ${dtype}`);
    return this.#source.read(record.dataOffset, record.byteLength);
  }
}

const viewOf = (bytes: Uint8Array): DataView => new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);

/** A sink in memory, for tests and small packages. */
export class MemorySink implements PositionedSink {
  #bytes = new Uint8Array(1024);
  #length = 0;

  write(position: number, bytes: Uint8Array): Promise<void> {
    const end = position + bytes.length;
    if (end > this.#bytes.length) {
      const grown = new Uint8Array(Math.max(end, this.#bytes.length * 2));
      grown.set(this.#bytes.subarray(0, this.#length));
      this.#bytes = grown;
    }
    this.#bytes.set(bytes, position);
    this.#length = Math.max(this.#length, end);
    return Promise.resolve();
  }

  get bytes(): Uint8Array {
    return this.#bytes.subarray(0, this.#length);
  }
}

export function memorySource(bytes: Uint8Array): RangeSource {
  return {
    byteLength: bytes.length,
    read: (position, length) => Promise.resolve(bytes.subarray(position, position + length)),
  };
}
