// Two graphs as one: every op of both stands in it once, in an order in which each comes behind what it reads.
import { describe, expect, it } from "vitest";
import { GraphBuilder } from "../ir/builder.ts";
import type { Graph } from "../ir/graph.ts";
import { isLeaf } from "../ir/graph.ts";
import { tensor } from "../ir/type.ts";
import { opTable, typedBuilder } from "../ops/index.ts";
import { compareGraphs } from "./graphs.ts";
import { mergeGraphs } from "./merge.ts";

interface Shape {
  readonly blocks: number;
  readonly type: "q8_0" | "q4_0";
  /** Of the second block. */
  readonly act: "silu" | "none";
}

function model({ blocks, type, act }: Shape): Graph {
  const b = new GraphBuilder(opTable, "model");
  const g = typedBuilder(b);
  let x = b.input("x", tensor("f32", [1, 64]));
  for (let i = 0; i < blocks; i++)
    b.scoped(`blk.${i}`, () => {
      const weight = b.param(`blk.${i}.w`, tensor(type, [64, 64]), { file: "f", tensor: `blk.${i}.w` });
      const y = g.linear([x, weight]);
      x = g.add([x, i === 1 && act === "none" ? y : g.silu([y])]);
    });
  b.output("y", x);
  return b.finish();
}

const merge = (a: Graph, b: Graph) => ({ ...mergeGraphs(a, b, compareGraphs(a, b)), opsA: ops(a), opsB: ops(b) });
const ops = (graph: Graph): number => graph.nodes.filter((node) => !isLeaf(node)).length;
const count = (kinds: readonly unknown[], kind: unknown): number => kinds.filter((each) => each === kind).length;
const isOrdered = ({ nodes }: Graph): boolean =>
  nodes.every(({ id, inputs }, i) => id === i && inputs.every(({ node }) => node < i));

describe("two graphs merged", () => {
  it("are one of them where they are the same", () => {
    const a = model({ blocks: 2, type: "q8_0", act: "silu" });
    const { graph, kinds, a: ofA, b: ofB } = merge(a, a);
    expect(graph.nodes.map(({ op }) => op)).toEqual(a.nodes.map(({ op }) => op));
    expect(kinds.every((kind) => kind === undefined)).toBe(true);
    expect([...ofA]).toEqual([...ofB]);
  });

  it("hold what only one has where it stood, with what reads it", () => {
    const [a, b] = [model({ blocks: 3, type: "q8_0", act: "silu" }), model({ blocks: 3, type: "q8_0", act: "none" })];
    const { graph, kinds } = merge(a, b);
    expect(isOrdered(graph)).toBe(true);
    expect([count(kinds, "removed"), count(kinds, "added")]).toEqual([1, 0]);
    const silu = kinds.indexOf("removed");
    expect(graph.nodes[silu]).toMatchObject({ op: "silu", origins: [{ scope: "blk.1" }] });
    const before = graph.nodes[graph.nodes[silu]!.inputs[0]!.node];
    expect(before?.op).toBe("linear");
    // The addition of B reads the product itself, and is drawn with the edge that it had in A, too.
    const reader = graph.nodes.find(({ inputs }) => inputs.some(({ node }) => node === silu));
    expect(reader).toMatchObject({ op: "add", origins: [{ scope: "blk.1" }] });
    expect(reader?.inputs).toHaveLength(3);
    // The other way round it is added, and nothing else is different.
    const back = merge(b, a);
    expect([count(back.kinds, "removed"), count(back.kinds, "added")]).toEqual([0, 1]);
  });

  it("hold every op of both once, whatever differs", () => {
    const shapes: Shape[] = [];
    for (const blocks of [1, 2, 4])
      for (const type of ["q8_0", "q4_0"] as const)
        for (const act of ["silu", "none"] as const) shapes.push({ blocks, type, act });
    for (const one of shapes)
      for (const other of shapes) {
        const { graph, kinds, a, b, opsA, opsB } = merge(model(one), model(other));
        expect(isOrdered(graph)).toBe(true);
        const own = graph.nodes.filter((node) => !isLeaf(node)).map(({ id }) => id as number);
        expect(own.filter((id) => a[id]! >= 0)).toHaveLength(opsA);
        expect(own.filter((id) => b[id]! >= 0)).toHaveLength(opsB);
        expect(own.every((id) => (kinds[id] === "removed") === b[id]! < 0)).toBe(true);
        expect(own.every((id) => (kinds[id] === "added") === a[id]! < 0)).toBe(true);
        const inBoth = Math.min(one.blocks, other.blocks);
        if (one.type !== other.type) expect(count(kinds, "changed")).toBeGreaterThanOrEqual(inBoth);
      }
  });
});
