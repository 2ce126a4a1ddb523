// Latent attention from headers alone: what is cached, what files are refused, and what depends on layers and vocabulary.
import { describe, expect, it } from "vitest";
import { numberEntry, stringEntry } from "../formats/gguf/encode.ts";
import { ggmlTypeByName } from "../formats/gguf/types.ts";
import { makeHeaderOnly } from "../formats/gguf/write.ts";
import type { Architecture, Family } from "./family.ts";
import { deepseek2 } from "./families/deepseek2.ts";
import { deepseek32 } from "./families/deepseek32.ts";
import { plm } from "./families/plm.ts";

const KEYS: Readonly<Record<string, number>> = {
  block_count: 3,
  context_length: 64,
  embedding_length: 16,
  feed_forward_length: 24,
  "attention.head_count": 4,
  "attention.head_count_kv": 1,
  "attention.key_length": 14,
  "attention.value_length": 8,
  "attention.key_length_mla": 12,
  "attention.value_length_mla": 10,
  "attention.q_lora_rank": 20,
  "attention.kv_lora_rank": 8,
  "attention.layer_norm_rms_epsilon": 1e-6,
  "rope.dimension_count": 6,
};
const EXPERTS = { expert_count: 4, expert_used_count: 2, expert_feed_forward_length: 8, expert_shared_count: 1 };
const WITHOUT_MLA = { "attention.key_length_mla": 0, "attention.value_length_mla": 0 };

const f32 = ggmlTypeByName("f32")!;
async function read(
  changes: Readonly<Record<string, number>> = {},
  { family = deepseek2, vocabulary = 40 }: { readonly family?: Family; readonly vocabulary?: number } = {},
): Promise<Architecture> {
  const name = family.architectures[0]!;
  const entries = Object.entries({ ...KEYS, ...changes }).map(([key, value]) =>
    numberEntry(`${name}.${key}`, Number.isInteger(value) ? "u32" : "f32", value),
  );
  const header = await makeHeaderOnly("latent.gguf", {
    entries: [stringEntry("general.architecture", name), ...entries],
    tensors: [{ name: "token_embd.weight", type: f32, dims: [16, vocabulary] }],
  });
  return family.read(header, name);
}
const shapeOf = (architecture: Architecture, tensor: string): readonly number[] | undefined =>
  architecture.tensors(() => false).find(({ name }) => name === tensor)?.shape;

describe("latent attention", () => {
  it("keeps a latent and the turned part of one key for each position", async () => {
    const model = await read();
    expect(model).toMatchObject({ cache: { elements: 3 * (8 + 6), product: "3 layers × (8 + 6)" } });
    expect(shapeOf(model, "blk.1.attn_k_b.weight")).toEqual([4, 8, 6]);
    expect(shapeOf(model, "blk.1.attn_v_b.weight")).toEqual([4, 10, 8]);
    expect(shapeOf(model, "blk.1.attn_q_b.weight")).toEqual([48, 20]);
    expect(model.facts).toContainEqual({ label: "latent", value: "8, kept as the cache" });
  });

  it("keeps keys and values of each head in files without the parts of a head", async () => {
    const model = await read({ ...WITHOUT_MLA, "attention.head_count_kv": 4 });
    expect(model).toMatchObject({ cache: { elements: 3 * 4 * (14 + 8), product: "3 layers × 4 × (14 + 8)" } });
    expect(shapeOf(model, "blk.2.attn_kv_b.weight")).toEqual([4 * (8 + 8), 8]);
    const other = await read({ ...WITHOUT_MLA, "attention.head_count_kv": 4 }, { family: plm });
    expect(shapeOf(other, "blk.2.attn_q.weight")).toEqual([56, 16]);
  });

  it("makes queries with one matrix where layers or vocabulary say that the model is a small one", async () => {
    const whole = [48, 16];
    expect(shapeOf(await read({ block_count: 27 }), "blk.0.attn_q.weight")).toEqual(whole);
    expect(shapeOf(await read({ "attention.q_lora_rank": 0 }), "blk.0.attn_q.weight")).toEqual(whole);
    const kanana = { vocabulary: 128_256 };
    expect(shapeOf(await read({ block_count: 48 }, kanana), "blk.0.attn_q.weight")).toEqual(whole);
    expect(shapeOf(await read({ block_count: 48 }), "blk.0.attn_q.weight")).toBeUndefined();
  });

  it("keeps a key of the indexer for each position of the layers that choose", async () => {
    const indexer = {
      "attention.indexer.head_count": 4,
      "attention.indexer.key_length": 16,
      "attention.indexer.top_k": 8,
    };
    const indexed = await read(indexer, { family: deepseek32 });
    expect([indexed.context, indexed.warnings]).toEqual([64, []]);
    expect(indexed).toMatchObject({
      cache: { elements: 3 * (8 + 6) + 3 * 16, product: "3 layers × (8 + 6) + 3 layers × 16" },
    });
    expect(indexed.facts).toContainEqual({ label: "indexer", value: "4 heads of 16, 8 positions are seen" });
    expect(shapeOf(indexed, "blk.2.indexer.attn_q_b.weight")).toEqual([64, 20]);
    for (const broken of [
      { ...indexer, ...WITHOUT_MLA, "attention.head_count_kv": 4 },
      { ...indexer, "attention.q_lora_rank": 0 },
      { ...indexer, "attention.indexer.key_length": 4 },
      { ...indexer, "attention.indexer.types": 0 },
    ])
      await expect(read(broken, { family: deepseek32 })).rejects.toMatchObject({ code: "INPUT_MALFORMED" });
    await expect(read({}, { family: deepseek32 })).rejects.toMatchObject({ code: "INPUT_MISSING_KEY" });
  });

  it("takes the gating of GLM-4.7-Flash from its vocabulary", async () => {
    const hyper = async (vocabulary: number) => {
      const header = await makeHeaderOnly("flash.gguf", {
        entries: [
          stringEntry("general.architecture", "deepseek2"),
          ...Object.entries({ ...KEYS, ...EXPERTS, block_count: 47 }).map(([key, value]) =>
            numberEntry(`deepseek2.${key}`, Number.isInteger(value) ? "u32" : "f32", value),
          ),
        ],
        tensors: [{ name: "token_embd.weight", type: f32, dims: [16, vocabulary] }],
      });
      return deepseek2.hyper(header, "deepseek2");
    };
    expect((await hyper(154_880)).experts?.gating).toBe("sigmoid");
    expect((await hyper(154_881)).experts?.gating).toBe("softmax");
  });

  it.each([
    ["a head that turns as a whole", { "rope.dimension_count": 12 }],
    ["more than one head of latents", { "attention.head_count_kv": 4 }],
    ["a kept head that is not each head's own", { ...WITHOUT_MLA, "attention.head_count_kv": 2 }],
    ["temperatures without their length", { "attention.temperature_scale": 0.5 }],
    ["no latent", { "attention.kv_lora_rank": 0 }],
  ])("is a broken file with %s", async (_title, changes) => {
    await expect(read(changes)).rejects.toMatchObject({ code: "INPUT_MALFORMED" });
  });
});
