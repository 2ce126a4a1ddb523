/** What a plan refuses before anything is read, and what it keeps. */
import { expect, it, test } from "vitest";
import { foreignType } from "../formats/gguf/foreignTypes.ts";
import { headerFile, shape } from "../testing/headerFile.ts";
import { planQuantize } from "./plan.ts";

it.each([
  ["a type that nothing packs", [], [{ pattern: "attn_q", type: "q8_k" }], "q4_k to pack as q8_k"],
  ["whole numbers", [shape("blk.0.x.weight", "i32", [256, 4])], [], "i32 to pack as q4_0"],
  ["a type of a fork", [{ ...shape("blk.0.x.weight", "f32", [256, 4]), type: foreignType(139) }], [], "got iq4_k"],
] as const)("%s is refused", async (_, more, overrides, message) => {
  const file = await headerFile("llama", {}, more);
  expect(() => planQuantize(file, { recipe: "q4_0", overrides })).toThrow(
    expect.objectContaining({ code: "UNSUPPORTED_TENSOR_TYPE", message: expect.stringContaining(message) as string }),
  );
});

it("a pattern that no tensor fits is refused", async () => {
  const overrides = [{ pattern: "ffn_dwon", type: "q8_0" }];
  const file = await headerFile("llama");
  expect(() => planQuantize(file, { recipe: "q4_0", overrides })).toThrow(/"ffn_dwon": got no tensor/u);
});

it("what is kept may be of any type", async () => {
  const file = await headerFile("llama", {}, [shape("blk.0.x.weight", "i32", [256, 4]), shape("y.scale", "i8", [3])]);
  const plan = planQuantize(file, { recipe: "q4_0", overrides: [{ pattern: "blk.0.x", type: "i32" }] });
  const kept = plan.tensors.filter(({ tensor, type }) => tensor.type === type);
  expect(kept.map(({ tensor, byteLength }) => [tensor.name, byteLength])).toEqual(
    expect.arrayContaining([
      ["blk.0.x.weight", 4096],
      ["y.scale", 3],
    ]),
  );
});

async function fits(pattern: string, name: string): Promise<boolean> {
  const file = await headerFile("llama", {}, [shape(name, "f32", [256, 2])]);
  const overrides = [{ pattern, type: "q5_1" }];
  try {
    return planQuantize(file, { recipe: "q4_0", overrides }).tensors.at(-1)?.type.name === "q5_1";
  } catch (error) {
    expect(error).toMatchObject({ message: expect.stringContaining("got no tensor") as string });
    return false;
  }
}

const NAME = "z.3.ffn_up_down.weight";

test.each([
  ["up_down", true],
  ["up.down", false],
  ["*up_down*", true],
  ["z.3.*", true],
  ["*.weight", true],
  ["z*down*weight", true],
  ["z**weight", true],
  ["*", true],
  ["z.3*3.ffn_up_down.weight", false],
  ["*down*down*", false],
  ["*up_down", false],
  ["up*", false],
  [`${NAME}*${NAME}`, false],
])("%s fits: %s", async (pattern, expected) => {
  expect(await fits(pattern, NAME)).toBe(expected);
});

it("takes no time over a pattern of many parts", async () => {
  expect(await fits(`${"*a".repeat(30)}*b`, `${"a".repeat(60)}.weight`)).toBe(false);
});
