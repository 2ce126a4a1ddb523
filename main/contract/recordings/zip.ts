/** A ZIP archive whose files are stored as they are: APPNOTE.TXT 4.3, without compression, encryption or 64-bit sizes. */

const TABLE = Uint32Array.from({ length: 256 }, (_, n) => {
  let value = n;
  for (let bit = 0; bit < 8; bit++) value = value & 1 ? (value >>> 1) ^ 0xedb88320 : value >>> 1;
  return value;
});

export function crc32(bytes: Uint8Array): number {
  let crc = 0xffffffff;
  for (const byte of bytes) crc = (TABLE[(crc ^ byte) & 0xff] ?? 0) ^ (crc >>> 8);
  return (crc ^ 0xffffffff) >>> 0;
}

export interface ZipEntry {
  readonly name: string;
  readonly text: string;
}

const LOCAL = 0x04034b50;
const CENTRAL = 0x02014b50;
const END = 0x06054b50;
const VERSION = 20;
/** Names are UTF-8. */
const FLAGS = 0x0800;
/** 1980-01-01: the same files make the same archive. */
const DATE = 0x0021;

/** Fields of two (u16) or four (u32) bytes, little-endian. */
function record(fields: readonly (readonly [2 | 4, number])[], tail: Uint8Array): Uint8Array<ArrayBuffer> {
  const size = fields.reduce((sum, [width]) => sum + width, 0);
  const bytes = new Uint8Array(size + tail.length);
  const view = new DataView(bytes.buffer);
  let at = 0;
  for (const [width, value] of fields) {
    if (width === 2) view.setUint16(at, value, true);
    else view.setUint32(at, value, true);
    at += width;
  }
  bytes.set(tail, size);
  return bytes;
}

export function zip(entries: readonly ZipEntry[]): Uint8Array<ArrayBuffer> {
  const encoder = new TextEncoder();
  const parts: Uint8Array[] = [];
  const directory: Uint8Array[] = [];
  let offset = 0;
  for (const { name, text } of entries) {
    const [label, data] = [encoder.encode(name), encoder.encode(text)];
    // Version, flags, method (stored), time, date, checksum, both sizes, the name's length, no extra field.
    const common = [
      ...([
        [2, VERSION],
        [2, FLAGS],
        [2, 0],
        [2, 0],
        [2, DATE],
        [4, crc32(data)],
      ] as const),
      ...([
        [4, data.length],
        [4, data.length],
        [2, label.length],
        [2, 0],
      ] as const),
    ] as const;
    const local = record([[4, LOCAL], ...common], label);
    // No comment, first disk, no attributes, where the local header stands.
    directory.push(record([[4, CENTRAL], [2, VERSION], ...common, [2, 0], [2, 0], [2, 0], [4, 0], [4, offset]], label));
    parts.push(local, data);
    offset += local.length + data.length;
  }
  const size = directory.reduce((sum, { length }) => sum + length, 0);
  const { length } = entries;
  const end = record(
    [
      [4, END],
      [2, 0],
      [2, 0],
      [2, length],
      [2, length],
      [4, size],
      [4, offset],
      [2, 0],
    ],
    new Uint8Array(0),
  );
  return joined([...parts, ...directory, end]);
}

function joined(parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const all = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}
