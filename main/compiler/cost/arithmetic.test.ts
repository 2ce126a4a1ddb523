// Operations of a node, against hand arithmetic: a multiplication and an addition are two.
import { describe, expect, it } from "vitest";
import { GraphBuilder } from "../../ir/builder.ts";
import { tensor } from "../../ir/type.ts";
import { opTable, typedBuilder } from "../../ops/index.ts";
import { Arithmetic } from "./arithmetic.ts";

const builder = new GraphBuilder(opTable, "g");
const g = typedBuilder(builder);
const x = builder.input("x", tensor("f32", [3, 64]));
const w = builder.param("w", tensor("q8_0", [32, 64]), { file: "f", tensor: "w" });
const y = g.linear([x, w]);
const table = builder.param("table", tensor("q8_0", [1000, 64]), { file: "f", tensor: "table" });
const row = builder.input("row", tensor("i32", [2]));
builder.output("rows", g.gather([table, row], { axis: 0 }));
builder.output("y", g.reshape([g.exp([y])], { shape: [96] }));
const graph = builder.finish();
const of = (op: string): number => {
  const node = graph.nodes.find((each) => each.op === op);
  return node === undefined ? Number.NaN : new Arithmetic(graph, {}).of(node);
};

describe("the arithmetic of a node", () => {
  it("is two operations for each weight and row of a product", () => {
    expect(of("linear")).toBe(2 * 3 * 32 * 64);
  });

  it("is one for each element that is picked, however long the table is", () => {
    expect(of("gather")).toBe(2 * 64);
  });

  it("is one for each element of an elementwise op, and none where nothing is computed", () => {
    expect(of("exp")).toBe(96);
    expect([of("reshape"), of("param")]).toEqual([0, 0]);
  });
});
