import { describe, expect, it } from "vitest";
import { opOf, opTable } from "../../ops/index.ts";
import { inputLabel, OPERANDS, outputLabel } from "./operandNames.ts";

describe("operand names", () => {
  it("has one for every operand of every op that does not take any number of them", () => {
    for (const name of opTable.names) {
      const max = opOf(name)!.arityRange.max;
      if (max <= 16) expect(OPERANDS[name]?.inputs.length, name).toBe(max);
    }
    expect(Object.keys(OPERANDS).filter((name) => opOf(name) === undefined)).toEqual([]);
  });

  it("has different names within one op", () => {
    for (const [op, { inputs, outputs = [] }] of Object.entries(OPERANDS)) {
      expect(new Set(inputs).size, op).toBe(inputs.length);
      expect(new Set(outputs).size, op).toBe(outputs.length);
    }
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
