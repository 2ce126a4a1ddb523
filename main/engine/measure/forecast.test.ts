// Forecasts by hand arithmetic: what is held depends on what runs the model, the room for it on the machine.
import { describe, expect, it } from "vitest";
import { heldInPackage } from "../../backends/coreml/weights/forms.ts";
import { heldByMlx } from "../../backends/mlx/weightForms.ts";
import { heldAsStored } from "../../ir/heldBytes.ts";
import type { ForecastInput, Runner } from "./forecast.ts";
import { AS_STORED, cacheBytes, fitForecast } from "./forecast.ts";
import type { Here } from "../../compiler/cost/machines.ts";
import { machineFor } from "../../compiler/cost/machines.ts";

/** The published shape of Qwen3-0.6B as a Q4_K_M file. */
const shape = {
  weightBytes: 395e6,
  bytesPerToken: 395e6,
  activeParameters: 596e6,
  layers: 28,
  width: 1024,
  feedForward: 3072,
  vocabulary: 151_936,
  cache: { elements: 28 * 2 * 8 * 128, product: "28 layers × 2 × 8 × 128" },
};
const elsewhere: Here = { platform: "linux", chip: "some x86", cores: 2, totalBytes: 8 * 2 ** 30 };
const m4 = machineFor({ chip: "m4" }, elsewhere);
const gpu: Runner = { ...AS_STORED, title: "GPU", unit: "gpu" };
const input = (other: Partial<ForecastInput> = {}): ForecastInput => ({
  shape,
  runner: gpu,
  machine: m4,
  context: 2048,
  ...other,
});
const sized = (weightBytes: number): ForecastInput => input({ shape: { ...shape, weightBytes } });

