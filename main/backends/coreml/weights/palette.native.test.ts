// A palette by its definition: the table is that of k-means, every weight gets the nearest value, and what is stored reads back.
import { describe, expect, it } from "vitest";
import { dequantize } from "../../../formats/quant/dequantize.ts";
import { nativeMeasure } from "../../../engine/models/packageRequest.ts";
import { loadAddon } from "../../../node/native/addon.ts";
import { f16ToF32, f32ToF16 } from "../../../quant/half.ts";
import { seededRandom } from "../../../testing/random.ts";
import { BlobPlan, BlobReader, MemorySink, memorySource, writeBlobFrame } from "../blob.ts";
import { elementCount } from "../mil/types.ts";
import { reconstruct, RowConverter } from "./convert.ts";
import type { PaletteBits } from "./forms.ts";
import { bitsPerWeight, formText, heldInPackage, PALETTE_BITS, storedForm } from "./forms.ts";
import { measureRows } from "./measure.ts";
import { HalfCounts } from "./palette.ts";
import { WeightPlan } from "./plan.ts";
import type { WeightBytes } from "./write.ts";
import { writeWeights } from "./write.ts";

const random = seededRandom(11);
const normals = (count: number): Uint16Array =>
  Uint16Array.from({ length: count }, () => f32ToF16(random.normal() * 0.02));
const bytesOf = (halves: Uint16Array): Uint8Array => new Uint8Array(halves.buffer);
const values = (halves: Iterable<number>): readonly number[] => [...halves].map(f16ToF32);

function paletteOf(halves: Uint16Array, size: number) {
  const counts = new HalfCounts();
  counts.add(halves);
  return counts.palette(size);
}

function relative(made: ArrayLike<number>, exact: readonly number[]): number {
  const error = exact.reduce((sum, value, i) => sum + ((made[i] ?? NaN) - value) ** 2, 0);
  return Math.sqrt(error / exact.reduce((sum, value) => sum + value * value, 0));
}

describe("a table", () => {
  it("holds the values themselves where they fit, in order, and nothing is lost", () => {
    const halves = Uint16Array.from([2, -1, 0, 2, 0.5, -1, -0.25], f32ToF16);
    const { table, placeOf } = paletteOf(halves, 16);
    expect(values(table.subarray(0, 6))).toEqual([-1, -0.25, 0, 0.5, 2, 2]);
    expect([...halves].map((bits) => table[placeOf[bits] ?? 0])).toEqual([...halves]);
  });

  it("is that of k-means: each value is the mean of what is nearest to it", () => {
    const halves = normals(20_000);
    const { table, placeOf } = paletteOf(halves, 16);
    const centres = values(table);
    expect(centres).toEqual([...centres].sort((a, b) => a - b));
    const [sums, counts] = [new Float64Array(16), new Float64Array(16)];
    let astray = 0;
    for (const bits of halves) {
      const [value, place] = [f16ToF32(bits), placeOf[bits] ?? NaN];
      const distances = centres.map((centre) => Math.abs(centre - value));
      if (distances[place] !== Math.min(...distances)) astray++;
      sums[place] = (sums[place] ?? 0) + value;
      counts[place] = (counts[place] ?? 0) + 1;
    }
    expect(astray).toBe(0);
    for (const [i, centre] of centres.entries())
      expect(Math.abs((sums[i] ?? NaN) / (counts[i] ?? NaN) - centre)).toBeLessThan(2e-3);
  });

  // Max (1960) for 16 values; Panter and Dite for many.
  it.each([
    [16, 0.009497],
    [64, 2.721 / 64 ** 2],
    [256, 2.721 / 256 ** 2],
  ] as const)("of %s values loses what the best one for a normal distribution does", (size, share) => {
    const halves = normals(50_000);
    const { table, placeOf } = paletteOf(halves, size);
    const made = [...halves].map((bits) => f16ToF32(table[placeOf[bits] ?? 0] ?? 0));
    expect(relative(made, values(halves))).toBeLessThan(1.03 * Math.sqrt(share));
  });

  it("is the same each time, and not of what was counted before", () => {
    const [first, second] = [normals(3000), normals(3000)];
    const counts = new HalfCounts();
    counts.add(first);
    counts.palette(64);
    counts.clear();
    counts.add(second);
    expect(counts.palette(64).table).toEqual(paletteOf(second, 64).table);
  });

  it("keeps infinities and what is not a number beside the others", () => {
    const halves = Uint16Array.from([...normals(500), 0x7c00, 0xfc00, 0x7e01]);
    const { table, placeOf } = paletteOf(halves, 16);
    expect([0x7c00, 0xfc00, 0x7e01].map((bits) => f16ToF32(table[placeOf[bits] ?? 0] ?? 0))).toEqual([
      Infinity,
      -Infinity,
      NaN,
    ]);
    expect([...normals(10)].every((bits) => (placeOf[bits] ?? 16) < 13)).toBe(true);
  });
});

