/** What a header says of its file in numbers. */
import { describe, expect, it } from "vitest";
import { describeFile, layerOf, otherTypes, roleOf } from "./describe.ts";
import { numberEntry, stringEntry, withEntries } from "./encode.ts";
import type { GgufFile } from "./file.ts";
import { ggmlTypeByName } from "./types.ts";
import type { MetadataEntry } from "./values.ts";
import { weightSourceOf } from "./weightSource.ts";
import { makeHeaderOnly } from "./write.ts";
import type { TensorShape } from "./write.ts";

const u32 = (key: string, value: number): MetadataEntry => numberEntry(key, "u32", value);
const shape = (name: string, type: string, dims: number[]): TensorShape => ({
  name,
  type: ggmlTypeByName(type)!,
  dims,
});

const base = (name: string): MetadataEntry[] => [
  stringEntry("general.architecture", name),
  stringEntry("general.name", "A test"),
  u32("general.file_type", 15),
  u32(`${name}.block_count`, 2),
  u32(`${name}.context_length`, 4096),
  u32(`${name}.embedding_length`, 256),
  u32(`${name}.feed_forward_length`, 512),
  u32(`${name}.attention.head_count`, 4),
  u32(`${name}.attention.head_count_kv`, 2),
  numberEntry(`${name}.attention.layer_norm_rms_epsilon`, "f32", 1e-6),
];
const tensors = [
  shape("token_embd.weight", "q6_k", [256, 1000]),
  shape("blk.0.attn_q.weight", "q4_k", [256, 256]),
  shape("blk.0.attn_q.bias", "f32", [256]),
];
const file = (
  name: string,
  changes: Readonly<Record<string, MetadataEntry | undefined>> = {},
  more: readonly TensorShape[] = [],
): Promise<GgufFile> =>
  makeHeaderOnly("t.gguf", { entries: withEntries(base(name), changes), tensors: [...tensors, ...more] });
describe("the overview", () => {
  it("counts parameters, bytes and types", async () => {
    const described = describeFile(await file("llama"));
    expect(described.title).toBe("A test");
    expect(described.variant).toBe("Q4_K_M");
    expect(described.parameters).toBe(256_000 + 65_536 + 256);
    expect(described.mix.map((share) => [share.type, share.tensors, share.bytes])).toEqual([
      ["q6_k", 1, 210_000],
      ["q4_k", 1, 36_864],
      ["f32", 1, 1024],
    ]);
    expect(described.mix.reduce((sum, share) => sum + share.share, 0)).toBeCloseTo(1, 12);
    expect(described.bitsPerWeight).toBeCloseTo((247_888 * 8) / 321_792, 10);
  });

  it("names the types that a reader of its weights does not take", async () => {
    const { mix } = describeFile(await file("llama", {}, [shape("blk.0.attn_k.weight", "iq4_nl", [256, 128])]));
    expect(otherTypes(mix, ["f32", "q4_k", "q6_k"])).toEqual(["IQ4_NL"]);
    expect(otherTypes(mix, ["f32", "q4_k", "q6_k", "iq4_nl"])).toEqual([]);
  });

  it("warns of types that cannot run", async () => {
    const described = describeFile(await file("llama", {}, [shape("x", "q8_1", [256])]));
    expect(described.warnings.join()).toContain("Q8_1");
  });

  it("has a title of one line, whichever key it is from", async () => {
    const titled = async (name: string, basename: string): Promise<string> =>
      describeFile(
        await file("llama", {
          "general.name": stringEntry("general.name", name),
          "general.basename": stringEntry("general.basename", basename),
        }),
      ).title;
    expect(await titled(" a\n b ", "c")).toBe("a b");
    expect(await titled(" ", "c\r\n\td")).toBe("c d");
    expect(await titled("", "\n")).toBe("t");
  });

  it("never fails on keys of a wrong type", async () => {
    const described = describeFile(
      await file("llama", {
        "general.name": u32("general.name", 3),
        "general.file_type": stringEntry("general.file_type", "x"),
      }),
    );
    expect(described.title).toBe("t");
    expect(described.variant).toBe("Q6_K");
  });
});

describe("names of tensors", () => {
  it("tell layer and role", () => {
    expect(layerOf("blk.17.ffn_up.weight")).toBe(17);
    expect(layerOf("output.weight")).toBeUndefined();
    expect(roleOf("blk.17.ffn_up.weight")).toBe("ffn_up.weight");
  });
});

describe("the weight source", () => {
  it("gives the graph types in row-major order and refuses those it cannot run", async () => {
    const opened = await file("llama", {}, [shape("x", "q8_1", [256])]);
    const weights = weightSourceOf(opened);
    expect(weights.identity).toBe(opened.identity);
    expect(weights.tensorType("token_embd.weight")).toEqual({ dtype: "q6_k", shape: [1000, 256] });
    expect(weights.tensorType("nothing")).toBeUndefined();
    expect(() => weights.tensorType("x")).toThrow(/q8_1/u);
  });
});
