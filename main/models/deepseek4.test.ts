// DeepSeek 4 from headers alone: what is cached and read, and what is wrong.
import { describe, expect, it } from "vitest";
import type { Keys } from "../testing/decoderKeys.ts";
import { decoderOfKeys } from "../testing/decoderKeys.ts";
import { deepseek4 } from "./families/deepseek4.ts";

const KEYS: Keys = {
  block_count: 3,
  context_length: 64,
  embedding_length: 32,
  "attention.head_count": 4,
  "attention.head_count_kv": 1,
  "attention.key_length": 16,
  "attention.value_length": 16,
  "attention.layer_norm_rms_epsilon": 1e-6,
  "attention.q_lora_rank": 12,
  "attention.sliding_window": 8,
  "attention.compress_ratios": [0, 4, 128],
  "attention.compress_rope_freq_base": 40000,
  "attention.indexer.head_count": 2,
  "attention.indexer.key_length": 8,
  "attention.indexer.top_k": 4,
  "attention.output_group_count": 2,
  "attention.output_lora_rank": 10,
  "rope.dimension_count": 4,
  "hyper_connection.count": 4,
  "hyper_connection.sinkhorn_iterations": 3,
  "hyper_connection.epsilon": 1e-6,
  hash_layer_count: 1,
  swiglu_clamp_exp: [7, 7, 7],
  expert_count: 6,
  expert_used_count: 2,
  expert_feed_forward_length: 24,
  expert_shared_count: 1,
};
const read = (changes: Keys = {}) => decoderOfKeys(deepseek4, "deepseek4", { ...KEYS, ...changes });

describe("DeepSeek 4", () => {
  it("caches keys, and for layers with blocks what blocks are made of and their keys", async () => {
    const model = await read();
    // 4: key and block of 16, two rows of 2 × 16; of the indexer a block of 8 and two rows of 2 × 8. 128: rows of 16.
    const local = { elements: 16, product: "16", reach: 7 };
    expect(model.cache).toEqual({ elements: 16 + 136 + 64, product: "16 + 136 + 64", local });
    expect(model.facts).toContainEqual({ label: "positions of a block", value: "1 × 0, 1 × 4, 1 × 128" });
    expect(model.sentence).toBe("A decoder of 3 layers, 2 of 6 experts in each; 4 streams run through them.");
    expect(model.warnings).toEqual([]);
  });

  it("reads a table of experts in the first layers, and blocks where a layer has them", async () => {
    const shapes = new Map((await read()).tensors(() => false).map(({ name, shape }) => [name, shape]));
    expect(shapes.get("blk.0.ffn_gate_tid2eid.weight")).toEqual([20, 2]);
    expect(shapes.has("blk.1.ffn_gate_tid2eid.weight")).toBe(false);
    expect(shapes.has("blk.0.attn_compressor_kv.weight")).toBe(false);
    expect(shapes.get("blk.1.attn_compressor_ape.weight")).toEqual([4, 32]);
    expect(shapes.get("blk.1.indexer_compressor_gate.weight")).toEqual([16, 32]);
    expect(shapes.get("blk.2.attn_compressor_kv.weight")).toEqual([16, 32]);
    expect(shapes.get("blk.0.attn_output_a.weight")).toEqual([20, 32]);
    expect(shapes.get("blk.0.hc_ffn_fn.weight")).toEqual([24, 128]);
    expect(shapes.get("output_hc_fn.weight")).toEqual([4, 128]);
  });

  it.each<[string, Keys]>([
    ["blocks of another size", { "attention.compress_ratios": [0, 4, 8] }],
    ["too few blocks", { "attention.compress_ratios": [0, 4] }],
    ["groups that do not share the heads", { "attention.output_group_count": 3 }],
    ["two key heads", { "attention.head_count_kv": 2 }],
    ["keys of the indexer that are shorter than what turns", { "attention.indexer.key_length": 2 }],
    ["no experts", { expert_count: 0, feed_forward_length: 24 }],
    ["no turn of dividing", { "hyper_connection.sinkhorn_iterations": 0 }],
    ["too many turns of dividing", { "hyper_connection.sinkhorn_iterations": 5000 }],
    ["too many streams", { "hyper_connection.count": 500 }],
  ])("is a broken file with %s", async (_title, changes) => {
    await expect(read(changes)).rejects.toMatchObject({ code: "INPUT_MALFORMED" });
  });
});