describe("the form", () => {
  const formOf = (shape: readonly number[], bits: PaletteBits = 6, inBytes = false) =>
    storedForm({ type: "f16", shape }, "ane", { bits, inBytes });

  it("is for matrices that would be plain fp16", () => {
    const wish = { bits: 6, inBytes: false } as const;
    expect(formOf([64, 256]).kind).toBe("palette");
    expect(storedForm({ type: "q4_k", shape: [64, 256] }, "ane", wish).kind).toBe("palette");
    expect(storedForm({ type: "q4_k", shape: [64, 256] }, "gpu", wish).kind).toBe("split");
    expect(storedForm({ type: "f16", shape: [64, 256] }, "exact", wish).kind).toBe("plain");
    for (const shape of [[65_536], [16, 256], [3, 3001]])
      expect(formOf(shape)).toEqual({ kind: "plain", dtype: "fp16" });
  });

  it("says its bits, and the bytes that are held", () => {
    // 64 halves for 16 · 512 places of six bits.
    expect(bitsPerWeight(formOf([64, 512]))).toBe(6 + (64 * 16) / (16 * 512));
    expect(
      heldInPackage("ane", { bits: 6, inBytes: false })({
        type: "f16",
        shape: [64, 512],
        elements: 64 * 512,
        fileBytes: 1,
      }),
    ).toBe(64 * 512 * 0.75 + 4 * 64 * 2);
    expect(formText(formOf([64, 512]))).toBe("6-bit palette, an fp16 table per 16 rows");
    expect(formText(formOf([63, 512]))).toBe("6-bit palette, one fp16 table");
    expect(formText(formOf([64, 512], 4, true))).toBe("4-bit palette, one fp16 table");
  });
});

describe("stored", () => {
  const SHAPES = [
    [544, 1024],
    [33, 512],
    [4, 16, 256],
  ];
  const files = new Map(SHAPES.map((shape, i) => [`w${i}`, normals(elementCount(shape))]));
  const source: WeightBytes = {
    read: (name, offset, length) => Promise.resolve(bytesOf(files.get(name)!).slice(offset, offset + length)),
    dequantize,
  };

  async function written(bits: PaletteBits, inBytes: boolean, from: WeightBytes = source) {
    const plan = new WeightPlan("ane", new BlobPlan(), { palette: { bits, inBytes } });
    for (const [i, shape] of SHAPES.entries()) plan.weight({ name: `w${i}`, type: "f16", shape });
    const sink = new MemorySink();
    await writeBlobFrame(plan.blob, sink);
    const reports = await writeWeights(plan, from, sink);
    return { plan, reports, reader: await BlobReader.open(memorySource(sink.bytes)) };
  }

  it.each(PALETTE_BITS.flatMap((bits) => [false, true].map((inBytes) => [bits, inBytes] as const)))(
    "%s bits, in bytes: %s: reads back as measured, with every table",
    async (bits, inBytes) => {
      const { plan, reports, reader } = await written(bits, inBytes);
      for (const [i, { name, form, parts: planned, shape }] of plan.weights.entries()) {
        const [report, exact] = [reports[i]!, values(files.get(name)!)];
        const parts = new Map(
          await Promise.all(
            planned.map(
              async (p) => [p.part, await reader.read(p.record!.offset, p.dtype, elementCount(p.shape))] as const,
            ),
          ),
        );
        const stored = reconstruct(form, parts, exact.length, report.fold);
        const whole = relative(stored, exact);
        expect(whole, name).toBeGreaterThan(0);
        expect(whole, name).toBeLessThan(1.03 * Math.sqrt(2.721 / 4 ** bits));
        expect(Math.abs(report.rmsError - whole), name).toBeLessThan(0.1 * whole);
        expect(report.storedBytes * 8).toBeCloseTo(bitsPerWeight(form) * exact.length, 6);
        const isGrouped = shape.length === 2 && shape[0] === 544 && !inBytes;
        expect(parts.get("table")?.length).toBe(2 * 2 ** bits * (isGrouped ? 34 : 1));
        // As if all was converted at once.
        if (isGrouped) {
          const again = new RowConverter("f16", form, 0, dequantize).convert(bytesOf(files.get(name)!), exact.length);
          expect(Buffer.compare(again.get("data")!, parts.get("data")!)).toBe(0);
        }
      }
    },
  );

  it("is measured in full by the native engine, as by the definition", async () => {
    const { plan } = await written(6, false);
    const [{ form }] = [plan.weights[0]!];
    const original = bytesOf(files.get("w0")!).slice(0, 2 * 16 * 1024);
    const parts = new RowConverter("f16", form, 0, dequantize).convert(original, 16 * 1024);
    const run = { type: "f16", original, count: 16 * 1024, form, parts, fold: 0 } as const;
    const [native, exact] = [await nativeMeasure(loadAddon())(run), measureRows(run, dequantize)];
    expect(native.error / exact.error).toBeCloseTo(1, 6);
    expect(native.energy / exact.energy).toBeCloseTo(1, 6);
  });

  it("folds values that fp16 cannot hold, in tables too", async () => {
    const large = Float32Array.from({ length: 64 * 256 }, () => random.normal() * 1e6);
    const plan = new WeightPlan("ane", new BlobPlan(), { palette: { bits: 8, inBytes: true } });
    plan.weight({ name: "w", type: "f32", shape: [64, 256] });
    const sink = new MemorySink();
    const read = (_: string, at: number, length: number) =>
      Promise.resolve(new Uint8Array(large.buffer).slice(at, at + length));
    const [report] = await writeWeights(plan, { read, dequantize }, sink);
    expect(report?.fold).toBeLessThan(0);
    expect(report?.overflowed).toBe(0);
    expect(report?.rmsError).toBeLessThan(0.01);
  });

  it("stops when cancelled, while the table is looked for", async () => {
    const abort = new AbortController();
    const plan = new WeightPlan("ane", new BlobPlan(), { palette: { bits: 6, inBytes: true } });
    plan.weight({ name: "w0", type: "f16", shape: [544, 1024] });
    let reads = 0;
    const read: WeightBytes["read"] = (...asked) => {
      if (++reads === 2) abort.abort();
      return source.read(...asked);
    };
    const options = { signal: abort.signal };
    await expect(writeWeights(plan, { read, dequantize }, new MemorySink(), options)).rejects.toMatchObject({
      code: "CANCELLED",
    });
  });
});
