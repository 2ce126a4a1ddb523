// The native error of stored weights against the yardstick in TypeScript, for every form that the planner makes.
import { describe, expect, it } from "vitest";
import { MAPPED_TYPES, WEIGHT_PROFILES, formFor } from "../coreml/weights/forms.ts";
import { RowConverter } from "../coreml/weights/convert.ts";
import type { ErrorSums, StoredRun } from "../coreml/weights/measure.ts";
import { measureRows } from "../coreml/weights/measure.ts";
import { fileBytes } from "../coreml/weights/plan.ts";
import { dequantize } from "../../formats/quant/dequantize.ts";
import type { ElementType } from "../../ir/dtype.ts";
import { seededRandom } from "../../testing/random.ts";
import { loadAddon } from "../../node/native/addon.ts";
import { nativeMeasure } from "../../engine/models/packageRequest.ts";

const engines = loadAddon().isas.map((isa) => loadAddon({ isa }));
const random = seededRandom(11);

/** Blocks of several pieces of the native work, the last of them short. */
const COUNT = 2 * 262_144 + 768;

/** Byte offsets of the halves in a block. */
const HALVES: Partial<Record<ElementType, readonly number[]>> = {
  q8_0: [0],
  q4_0: [0],
  q5_0: [0],
  q4_1: [0, 2],
  q5_1: [0, 2],
  q4_k: [0, 2],
  q5_k: [0, 2],
  q6_k: [208],
};

/** Random bytes whose halves, or floats, are of common sizes and of both signs, at an odd address where `odd` says so. */
function rowsOf(type: ElementType, count: number, odd: boolean): Uint8Array {
  const length = fileBytes(type, count);
  const bytes = new Uint8Array(length + 1).subarray(odd ? 1 : 0, length + (odd ? 1 : 0));
  for (let i = 0; i < length; i++) bytes[i] = Math.floor(random.next() * 256);
  const view = new DataView(bytes.buffer, bytes.byteOffset, length);
  const half = (at: number): void => {
    view.setUint16(at, 0x1800 + Math.floor(random.next() * 0x1400) + (random.next() < 0.5 ? 0x8000 : 0), true);
  };
  if (type === "f32") for (let at = 0; at < length; at += 4) view.setFloat32(at, random.normal(), true);
  else if (type === "f16") for (let at = 0; at < length; at += 2) half(at);
  else if (type === "bf16")
    for (let at = 1; at < length; at += 2) bytes[at] = 0x3c + Math.floor(random.next() * 3) + (at & 4 ? 0x80 : 0);
  else {
    const block = fileBytes(type, 256) / (type.endsWith("k") ? 1 : 8);
    for (let at = 0; at < length; at += block) for (const field of HALVES[type] ?? []) half(at + field);
  }
  return bytes;
}

function runOf(type: ElementType, profile: (typeof WEIGHT_PROFILES)[number], fold = 0, count = COUNT): StoredRun {
  const original = rowsOf(type, count, type !== "f32");
  const form = formFor(type, profile);
  // The reference unpacks where types need even addresses; converting must not change what is compared.
  const even = (bytes: Uint8Array): Uint8Array => bytes.slice();
  const parts = new RowConverter(type, form, fold, (t, bytes, n) => dequantize(t, even(bytes), n)).convert(
    even(original),
    count,
  );
  return { type, original, count, form, parts, fold };
}

const yardstick = (run: StoredRun): ErrorSums => measureRows({ ...run, original: run.original.slice() }, dequantize);

function expectSame(got: ErrorSums, want: ErrorSums, what: string): void {
  expect([got.notFinite, got.overflowed], what).toEqual([want.notFinite, want.overflowed]);
  expect(Math.abs(got.energy - want.energy), `energy, ${what}`).toBeLessThanOrEqual(1e-9 * want.energy);
  expect(Math.abs(got.error - want.error), `error, ${what}`).toBeLessThanOrEqual(1e-9 * want.error);
}

