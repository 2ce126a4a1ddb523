// With an f32 cache the engine gives llama.cpp's own logits for f32 and f16 files, bit for bit: the
// same roundings, the same order of sums, on AVX-512 and on AVX2, against llama.cpp's builds for
// these (each in a process of its own). Of fused graphs, which are what runs: a silu by itself does
// not know where the rows of a product end.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { CpuEngine } from "../backends/cpu/engine.ts";
import type { Graph } from "../ir/graph.ts";
import type { MadeModel } from "../testing/decoderRuns.ts";
import {
  fused,
  LENGTH,
  logprobsOf,
  modelMaker,
  optimised,
  tokensFor,
  withDecoder,
  worstGap,
} from "../testing/decoderRuns.ts";
import { llamaLogprobs, llamaMissing, startLlamaOn } from "../testing/llama.ts";
import type { OracleProcess } from "../testing/oracleProcess.ts";
import { loadAddon } from "../node/native/addon.ts";

const isas = loadAddon().isas;
const missing =
  llamaMissing() ??
  (isas.includes("avx2") ? undefined : "(sums in the order of llama.cpp's are there for AVX2 and AVX-512)");
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
  // Rows and heads that are not whole vectors.
  ["tiny-llama", "--width=200", "--heads=2", "--kv-heads=1", "--head-dim=100", "--feed-forward=172"],
  ["tiny-qwen2", "--width=1000", "--heads=10", "--kv-heads=5", "--head-dim=100", "--feed-forward=2004"],
  ["tiny-qwen3", "--width=74", "--heads=3", "--kv-heads=1", "--head-dim=22", "--feed-forward=95", "--vocab=1003"],
  ["tiny-llama3", "--width=60", "--heads=2", "--kv-heads=2", "--head-dim=36", "--feed-forward=131"],
  ["tiny-qwen3", "--heads=1", "--kv-heads=1", "--head-dim=128"],
  ["tiny-qwen3", "--rope-scaling=linear", "--rope-original-context=32"],
  ["tiny-qwen3", "--rope-scaling=yarn", "--rope-original-context=32"],
] as const;
const CASES = MODELS.flatMap(([preset, ...extra]) =>
  ["f32", "f16"].map((type) => [[preset, type, ...extra].join(" "), preset, type, extra] as const),
);

// Log-probabilities are worked out from the logits on both sides: in double, which leaves 1e-14.
const NOTHING = 1e-12;
const CHUNK = 512;

const PEERS = (["avx512", "avx2"] as const).filter((isa) => isas.includes(isa) || missing !== undefined);

describe.skipIf(missing !== undefined)(`bit for bit ${missing ?? ""}`, () => {
  describe.each(PEERS)("on %s", (isa) => {
    let engine: CpuEngine;
    let peer: OracleProcess;
    beforeAll(() => {
      engine = loadAddon({ isa });
      peer = startLlamaOn(isa);
    });
    afterAll(() => {
      peer.stop();
    });

    async function holds(
      made: Promise<MadeModel>,
      length: number,
      graphs: readonly ((graph: Graph) => Graph)[],
    ): Promise<void> {
      const { path } = await made;
      for (const prepare of graphs)
        await withDecoder(engine, path, { cacheType: "f32", prepare, chunk: CHUNK, threads: 2 }, async (decoder) => {
          const tokens = tokensFor(decoder.architecture.vocabulary, length);
          const theirs = await llamaLogprobs(path, [...tokens], undefined, peer);
          for (const chunk of [Math.min(length, CHUNK), 17, 1])
            expect(worstGap(await logprobsOf(decoder, tokens, chunk), (t) => theirs.row(t))).toBeLessThan(NOTHING);
        });
    }

    test.each(CASES)("%s, whole, in chunks and token by token", (_title, preset, type, extra) =>
      holds(model(preset, type, extra), LENGTH, [fused, optimised]),
    );

    // The scale of such a head differs in its last bit when it is not rounded at each step.
    test("heads of 96", () => holds(model("tiny-qwen3", "f16", ["--head-dim", "96"]), LENGTH, [optimised]));
    test("600 tokens: two chunks, several blocks of queries, tiles of keys", () =>
      holds(model("tiny-qwen3", "f16"), 600, [optimised]));
  });
});
