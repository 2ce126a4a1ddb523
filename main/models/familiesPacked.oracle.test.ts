// Packed toy files of every family against llama.cpp: no further from the exact model than llama.cpp is, whole and token by token.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { loadAddon } from "../node/native/addon.ts";
import type { MadeModel } from "../testing/decoderRuns.ts";
import { LENGTH, logprobsOf, optimised, sourceOf, tokensFor, withDecoder } from "../testing/decoderRuns.ts";
import type { Rows } from "../testing/llama.ts";
import { llamaForget, llamaLogprobs, llamaMissing } from "../testing/llama.ts";
import { TOY_VOCABULARY, writeToy } from "../testing/toyFiles.ts";
import type { FamilySample, SampleKeys } from "./family.ts";
import { FAMILIES } from "./families/index.ts";

const missing = llamaMissing();
const folder = mkdtempSync(join(tmpdir(), "rlx-packed-"));
const engine = loadAddon();
afterAll(async () => {
  if (missing === undefined) await llamaForget();
  rmSync(folder, { recursive: true, force: true });
});

/** The first sample of each architecture, and the last: it has other sizes and the other optional tensors. */
const cases = FAMILIES.filter(({ kind }) => kind === "decoder").flatMap((family) =>
  family.architectures.flatMap((architecture) => {
    const samples = family.samples.filter((sample) => sample.architecture === architecture);
    return [...new Set([...samples.slice(0, 1), ...samples.slice(-1)])].map(
      (sample) => [`${architecture}, ${sample.title}`, family, sample] as const,
    );
  }),
);
const tokens = tokensFor(TOY_VOCABULARY);

const meanKl = (exact: Rows<Float64Array>, other: (t: number) => Float64Array): number =>
  Array.from({ length: LENGTH }, (_, t) =>
    exact.row(t).reduce((sum, x, i) => sum + Math.exp(x) * (x - other(t)[i]!), 0),
  ).reduce((a, b) => a + b) / LENGTH;

async function isAsExact({ path, exact }: MadeModel, sample: FamilySample): Promise<void> {
  const source = sourceOf(sample);
  const truth = await llamaLogprobs(exact, [...tokens], { source });
  const peer = await llamaLogprobs(path, [...tokens], { source });
  const limit = Math.max(
    1e-9,
    meanKl(truth, (t) => peer.row(t)),
  );
  await withDecoder(engine, path, { cacheType: "f32", prepare: optimised, asGgml: false }, async (decoder) => {
    for (const chunk of [LENGTH, 1]) {
      const mine = await logprobsOf(decoder, tokens, chunk, source);
      expect(
        meanKl(truth, (t) => mine[t]!),
        `runs of ${chunk}`,
      ).toBeLessThanOrEqual(limit);
    }
  });
}

// Rows of 256, so that the K types fit.
const WIDE = { embedding_length: 256, feed_forward_length: 256, "attention.head_count": 8 };
const WIDE_KEYS = { ...WIDE, "attention.head_count_kv": 2 };
const WIDE_EXPERTS = { expert_feed_forward_length: 256, expert_shared_feed_forward_length: 256 };
const WIDE_NET = { "ssm.state_size": 64, "ssm.group_count": 2, "ssm.time_step_rank": 4, "ssm.inner_size": 256 };
const WIDE_SPACE = { "ssm.state_size": 32, "ssm.group_count": 2, "ssm.time_step_rank": 4, "ssm.inner_size": 256 };
const MIXES: readonly (readonly [architecture: string, type: string, keys: SampleKeys])[] = [
  ["gpt-oss", "mxfp4", {}],
  ["llama", "q4_k_m", { ...WIDE_KEYS, "rope.dimension_count": 32 }],
  ["qwen3moe", "q4_k_m", { ...WIDE_KEYS, expert_feed_forward_length: 256 }],
  ["gemma3", "q4_k_m", WIDE_KEYS],
  ["muse-glimmer", "q4_k_m", WIDE_KEYS],
  ["gemma4", "q4_0", {}],
  ["gemma3n", "q4_k_m", WIDE_KEYS],
  ["lfm2moe", "q4_k_m", { ...WIDE, ...WIDE_EXPERTS }],
  ["qwen3next", "q4_k_m", { ...WIDE, ...WIDE_EXPERTS, ...WIDE_NET }],
  ["qwen35", "q4_k_m", { ...WIDE, ...WIDE_NET }],
  ["mamba2", "q4_k_m", { ...WIDE_SPACE, embedding_length: 256 }],
  ["granitehybrid", "q4_k_m", { ...WIDE, ...WIDE_EXPERTS, ...WIDE_SPACE, "ssm.inner_size": 512 }],
  ["nemotron_h", "q4_k_m", { ...WIDE, ...WIDE_SPACE, feed_forward_length: [0, 256, 0] }],
  ["rwkv7", "q4_k_m", { embedding_length: 256, feed_forward_length: 256 }],
];

describe.skipIf(missing !== undefined)(`packed families ${missing ?? ""}`, () => {
  test.each(cases)("%s, q8_0", async (_title, family, sample) => {
    await isAsExact(await writeToy(folder, family, sample, "q8_0"), sample);
  });

  test.each(MIXES)("%s, usual mix %s", async (architecture, type, keys) => {
    const family = FAMILIES.find(({ architectures }) => architectures.includes(architecture))!;
    const sample = family.samples.findLast((each) => each.architecture === architecture)!;
    const wide = { ...sample, title: "wide", keys: { ...sample.keys, ...keys } };
    await isAsExact(await writeToy(folder, family, wide, type), wide);
  });
});
