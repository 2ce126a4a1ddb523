// Qwen3.8-Flash-Next without weights: the rows that its tokens are hashed to against arithmetic in 64 bits, what its states
// hold, and what is wrong with a file.
import { describe, expect, it } from "vitest";
import { weightSourceOf } from "../formats/gguf/weightSource.ts";
import type { Graph, Value } from "../ir/graph.ts";
import type { HostTensor } from "../ir/hostTensor.ts";
import { hostScalar, hostTensor } from "../ir/hostTensor.ts";
import { rewindOf } from "../ir/rewind.ts";
import { finish } from "../ir/steps.ts";
import { evaluate } from "../ops/evaluate.ts";
import type { Keys } from "../testing/decoderKeys.ts";
import { decoderOfKeys } from "../testing/decoderKeys.ts";
import { sampleHeader } from "../testing/toyFiles.ts";
import { readWith } from "./architecture.ts";
import { INPUTS } from "./blocks.ts";
import { Decoder } from "./decoder.ts";
import { qwen4exp } from "./families/qwen4exp.ts";
import type { Ngrams } from "./ngramEmbedding.ts";
import { rowIds } from "./ngramEmbedding.ts";

const VOCABULARY = 2 ** 23;

class RowsOnly extends Decoder {
  finishWith(rows: Value): Graph {
    this.builder.output("rows", rows);
    return this.finish();
  }
}

function rowsGraph(n: Ngrams): Graph {
  const sizes = {
    name: "rows",
    layers: 1,
    width: 8,
    vocabulary: VOCABULARY,
    context: 64,
    norm: "rms",
    normEpsilon: 1e-6,
    tiedEmbedding: true,
  } as const;
  const weights = { identity: "", has: () => false, tensorType: () => undefined };
  const d = new RowsOnly(sizes, weights, { capacity: 64, cacheType: "f32", largestStep: 64, largestRows: 64 });
  return d.finishWith(rowIds({ d, index: 0, block: "blk.0." }, n));
}

/** ids[t] and those before it: from an end on, and before the first, ends. */
function lastTokens(ids: readonly number[], t: number, { longest, end }: Ngrams): readonly number[] {
  const before = Array.from({ length: longest - 1 }, (_, i) => ids[t - 1 - i] ?? end);
  const stop = before.indexOf(end);
  return [ids[t]!, ...before.map((id, i) => (stop !== -1 && i >= stop ? end : id))];
}

function expected(ids: readonly number[], t: number, n: Ngrams): readonly number[] {
  const tokens = lastTokens(ids, t, n);
  return n.counts.map((count, head) => {
    const length = 2 + Math.floor(head / n.heads);
    const hash = tokens
      .slice(0, length)
      .reduce((all, id, i) => all ^ BigInt.asUintN(64, BigInt(id) * BigInt.asUintN(64, n.factors[i]!)), 0n);
    return Number(hash % BigInt(count)) + n.starts[head]!;
  });
}

describe("the hash of the last tokens", () => {
  const n: Ngrams = {
    layer: 0,
    longest: 4,
    heads: 2,
    size: 1,
    rows: 2 ** 31 - 1,
    end: 7,
    taps: 2,
    factors: [0xffffffffffffffffn, 0x9e3779b97f4a7c15n, -3n, 0x8000000000000001n],
    counts: [2 ** 31 - 1, 1, 20_000_003, 2 ** 30, 2_147_483_629, 97],
    starts: [0, 5, 300_000_000, 2 ** 30, 18, 123],
  };
  const ids = [
    VOCABULARY - 1,
    3,
    VOCABULARY - 2,
    7,
    7,
    12,
    255,
    256,
    65_535,
    65_536,
    7,
    0,
    1,
    0,
    VOCABULARY - 1,
    4_194_303,
  ];

  it.each([ids.length, 5, 1])("is exact to the bit, in steps of %i tokens", (step) => {
    const graph = rowsGraph(n);
    let states: Readonly<Record<string, HostTensor>> | undefined;
    for (let past = 0; past < ids.length; past += step) {
      const tokens = ids.slice(past, past + step);
      const inputs = {
        [INPUTS.tokens]: hostTensor("i32", [tokens.length], tokens),
        [INPUTS.past]: hostScalar("i32", past),
        [INPUTS.rows]: hostTensor("i32", [1], [0]),
      };
      const run = finish(evaluate(graph, { inputs, ...(states && { states }) }));
      ({ states } = run);
      const wanted = tokens.flatMap((_, t) => expected(ids, past + t, n));
      expect([...run.outputs["rows"]!.data]).toEqual(wanted);
    }
  });

  it("keeps bytes between steps, which half floats hold exactly", () => {
    const inputs = {
      [INPUTS.tokens]: hostTensor("i32", [ids.length], ids),
      [INPUTS.past]: hostScalar("i32", 0),
      [INPUTS.rows]: hostTensor("i32", [1], [0]),
    };
    const kept = Object.values(finish(evaluate(rowsGraph(n), { inputs })).states).flatMap(({ data }) => [...data]);
    expect(kept.length).toBeGreaterThan(0);
    expect(kept.every((x) => Number.isInteger(x) && x >= 0 && x < 256)).toBe(true);
  });
});

