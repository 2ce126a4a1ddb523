// What families with recurrent layers read of a file's keys: which layers attend, what their states hold, and what is wrong.
import { describe, expect, it } from "vitest";
import { readWith } from "./architecture.ts";
import { kimiLinear } from "./families/kimiLinear.ts";
import { lfm2 } from "./families/lfm2.ts";
import { qwen35 } from "./families/qwen35.ts";
import type { Keys } from "../testing/decoderKeys.ts";
import { decoderOfKeys, headerOfKeys } from "../testing/decoderKeys.ts";

const ATTENTION: Keys = {
  context_length: 64,
  embedding_length: 32,
  feed_forward_length: 48,
  "attention.head_count": 4,
  "attention.layer_norm_rms_epsilon": 1e-5,
};
const DELTA: Keys = {
  ...ATTENTION,
  block_count: 8,
  "attention.head_count_kv": 2,
  "ssm.conv_kernel": 4,
  "ssm.state_size": 8,
  "ssm.group_count": 2,
  "ssm.time_step_rank": 4,
  "ssm.inner_size": 32,
};
const CONVOLVED: Keys = {
  ...ATTENTION,
  block_count: 3,
  "attention.head_count_kv": [0, 2, 0],
  "shortconv.l_cache": 3,
};
const CHANNELS: Keys = {
  ...ATTENTION,
  block_count: 4,
  "attention.head_count_kv": [0, 0, 1, 0],
  "attention.key_length": 14,
  "attention.value_length": 8,
  "attention.key_length_mla": 12,
  "attention.value_length_mla": 10,
  "attention.kv_lora_rank": 8,
  "rope.dimension_count": 6,
  "ssm.conv_kernel": 4,
  "kda.head_dim": 8,
};

describe("layers that do not attend", () => {
  it("have no cache; their states are counted apart", async () => {
    const delta = await decoderOfKeys(qwen35, "qwen35", DELTA);
    expect(delta.sentence).toBe("A dense decoder of 8 layers; 2 attend, 6 have a gated delta net.");
    expect(delta.cache).toEqual({ elements: 2 * 2 * 2 * 8, product: "2 layers × 2 × 2 × 8" });
    expect(delta.recurrent?.elements).toBe(6 * (4 * 8 * 8 + 3 * (2 * 16 + 32)));
    const convolved = await decoderOfKeys(lfm2, "lfm2", CONVOLVED);
    expect(convolved.sentence).toBe("A dense decoder of 3 layers; 1 attend, 2 have a short convolution.");
    expect(convolved.recurrent).toEqual({ elements: 2 * 2 * 32, product: "2 layers × 2 × 32" });
  });

  it("may stand beside layers that keep latents", async () => {
    const kimi = await decoderOfKeys(kimiLinear, "kimi-linear", CHANNELS);
    expect(kimi.sentence).toBe("A dense decoder of 4 layers; 1 attend, 3 have a delta net.");
    expect(kimi.cache).toEqual({ elements: 8 + 6, product: "1 layer × (8 + 6)" });
    expect(kimi.recurrent?.elements).toBe(3 * (4 * 8 * 8 + 3 * 3 * 4 * 8));
    const shapes = new Map(kimi.tensors(() => false).map(({ name, shape }) => [name, shape]));
    expect(shapes.get("blk.0.ssm_conv1d_k.weight")).toEqual([32, 1, 4]);
    expect(shapes.get("blk.3.ssm_f_b.weight")).toEqual([32, 8]);
    expect(shapes.has("blk.2.ssm_a")).toBe(false);
  });

  it("are listed, or all but one in so many", async () => {
    const listed = await decoderOfKeys(qwen35, "qwen35", {
      ...DELTA,
      "attention.recurrent_layers": [1, 1, 0, 1, 1, 0, 0, 1],
    });
    expect(listed.sentence).toContain("3 attend, 5 have");
    expect((await decoderOfKeys(qwen35, "qwen35", { ...DELTA, full_attention_interval: 2 })).sentence).toContain(
      "4 attend",
    );
  });

  it("need no dense size in a file whose experts say their own", async () => {
    const { feed_forward_length: _, ...keys } = DELTA;
    const experts = { expert_count: 4, expert_used_count: 2, expert_feed_forward_length: 24 };
    const mixture = await decoderOfKeys(qwen35, "qwen35moe", {
      ...keys,
      ...experts,
      expert_shared_feed_forward_length: 24,
    });
    expect(mixture.feedForward).toBe(24);
    await expect(decoderOfKeys(qwen35, "qwen35", keys)).rejects.toMatchObject({ code: "INPUT_MISSING_KEY" });
  });

  it.each([
    ["a list of another length", qwen35, { ...DELTA, "attention.recurrent_layers": [1, 0] }, "2 entries, expected 8"],
    ["an interval of none", qwen35, { ...DELTA, full_attention_interval: 0 }, "got 0, expected 1 or more"],
    ["value heads without a key head", qwen35, { ...DELTA, "ssm.group_count": 3 }, "a multiple of the 3 key heads"],
    ["another inner size", qwen35, { ...DELTA, "ssm.inner_size": 33 }, "got 33, expected 4 value heads × 8"],
    ["a convolution over one token", qwen35, { ...DELTA, "ssm.conv_kernel": 1 }, "got 1, expected 2 or more"],
    ["a convolution over one token", lfm2, { ...CONVOLVED, "shortconv.l_cache": 1 }, "got 1, expected 2 or more"],
    ["a convolution over one token", kimiLinear, { ...CHANNELS, "ssm.conv_kernel": 1 }, "got 1, expected 2 or more"],
    [
      "an old file that keeps keys and values",
      kimiLinear,
      { ...CHANNELS, "attention.key_length_mla": 0, "attention.head_count_kv": [0, 0, 4, 0] },
      "got none, expected the size of a head",
    ],
    ["no layer that attends", lfm2, { ...CONVOLVED, "attention.head_count_kv": [0, 0, 0] }, "expected more than 0"],
  ])("%s is refused", async (_what, family, keys, message) => {
    await expect(decoderOfKeys(family, family.architectures[0]!, keys)).rejects.toMatchObject({
      code: "INPUT_MALFORMED",
      message: expect.stringContaining(message) as string,
    });
  });

  it("with key heads that differ are refused by name", async () => {
    const result = readWith([lfm2], await headerOfKeys("lfm2", { ...CONVOLVED, "attention.head_count_kv": [1, 2, 0] }));
    expect(result.kind === "unsupported" && result.sentence).toContain("differ in lfm2.attention.head_count_kv");
  });
});
