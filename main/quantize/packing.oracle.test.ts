/**
 * Packed rows against ggml's, on ten kinds of data. Types with a closed form have ggml's bytes. The others search: their error is
 * at most 1.005 times ggml's, plain without an importance, weighted by it with one.
 */
import { describe, expect, it } from "vitest";
import { loadAddon } from "../node/native/addon.ts";
import type { PackedType } from "../quant/registry.ts";
import { ggmlDequantize, ggmlQuantize, oracleMissing } from "../testing/oracle.ts";
import type { Random } from "../testing/random.ts";
import { seededRandom } from "../testing/random.ts";

const missing = oracleMissing();
const ROWS = 8;
const COLUMNS = 1024;
const MOST = 1.005;

const CLOSED: readonly PackedType[] = [
  "q4_0",
  "q4_1",
  "q5_0",
  "q5_1",
  "q8_0",
  "tq1_0",
  "tq2_0",
  "mxfp4",
  "nvfp4",
  "q1_0",
  "q2_0",
];
/** ggml packs these with an importance only. */
const WEIGHTED: readonly PackedType[] = ["iq1_s", "iq2_xxs", "iq2_xs"];
const SEARCHED: readonly PackedType[] = [
  "q2_k",
  "q3_k",
  "q4_k",
  "q5_k",
  "q6_k",
  "iq1_m",
  "iq2_s",
  "iq3_xxs",
  "iq3_s",
  "iq4_nl",
  "iq4_xs",
];

type Value = (random: Random, row: number, column: number) => number;
const KINDS: Readonly<Record<string, Value>> = {
  normal: (random) => random.normal(),
  tiny: (random) => random.normal() * 1e-4,
  uniform: (random) => random.next() * 2 - 1,
  laplace: (random) => Math.log(Math.max(1e-9, random.next())) * (random.next() < 0.5 ? 1 : -1),
  "heavy tails": (random) => random.normal() / Math.max(0.2, Math.abs(random.normal())),
  positive: (random) => Math.abs(random.normal()),
  shifted: (random) => random.normal() * 0.3 + 1,
  outliers: (random) => random.normal() * (random.next() < 0.01 ? 30 : 1),
  sparse: (random) => (random.next() < 0.2 ? random.normal() : 0),
  "columns of their own size": (random, _, column) => random.normal() * Math.exp(Math.sin(column * 1.7) * 2),
};

function valuesOf(kind: Value): Float32Array {
  const random = seededRandom(11);
  return Float32Array.from({ length: ROWS * COLUMNS }, (_, i) => kind(random, Math.floor(i / COLUMNS), i % COLUMNS));
}

const importanceOf = (): Float32Array => {
  const random = seededRandom(12);
  return Float32Array.from({ length: COLUMNS }, () => Math.exp(random.normal()));
};

function errorOf(values: Float32Array, back: Float32Array, importance: Float32Array | null): number {
  return values.reduce((sum, x, i) => sum + (x - back[i]!) ** 2 * (importance?.[i % COLUMNS] ?? 1), 0);
}

describe.skipIf(missing !== undefined)(`packing ${missing ?? ""}`, () => {
  const engine = loadAddon();
  const pack = (
    to: PackedType,
    values: Float32Array,
    importance: Float32Array | null,
  ): ReturnType<typeof engine.repack> =>
    engine.repack({ from: "f32", bytes: new Uint8Array(values.buffer), to, columns: COLUMNS, importance }, 2);

  describe.each(CLOSED)("%s has ggml's bytes", (type) => {
    it.each(Object.keys(KINDS))("%s", async (kind) => {
      const values = valuesOf(KINDS[kind]!);
      const { bytes } = await pack(type, values, null);
      expect(Buffer.from(bytes).equals(await ggmlQuantize(type, values, [ROWS, COLUMNS]))).toBe(true);
    });
  });

  const cases = [
    ...SEARCHED.map((type) => ({ type, weighted: false })),
    ...[...SEARCHED, ...WEIGHTED, ...CLOSED].map((type) => ({ type, weighted: true })),
  ];
  describe.each(cases)("$type, with an importance: $weighted", ({ type, weighted }) => {
    it.each(Object.keys(KINDS))("%s", async (kind) => {
      const values = valuesOf(KINDS[kind]!);
      const importance = weighted ? importanceOf() : null;
      const { bytes, error, weighted: sum } = await pack(type, values, importance);
      const theirs = await ggmlQuantize(type, values, [ROWS, COLUMNS], importance);
      const ours = errorOf(values, await ggmlDequantize(type, bytes, values.length), importance);
      // Sums of f32: six figures.
      expect(Math.abs((weighted ? sum : error) - ours)).toBeLessThanOrEqual(1e-6 * ours);
      expect(ours).toBeLessThanOrEqual(
        MOST * errorOf(values, await ggmlDequantize(type, theirs, values.length), importance),
      );
    });
  });
});