describe("a file of qwen4exp", () => {
  it.each(qwen4exp.samples.map((sample) => [sample.title, sample] as const))(
    "reads every tensor and holds the states that it says: %s",
    async (_title, sample) => {
      const file = await sampleHeader(qwen4exp, sample);
      const reading = readWith([qwen4exp], file);
      if (reading.kind !== "known" || reading.architecture.kind !== "decoder") throw new Error(JSON.stringify(reading));
      const model = reading.architecture;
      const options = { capacity: 1, cacheType: "f32", largestStep: 4, largestRows: 4 } as const;
      const graph = finish(model.graph(weightSourceOf(file), options));
      const leaves = graph.states.map(({ input }) => graph.nodes[input]!);
      const held = (rewind: string): number =>
        leaves
          .filter((leaf) => rewindOf(leaf) === rewind)
          .reduce((sum, { outputs: [type] }) => sum + type!.shape.reduce<number>((a, b) => a * Number(b), 1), 0);
      expect(held("positions")).toBe(model.cache.elements);
      expect(held("checkpoint")).toBe(model.recurrent?.elements);
    },
  );

  const KEYS: Keys = {
    block_count: 4,
    context_length: 64,
    embedding_length: 32,
    feed_forward_length: 48,
    "attention.head_count": 4,
    "attention.head_count_kv": 2,
    "attention.layer_norm_rms_epsilon": 1e-6,
    full_attention_interval: 2,
    "ssm.conv_kernel": 4,
    "ssm.state_size": 8,
    "ssm.group_count": 2,
    "ssm.time_step_rank": 4,
    "ssm.inner_size": 32,
    expert_count: 6,
    expert_used_count: 2,
    expert_feed_forward_length: 24,
    "hyper_connection.count": 4,
    "hyper_connection.low_rank": 8,
    "attention.indexer.head_count": 2,
    "attention.indexer.key_length": 8,
    "attention.indexer.top_k": 4,
    "attention.compress_ratios": [0, 4, 0, 0],
    embedding_length_per_layer_input: 16,
    "ple.layers": [2],
    "ple.ngram_size": 3,
    "ple.heads_per_ngram": 1,
    "ple.conv_kernel": 4,
    "ple.eos_token_id": 0,
    "ple.layer_multipliers": [3, 5, 7],
    "ple.head_vocab_sizes": [11, 13],
    "ple.head_offsets": [0, 11],
  };

  it("says what is in it", async () => {
    const model = await decoderOfKeys(qwen4exp, "qwen4exp", KEYS);
    expect(model.sentence).toBe(
      "A decoder of 4 layers, 2 of 6 experts in each; 2 attend, 2 have a gated delta net; 4 streams run through them.",
    );
    expect(model.facts).toContainEqual({ label: "streams", value: "4, gates of rank 8" });
    expect(model.facts).toContainEqual({
      label: "indexer",
      value: "2 heads of 8, 4 positions in blocks of 4 are seen",
    });
    expect(model.facts).toContainEqual({
      label: "hashed tokens",
      value: "groups of 2 to 3, 1 head for each length, 24 rows of 16",
    });
    expect(model.isBeside("blk.3.indexer.q_proj.weight")).toBe(true);
    expect(model.isBeside("blk.1.indexer.q_proj.weight")).toBe(false);
  });

  it.each<[string, Keys]>([
    ["one stream", { "hyper_connection.count": 1 }],
    ["too many streams", { "hyper_connection.count": 500 }],
    ["no experts", { expert_count: 0 }],
    ["blocks of too many positions", { "attention.compress_ratios": [0, 100_000, 0, 0] }],
    ["keys of the indexer that are shorter than what turns", { "attention.indexer.key_length": 2 }],
    ["a layer that is not there", { "ple.layers": [4] }],
    ["groups of one token", { "ple.ngram_size": 1 }],
    ["groups of too many tokens", { "ple.ngram_size": 9 }],
    ["rows that do not fill the width", { embedding_length_per_layer_input: 8 }],
    ["a convolution of one token", { "ple.conv_kernel": 1 }],
    ["an end that is no token", { "ple.eos_token_id": 20 }],
    ["too few factors", { "ple.layer_multipliers": [3, 5] }],
    ["too few heads", { "ple.head_offsets": [0] }],
    ["a head without rows", { "ple.head_vocab_sizes": [11, 0] }],
    ["more rows than an index counts", { "ple.head_offsets": [0, 2 ** 31 - 5] }],
    ["factors that are no list", { "ple.layer_multipliers": 3 }],
  ])("is broken with %s", async (_title, changes) => {
    await expect(decoderOfKeys(qwen4exp, "qwen4exp", { ...KEYS, ...changes })).rejects.toMatchObject({
      code: "INPUT_MALFORMED",
    });
  });

  it("is refused with groups of tokens in two layers", async () => {
    await expect(decoderOfKeys(qwen4exp, "qwen4exp", { ...KEYS, "ple.layers": [0, 2] })).rejects.toMatchObject({
      code: "UNSUPPORTED_ARCHITECTURE",
    });
  });
});
