import { describe, expect, it } from "vitest";
import { boolEntry, numberEntry, numbersEntry, stringEntry } from "../formats/gguf/encode.ts";
import type { GgufFile } from "../formats/gguf/file.ts";
import { ggmlTypeByName } from "../formats/gguf/types.ts";
import type { MetadataEntry } from "../formats/gguf/values.ts";
import { makeHeaderOnly } from "../formats/gguf/write.ts";
import { finish } from "../ir/steps.ts";
import { tensor } from "../ir/type.ts";
import { gemma4 } from "./families/gemma4.ts";

const NAME = "gemma4";
const counts: Readonly<Record<string, number>> = {
  block_count: 6,
  context_length: 64,
  embedding_length: 32,
  feed_forward_length: 16,
  "attention.head_count": 4,
  "attention.head_count_kv": 2,
  "attention.key_length": 16,
  "attention.key_length_swa": 8,
  "attention.sliding_window": 4,
  "attention.shared_kv_layers": 3,
};
const PATTERN = [true, true, false, true, true, false];

const headerOf = (pattern: readonly boolean[] | undefined, changed: typeof counts = {}): Promise<GgufFile> => {
  const key = `${NAME}.attention.sliding_window_pattern`;
  const entries: MetadataEntry[] = [
    stringEntry("general.architecture", NAME),
    numberEntry(`${NAME}.attention.layer_norm_rms_epsilon`, "f32", 1e-6),
    ...Object.entries({ ...counts, ...changed }).map(([name, value]) => numberEntry(`${NAME}.${name}`, "u32", value)),
    ...(pattern === undefined ? [] : [numbersEntry(key, "bool", pattern.map(Number))]),
    boolEntry("general.toy", true),
  ];
  const type = ggmlTypeByName("f32")!;
  return makeHeaderOnly("toy", { entries, tensors: [{ name: "token_embd.weight", type, dims: [32, 40] }] });
};

describe("layers that share caches", () => {
  it("read those of the last layer before them that sees as much", async () => {
    const h = gemma4.hyper(await headerOf(PATTERN), NAME);
    expect([0, 1, 2, 3, 4, 5].map((layer) => h.cacheOf(layer))).toEqual([0, 1, 2, 1, 1, 2]);
  });

  it("have no caches and no keys of their own", async () => {
    const model = gemma4.read(await headerOf(PATTERN), NAME);
    if (model.kind !== "decoder") throw new Error("gemma4 is a decoder");
    const built = finish(
      model.graph(
        { identity: "", has: () => false, tensorType: (_, shape = []) => tensor("f32", shape) },
        { capacity: 8, cacheType: "f32", largestStep: 4, largestRows: 1 },
      ),
    );
    expect(built.states.map(({ name }) => name)).toEqual(["k.0", "v.0", "k.1", "v.1", "k.2", "v.2"]);
    // 2 layers of 2 × 8, one of 2 × 16, keys and values.
    expect(model.cache).toEqual({
      elements: 128,
      product: "2 layers × 2 × 2 × 8 + 1 layer × 2 × 2 × 16",
      local: { elements: 64, product: "2 layers × 2 × 2 × 8", reach: 3 },
    });
    expect(model.isBeside("blk.3.attn_k.weight")).toBe(true);
    expect(model.isBeside("blk.3.attn_q.weight")).toBe(false);
    expect(model.isBeside("blk.2.attn_k.weight")).toBe(false);
  });

  it("are refused where no earlier layer is like them", async () => {
    const bad = async (pattern: readonly boolean[] | undefined, changed?: typeof counts): Promise<unknown> => {
      const file = await headerOf(pattern, changed);
      return () => gemma4.hyper(file, NAME);
    };
    expect(await bad([true, false, true, true, true, true])).toThrow(
      "layer 3 reads the caches of layer 1: got 2 × 16, expected 2 × 8 in a window",
    );
    expect(await bad(PATTERN, { "attention.shared_kv_layers": 6 })).toThrow("no such layer");
    expect(await bad(PATTERN, { "attention.shared_kv_layers": 7 })).toThrow("at most the 6 layers");
    expect(await bad(undefined)).toThrow("sliding_window_pattern: got nothing");
  });
});
