import { describe, expect, it } from "vitest";
import type { AttrRecord } from "../ir/attributes.ts";
import type { NodeId } from "../ir/graph.ts";
import { inputLabels, outputLabel } from "./operandNames.ts";

const labels = (op: string, count: number, attrs: AttrRecord = {}): readonly string[] =>
  inputLabels({ op, attrs, inputs: Array.from({ length: count }, () => ({ node: 0 as NodeId, output: 0 })) });

describe("operand names", () => {
  it("has those of the op", () => {
    expect(labels("where", 3)).toEqual(["condition", "if true", "if false"]);
    expect([0, 1].map((i) => outputLabel("topk", i, 2))).toEqual(["values", "positions"]);
  });

  it("counts the operands of an op that takes any number", () => {
    expect([...labels("concat", 2), outputLabel("concat", 0, 1)]).toEqual(["operand 1", "operand 2", "result"]);
    expect(outputLabel("split", 1, 2)).toBe("result 2");
  });

  it("has those of a linear block by what it is made of", () => {
    expect(labels("linear_block", 6, { eps: 1e-6, residual: false, gated: false, biases: [1, 0, 0] })).toEqual([
      ...["x", "gamma", "weight 1", "bias 1", "weight 2", "weight 3"],
    ]);
    expect(labels("linear_block", 4, { residual: true, gated: true, biases: [0, 0] })).toEqual([
      ...["x", "residual", "gate weight", "up weight"],
    ]);
  });
});
