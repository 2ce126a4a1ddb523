// What state spaces and RWKV read of a file's keys: what their layers are, what their states hold, and what is wrong.
import { describe, expect, it } from "vitest";
import { mamba } from "./families/mamba.ts";
import { nemotronH } from "./families/nemotronH.ts";
import { rwkv6 } from "./families/rwkv6.ts";
import { rwkv7 } from "./families/rwkv7.ts";
import { sameButOnes } from "./tensorErrors.ts";
import type { Keys } from "../testing/decoderKeys.ts";
import { decoderOfKeys } from "../testing/decoderKeys.ts";

const MAMBA2: Keys = {
  block_count: 3,
  context_length: 64,
  embedding_length: 32,
  "attention.layer_norm_rms_epsilon": 1e-5,
  "ssm.conv_kernel": 4,
  "ssm.inner_size": 64,
  "ssm.state_size": 8,
  "ssm.time_step_rank": 4,
  "ssm.group_count": 2,
};
const LAYERED: Keys = {
  ...MAMBA2,
  block_count: 4,
  "attention.head_count": 4,
  "attention.head_count_kv": [0, 2, 0, 2],
  feed_forward_length: [0, 0, 48, 0],
};
const RWKV: Keys = {
  block_count: 2,
  context_length: 64,
  embedding_length: 32,
  feed_forward_length: 48,
  "attention.layer_norm_epsilon": 1e-5,
  "wkv.head_size": 16,
  time_mix_extra_dim: 4,
  time_decay_extra_dim: 4,
};

describe("state spaces and RWKV", () => {
  it("have no caches; their states are counted", async () => {
    const pure = await decoderOfKeys(mamba, "mamba2", MAMBA2);
    expect(pure.sentence).toBe("A decoder of 3 state spaces.");
    expect(pure.cache.elements).toBe(0);
    expect(pure.recurrent?.elements).toBe(3 * (3 * (64 + 2 * 2 * 8) + 64 * 8));
    const rwkv = await decoderOfKeys(rwkv6, "rwkv6", RWKV);
    expect(rwkv.recurrent?.elements).toBe(2 * (32 * 16 + 2 * 32));
  });

  it("of Nemotron-H have one part in each layer, and lists go on behind the last one", async () => {
    const wanted = "A decoder of 4 layers with one part each: 1 × state space, 2 × attention, 1 × feed-forward.";
    const layered = await decoderOfKeys(nemotronH, "nemotron_h", LAYERED);
    expect(layered.sentence).toBe(wanted);
    expect(layered.cache.elements).toBe(2 * 2 * 2 * 8);
    const guessing = {
      ...LAYERED,
      block_count: 5,
      nextn_predict_layers: 1,
      "attention.head_count_kv": [0, 2, 0, 2, 2],
      feed_forward_length: [0, 0, 48, 0, 0],
    };
    expect((await decoderOfKeys(nemotronH, "nemotron_h", guessing)).sentence).toBe(wanted);
  });

  it.each([
    [
      "a convolution over one token",
      mamba,
      "mamba2",
      { ...MAMBA2, "ssm.conv_kernel": 1 },
      "got 1, expected more than 1",
    ],
    ["heads that do not divide", mamba, "mamba2", { ...MAMBA2, "ssm.time_step_rank": 5 }, "a divisor of 64"],
    ["groups that do not divide", mamba, "mamba2", { ...MAMBA2, "ssm.group_count": 3 }, "a divisor of the 4 heads"],
    ["a head that does not divide", rwkv6, "rwkv6", { ...RWKV, "wkv.head_size": 12 }, "a divisor of 32"],
    ["another shift", rwkv7, "rwkv7", { ...RWKV, token_shift_count: 1 }, "got 1, expected 2"],
  ])("%s is refused", async (_what, family, name, keys, message) => {
    await expect(decoderOfKeys(family, name, keys)).rejects.toMatchObject({
      code: "INPUT_MALFORMED",
      message: expect.stringContaining(message) as string,
    });
  });

  it("read rows that have sizes of 1 in front", () => {
    expect(sameButOnes([1, 1, 32], [32])).toBe(true);
    expect(sameButOnes([6, 1, 1, 32], [1, 6, 1, 1, 32])).toBe(true);
    expect(sameButOnes([32, 1], [32])).toBe(false);
    expect(sameButOnes([1], [1, 1])).toBe(true);
    expect(sameButOnes([1, 31], [32])).toBe(false);
  });
});
