/** Folders that no family reads are looked at; damaged ones are refused. */
import { describe, expect, it } from "vitest";
import { readArchitecture } from "../../models/architecture.ts";
import { planQuantize } from "../../quantize/plan.ts";
import type { ByteSource } from "../byteSource.ts";
import { memorySource } from "../byteSource.ts";
import { planConvert } from "../gguf/convert.ts";
import type { GgufFile } from "../gguf/file.ts";
import { openModelFile } from "../openModel.ts";

type Tensors = Readonly<Record<string, readonly [dtype: string, shape: readonly number[], bytes: number]>>;

function safetensors(tensors: Tensors): ByteSource {
  let at = 0;
  const header = Object.entries(tensors).map(([name, [dtype, shape, bytes]]) => {
    at += bytes;
    return [name, { dtype, shape, data_offsets: [at - bytes, at] }];
  });
  const text = new TextEncoder().encode(JSON.stringify(Object.fromEntries(header)));
  const whole = new Uint8Array(8 + text.length + at).map((_, i) => i);
  new DataView(whole.buffer).setBigUint64(0, BigInt(text.length), true);
  whole.set(text, 8);
  return memorySource("model.safetensors", whole);
}

const CONFIG = {
  ...{ hidden_size: 8, num_attention_heads: 2, num_hidden_layers: 1, intermediate_size: 16 },
  ...{ max_position_embeddings: 64, rms_norm_eps: 1e-5 },
};
const EMBEDDING: Tensors = { "model.embed_tokens.weight": ["F32", [4, 8], 128] };

/** A folder with this config.json, these weights and this tokenizer.json. */
function open(config: object, tensors: Tensors = EMBEDDING, tokenizer?: string): Promise<GgufFile> {
  const json = (name: string, text: string): ByteSource => memorySource(name, new TextEncoder().encode(text));
  const source = json("config.json", JSON.stringify({ ...CONFIG, ...config }));
  const files: Readonly<Record<string, ByteSource>> = {
    "config.json": source,
    "model.safetensors": safetensors(tensors),
    ...(tokenizer !== undefined && { "tokenizer.json": json("tokenizer.json", tokenizer) }),
  };
  return openModelFile(source, { openSibling: async (name) => files[name] });
}
const qwen = { architectures: ["Qwen2ForCausalLM"] };

describe("a folder that no family reads shows its tensors and says why", () => {
  it.each<readonly [string, object, Tensors, RegExp]>([
    ["another family", { architectures: ["MambaForCausalLM"], model_type: "mamba" }, EMBEDDING, /"MambaForCausalLM"/u],
    ["a setting", { ...qwen, use_sliding_window: true }, EMBEDDING, /qwen2 .*"use_sliding_window": got true/u],
    ["8-bit floats", qwen, { "model.embed_tokens.weight": ["F8_E4M3", [4, 8], 32] }, /got F8_E4M3.*BF16 files/u],
    ["a tensor of its own", qwen, { ...EMBEDDING, "model.extra.weight": ["F32", [8], 32] }, /"model\.extra\.weight"/u],
    ["factors of rope", { ...qwen, rope_scaling: { rope_type: "llama3" } }, EMBEDDING, /"rope_scaling": got "llama3"/u],
  ])("%s", async (_, config, tensors, why) => {
    const file = await open(config, tensors);
    expect(file.tensors.map(({ name }) => name)).toEqual(Object.keys(tensors));
    expect(readArchitecture(file)).toMatchObject({
      kind: "unsupported",
      sentence: expect.stringMatching(why) as string,
    });
    for (const plan of [() => planConvert(file, {}), () => planQuantize(file, { recipe: "q8_0" })])
      expect(plan).toThrow(expect.objectContaining({ code: "UNSUPPORTED_ARCHITECTURE" }));
  });

  it("whatever the types and sizes are", async () => {
    const file = await open(
      {},
      {
        bytes: ["U8", [3, 5], 15],
        "patches.weight": ["BF16", [2, 3, 1, 2, 2], 48],
        nothing: ["F32", [0, 4], 0],
        number: ["I64", [], 8],
      },
    );
    const shown = file.tensors.map(({ name, type, shape }) => [name, type.name, shape.join()]);
    expect(shown).toEqual([
      ["bytes", "u8", "3,5"],
      ["patches.weight", "bf16", "2,3,1,4"],
      ["number", "i64", ""],
    ]);
    // The bytes of the file count up.
    const bytes = await file.readTensor(file.requireTensor("number"));
    expect([...bytes].map((byte) => (byte - bytes[0]! + 256) % 256)).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
  });
});

describe("a damaged folder", () => {
  const many = "[".repeat(20_000);
  const deep = `${'{"type":"Sequence","normalizers":['.repeat(20_000)}${"]}".repeat(20_000)}`;
  const unigram = (item: string): string => `{"model":{"type":"Unigram","vocab":[${item}]}}`;
  it.each<readonly [string, object, string, string]>([
    ["sequences without end", {}, `{"model":{"type":"Unigram","vocab":[]},"normalizer":${deep}}`, "INPUT_LIMIT"],
    ["a token that is an object", {}, unigram('[{"toString":1,"valueOf":1},0]'), "INPUT_TOKENIZER"],
    ["a token without a score", {}, unigram('["a"]'), "INPUT_TOKENIZER"],
    ["brackets alone", {}, many, "INPUT_MALFORMED"],
    ["half a head", { num_key_value_heads: 0.5 }, "{}", "INPUT_LIMIT"],
    ["a negative width", { intermediate_size: -16 }, "{}", "INPUT_MALFORMED"],
  ])("with %s is refused", async (_, config, tokenizer, code) => {
    await expect(open({ ...qwen, ...config }, EMBEDDING, tokenizer)).rejects.toMatchObject({ code });
  });

  it("with an odd number of rows to halve is refused", async () => {
    const tensors: Tensors = { ...EMBEDDING, "model.layers.0.mlp.experts.gate_up_proj": ["F32", [2, 3, 8], 192] };
    const mixture = { architectures: ["MixtralForCausalLM"], num_local_experts: 2, num_experts_per_tok: 1 };
    await expect(open(mixture, tensors)).rejects.toMatchObject({ code: "INPUT_MALFORMED" });
  });
});
