// The weight file, against the bytes that Apple's own writer made (libmilstoragepython) and against broken files.
import { describe, expect, it } from "vitest";
import { BlobPlan, BlobReader, MemorySink, memorySource, writeBlobFrame } from "./blob.ts";
import { packBits } from "./mil/bits.ts";
import { unpackValues } from "./mil/fromProto.ts";
import type { MilDtype } from "./mil/types.ts";
import { f32ToF16Array } from "../../quant/half.ts";

const hex = (bytes: Uint8Array): string => [...bytes].map((b) => b.toString(16).padStart(2, "0")).join(" ");

/** dtype, values, data bytes, padding bits: golden vectors. */
const GOLDEN: readonly (readonly [MilDtype, readonly number[], string, number])[] = [
  ["uint1", [1, 0, 1, 1, 0, 0, 0, 1, 1], "8d 01", 7],
  ["uint2", [0, 1, 2, 3, 3], "e4 03", 6],
  ["uint3", [1, 2, 3, 4, 5], "d1 58", 1],
  ["uint4", [1, 2, 3, 4, 5], "21 43 05", 4],
  ["uint6", [1, 2, 3, 62, 63], "81 30 f8 3f", 2],
  ["int4", [-8, -1, 0, 7, 1], "f8 70 01", 4],
];

const BITS: Readonly<Record<string, number>> = { uint1: 1, uint2: 2, uint3: 3, uint4: 4, uint6: 6, int4: 4 };

async function golden(): Promise<Uint8Array> {
  const plan = new BlobPlan();
  const sink = new MemorySink();
  for (const [dtype, values] of GOLDEN) plan.place(dtype, dtype, values.length);
  plan.place("fp16", "fp16", 2);
  await writeBlobFrame(plan, sink);
  for (const [i, [dtype, values]] of GOLDEN.entries())
    await sink.write(plan.records[i]?.dataOffset ?? 0, packBits(BITS[dtype] ?? 0, values));
  await sink.write(plan.records[6]?.dataOffset ?? 0, new Uint8Array(f32ToF16Array([1, -2]).buffer));
  return sink.bytes;
}

describe("weight file", () => {
  it("packs sub-byte types as the golden vectors do", () => {
    for (const [dtype, values, bytes] of GOLDEN) expect(hex(packBits(BITS[dtype] ?? 0, values)), dtype).toBe(bytes);
  });

  it("puts records and padding bits where the format says", async () => {
    const bytes = await golden();
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    expect([view.getUint32(0, true), view.getUint32(4, true)]).toEqual([7, 2]);
    for (const [i, [, , data, padding]] of GOLDEN.entries()) {
      const at = 64 + 128 * i;
      expect(view.getUint32(at, true)).toBe(0xdeadbeef);
      expect(Number(view.getBigUint64(at + 16, true))).toBe(at + 64);
      expect(Number(view.getBigUint64(at + 24, true))).toBe(padding);
      expect(hex(bytes.subarray(at + 64, at + 64 + data.split(" ").length))).toBe(data);
    }
    // No padding after the last record.
    expect(bytes.length).toBe(64 + 128 * 6 + 64 + 4);
  });

  it("reads back what it wrote", async () => {
    const reader = await BlobReader.open(memorySource(await golden()));
    for (const [i, [dtype, values]] of GOLDEN.entries()) {
      const data = await reader.read(64 + 128 * i, dtype, values.length);
      expect(Array.from(unpackValues(dtype, values.length, data)), dtype).toEqual(values);
    }
    expect(Array.from(unpackValues("fp16", 2, await reader.read(64 + 128 * 6, "fp16", 2)))).toEqual([1, -2]);
  });

  it("places equal keys once and refuses two types under one key", () => {
    const plan = new BlobPlan();
    expect(plan.place("a", "int8", 10)).toBe(plan.place("a", "int8", 10));
    expect(() => plan.place("a", "fp16", 10)).toThrow(/two types/);
    expect(plan.place("b", "int8", 1).offset % 64).toBe(0);
  });

  it("refuses records that lie", async () => {
    const good = await golden();
    const broken = async (change: (view: DataView) => void, offset = 64): Promise<unknown> => {
      const copy = good.slice();
      change(new DataView(copy.buffer));
      const reader = await BlobReader.open(memorySource(copy));
      return reader.read(offset, "uint1", 9);
    };
    const malformed = { code: "INPUT_MALFORMED" };
    expect(await broken(() => undefined)).toEqual(good.slice(128, 130));
    await expect(broken((v) => v.setUint32(4, 1, true))).rejects.toMatchObject(malformed);
    await expect(broken((v) => v.setUint32(64, 1, true))).rejects.toMatchObject(malformed);
    await expect(broken((v) => v.setUint32(68, 99, true))).rejects.toMatchObject(malformed);
    await expect(broken((v) => v.setBigUint64(72, 2n ** 60n, true))).rejects.toMatchObject(malformed);
    await expect(broken((v) => v.setBigUint64(80, 64n * 10n ** 6n, true))).rejects.toMatchObject(malformed);
    await expect(broken((v) => v.setBigUint64(88, 2n ** 63n, true))).rejects.toMatchObject(malformed);
    await expect(broken(() => undefined, 65)).rejects.toMatchObject(malformed);
    await expect(broken(() => undefined, 2 ** 40)).rejects.toMatchObject(malformed);
    await expect(broken(() => undefined, 192)).rejects.toMatchObject(malformed);
    await expect(BlobReader.open(memorySource(new Uint8Array(3)))).rejects.toMatchObject(malformed);
  });
});
