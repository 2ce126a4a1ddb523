// What a node reads and writes, against hand arithmetic over a decoder: not the sizes of its operands.
import { describe, expect, it } from "vitest";
import { heldInPackage } from "../../backends/coreml/weights/forms.ts";
import { GraphBuilder } from "../../ir/builder.ts";
import { heldAsStored } from "../../ir/heldBytes.ts";
import { tensor } from "../../ir/type.ts";
import { opTable, typedBuilder } from "../../ops/index.ts";
import { MovedBytes } from "./movedBytes.ts";

const [ROWS, WIDTH, CAPACITY] = [1000, 256, 64];
const builder = new GraphBuilder(opTable, "one token");
const g = typedBuilder(builder);
const table = builder.param("table", tensor("q4_k", [ROWS, WIDTH]), { file: "f", tensor: "table" });
const token = builder.input("token", tensor("i32", [1]));
const past = builder.input("past", tensor("i32", []));
const cache = builder.input("cache", tensor("f16", [1, CAPACITY, WIDTH]));
const row = g.gather([table, token], { axis: 0 });
const head = g.linear([row, table]);
const appended = g.kv_append([cache, g.reshape([row], { shape: [1, 1, WIDTH] }), past]);
builder.output("y", head);
builder.output("cache", appended);
const graph = builder.finish();
const node = (op: string) => graph.nodes.find((each) => each.op === op)!;

describe("bytes that are moved", () => {
  const stored = new MovedBytes(graph, {}, heldAsStored);
  const onAne = new MovedBytes(graph, {}, heldInPackage("ane"));

  it("count weights in the form that the backend holds: 4.5 bits in the file, f16 for the Neural Engine", () => {
    expect(stored.read(node("linear"))).toBe((ROWS * WIDTH * 4.5) / 8 + WIDTH * 4);
    expect(onAne.read(node("linear"))).toBe(ROWS * WIDTH * 2 + WIDTH * 4);
  });

  it("count the row of a table that is looked up", () => {
    expect(stored.read(node("gather"))).toBe((WIDTH * 4.5) / 8 + 4);
    expect(onAne.read(node("gather"))).toBe(WIDTH * 2 + 4);
  });

  it("count the rows that are appended, not the cache that they are appended to", () => {
    expect(stored.read(node("kv_append"))).toBe(WIDTH * 4 + 4);
    expect(stored.written(node("kv_append"))).toBe(WIDTH * 2);
  });

  it("count nothing for what only relabels memory", () => {
    expect(stored.read(node("reshape"))).toBe(0);
    expect(stored.written(node("reshape"))).toBe(0);
  });
});
