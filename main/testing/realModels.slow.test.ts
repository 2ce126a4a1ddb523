/**
 * Real public models (scripts/fetchModels.mjs): SmolLM2-135M-Instruct in Q4_1 gives llama.cpp's tokens; the folder of
 * all-MiniLM-L6-v2 gives the ids of Hugging Face's tokenizer and the vectors of NumPy by BERT's formulas, and becomes a
 * GGUF that llama.cpp loads.
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { convertModel, openModel } from "../node/library/index.ts";
import { logprobsIn } from "./decoderRuns.ts";
import { llamaEmbeddings, llamaForget, llamaLogprobs, llamaMissing, llamaTokenize } from "./llama.ts";
import { numeric } from "./oracle.ts";
import { repositoryRoot, sharedOracleProcess } from "./oracleProcess.ts";

const fetched = spawnSync(process.execPath, [join(repositoryRoot, "scripts/fetchModels.mjs"), "--cached"], {
  encoding: "utf8",
});
const missing =
  llamaMissing() ?? (fetched.status === 0 ? undefined : `the real models are not fetched: ${fetched.stderr.trim()}`);
const models = missing === undefined ? (JSON.parse(fetched.stdout) as Record<"smollm2" | "minilm", string>) : undefined;
const folder = mkdtempSync(join(tmpdir(), "rlx-real-"));
afterAll(async () => {
  if (missing === undefined) await llamaForget();
  rmSync(folder, { recursive: true, force: true });
});

const STORY =
  "The lighthouse stood on a rock far from the shore. Every evening the keeper, an old woman called Marta, climbed its 144 " +
  "steps, lit the lamp, and wrote what she had seen into a book: ships, storms, whales, once a balloon. ";

const largestGap = (a: readonly number[], b: readonly number[]): number =>
  a.reduce((most, value, i) => Math.max(most, Math.abs(value - b[i]!)), 0);

function unit(vector: readonly number[]): readonly number[] {
  const length = Math.hypot(...vector);
  return vector.map((value) => value / length);
}

/** The place of the largest number, `but` left out. */
function bestOf(row: Float64Array, but = -1): number {
  let best = but === 0 ? 1 : 0;
  for (let i = 0; i < row.length; i++) if (i !== but && row[i]! > row[best]!) best = i;
  return best;
}

describe.skipIf(missing !== undefined)(`real models ${missing ?? ""}`, () => {
  it("SmolLM2-135M-Instruct: the best tokens of its weights at 512 positions, and an answer", async () => {
    const model = await openModel(models!.smollm2);
    const text = STORY.repeat(16);
    const ids = (await model.encode(text)).subarray(0, 512);
    expect([...ids]).toEqual([...(await llamaTokenize(models!.smollm2, [text]))[0]!.subarray(0, 512)]);
    expect(ids).toHaveLength(512);
    const session = await model.openSession({ context: 1024, cacheType: "f32", device: "cpu" });
    const mine = await logprobsIn(session.decoder, ids, 128);
    session.dispose();
    // llama.cpp over the same weights as f32: over Q4_1 it rounds what it multiplies, which moves log-probabilities by up to 0.5.
    const [exact] = await convertModel(model, join(folder, "smollm2.gguf"), { type: "f32" });
    const theirs = await llamaLogprobs(exact!, [...ids], { threads: 2 });
    let decided = 0;
    mine.forEach((row, t) => {
      const other = theirs.row(t);
      const best = bestOf(other);
      if (other[best]! - other[bestOf(other, best)]! <= 1e-2) return;
      decided++;
      expect(bestOf(row), `position ${t}`).toBe(best);
    });
    expect(decided).toBeGreaterThan(450);
    const chat = await model.openSession({ context: 256 });
    let answer = "";
    const question = [{ role: "user", content: "What is the capital of France? Answer in one word." }];
    for await (const event of chat.generate(question, { maxTokens: 24, sampling: { temperature: 0 } }))
      if (event.kind === "token") answer += event.text;
    expect(answer).toContain("Paris");
    chat.dispose();
    await model.close();
  });

  it("all-MiniLM-L6-v2: vectors of BERT's formulas from its folder, which becomes a GGUF that llama.cpp loads", async () => {
    const model = await openModel(models!.minilm);
    expect(model.file.metadata.number("bert.pooling_type")).toBe(1);
    const texts = [
      "A man is eating food.",
      "Café Ünïcode 東京 123-456, isn't it?",
      "unbelievable embeddings of tokenizers!!  \n\tend",
    ];
    // From the package tokenizers 0.23.3 over the same tokenizer.json.
    const ids = [
      [101, 1037, 2158, 2003, 5983, 2833, 1012, 102],
      [101, 7668, 27260, 1879, 1755, 13138, 1011, 3429, 2575, 1010, 3475, 1005, 1056, 2009, 1029, 102],
      [101, 23653, 7861, 8270, 4667, 2015, 1997, 19204, 17629, 2015, 999, 999, 2203, 102],
    ];
    expect(texts.map((text) => [...model.tokenizer.encode(text)])).toEqual(ids);
    const [path] = await convertModel(model, join(folder, "minilm.gguf"));
    expect((await llamaTokenize(path!, texts)).map((one) => [...one])).toEqual(ids);
    const embedder = await model.openEmbedder({ device: "cpu" });
    const vectors = await embedder.embed(texts);
    for (const [i, tokens] of ids.entries()) {
      const mine = [...vectors[i]!.data];
      const formula = numeric(
        await sharedOracleProcess("python").ask("hf.embedding", { folder: models!.minilm, tokens }),
      );
      expect(largestGap(mine, [...formula.data])).toBeLessThan(1e-4);
      // llama.cpp takes the tanh form of gelu, which is this far from erf's.
      const theirs = await llamaEmbeddings(path!, tokens, "mean");
      expect(largestGap(mine, unit([...theirs.row(0)]))).toBeLessThan(1e-3);
    }
    await model.close();
  });
});
