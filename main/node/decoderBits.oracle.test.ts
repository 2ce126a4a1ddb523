// With an f32 cache the engine gives llama.cpp's own logits for f32 and f16 files, bit for bit: the same roundings, the same
// order of sums, on AVX-512 and on AVX2 (llama.cpp's build for processors without AVX-512 runs in a process of its own).
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { LENGTH, logprobsOf, modelMaker, optimised, tokensFor, withDecoder, worstGap } from "../testing/decoderRuns.ts";
import { llamaLogprobs, llamaMissing, startAvx2Llama } from "../testing/llama.ts";
import { sharedOracleProcess } from "../testing/oracleProcess.ts";
import { loadAddon } from "./addon.ts";

const missing =
  llamaMissing() ?? (process.arch === "x64" ? undefined : "(only on x86 are sums in the order of llama.cpp's)");
const folder = mkdtempSync(join(tmpdir(), "rlx-bits-"));
const model = modelMaker(folder);
afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

const MODELS = [
  ["tiny-llama"],
  ["tiny-llama3"],
  ["tiny-qwen2"],
  ["tiny-qwen3"],
  ["tiny-odd"],
  ["tiny-qwen3", "--head-dim=128"],
  ["tiny-llama", "--width=320", "--heads=4", "--kv-heads=4", "--head-dim=80"],
  ["tiny-qwen3", "--rope-scaling=linear", "--rope-original-context=32"],
  ["tiny-qwen3", "--rope-scaling=yarn", "--rope-original-context=32"],
] as const;
const CASES = MODELS.flatMap(([preset, ...extra]) =>
  ["f32", "f16"].map((type) => [[preset, type, ...extra].join(" "), preset, type, extra] as const),
);

// Log-probabilities are worked out from the logits on both sides: in double, which leaves 1e-14.
const NOTHING = 1e-12;

describe.skipIf(missing !== undefined)(`bit for bit ${missing ?? ""}`, () => {
  const isas = missing === undefined ? loadAddon().isas : [];
  const peers = isas.includes("avx512") ? (["avx512", "avx2"] as const) : (["avx2"] as const);
  describe.each(peers)("%s", (isa) => {
    const engine = loadAddon({ isa });
    const peer = isa === isas.at(-1) ? sharedOracleProcess("llama") : startAvx2Llama();
    afterAll(async () => {
      await peer.ask("llama.forget");
      if (peer !== sharedOracleProcess("llama")) peer.stop();
    });

    test.each(CASES)("%s, whole, in chunks and token by token", async (_title, preset, type, extra) => {
      const { path } = model(preset, type, extra);
      await withDecoder(engine, path, { cacheType: "f32", prepare: optimised }, async (decoder) => {
        const tokens = tokensFor(decoder.architecture.vocabulary);
        const theirs = await llamaLogprobs(path, [...tokens], undefined, peer);
        for (const chunk of [LENGTH, 17, 1])
          expect(worstGap(await logprobsOf(decoder, tokens, chunk), (t) => theirs.row(t))).toBeLessThan(NOTHING);
      });
    });
  });
});
