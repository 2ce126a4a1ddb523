/** NumPy's files for tests: an array, and an archive of some. */
import { deflateRawSync } from "node:zlib";
import { crc32 } from "../training/data/npz.ts";

/** As numpy.save writes it, version 1. */
export function npy(descr: string, shape: string, data: ArrayBufferView, fortran = false): Uint8Array {
  const dictionary = `{'descr': '${descr}', 'fortran_order': ${fortran ? "True" : "False"}, 'shape': ${shape}, }`;
  const text = `${dictionary}${" ".repeat((64 - ((dictionary.length + 11) % 64)) % 64)}\n`;
  const head = Buffer.from([0x93, 0x4e, 0x55, 0x4d, 0x50, 0x59, 1, 0, text.length & 255, text.length >> 8]);
  return Buffer.concat([head, Buffer.from(text, "latin1"), Buffer.from(data.buffer, data.byteOffset, data.byteLength)]);
}

/** Stored, or packed as numpy.savez_compressed packs. */
export function zip(entries: Readonly<Record<string, Uint8Array>>, isPacked: boolean): Buffer {
  const [parts, rows]: [Buffer[], Buffer[]] = [[], []];
  let at = 0;
  for (const [name, plain] of Object.entries(entries)) {
    const bytes = isPacked ? deflateRawSync(plain) : plain;
    const fixed = Buffer.alloc(26);
    fixed.writeUInt16LE(20, 0);
    fixed.writeUInt16LE(isPacked ? 8 : 0, 4);
    fixed.writeUInt32LE(crc32(plain), 10);
    fixed.writeUInt32LE(bytes.byteLength, 14);
    fixed.writeUInt32LE(plain.byteLength, 18);
    fixed.writeUInt16LE(name.length, 22);
    const place = Buffer.alloc(14);
    place.writeUInt32LE(at, 10);
    rows.push(Buffer.concat([Buffer.from("PK\x01\x02\x14\x00", "latin1"), fixed, place, Buffer.from(name)]));
    parts.push(Buffer.concat([Buffer.from("PK\x03\x04", "latin1"), fixed, Buffer.from(name), bytes]));
    at += 30 + name.length + bytes.byteLength;
  }
  const directory = Buffer.concat(rows);
  const end = Buffer.alloc(22);
  end.write("PK\x05\x06", "latin1");
  end.writeUInt16LE(rows.length, 8);
  end.writeUInt16LE(rows.length, 10);
  end.writeUInt32LE(directory.byteLength, 12);
  end.writeUInt32LE(at, 16);
  return Buffer.concat([...parts, directory, end]);
}
