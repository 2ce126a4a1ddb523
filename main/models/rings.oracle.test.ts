// Families with windows over several turns of their rings, against llama.cpp: f32 within 1e-3 at each position behind the first
// turn, the same token wherever its margin exceeds 2e-3, in large steps and token by token.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { loadAddon } from "../node/native/addon.ts";
import {
  LENGTH,
  expectSameBest,
  logprobsIn,
  optimised,
  tokensFor,
  withDecoder,
  worstGap,
} from "../testing/decoderRuns.ts";
import { llamaForget, llamaLogprobs, llamaMissing } from "../testing/llama.ts";
import { TOY_VOCABULARY, writeToy } from "../testing/toyFiles.ts";
import { FAMILIES } from "./families/index.ts";

const missing = llamaMissing();
const folder = mkdtempSync(join(tmpdir(), "rlx-rings-"));
const engine = loadAddon();
afterAll(async () => {
  if (missing === undefined) await llamaForget();
  rmSync(folder, { recursive: true, force: true });
});

const CONTEXT = 2048;
const tokens = tokensFor(TOY_VOCABULARY, 800);
/** Rings of 256 rows. */
const WINDOW = 48;

describe.skipIf(missing !== undefined)(`rings ${missing ?? ""}`, () => {
  test.each(["gemma2", "gemma3", "gemma3n", "gemma4", "gpt-oss", "cohere2", "olmo2", "muse-glimmer"])(
    "%s",
    async (architecture) => {
      const family = FAMILIES.find(({ architectures }) => architectures.includes(architecture))!;
      const of = family.samples.find(
        ({ architecture: own, keys }) => own === architecture && Number(keys["attention.sliding_window"] ?? 0) > 0,
      )!;
      const keys = { ...of.keys, context_length: CONTEXT, "attention.sliding_window": WINDOW };
      const { path } = await writeToy(folder, family, { ...of, title: "long", keys }, "f32");
      const theirs = await llamaLogprobs(path, [...tokens]);
      const options = { cacheType: "f32", prepare: optimised, asGgml: true, rings: true } as const;
      await withDecoder(engine, path, options, async (decoder) => {
        expect(decoder.compiled).toMatchObject({ rewind: "ring", ring: { rows: 256, spare: 256 - (WINDOW - 1) } });
        const session = decoder.open({ context: CONTEXT });
        const whole = await logprobsIn(session, tokens, LENGTH);
        expect(worstGap(whole, (t) => theirs.row(t))).toBeLessThan(1e-3);
        expectSameBest(whole, theirs);
        // Token by token through the end of a turn.
        session.truncate(740);
        const single = await logprobsIn(session, tokens.subarray(740), 1);
        expect(worstGap(single, (t) => whole[740 + t]!)).toBeLessThan(1e-3);
        session.dispose();
      });
    },
  );
});
