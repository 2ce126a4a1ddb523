import { expect, test } from "vitest";
import type { OpFacts } from "../../../main/contract/views/text.ts";
import { opsMatching } from "./matching.ts";

const op = (name: string, summary: string): OpFacts => ({
  ...{ name, summary, arity: "1", operands: ["x"], results: [], attributes: [], traits: [], support: [], samples: [] },
  oracle: { by: "numpy", python: "x0" },
});
const ops = [
  op("expm1", "exp less 1."),
  op("exp", "e to the power of x."),
  op("power", "x to the power of y."),
  op("sum", "The sum."),
];
const names = (query: string): readonly string[] => opsMatching(ops, query).map(({ name }) => name);

test("names come before meanings, and every word has to be there", () => {
  expect(names("")).toEqual(["expm1", "exp", "power", "sum"]);
  expect(names("exp")).toEqual(["exp", "expm1"]);
  expect(names("Power")).toEqual(["power", "exp"]);
  expect(names("power e to")).toEqual(["exp", "power"]);
  expect(names("nothing")).toEqual([]);
});
