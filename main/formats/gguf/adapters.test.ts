// What makes a file a LoRA adapter, whether it fits a model, and what a file with adapters is.
import { describe, expect, it } from "vitest";
import { numberEntry, stringEntry } from "./encode.ts";
import type { GgufFile } from "./file.ts";
import { adaptersOf, withAdapters } from "./adapters.ts";
import { ggmlTypeByName } from "./types.ts";
import { makeHeaderOnly } from "./write.ts";

const f32 = ggmlTypeByName("f32")!;
type Tensors = Readonly<Record<string, readonly number[]>>;
const file = (keys: Readonly<Record<string, string | number>>, tensors: Tensors): Promise<GgufFile> =>
  makeHeaderOnly("some.gguf", {
    entries: Object.entries(keys).map(([key, value]) =>
      typeof value === "string" ? stringEntry(key, value) : numberEntry(key, "f32", value),
    ),
    tensors: Object.entries(tensors).map(([name, shape]) => ({ name, type: f32, dims: shape.toReversed() })),
  });

const MODEL: Tensors = {
  "token_embd.weight": [20, 8],
  "blk.0.attn_q.weight": [6, 8],
  "blk.0.ffn_up_exps.weight": [3, 5, 8],
};
const model = (): Promise<GgufFile> => file({ "general.architecture": "llama" }, MODEL);
const KEYS = {
  "general.type": "adapter",
  "general.architecture": "llama",
  "adapter.type": "lora",
  "adapter.lora.alpha": 8,
};
const PARTS: Tensors = { "blk.0.attn_q.weight.lora_a": [2, 8], "blk.0.attn_q.weight.lora_b": [6, 2] };

describe("adapters", () => {
  it("stand among the model's tensors, and make another identity with each scale", async () => {
    const base = await model();
    const tables = { "token_embd.weight.lora_a": [20, 4], "token_embd.weight.lora_b": [8, 4] };
    const experts = { "blk.0.ffn_up_exps.weight.lora_a": [3, 2, 8], "blk.0.ffn_up_exps.weight.lora_b": [3, 5, 2] };
    const both = async (scale: number): Promise<GgufFile> =>
      withAdapters(base, [
        { file: await file(KEYS, PARTS), scale },
        { file: await file({ ...KEYS, "adapter.lora.alpha": 0 }, { ...tables, ...experts }), scale: -1 },
      ]);
    const adapted = await both(0.5);
    expect(adapted.tensors.map(({ name }) => name)).toContain("lora.1.token_embd.weight.lora_b");
    expect(adapted.requireTensor("lora.0.blk.0.attn_q.weight.lora_a").part).toBe(1);
    const [first, second] = adaptersOf(adapted);
    expect([first?.rankOf("blk.0.attn_q.weight"), first?.factor(2)]).toEqual([2, 2]);
    expect([second?.rankOf("blk.0.attn_q.weight"), second?.factor(4)]).toEqual([undefined, -1]);
    expect(second?.rankOf("token_embd.weight")).toBe(4);
    expect(new Set([base.identity, adapted.identity, (await both(0.25)).identity]).size).toBe(3);
    expect((await both(0.5)).identity).toBe(adapted.identity);
    expect(withAdapters(base, [])).toBe(base);
  });

  it.each<readonly [string, Readonly<Record<string, string | number>>, Tensors, RegExp]>([
    ["a model", { "general.architecture": "llama" }, MODEL, /general\.type: got none/u],
    ["another kind of adapter", { ...KEYS, "adapter.type": "dora" }, PARTS, /adapter\.type: got "dora"/u],
    ["another architecture", { ...KEYS, "general.architecture": "qwen2" }, PARTS, /got "qwen2", expected "llama"/u],
    ["an alpha that is no number", { ...KEYS, "adapter.lora.alpha": NaN }, PARTS, /alpha: got NaN/u],
    ["no tensors", KEYS, {}, /no tensors/u],
    ["a tensor of no pair", KEYS, { ...PARTS, "blk.0.attn_norm.weight": [8] }, /ends in \.lora_a or \.lora_b/u],
    ["half a pair", KEYS, { "blk.0.attn_q.weight.lora_a": [2, 8] }, /got no \.lora_b/u],
    ["a tensor that the model lacks", KEYS, { "x.lora_a": [2, 8], "x.lora_b": [6, 2] }, /got no "x" in some\.gguf/u],
    ["a transposed part", KEYS, { ...PARTS, "blk.0.attn_q.weight.lora_a": [8, 2] }, /got \[8, 2\], expected \[2, 8\]/u],
    ["a rank of its own", KEYS, { ...PARTS, "blk.0.attn_q.weight.lora_a": [3, 8] }, /got \[3, 8\], expected \[2, 8\]/u],
  ])("refuse %s", async (_title, keys, tensors, message) => {
    const [base, adapter] = [await model(), await file(keys, tensors)];
    expect(() => withAdapters(base, [{ file: adapter, scale: 1 }])).toThrow(
      expect.objectContaining({ code: "INPUT_ARGUMENT", message: expect.stringMatching(message) }),
    );
  });

  it("need a scale", async () => {
    const [base, adapter] = [await model(), await file(KEYS, PARTS)];
    expect(() => withAdapters(base, [{ file: adapter, scale: NaN }])).toThrow(/scale: got NaN/u);
  });
});
