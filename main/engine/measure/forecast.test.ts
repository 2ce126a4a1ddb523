import { describe, expect, it } from "vitest";
import { cacheBytes, fitForecast, speedForecast } from "./forecast.ts";
import { machineFor } from "./machines.ts";

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
const m4 = machineFor("m4");

describe("forecast", () => {
  it("counts the cache as llama.cpp does: 2 048 tokens of Qwen3-0.6B are 224 MiB in f16", () => {
    expect(cacheBytes(shape, 2048)).toBe(224 * 2 ** 20);
  });

  it("adds up, and says yes, just, or no with the way out", () => {
    if (!m4) throw new Error("no M4");
    const fits = fitForecast(shape, m4, 2048, 40_960);
    expect(fits.total.value).toBeCloseTo(fits.rows.reduce((sum, row) => sum + row.value.value, 0));
    expect(fits.verdict).toBe("fits");
    expect(fits.sentence).toContain("40\u202f960");
    const big = fitForecast({ ...shape, weightBytes: 30e9 }, m4, 2048, null);
    expect(big.verdict).toBe("too-big");
    expect(big.sentence).toContain("smaller quantisation");
    expect(fitForecast({ ...shape, weightBytes: 17e9 }, m4, 8192, null).verdict).toBe("tight");
    expect(fitForecast(shape, m4, 200_000, null).sentence).toMatch(/A context of .* would fit/);
  });

  it("names the largest context that fits with ease, not one token more", () => {
    if (!m4) throw new Error("no M4");
    const { sentence } = fitForecast(shape, m4, 200_000, null);
    const largest = Number(/A context of ([\d\u202f]+) tokens/.exec(sentence)?.[1]?.replaceAll("\u202f", ""));
    expect(fitForecast(shape, m4, largest, null).verdict).toBe("fits");
    expect(fitForecast(shape, m4, largest + 1, null).verdict).toBe("tight");
  });

  it("reckons with buffers for a prompt chunk, which grow with the widths and the vocabulary", () => {
    if (!m4) throw new Error("no M4");
    const activations = (given: typeof shape): number => fitForecast(given, m4, 2048, null).rows[2]?.value.value ?? NaN;
    const plain = activations(shape);
    // f32 for 512 tokens: four streams of the width, three of the feed-forward; one row of logits.
    expect(activations({ ...shape, width: 2048 }) - plain).toBe(512 * 4 * 4 * 1024);
    expect(activations({ ...shape, feedForward: 4096 }) - plain).toBe(512 * 4 * 3 * 1024);
    expect(activations({ ...shape, vocabulary: 151_936 + 1000 }) - plain).toBe(4 * 1000);
  });

  it("is bound by bandwidth when writing", () => {
    if (!m4) throw new Error("no M4");
    const speed = speedForecast(shape, m4, 2048);
    expect(speed.generate.high).toBeCloseTo((120e9 * 0.85) / 395e6);
    // At the end of the context its cache is read, too.
    expect(speed.generate.low).toBeCloseTo((120e9 * 0.55) / (395e6 + 224 * 2 ** 20));
    expect(speedForecast(shape, m4, 40_960).generate.low).toBeLessThan((speed.generate.low ?? 0) / 5);
    expect(speed.sentence).toMatch(/^Decode is bound by memory: 395 MB per token, and 235 MB more/);
    const tiny = { ...shape, weightBytes: 2e6, bytesPerToken: 2e6 };
    expect(speedForecast(tiny, m4, 1024).sentence).toContain("bound by starting its ops");
    expect(speed.generate.low).toBeLessThan(speed.generate.value);
    expect(speed.prompt.low ?? 0).toBeLessThan(speed.prompt.value);
  });

  it("falls back to the plain chip of a generation", () => {
    expect(machineFor("m3-nonsense")?.title).toBe("M3, 16 GB");
    expect(machineFor("x1")).toBeUndefined();
  });
});
