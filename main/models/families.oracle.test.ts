// Every family's samples as toy files, against llama.cpp: f32 within 1e-3 at each of 64 positions, the same token wherever its
// margin exceeds 2e-3. Whole, chunked and token by token agree. Packed files: familiesPacked.oracle.test.ts.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { loadAddon } from "../node/native/addon.ts";
import {
  LENGTH,
  expectSameBest,
  logprobsOf,
  optimised,
  sourceOf,
  tokensFor,
  withDecoder,
  worstGap,
} from "../testing/decoderRuns.ts";
import { llamaForget, llamaLogprobs, llamaMissing } from "../testing/llama.ts";
import { TOY_VOCABULARY, splitExperts, writeToy } from "../testing/toyFiles.ts";
import { FAMILIES } from "./families/index.ts";

const missing = llamaMissing();
const folder = mkdtempSync(join(tmpdir(), "rlx-families-"));
const engine = loadAddon();
afterAll(async () => {
  if (missing === undefined) await llamaForget();
  rmSync(folder, { recursive: true, force: true });
});

const cases = FAMILIES.filter(({ kind }) => kind === "decoder").flatMap((family) =>
  family.samples.map((sample) => [`${sample.architecture}, ${sample.title}`, family, sample] as const),
);
const tokens = tokensFor(TOY_VOCABULARY);

describe.skipIf(missing !== undefined)(`families ${missing ?? ""}`, () => {
  test.each(cases)("%s, f32", async (_title, family, sample) => {
    const { path } = await writeToy(folder, family, sample, "f32");
    const source = sourceOf(sample);
    const theirs = await llamaLogprobs(path, [...tokens], { source });
    await withDecoder(engine, path, { cacheType: "f32", prepare: optimised, asGgml: true }, async (decoder) => {
      const whole = await logprobsOf(decoder, tokens, LENGTH, source);
      expect(worstGap(whole, (t) => theirs.row(t))).toBeLessThan(1e-3);
      expectSameBest(whole, theirs);
      for (const chunk of [17, 1])
        expect(
          worstGap(await logprobsOf(decoder, tokens, chunk, source), (t) => whole[t]!),
          `runs of ${chunk}`,
        ).toBeLessThan(1e-3);
    });
  });
});

// 64 positions do not fill a block of 128.
test.skipIf(missing !== undefined)("DeepSeek 4 sees blocks of 128 positions, as llama.cpp does", async () => {
  const family = FAMILIES.find(({ name }) => name === "deepseek4")!;
  const { path } = await writeToy(folder, family, { ...family.samples.at(-1)!, title: "long" }, "f32");
  const long = tokensFor(TOY_VOCABULARY, 200);
  const theirs = await llamaLogprobs(path, [...long]);
  await withDecoder(engine, path, { cacheType: "f32", prepare: optimised, asGgml: true }, async (decoder) => {
    expect(worstGap(await logprobsOf(decoder, long, LENGTH), (t) => theirs.row(t))).toBeLessThan(1e-3);
  });
});

// This llama.cpp no longer loads such files, so the same weights in one tensor are the referee.
test("an old file with a tensor for each expert gives the logits of the file with one", async () => {
  const family = FAMILIES.find(({ name }) => name === "llama")!;
  const sample = family.samples.find(({ title }) => title === "eight experts")!;
  const { path } = await writeToy(folder, family, sample, "f32");
  const split = join(folder, "split.gguf");
  await splitExperts(path, split);
  const runs: Float64Array[][] = [];
  for (const file of [path, split])
    await withDecoder(engine, file, { cacheType: "f32", prepare: optimised, asGgml: false }, async (decoder) => {
      runs.push(await logprobsOf(decoder, tokens, LENGTH));
    });
  expect(worstGap(runs[0]!, (t) => runs[1]![t]!)).toBeLessThan(1e-4);
});
