import { describe, expect, it } from "vitest";
import { inputLabel, outputLabel } from "./operandNames.ts";

describe("operand names", () => {
  it("has those of the op", () => {
    expect([0, 1, 2].map((i) => inputLabel("where", i))).toEqual(["condition", "if true", "if false"]);
    expect([0, 1].map((i) => outputLabel("topk", i, 2))).toEqual(["values", "positions"]);
  });

  it("counts the operands of an op that takes any number", () => {
    expect([inputLabel("concat", 0), inputLabel("concat", 1), outputLabel("concat", 0, 1)]).toEqual([
      "operand 1",
      "operand 2",
      "result",
    ]);
    expect(outputLabel("split", 1, 2)).toBe("result 2");
  });
});
