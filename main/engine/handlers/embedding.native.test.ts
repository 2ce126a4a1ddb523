// Texts become vectors and documents are sorted, on every device; what a model cannot do is said with a code.
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Embedded } from "../../contract/views/embed.ts";
import { findMlxEngine } from "../../node/native/mlxAddon.ts";
import type { Harness } from "../../testing/engineHarness.ts";
import { engineHarness } from "../../testing/engineHarness.ts";
import { reasonNotFound } from "../../testing/skipping.ts";
import { writeTinyEmbedder } from "../../testing/tinyEmbedder.ts";
import { writeTinyGguf } from "../../testing/tinyGguf.ts";

const noMlx = reasonNotFound(findMlxEngine());
const TEXTS = ["the cat sits", "the dog sits", "a small car"];

let engine: Harness;
let embedder = "";
let reranker = "";
let writer = "";
beforeAll(async () => {
  engine = await engineHarness();
  const at = (name: string): string => join(engine.folder, name);
  await writeTinyEmbedder(at("embedder.gguf"));
  await writeTinyEmbedder(at("reranker.gguf"), { ranks: true });
  await writeTinyGguf(at("writer.gguf"));
  const open = async (name: string): Promise<string> =>
    (await engine.client.call("model.open", { source: { kind: "path", path: at(name) } })).model;
  [embedder, reranker, writer] = [await open("embedder.gguf"), await open("reranker.gguf"), await open("writer.gguf")];
});
afterAll(() => engine.done());

async function embedded(input: object, texts: readonly string[] = TEXTS): Promise<Embedded> {
  const items = await engine.all("embed.run", { model: embedder, texts: [...texts], ...input });
  const done = items.find((item) => item.kind === "done");
  if (done?.kind !== "done") throw new Error("the stream ended without its last item");
  return done;
}

const length = (row: Float32Array): number => Math.sqrt(row.reduce((sum, x) => sum + x * x, 0));

describe("vectors", () => {
  test("have length 1 unless told otherwise, and a matrix says how alike they are", async () => {
    const done = await embedded({ similarity: true });
    expect(done).toMatchObject({ pooling: "mean", normalised: true, width: 32, labels: [] });
    for (const { vectors } of done.texts) expect(length(vectors)).toBeCloseTo(1, 5);
    const [a, b] = [done.texts[0]!.vectors, done.texts[1]!.vectors];
    const dot = a.reduce((sum, x, i) => sum + x * b[i]!, 0);
    const cosines = [...done.similarity!];
    expect([cosines[0], cosines[4], cosines[8]].map((x) => Number(x!.toFixed(5)))).toEqual([1, 1, 1]);
    expect(cosines[1]).toBeCloseTo(dot, 5);
    expect(cosines[3]).toBeCloseTo(dot, 5);
    const plain = await embedded({ normalise: false });
    expect(length(plain.texts[0]!.vectors)).not.toBeCloseTo(1, 2);
    expect(plain.texts[0]!.vectors.map((x) => x / length(plain.texts[0]!.vectors))).toEqual(a);
  });

  test("of each token have a row for each; their mean is the file's pooling", async () => {
    const each = await embedded({ pooling: "none", normalise: false });
    const mean = await embedded({ normalise: false });
    each.texts.forEach(({ tokens, rows, vectors }, t) => {
      expect([rows, vectors.length]).toEqual([tokens, tokens * 32]);
      const made = Array.from({ length: 32 }, (_, i) => {
        let sum = 0;
        for (let r = 0; r < rows; r++) sum += vectors[r * 32 + i]!;
        return sum / rows;
      });
      made.forEach((x, i) => expect(x).toBeCloseTo(mean.texts[t]!.vectors[i]!, 4));
    });
  });

  test.each(["coreml-sim", ...(noMlx === undefined ? ["mlx"] : [])])("are those of the CPU on %s", async (device) => {
    const [mine, theirs] = [await embedded({ device }), await embedded({})];
    mine.texts.forEach(({ vectors }, t) =>
      expect(vectors.reduce((sum, x, i) => sum + x * theirs.texts[t]!.vectors[i]!, 0)).toBeGreaterThan(1 - 1e-4),
    );
  });

  test("are refused for texts that do not fit, and for poolings that the file lacks", async () => {
    await expect(embedded({}, ["the ".repeat(100)])).rejects.toMatchObject({ code: "RUN_CONTEXT_FULL" });
    await expect(embedded({ pooling: "rank" })).rejects.toMatchObject({ code: "UNSUPPORTED_MODEL_KIND" });
    await expect(embedded({ pooling: "none", similarity: true })).rejects.toMatchObject({ code: "INPUT_ARGUMENT" });
    const many = Array.from({ length: 8193 }, () => "the");
    await expect(embedded({ similarity: true }, many)).rejects.toMatchObject({ code: "INPUT_LIMIT" });
  });
});

describe("documents", () => {
  const ranked = async (model: string) => {
    const documents = ["a small car", "a bear from china", "the cat runs"];
    const items = await engine.all("rerank.run", { model, query: "what is a panda?", documents });
    const done = items.find((item) => item.kind === "done");
    if (done?.kind !== "done") throw new Error("the stream ended without its last item");
    return done;
  };

  test("are sorted by a reranker's scores of query and document together", async () => {
    const { by, results } = await ranked(reranker);
    expect(by).toBe("score");
    expect(new Set(results.map(({ document }) => document))).toEqual(new Set([0, 1, 2]));
    // [CLS] what is a panda ? [SEP] a small car
    expect(results.find(({ document }) => document === 0)?.tokens).toBe(10);
    expect(results.map(({ score }) => score)).toEqual(results.map(({ score }) => score).toSorted((a, b) => b - a));
  });

  test("are sorted by the cosines of an embedder's vectors", async () => {
    const { by, results } = await ranked(embedder);
    expect(by).toBe("cosine");
    const { similarity } = await embedded({ similarity: true }, ["what is a panda?", "a small car"]);
    expect(results.find(({ document }) => document === 0)?.score).toBeCloseTo(similarity![1]!, 5);
  });
});

describe("what a model is not", () => {
  test("an encoder writes nothing, and says where it can be used", async () => {
    const overview = await engine.client.call("model.overview", { model: embedder });
    expect(overview.canRun).toMatchObject({
      ok: false,
      code: "UNSUPPORTED_MODEL_KIND",
      hint: expect.stringContaining("rlx embed") as string,
    });
    expect([overview.canMeasure.ok, overview.canEmbed.ok, overview.canGraph.ok, overview.canExport.ok]).toEqual([
      false,
      true,
      true,
      true,
    ]);
    const prompt = { kind: "completion", text: "the cat" } as const;
    await expect(engine.all("run.start", { model: embedder, prompt })).rejects.toMatchObject({
      code: "UNSUPPORTED_MODEL_KIND",
    });
  });

  test("a decoder without a pooling makes no vectors", async () => {
    const overview = await engine.client.call("model.overview", { model: writer });
    expect([overview.canRun.ok, overview.canEmbed.ok, overview.embedder]).toEqual([true, false, null]);
    await expect(engine.all("embed.run", { model: writer, texts: ["a"] })).rejects.toMatchObject({
      code: "UNSUPPORTED_MODEL_KIND",
    });
  });

  test("the graph of an encoder is shown, routed and planned as a package", async () => {
    const { canGraph, target } = await engine.client.call("model.overview", { model: embedder });
    expect(canGraph.ok).toBe(true);
    const plan = await engine.client.call("export.plan", { model: embedder, target });
    expect(plan.can).toEqual({ ok: true });
    expect(plan.bytes.value).toBeGreaterThan(0);
  });
});
