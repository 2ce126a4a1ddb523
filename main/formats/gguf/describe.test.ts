/** What a header says of its file in numbers. */
import { describe, expect, it } from "vitest";
import { headerFile, shape, u32 } from "../../testing/headerFile.ts";
import { describeFile, layerOf, otherTypes, roleOf } from "./describe.ts";
import { stringEntry } from "./encode.ts";
import { weightSourceOf } from "./weightSource.ts";

describe("the overview", () => {
  it("counts parameters, bytes and types", async () => {
    const described = describeFile(await headerFile("llama"));
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
    const { mix } = describeFile(await headerFile("llama", {}, [shape("blk.0.attn_k.weight", "iq4_nl", [256, 128])]));
    expect(otherTypes(mix, ["f32", "q4_k", "q6_k"])).toEqual(["IQ4_NL"]);
    expect(otherTypes(mix, ["f32", "q4_k", "q6_k", "iq4_nl"])).toEqual([]);
  });

  it("warns of types that cannot run", async () => {
    const described = describeFile(await headerFile("llama", {}, [shape("x", "q8_1", [256])]));
    expect(described.warnings.join()).toContain("Q8_1");
  });

  it("has a title of one line, whichever key it is from", async () => {
    const titled = async (name: string, basename: string): Promise<string> =>
      describeFile(
        await headerFile("llama", {
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
      await headerFile("llama", {
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
    const opened = await headerFile("llama", {}, [shape("x", "q8_1", [256])]);
    const weights = weightSourceOf(opened);
    expect(weights.identity).toBe(opened.identity);
    expect(weights.tensorType("token_embd.weight")).toEqual({ dtype: "q6_k", shape: [1000, 256] });
    expect(weights.tensorType("nothing")).toBeUndefined();
    expect(() => weights.tensorType("x")).toThrow(/q8_1/u);
  });
});
