/** What a header says about its model, and the sentences for those without a graph. */
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { headerFile, shape, u32 } from "../testing/headerFile.ts";
import { boolEntry, numberEntry, numbersEntry, stringEntry } from "../formats/gguf/encode.ts";
import { readArchitecture, requireArchitecture } from "./architecture.ts";
import type { DenseHyper } from "./dense.ts";
import { HyperReader } from "./hyperReader.ts";
import { readWindows } from "./windows.ts";
import { describeModel } from "./describe.ts";
import { FAMILIES as ALL } from "./families/index.ts";
import { llama } from "./families/llama.ts";
import { qwen2 } from "./families/qwen2.ts";
import { qwen3 } from "./families/qwen3.ts";

const FAMILIES = { llama, qwen2, qwen3 };
/** The hyper-parameters that a family reads, of a file that it takes. */
const hyper = async (...given: Parameters<typeof headerFile>): Promise<DenseHyper> => {
  const [name] = given;
  const opened = await headerFile(...given);
  expect(requireArchitecture(opened).name).toBe(name);
  return FAMILIES[name as keyof typeof FAMILIES].hyper(opened, name);
};

describe("the architecture", () => {
  it("stands in docs/families.md with its family", () => {
    const page = readFileSync(new URL("../../docs/families.md", import.meta.url), "utf8");
    const rows = page
      .split("\n")
      .filter((line) => line.startsWith("| ") && line.includes("`") && !line.includes("main/"));
    expect(rows).toEqual(
      ALL.map(({ name, architectures }) => `| ${name} | ${architectures.map((a) => `\`${a}\``).join(", ")} |`),
    );
  });

  it("is read with its defaults", async () => {
    expect(await hyper("llama")).toMatchObject({
      name: "llama",
      layers: 2,
      width: 256,
      feedForward: 512,
      heads: 4,
      kvHeads: 2,
      headDim: 64,
      rope: {
        dims: 64,
        base: 10_000,
        pairing: "adjacent",
        scaling: { kind: "none" },
        attentionFactor: 1,
        factorsTensor: undefined,
      },
      normEpsilon: Math.fround(1e-6),
      vocabulary: 1000,
      context: 4096,
      tiedEmbedding: true,
      unusedWindow: 0,
      norm: "rms",
      draftLayers: 0,
    });
  });

  it("leaves layers that guess ahead beside the decoder", async () => {
    const key = "llama.nextn_predict_layers";
    const drafts = [shape("blk.1.nextn.eh_proj.weight", "f32", [512, 256])];
    const reading = readArchitecture(await headerFile("llama", { [key]: u32(key, 1) }, drafts));
    expect(reading.kind === "known" && reading.architecture).toMatchObject({ layers: 1 });
    const none = readArchitecture(await headerFile("llama", { [key]: u32(key, 2) }));
    expect(none.kind === "broken" && none.error.message).toContain("fewer than the 2 layers");
  });

  it("reads a window by its period, or layer by layer", async () => {
    const size = u32("llama.attention.sliding_window", 16);
    const key = "llama.attention.sliding_window_pattern";
    const local = async (pattern?: ReturnType<typeof u32>): Promise<readonly boolean[]> => {
      const file = await headerFile("llama", { [size.key]: size, ...(pattern && { [key]: pattern }) });
      const windows = readWindows(new HyperReader(file, "llama"), 4, { period: 4, isListed: true });
      return [0, 1, 2, 3].map((layer) => windows?.isLocal(layer) ?? false);
    };
    expect(await local()).toEqual([true, true, true, false]);
    expect(await local(u32(key, 2))).toEqual([true, false, true, false]);
    expect(await local(u32(key, 0))).toEqual([true, true, true, true]);
    expect(await local(u32(key, 1))).toEqual([false, false, false, false]);
    expect(await local(numbersEntry(key, "bool", [0, 1, 0, 0]))).toEqual([false, true, false, false]);
    await expect(local(numbersEntry(key, "bool", [0, 1]))).rejects.toThrow("2 entries");
  });

  it("has as many key heads as heads when it does not say", async () => {
    expect((await hyper("llama", { "llama.attention.head_count_kv": undefined })).kvHeads).toBe(4);
  });

  it("takes per-layer lists when the layers agree", async () => {
    const key = "llama.attention.head_count_kv";
    expect((await hyper("llama", { [key]: numbersEntry(key, "u32", [1, 1]) })).kvHeads).toBe(1);
    const differing = readArchitecture(await headerFile("llama", { [key]: numbersEntry(key, "u32", [1, 2]) }));
    expect(differing).toMatchObject({ kind: "unsupported" });
  });

  it("takes head sizes that are not width / heads", async () => {
    const key = "qwen3.attention.key_length";
    const read = await hyper("qwen3", { [key]: u32(key, 128) });
    expect([read.headDim, read.rope.dims, read.rope.pairing]).toEqual([128, 128, "halves"]);
  });

  it("reads the rope scalings of real files", async () => {
    const scaling = (type: string | undefined, factor: number | undefined) => ({
      ...(type === undefined ? {} : { "qwen2.rope.scaling.type": stringEntry("qwen2.rope.scaling.type", type) }),
      ...(factor === undefined
        ? {}
        : { "qwen2.rope.scaling.factor": numberEntry("qwen2.rope.scaling.factor", "f32", factor) }),
    });
    const rope = async (type: string | undefined, factor?: number) =>
      (await hyper("qwen2", scaling(type, factor))).rope;
    expect((await rope("none", 4)).scaling).toEqual({ kind: "none" });
    expect((await rope("linear", 4)).scaling).toEqual({ kind: "linear", factor: 4 });
    expect((await rope("linear")).scaling).toEqual({ kind: "none" });
    expect((await rope(undefined, 4)).scaling).toEqual({ kind: "linear", factor: 4 });
    const yarn = await rope("yarn", 4);
    expect(yarn.scaling).toEqual({ kind: "yarn", factor: 4, originalContext: 4096, betaFast: 32, betaSlow: 1 });
    expect(yarn.attentionFactor).toBeCloseTo(1.1386, 4);
    expect((await rope("longrope", 4)).scaling).toEqual({ kind: "linear", factor: 4 });
    expect(readArchitecture(await headerFile("qwen2", scaling("dynamic", 4)))).toMatchObject({ kind: "unsupported" });
    const factors = await hyper("llama", {}, [shape("rope_freqs.weight", "f32", [32])]);
    expect(factors.rope.factorsTensor).toBe("rope_freqs.weight");
  });

  it("reads the factor of the rotation, the old key of linear scaling, and how much of a head turns", async () => {
    const real = (key: string, value: number) => ({ [key]: numberEntry(key, "f32", value) });
    const attention = real("qwen2.rope.scaling.attn_factor", 0.5);
    expect((await hyper("qwen2", attention)).rope).toMatchObject({
      scaling: { kind: "none" },
      attentionFactor: 0.5,
    });
    const yarn = {
      "qwen2.rope.scaling.type": stringEntry("qwen2.rope.scaling.type", "yarn"),
      ...real("qwen2.rope.scaling.factor", 4),
    };
    // As for yarn above, times this one.
    expect((await hyper("qwen2", { ...yarn, ...attention })).rope.attentionFactor).toBeCloseTo(1.1386 / 2, 4);

    const old = real("llama.rope.scale_linear", 4);
    expect((await hyper("llama", old)).rope.scaling).toEqual({ kind: "linear", factor: 4 });
    const both = { ...old, ...real("llama.rope.scaling.factor", 2) };
    expect((await hyper("llama", both)).rope.scaling).toEqual({ kind: "linear", factor: 2 });

    const turning = (dims: number) => ({ "llama.rope.dimension_count": u32("llama.rope.dimension_count", dims) });
    expect(await hyper("llama", turning(32))).toMatchObject({ headDim: 64, rope: { dims: 32 } });
    for (const dims of [0, 31, 66]) {
      const reading = readArchitecture(await headerFile("llama", turning(dims)));
      expect(reading.kind === "broken" && reading.error.message).toContain(`dimension_count: got ${dims}, expected`);
    }
  });

  it("is broken when the heads cannot share the key heads", async () => {
    const key = "llama.attention.head_count_kv";
    for (const kvHeads of [3, 8]) {
      const reading = readArchitecture(await headerFile("llama", { [key]: u32(key, kvHeads) }));
      expect(reading.kind === "broken" && reading.error.code).toBe("INPUT_MALFORMED");
      expect(reading.kind === "broken" && reading.error.message).toContain(`4 heads cannot share ${kvHeads} key/value`);
    }
  });

  it("names what it does not know", async () => {
    const other = readArchitecture(await headerFile("openelm"));
    expect(other).toMatchObject({ kind: "unsupported", name: "openelm" });
    expect(other.kind === "unsupported" && other.sentence).toContain('"openelm" is not supported yet');
    const moe = readArchitecture(await headerFile("grok", { "grok.expert_count": u32("grok.expert_count", 128) }));
    expect(moe.kind === "unsupported" && moe.sentence).toMatch(
      /"grok" is not supported yet.*mixture of experts \(128/u,
    );
    const nameless = readArchitecture(await headerFile("llama", { "general.architecture": undefined }));
    expect(nameless).toMatchObject({ kind: "unsupported", name: undefined });
  });

  it("refuses a file with tensors that its graph would leave out, and names them", async () => {
    for (const [name, tensor] of [
      ["llama", "output.extra"],
      ["llama", "blk.2.attn_q.weight"],
      ["llama", "blk.0.attn_k_norm.weight"],
      ["qwen2", "rope_freqs.weight"],
      ["qwen3", "blk.1.attn_sinks.weight"],
      ["qwen3", "blk.01.attn_q.weight"],
    ] as const) {
      const reading = readArchitecture(await headerFile(name, {}, [shape(tensor, "f32", [256])]));
      expect(reading.kind === "unsupported" && reading.sentence, `${name} ${tensor}`).toContain(
        `wrong without them: "${tensor}".`,
      );
    }
    const many = Array.from({ length: 5 }, (_, i) => shape(`other.${i}`, "f32", [256]));
    const reading = readArchitecture(await headerFile("llama", {}, many));
    expect(reading.kind === "unsupported" && reading.sentence).toContain('"other.2" and 2 more.');
  });

  it("leaves a classifier's head and numbers for rounding beside the decoder, and refuses an encoder", async () => {
    await hyper("llama", {}, [shape("blk.0.attn_q.input_scale", "f32", [1])]);
    await hyper("qwen3", {}, [shape("cls.output.weight", "f32", [256, 2])]);
    const key = "qwen3.attention.causal";
    await hyper("qwen3", { [key]: boolEntry(key, true) });
    const reading = readArchitecture(await headerFile("qwen3", { [key]: boolEntry(key, false) }));
    expect(reading.kind === "unsupported" && reading.sentence).toContain("looks both ways");
  });

  it("names the key of a number that is none", async () => {
    for (const key of ["llama.attention.layer_norm_rms_epsilon", "llama.rope.scaling.attn_factor"]) {
      const reading = readArchitecture(await headerFile("llama", { [key]: numberEntry(key, "f32", NaN) }));
      expect(reading.kind === "broken" && reading.error.message).toContain(`${key}: got NaN`);
    }
  });

  it("is worked out once for a file", async () => {
    const opened = await headerFile("llama");
    expect(requireArchitecture(opened)).toBe(requireArchitecture(opened));
    expect(describeModel(opened).architecture).toBe(readArchitecture(opened));
  });

  it("tells its context, and warns of a sliding window that the graph does not apply", async () => {
    const window = { "llama.attention.sliding_window": u32("llama.attention.sliding_window", 1024) };
    const described = describeModel(await headerFile("llama", window));
    expect(described.context).toBe(4096);
    expect(described.warnings.join()).toContain("a sliding window of 1024 positions, which is not applied");
    expect(describeModel(await headerFile("llama")).warnings).toEqual([]);
  });

  it("is broken when a key that all have is missing", async () => {
    const reading = readArchitecture(await headerFile("llama", { "llama.block_count": undefined }));
    expect(reading.kind === "broken" && reading.error.code).toBe("INPUT_MISSING_KEY");
    expect(reading.kind === "broken" && reading.error.message).toContain("llama.block_count");
  });
});
