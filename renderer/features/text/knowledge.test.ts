import { expect, it } from "vitest";
import type { OpFacts, TextReport } from "../../../main/contract/views/text.ts";
import { textKnowledge } from "./knowledge.ts";

const TEXT = `graph "g" {
  %x = input : f32[3]
  %s = sort(%x)
  return "y" = %s.1
}
`;
const report: TextReport = {
  diagnostics: [],
  types: [
    { start: TEXT.indexOf("%x"), types: ["f32[3]"] },
    { start: TEXT.indexOf("%s"), types: ["f32[3]", "i32[3]"] },
  ],
  graph: null,
};
const sort: OpFacts = {
  ...{
    name: "sort",
    summary: "In order.",
    arity: "1",
    operands: ["x"],
    results: [],
    traits: [],
    support: [],
    samples: [],
  },
  attributes: [{ name: "axis", expects: "a whole number" }],
  oracle: { by: "numpy", python: "" },
};
const knowledge = textKnowledge({
  report: () => report,
  operations: () => [sort],
  format: (text) => Promise.resolve(text),
});

it("tells the types of a value, or of the result that is meant, and what an operation is", async () => {
  expect(await knowledge.hover(TEXT, TEXT.indexOf("%s ="))).toEqual(["`f32[3]`, `i32[3]`", "%s, line 3"]);
  expect(await knowledge.hover(TEXT, TEXT.indexOf("%s.1"))).toEqual(["`i32[3]`", "%s, line 3"]);
  expect(await knowledge.hover(TEXT, TEXT.indexOf("sort") + 1)).toEqual([
    "**sort**(x)",
    "In order.",
    "- `axis`: a whole number",
  ]);
  expect(await knowledge.hover(TEXT, TEXT.indexOf("return"))).toBeNull();
});

it("changes a name at its definition and its uses, with or without the sign", () => {
  const at = TEXT.indexOf("%s.1") + 1;
  for (const name of ["t", "%t"]) {
    const spans = knowledge.rename(TEXT, at, name);
    expect(typeof spans === "string" ? spans : spans.map(({ start, end }) => TEXT.slice(start, end))).toEqual([
      "s",
      "s",
    ]);
  }
  expect(knowledge.rename(TEXT, at, "x")).toBe("%x is there already.");
  expect(knowledge.nameAt(TEXT, at)).toMatchObject({ name: "s" });
});
