// Forecasts by hand arithmetic: what is held and read depends on what runs the model, the rates on the machine.
import { describe, expect, it } from "vitest";
import { heldInPackage } from "../../backends/coreml/weights/forms.ts";
import { heldByMlx } from "../../backends/mlx/weightForms.ts";
import { heldAsStored } from "../../ir/heldBytes.ts";
import type { ForecastInput, Runner } from "./forecast.ts";
import { AS_STORED, cacheBytes, fitForecast, speedForecast } from "./forecast.ts";
import type { Here } from "./machines.ts";
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
const elsewhere: Here = { platform: "linux", chip: "some x86", cores: 2, totalBytes: 8 * 2 ** 30 };
const m4 = machineFor("m4", elsewhere);
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
    expect(cacheBytes(shape, "f16", 2048)).toBe(224 * 2 ** 20);
    expect(cacheBytes(shape, "f32", 2048)).toBe(448 * 2 ** 20);
  });

  it("adds up, and says yes, just, or no with the way out", () => {
    const fits = fitForecast(input(), 40_960);
    expect(fits.total.value).toBeCloseTo(fits.rows.reduce((sum, row) => sum + row.value.value, 0));
    expect(fits.verdict).toBe("fits");
    expect(fits.sentence).toContain("40\u202f960");
    const big = fitForecast(sized(30e9), null);
    expect(big.verdict).toBe("too-big");
    expect(big.sentence).toContain("smaller quantisation");
    expect(fitForecast({ ...sized(17e9), context: 8192 }, null).verdict).toBe("tight");
  });

  it("counts what recurrent layers remember once, whatever the context", () => {
    const recurrent = { elements: 36 * 1_000_000, product: "36 layers × 1000000" };
    const mixed = fitForecast(input({ shape: { ...shape, recurrent } }), null);
    expect(mixed.rows.find(({ label }) => label === "Recurrent states")?.value.value).toBe(144e6);
    expect(mixed.total.value - fitForecast(input(), null).total.value).toBe(144e6);
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

describe("speed", () => {
  it("is bound by the bandwidth of the unit that reads, and by the cache at the end of the context", () => {
    const { generate, prompt, sentence } = speedForecast(input());
    expect(generate?.high).toBeCloseTo((120e9 * 0.85) / 395e6);
    expect(generate?.low).toBeCloseTo((120e9 * 0.55) / (395e6 + 224 * 2 ** 20));
    expect(prompt.low).toBeCloseTo((2 * 596e6 * 1000) / (4.3e12 * 0.5));
    expect(sentence).toMatch(/^Decode is bound by memory: 395 MB of weights per token and up to 235 MB of cache/);
    const cpu = speedForecast(input({ runner: { ...gpu, unit: "cpu" } }));
    // 4 cores × 4.4 GHz × 4 units × 4 lanes × 2.
    expect(cpu.prompt.low).toBeCloseTo((2 * 596e6 * 1000) / (563.2e9 * 0.7));
    expect(cpu.generate?.high).toBeCloseTo((120e9 * 0.7) / 395e6);
  });

  it("reads the whole cache for each token where sizes are fixed", () => {
    const { generate } = speedForecast(input({ runner: { ...gpu, unit: "ane", readsWholeCache: true } }));
    expect(generate?.high).toBeCloseTo((120e9 * 0.85) / (395e6 + 224 * 2 ** 20));
  });

  it("gives no rate where starting ops decides, and says so", () => {
    const { generate, sentence } = speedForecast(input({ shape: { ...shape, bytesPerToken: 2e6 } }));
    expect(generate).toBeNull();
    expect(sentence).toContain("bound by starting its ops");
  });
});

describe("weights", () => {
  it("are held in the forms of what runs them: f16 for the Neural Engine, packed by the file, groups in MLX", () => {
    const weight = { rank: 2, elements: 1024 * 256 };
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

describe("machines", () => {
  const mac = (chip: string, cores: number, gigabytes: number): Here => ({
    platform: "darwin",
    chip,
    cores,
    totalBytes: gigabytes * 2 ** 30,
  });

  it("are this Mac with its variant and memory, where the target is its family", () => {
    const pro = machineFor("m4", mac("Apple M4 Pro", 14, 48));
    expect(pro).toMatchObject({ title: "this M4 Pro, 48 GB", memoryBytes: 48 * 2 ** 30 });
    expect(pro.bandwidth.gpu.perSecond).toBe(273e9);
    // Its Neural Engine is that of the M4.
    expect(pro.bandwidth.ane.perSecond).toBe(120e9);
    expect(machineFor("m4", mac("Apple M4 Max", 14, 36)).bandwidth.gpu.perSecond).toBe(410e9);
    expect(machineFor("m4", mac("Apple M4 Max", 16, 128)).bandwidth.gpu.perSecond).toBe(546e9);
    expect(machineFor("m2", mac("Apple M2 Ultra", 24, 192)).bandwidth.cpu.perSecond).toBe(800e9);
    expect(machineFor("m5", mac("Apple M5 Max", 18, 64)).title).toBe("this M5 Max, reckoned as M5, 64 GB");
  });

  it("are the plain chip as it is sold for another family, and elsewhere", () => {
    expect(machineFor("m2", mac("Apple M4 Pro", 14, 48))).toMatchObject({ title: "M2, 16 GB" });
    expect(m4).toMatchObject({ title: "M4, 24 GB", memoryBytes: 24 * 2 ** 30 });
    expect(machineFor("x1", elsewhere).title).toBe("M4, 24 GB");
  });
});
