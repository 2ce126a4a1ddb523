import { expect, test } from "vitest";
import { tensor } from "../../ir/type.ts";
import { TestDraft } from "./testDraft.ts";
import { canFollowGgml, followGgml } from "./asGgml.ts";

function product(weight: "f32" | "f16" | "bf16" | "q8_0"): TestDraft {
  const t = new TestDraft();
  const x = t.input("x", [2, 32]);
  const y = t.one("linear", [x, t.weight(tensor(weight, [4, 32]))], [2, 4], { scale: 2 });
  t.output("y", t.one("add", [y, y], [2, 4]));
  return t;
}

test.each([
  ["f32", true],
  ["f16", true],
  ["bf16", false],
  ["q8_0", false],
] as const)("a file with weights of %s: %s", (weight, follows) => {
  expect(canFollowGgml(product(weight).draft)).toBe(follows);
});

test("only kernels with an order of their own are told, and keep what they had", () => {
  const { draft } = product("f16");
  followGgml(draft);
  expect(draft.instructions.map(({ kernel, params }) => [kernel, params])).toEqual([
    ["linear", { scale: 2, asGgml: true }],
    ["add", {}],
  ]);
});
