// The library's embedder: vectors, ranks, and what is refused with a code.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { writeTinyEmbedder } from "../../testing/tinyEmbedder.ts";
import { openModel, sampleModel } from "./model.ts";

const folder = mkdtempSync(join(tmpdir(), "rlx-embedder-"));
const at = (name: string): string => join(folder, name);
beforeAll(async () => {
  await writeTinyEmbedder(at("embedder.gguf"));
  await writeTinyEmbedder(at("reranker.gguf"), { ranks: true });
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const DOCUMENTS = ["a small car", "the cat sits", "the cat runs"];

test("vectors have length 1, and the same text ranks first", async () => {
  const model = await openModel(at("embedder.gguf"));
  const embedder = await model.openEmbedder();
  const [vector] = await embedder.embed(["the cat sits"]);
  expect([vector?.rows, vector?.width]).toEqual([1, 32]);
  expect(vector?.data.reduce((sum, x) => sum + x * x, 0)).toBeCloseTo(1, 5);
  const ranked = await embedder.rerank("the cat sits", DOCUMENTS);
  expect(ranked[0]?.document).toBe(1);
  expect(ranked[0]?.score).toBeCloseTo(1, 5);
  embedder.dispose();
  await expect(model.openSession()).rejects.toMatchObject({ code: "UNSUPPORTED_MODEL_KIND" });
  await model.close();
});

test("a reranker scores pairs, and a writer makes no vectors", async () => {
  const model = await openModel(at("reranker.gguf"));
  const embedder = await model.openEmbedder();
  expect([embedder.pooling, embedder.labels]).toEqual(["rank", ["score"]]);
  const ranked = await embedder.rerank("the cat", DOCUMENTS);
  expect(ranked.map(({ score }) => score)).toEqual(ranked.map(({ score }) => score).toSorted((a, b) => b - a));
  embedder.dispose();
  await model.close();
  const writer = await openModel(sampleModel());
  await expect(writer.openEmbedder()).rejects.toMatchObject({ code: "UNSUPPORTED_MODEL_KIND" });
  await writer.close();
});
