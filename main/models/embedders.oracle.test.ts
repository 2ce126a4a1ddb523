// Every sample that makes vectors of texts, against llama.cpp: with no pooling the row of each token, then what the file asks for
// (a mean, a token, scores), within 1e-3 of the largest number. Packed files are no further from the exact model than llama.cpp is.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { loadAddon } from "../node/native/addon.ts";
import { EMBEDDER_CASES, embedderOn, worstShare } from "../testing/embedderRuns.ts";
import { optimised, tokensFor } from "../testing/decoderRuns.ts";
import { llamaEmbeddings, llamaForget, llamaMissing } from "../testing/llama.ts";
import { TOY_VOCABULARY, writeToy } from "../testing/toyFiles.ts";
import { POOLINGS } from "./family.ts";

const missing = llamaMissing();
const folder = mkdtempSync(join(tmpdir(), "rlx-embedders-"));
const engine = loadAddon();
afterAll(async () => {
  if (missing === undefined) await llamaForget();
  rmSync(folder, { recursive: true, force: true });
});

const tokens = tokensFor(TOY_VOCABULARY, 53);

describe.skipIf(missing !== undefined)(`embedders ${missing ?? ""}`, () => {
  test.each(EMBEDDER_CASES)("%s, f32", async (_title, family, sample) => {
    const { path } = await writeToy(folder, family, sample, "f32");
    const own = POOLINGS[Number(sample.keys["pooling_type"])];
    for (const pooling of new Set(["none", own ?? "mean", own === "rank" ? "cls" : "last"] as const)) {
      const theirs = await llamaEmbeddings(path, [...tokens], pooling);
      const mine = await embedderOn(engine, path, { pooling, prepare: optimised }, (model) => model.embed(tokens));
      expect([mine.rows, mine.width], pooling).toEqual(theirs.shape);
      expect(worstShare(mine.data, theirs.data), pooling).toBeLessThan(1e-3);
    }
  });

  test.each(EMBEDDER_CASES)("%s, q8_0", async (_title, family, sample) => {
    const { path, exact } = await writeToy(folder, family, sample, "q8_0");
    const truth = await llamaEmbeddings(exact, [...tokens], "none");
    const peer = await llamaEmbeddings(path, [...tokens], "none");
    const mine = await embedderOn(engine, path, { pooling: "none", prepare: optimised }, (model) =>
      model.embed(tokens),
    );
    const gap = (data: Float32Array): number => data.reduce((sum, x, i) => sum + (x - truth.data[i]!) ** 2, 0);
    expect(gap(mine.data)).toBeLessThanOrEqual(Math.max(1e-9, gap(peer.data)));
  });
});