describe("the native error of stored weights", () => {
  for (const type of ["f32", "f16", "bf16", ...MAPPED_TYPES] as const)
    it(`is that of the definition for ${type} under every profile`, { timeout: 60_000 }, async () => {
      for (const profile of WEIGHT_PROFILES)
        for (const fold of profile === "exact" ? [0] : [0, 3, -2]) {
          const run = runOf(type, profile, fold);
          const want = yardstick(run);
          expect(want.energy).toBeGreaterThan(0);
          for (const engine of engines)
            expectSame(await nativeMeasure(engine)(run), want, `${type}, ${profile}, fold ${fold}, ${engine.isa}`);
        }
    });

  it("has what is not finite in neither sum", async () => {
    const original = new Float32Array(1000).fill(1);
    original.set([Infinity, NaN, 1e9, -1e9], 500);
    const [type, form] = ["f32", formFor("f32", "ane")] as const;
    const bytes = new Uint8Array(original.buffer);
    const parts = new RowConverter(type, form, 0, dequantize).convert(bytes, 1000);
    const run = { type, original: bytes, count: 1000, form, parts, fold: 0 };
    const want = { energy: 996, error: 0, notFinite: 2, overflowed: 2 };
    expect(yardstick(run)).toEqual(want);
    for (const engine of engines) expect(await nativeMeasure(engine)(run)).toEqual(want);
  });

  it("sees one changed code, scale, offset and rest", async () => {
    for (const type of ["q8_0", "q4_0", "q4_k"] as const)
      for (const engine of engines) {
        const run = runOf(type, "gpu", 0, 4096);
        const before = await nativeMeasure(engine)(run);
        for (const [part, bytes] of run.parts) {
          const changed = bytes.slice();
          changed[changed.length - 1] = (changed.at(-1) ?? 0) ^ 0x10;
          const mutant = { ...run, parts: new Map(run.parts).set(part, changed) };
          const { error } = await nativeMeasure(engine)(mutant);
          expect(Math.abs(error / before.error - 1), `${type} ${part} ${engine.isa}`).toBeGreaterThan(1e-6);
        }
      }
  });

  it("refuses parts that do not make the elements", async () => {
    const [engine] = engines;
    if (engine === undefined) throw new Error("[test] no instruction set");
    const run = runOf("q4_0", "gpu", 0, 4096);
    const refused = async (bad: StoredRun, what: string): Promise<void> => {
      await expect(nativeMeasure(engine)(bad), what).rejects.toMatchObject({ code: "INPUT_ARGUMENT" });
    };
    await refused({ ...run, count: 4096 + 32 }, "more elements");
    await refused({ ...run, count: 4095 }, "half a block");
    await refused({ ...run, count: -1 }, "negative");
    await refused({ ...run, original: run.original.subarray(1) }, "original");
    for (const [part, bytes] of run.parts) {
      await refused({ ...run, parts: new Map(run.parts).set(part, bytes.subarray(1)) }, `${part} short`);
      const without = new Map(run.parts);
      without.delete(part);
      await refused({ ...run, parts: without }, `${part} missing`);
    }
    // And goes on.
    expectSame(await nativeMeasure(engine)(run), yardstick(run), "after refusals");
  });

  it("is not moved by what happens to the arrays meanwhile: changed, detached, given away", async () => {
    const [engine] = engines.slice(-1);
    if (engine === undefined) throw new Error("[test] no instruction set");
    const run = runOf("q8_0", "gpu");
    const want = yardstick(run);
    const running = nativeMeasure(engine)(run);
    const buffers = new Set([run.original, ...run.parts.values()].map(({ buffer }) => buffer as ArrayBuffer));
    for (const buffer of buffers) new Uint8Array(structuredClone(buffer, { transfer: [buffer] })).fill(0x7f);
    expect(run.original.byteLength).toBe(0);
    expectSame(await running, want, "detached");
  });

  it("is cancelled, before it begins and in between", async () => {
    // The slowest set: the work takes longer than handing it over, which copies the rows.
    const [engine] = engines;
    if (engine === undefined) throw new Error("[test] no instruction set");
    const run = runOf("q8_0", "gpu");
    await expect(nativeMeasure(engine)(run, AbortSignal.abort())).rejects.toMatchObject({ code: "CANCELLED" });
    const controller = new AbortController();
    const many = Array.from({ length: 200 }, () => nativeMeasure(engine)(run, controller.signal));
    controller.abort();
    const settled = await Promise.allSettled(many);
    const failed = settled.flatMap((one) => (one.status === "rejected" ? [one.reason as unknown] : []));
    // A busy machine has done some of them by then: ten of fifty were seen.
    expect(failed.length).toBeGreaterThan(40);
    for (const error of failed) expect(error).toMatchObject({ code: "CANCELLED" });
  });
});