describe("fit", () => {
  it("counts the cache as llama.cpp does: 2 048 tokens of Qwen3-0.6B are 224 MiB in f16, and twice that in f32", () => {
    expect(cacheBytes(shape, { cache: "f16" }, 2048)).toBe(224 * 2 ** 20);
    expect(cacheBytes(shape, { cache: "f32" }, 2048)).toBe(448 * 2 ** 20);
  });

  it("counts 34 and 18 bytes for 32 numbers of a packed cache, and f16 where nothing can be packed", () => {
    const packs = { ...shape, cache: { ...shape.cache, packs: true as const } };
    expect(cacheBytes(packs, { cache: "q8_0" }, 2048)).toBe(119 * 2 ** 20);
    expect(cacheBytes(packs, { cache: "q4_0" }, 2048)).toBe(63 * 2 ** 20);
    const rowOf = (given: typeof shape) =>
      fitForecast(input({ shape: given, runner: { ...gpu, cache: "q8_0" } }), null).rows[1];
    expect(rowOf(packs)?.value.basis).toBe("keys and values in q8_0");
    const { packs: _, ...plain } = packs.cache;
    expect(rowOf({ ...shape, cache: plain })?.value.basis).toBe("keys and values in f16");
  });

  it("adds up, and says yes, just, or no with the way out", () => {
    const fits = fitForecast(input(), 40_960);
    expect(fits.total.value).toBeCloseTo(fits.rows.reduce((sum, row) => sum + row.value.value, 0));
    expect(fits.verdict).toBe("fits");
    expect(fits.sentence).toContain("40\u202f960");
    const big = fitForecast(sized(30e9), null);
    expect(big.verdict).toBe("too-big");
    expect(big.sentence).toContain("smaller quantisation");
    // Of 24 GiB the GPU may hold 16, the CPU 18.
    const near = { ...sized(15.5e9), context: 8192 };
    expect(fitForecast(near, null).verdict).toBe("tight");
    expect(fitForecast({ ...near, runner: { ...gpu, unit: "cpu" } }, null).available.value).toBe(18 * 2 ** 30);
  });

  it("counts layers with a window up to the rows of their rings", () => {
    const local = { elements: 20 * 2 * 8 * 128, product: "20 layers × 2 × 8 × 128", reach: 511 };
    const cache = { ...shape.cache, local };
    const sliding = { ...shape, cache };
    const [rings, whole] = [
      { cache: "f16", rings: true },
      { cache: "f16", rings: false },
    ] as const;
    // 511 positions before a token's own and a step of 512, in blocks of 256.
    const ofRings = 1024 * local.elements * 2;
    expect(cacheBytes(sliding, whole, 8192)).toBe(8192 * cache.elements * 2);
    expect(cacheBytes(sliding, rings, 8192)).toBe(8192 * (cache.elements - local.elements) * 2 + ofRings);
    expect(cacheBytes(sliding, rings, 1000)).toBe(1000 * cache.elements * 2);
    const fit = (other: Partial<ForecastInput>, trained: number | null = null) =>
      fitForecast(input({ shape: sliding, runner: { ...gpu, rings: true }, context: 8192, ...other }), trained);
    expect(fit({}).rows[1]?.arithmetic).toBe(
      "(8192 tokens × 16\u202f384 + 1024 of 8192 tokens × 20 layers × 2 × 8 × 128) × 2 B",
    );
    expect(fit({ context: 1000 }).rows[1]?.arithmetic).toBe("1000 tokens × 28 layers × 2 × 8 × 128 × 2 B");
    // The longest context is one that fits, and one more does not: behind full rings, and before.
    for (const [weightBytes, context] of [
      [395e6, 8192],
      [14.4e9, 131_072],
    ] as const) {
      const { sentence, total } = fit({ shape: { ...sliding, weightBytes }, context });
      const longest = Number(/(?:to|of) ([\d\u202f]+) tokens/u.exec(sentence)?.[1]?.replaceAll("\u202f", ""));
      const room = 0.85 * 16 * 2 ** 30 - (total.value - cacheBytes(sliding, rings, context));
      expect(cacheBytes(sliding, rings, longest)).toBeLessThanOrEqual(room);
      expect(cacheBytes(sliding, rings, longest + 1)).toBeGreaterThan(room);
    }
    const all = { ...sliding, cache: { ...cache, local: { ...local, elements: cache.elements } } };
    expect(fit({ shape: all }).sentence).toContain("A longer context takes no more.");
  });

  it("counts what recurrent layers remember once, whatever the context", () => {
    const recurrent = { elements: 36 * 1_000_000, product: "36 layers × 1000000" };
    const mixed = fitForecast(input({ shape: { ...shape, recurrent } }), null);
    expect(mixed.rows.find(({ label }) => label === "Recurrent states")?.value.value).toBe(144e6);
    expect(mixed.total.value - fitForecast(input(), null).total.value).toBe(144e6);
  });

  it("does not grow with the context where nothing is kept for a position", () => {
    const none = { ...shape, cache: { elements: 0, product: "no caches" } };
    for (const trained of [40_960, null])
      expect(fitForecast(input({ shape: none }), trained).sentence).toMatch(
        / to spare\. A longer context takes no more\.$/u,
      );
  });

  it("names the largest context that fits with ease, not one token more", () => {
    const at = (context: number) => fitForecast(input({ context }), null);
    const largest = Number(
      /A context of ([\d\u202f]+) tokens would fit/.exec(at(200_000).sentence)?.[1]?.replaceAll("\u202f", ""),
    );
    expect(at(largest).verdict).toBe("fits");
    expect(at(largest + 1).verdict).toBe("tight");
  });

  it("reckons with buffers for a prompt chunk, which grow with the widths and the vocabulary", () => {
    const activations = (given: typeof shape): number =>
      fitForecast(input({ shape: given }), null).rows[2]?.value.value ?? NaN;
    const plain = activations(shape);
    // f32 for 512 tokens: four streams of the width, three of the feed-forward; one row of logits.
    expect(activations({ ...shape, width: 2048 }) - plain).toBe(512 * 4 * 4 * 1024);
    expect(activations({ ...shape, feedForward: 4096 }) - plain).toBe(512 * 4 * 3 * 1024);
    expect(activations({ ...shape, vocabulary: 151_936 + 1000 }) - plain).toBe(4 * 1000);
  });
});

describe("weights", () => {
  it("are held in the forms of what runs them: f16 for the Neural Engine, packed by the file, groups in MLX", () => {
    const weight = { shape: [1024, 256], elements: 1024 * 256 };
    const q4 = { ...weight, type: "q4_k", fileBytes: 1024 * 144 } as const;
    const q6 = { ...weight, type: "q6_k", fileBytes: 1024 * 210 } as const;
    expect(heldAsStored(q4)).toBe(1024 * 144);
    expect(heldInPackage("ane")(q4)).toBe(1024 * 256 * 2);
    // Four bits, and per 32 weights two halves.
    expect(heldInPackage("gpu")(q4)).toBe(1024 * 256 * (0.5 + 4 / 32));
    // Four bits, and per 32 weights two floats; what MLX has no groups for is f16.
    expect(heldByMlx(q4)).toBe(1024 * 256 * (0.5 + 8 / 32));
    expect(heldByMlx(q6)).toBe(1024 * 256 * 2);
  });
});
