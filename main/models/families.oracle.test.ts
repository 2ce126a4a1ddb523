// Every family's samples as toy files, against llama.cpp: f32 within 1e-3 at each of 64 positions, the same token wherever its
// margin exceeds 2e-3; packed files no further from the exact model than llama.cpp is. Whole, chunked and token by token agree.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { loadAddon } from "../node/native/addon.ts";
import { LENGTH, logprobsOf, optimised, tokensFor, withDecoder, worstGap } from "../testing/decoderRuns.ts";
import type { Rows } from "../testing/llama.ts";
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

const cases = FAMILIES.flatMap((family) =>
  family.samples.map((sample) => [`${sample.architecture}, ${sample.title}`, family, sample] as const),
);
const tokens = tokensFor(TOY_VOCABULARY);

function sameBest(mine: readonly Float64Array[], theirs: Rows<Float64Array>): void {
  mine.forEach((row, t) => {
    const order = [...theirs.row(t).keys()].sort((a, b) => theirs.row(t)[b]! - theirs.row(t)[a]!);
    const [best = 0, second = 0] = order;
    if (theirs.row(t)[best]! - theirs.row(t)[second]! > 2e-3)
      expect(row.indexOf(Math.max(...row)), `position ${t}`).toBe(best);
  });
}

const meanKl = (exact: Rows<Float64Array>, other: (t: number) => Float64Array): number =>
  Array.from({ length: LENGTH }, (_, t) =>
    exact.row(t).reduce((sum, x, i) => sum + Math.exp(x) * (x - other(t)[i]!), 0),
  ).reduce((a, b) => a + b) / LENGTH;

describe.skipIf(missing !== undefined)(`families ${missing ?? ""}`, () => {
  test.each(cases)("%s, f32", async (_title, family, sample) => {
    const { path } = await writeToy(folder, family, sample, "f32");
    const theirs = await llamaLogprobs(path, [...tokens]);
    await withDecoder(engine, path, { cacheType: "f32", prepare: optimised, asGgml: true }, async (decoder) => {
      const whole = await logprobsOf(decoder, tokens, LENGTH);
      expect(worstGap(whole, (t) => theirs.row(t))).toBeLessThan(1e-3);
      sameBest(whole, theirs);
      for (const chunk of [17, 1])
        expect(
          worstGap(await logprobsOf(decoder, tokens, chunk), (t) => whole[t]!),
          `runs of ${chunk}`,
        ).toBeLessThan(1e-3);
    });
  });

  test.each(cases)("%s, q8_0", async (_title, family, sample) => {
    const { path, exact } = await writeToy(folder, family, sample, "q8_0");
    const truth = await llamaLogprobs(exact, [...tokens]);
    const peer = await llamaLogprobs(path, [...tokens]);
    const limit = Math.max(
      1e-9,
      meanKl(truth, (t) => peer.row(t)),
    );
    await withDecoder(engine, path, { cacheType: "f32", prepare: optimised, asGgml: false }, async (decoder) => {
      for (const chunk of [LENGTH, 1]) {
        const mine = await logprobsOf(decoder, tokens, chunk);
        expect(
          meanKl(truth, (t) => mine[t]!),
          `runs of ${chunk}`,
        ).toBeLessThanOrEqual(limit);
      }
    });
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

// Rows of 256, so that the K types fit.
const WIDE = { embedding_length: 256, feed_forward_length: 256, "attention.head_count": 8 };
const WIDE_EXPERTS = { expert_feed_forward_length: 256, expert_shared_feed_forward_length: 256 };
const WIDE_NET = { "ssm.state_size": 64, "ssm.group_count": 2, "ssm.time_step_rank": 4, "ssm.inner_size": 256 };
const WIDE_SPACE = { "ssm.state_size": 32, "ssm.group_count": 2, "ssm.time_step_rank": 4, "ssm.inner_size": 256 };

describe.skipIf(missing !== undefined)(`recurrent families in their usual mix ${missing ?? ""}`, () => {
  test.each([
    ["lfm2moe", { ...WIDE, ...WIDE_EXPERTS }],
    ["qwen3next", { ...WIDE, ...WIDE_EXPERTS, ...WIDE_NET }],
    ["qwen35", { ...WIDE, ...WIDE_NET }],
    ["mamba2", { ...WIDE_SPACE, embedding_length: 256 }],
    ["nemotron_h", { ...WIDE, ...WIDE_SPACE, feed_forward_length: [0, 256, 0] }],
    ["rwkv7", { embedding_length: 256, feed_forward_length: 256 }],
  ])("%s, q4_k_m", async (architecture, keys) => {
    const family = FAMILIES.find(({ architectures }) => architectures.includes(architecture))!;
    const sample = family.samples.findLast((each) => each.architecture === architecture)!;
    const wide = { ...sample, title: "wide", keys: { ...sample.keys, ...keys } };
    const { path, exact } = await writeToy(folder, family, wide, "q4_k_m");
    const truth = await llamaLogprobs(exact, [...tokens]);
    const peer = await llamaLogprobs(path, [...tokens]);
    await withDecoder(engine, path, { cacheType: "f32", prepare: optimised, asGgml: false }, async (decoder) => {
      const mine = await logprobsOf(decoder, tokens, LENGTH);
      expect(meanKl(truth, (t) => mine[t]!)).toBeLessThanOrEqual(meanKl(truth, (t) => peer.row(t)));
    });
  });
});
