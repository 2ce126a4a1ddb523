// Each step of the linear blocks: what it makes, and the nearest places where it must not, with the reason that it gives.
import { describe, expect, it } from "vitest";
import { GraphBuilder } from "../../../ir/builder.ts";
import { fusionPass } from "../../../ir/fusion.ts";
import type { Fusion } from "../../../ir/fusion.ts";
import type { Graph, Node, Value } from "../../../ir/graph.ts";
import { isLeaf } from "../../../ir/graph.ts";
import { tensor } from "../../../ir/type.ts";
import { verify } from "../../../ir/verify.ts";
import { opTable, typedBuilder } from "../../../ops/index.ts";
import type { OpBuilder } from "../../../ops/opBuilder.ts";
import { CPU_FUSIONS } from "./index.ts";
import { gatedLinear, normIntoBlock, residualAdd, siblingProducts } from "./linearBlock.ts";

const [K, N] = [8, 6];

interface Made {
  readonly g: OpBuilder;
  readonly input: (name: string, shape?: readonly (number | string)[]) => Value;
  readonly weight: (name: string, shape: readonly number[]) => Value;
  /** A product with a matrix of its own. */
  readonly linear: (x: Value, rows?: number, bias?: Value) => Value;
  readonly shown: (...values: readonly Value[]) => void;
}

function graphOf(build: (made: Made) => void, dtype: "f32" | "f16" | "f64" = "f32"): Graph {
  const b = new GraphBuilder(opTable, "blocks");
  const g = typedBuilder(b);
  let [matrices, outputs] = [0, 0];
  const weight: Made["weight"] = (name, shape) => b.param(name, tensor(dtype, shape), { file: "f", tensor: name });
  build({
    g,
    input: (name, shape = ["T", K]) => b.input(name, tensor(dtype, shape)),
    weight,
    linear: (x, rows = N, bias) => {
      const w = weight(`w${matrices++}`, [rows, Number(g.typeOf(x).shape.at(-1))]);
      return g.linear(bias === undefined ? [x, w] : [x, w, bias]);
    },
    shown: (...values) => {
      for (const value of values) b.output(`y${outputs++}`, value);
    },
  });
  return b.finish();
}

interface Fused {
  readonly ops: readonly string[];
  readonly why: string;
  readonly blocks: readonly Node[];
}
function run(fusions: readonly Fusion[], graph: Graph): Fused {
  let [current, why] = [graph, ""];
  for (const fusion of fusions) {
    const { graph: after, misses } = fusionPass(opTable, fusion).run(current);
    expect(verify(opTable, after)).toEqual([]);
    why += misses.map((miss) => miss.why).join();
    current = after;
  }
  const nodes = current.nodes.filter((node) => !isLeaf(node));
  return { ops: nodes.map(({ op }) => op), why, blocks: nodes.filter(({ op }) => op === "linear_block") };
}

describe("gated linear", () => {
  const gate = (change: string, dtype?: "f64") =>
    run(
      [gatedLinear],
      graphOf(({ g, input, weight, linear, shown }) => {
        const [x, z] = [input("x"), input("z")];
        const bias = change === "bias" ? weight("bias", [N]) : undefined;
        const gated = linear(x, change === "stretched" ? 1 : N, bias);
        const activated = g.silu([change === "scaled" ? g.neg([gated]) : gated]);
        const up = linear(change === "operands" ? z : x);
        const sides: readonly [Value, Value] = change === "order" ? [up, activated] : [activated, up];
        shown(g.mul(sides), ...(change === "up twice" ? [up] : change === "silu twice" ? [activated] : []));
      }, dtype),
    );
  it.each(["none", "order", "bias"])("silu(gate) · up becomes a block: %s", (change) => {
    const { ops, why, blocks } = gate(change);
    expect([ops, why]).toEqual([["linear_block"], ""]);
    expect(blocks[0]!.attrs).toEqual({ residual: false, gated: true, biases: [change === "bias" ? 1 : 0, 0] });
  });
  it.each([
    ["up twice", "a product is read elsewhere"],
    ["silu twice", "the activation is read elsewhere"],
    ["operands", "different operands"],
    ["scaled", "do not come straight"],
    ["stretched", "one is stretched"],
  ])("not with %s", (change, reason) => {
    const { ops, why } = gate(change);
    expect(ops).toContain("mul");
    expect(why).toContain(reason);
  });
  it("not in float64, which the kernel does not compute in", () =>
    expect(gate("none", "f64").ops).toEqual(["linear", "silu", "linear", "mul"]));
  it("not for another function", () => {
    const graph = graphOf(({ g, input, linear, shown }) => {
      const x = input("x");
      shown(g.mul([g.sigmoid([linear(x)]), linear(x)]));
    });
    expect(run([gatedLinear], graph)).toMatchObject({ why: "", blocks: [] });
  });
});

describe("sibling products", () => {
  it("become one block with biases where they have them, and the origins of all", () => {
    const graph = graphOf(({ input, weight, linear, shown }) => {
      const x = input("x");
      shown(linear(x), linear(x, 4, weight("bias", [4])), linear(x, 2));
    });
    const { ops, why, blocks } = run([siblingProducts], graph);
    expect([ops, why]).toEqual([["linear_block"], ""]);
    expect(blocks[0]!.attrs).toEqual({ residual: false, gated: false, biases: [0, 1, 0] });
    expect(blocks[0]!.outputs.map(({ shape }) => shape)).toEqual([
      ["T", N],
      ["T", 4],
      ["T", 2],
    ]);
    expect(blocks[0]!.origins).toHaveLength(3);
  });
  it("stay apart for other rows, also for the same rows in another shape", () => {
    const graph = graphOf(({ g, input, linear, shown }) => {
      const x = input("x");
      shown(linear(x), linear(input("z")), linear(g.reshape([x], { shape: [1, "T", K] })));
    });
    expect(run([siblingProducts], graph).blocks).toEqual([]);
  });
  it("do not wait for a matrix that is computed later", () => {
    const graph = graphOf(({ g, input, weight, linear, shown }) => {
      const x = input("x");
      shown(linear(x), linear(x, 4), g.linear([x, g.exp([weight("raw", [N, K])])]));
    });
    const { ops, why } = run([siblingProducts], graph);
    expect(ops).toEqual(["linear_block", "exp", "linear"]);
    expect(why).toContain("computed after the first product");
  });
});

describe("residual add", () => {
  it.each([true, false])("joins the product, product first: %s", (first) => {
    const graph = graphOf(({ g, input, weight, linear, shown }) => {
      const [r, product] = [input("r", ["T", N]), linear(input("x"), N, weight("bias", [N]))];
      shown(g.add(first ? [product, r] : [r, product]));
    });
    const { ops, why, blocks } = run([residualAdd], graph);
    expect([ops, why]).toEqual([["linear_block"], ""]);
    expect(blocks[0]!.attrs).toEqual({ residual: true, gated: false, biases: [1] });
  });
  it("joins the later of two products, and a gated block as well", () => {
    const two = graphOf(({ g, input, linear, shown }) => shown(g.add([linear(input("x")), linear(input("z"))])));
    expect(run([residualAdd], two).ops).toEqual(["linear", "linear_block"]);
    const gated = graphOf(({ g, input, linear, shown }) => {
      const x = input("x");
      shown(g.add([g.mul([g.silu([linear(x)]), linear(x)]), input("r", ["T", N])]));
    });
    expect(run([gatedLinear, residualAdd], gated).blocks.map(({ attrs }) => attrs)).toEqual([
      { residual: true, gated: true, biases: [0, 0] },
    ]);
  });
  it.each([
    ["read", "the product is read elsewhere"],
    ["doubled", "the product is read elsewhere"],
    ["several", "one of several"],
    ["stretched", "stretched"],
    ["again", "another residual"],
  ])("not when %s", (change, reason) => {
    const graph = graphOf(({ g, input, weight, linear, shown }) => {
      const [x, r] = [input("x"), input("r", ["T", N])];
      const product = linear(x);
      if (change === "read") shown(product);
      if (change === "several") shown(linear(x));
      const sum = g.add([product, change === "doubled" ? product : change === "stretched" ? weight("v", [N]) : r]);
      shown(change === "again" ? g.add([sum, r]) : sum);
    });
    const { ops, why } = run([siblingProducts, residualAdd, ...(change === "again" ? [residualAdd] : [])], graph);
    expect(ops).toContain("add");
    expect(why).toContain(reason);
  });
  it("works in half floats too", () => {
    const graph = graphOf(
      ({ g, input, linear, shown }) => shown(g.add([linear(input("x")), input("r", ["T", N])])),
      "f16",
    );
    expect(run([residualAdd], graph).blocks[0]!.outputs[0]!.dtype).toBe("f16");
  });
});

describe("norm", () => {
  const norm = ({ g, weight }: Made, x: Value, beta = false): Value =>
    g.rms_norm(beta ? [x, weight("gamma", [K]), weight("beta", [K])] : [x, weight("gamma", [K])], { eps: 1e-3 });
  it("goes into the block of all its readers", () => {
    const graph = graphOf((made) => {
      const n = norm(made, made.input("x"));
      made.shown(made.linear(n), made.linear(n));
    });
    const { ops, why, blocks } = run([siblingProducts, normIntoBlock], graph);
    expect([ops, why]).toEqual([["linear_block"], ""]);
    expect(blocks[0]!.attrs).toEqual({ eps: 1e-3, residual: false, gated: false, biases: [0, 0] });
    expect(blocks[0]!.origins).toHaveLength(3);
  });
  it("goes into a lone product, and through a reshape that keeps the rows", () => {
    const graph = graphOf((made) => {
      const rows = made.g.reshape([norm(made, made.input("x"))], { shape: [1, "T", K] });
      made.shown(made.linear(rows));
    });
    const { ops, blocks } = run([normIntoBlock], graph);
    expect(ops).toEqual(["reshape", "linear_block"]);
    expect(blocks[0]!.outputs[0]!.shape).toEqual([1, "T", N]);
  });
  it.each([
    ["it is read elsewhere", "read elsewhere"],
    ["it is the residual of the block", "read elsewhere"],
    ["a view has other rows", "not those that were normed"],
    ["it adds a beta", "adds a beta"],
  ])("stays when %s", (change, reason) => {
    const graph = graphOf((made) => {
      const { g, linear, shown, input } = made;
      const n = norm(made, input("x"), change.includes("beta"));
      if (change.includes("elsewhere")) shown(g.tanh([n]));
      const rows = change.includes("view") ? g.reshape([n], { shape: ["2*T", K / 2] }) : n;
      shown(change.includes("residual") ? g.add([linear(n, K), n]) : linear(rows));
    });
    const { ops, why } = run([residualAdd, normIntoBlock], graph);
    expect(ops).toContain("rms_norm");
    expect(why).toContain(reason);
  });
});

it("the fusions together: sums and norms between products leave two blocks", () => {
  const graph = graphOf(({ g, input, weight, linear, shown }) => {
    const sum = g.add([linear(input("z", ["T", 4]), K), input("r")]);
    const n = g.rms_norm([sum, weight("gamma", [K])], { eps: 1e-5 });
    shown(g.mul([g.silu([linear(n)]), linear(n)]), sum);
  });
  const { ops, blocks } = run(CPU_FUSIONS, graph);
  expect(ops).toEqual(["linear_block", "linear_block"]);
  expect(blocks[1]!.passes).toEqual(["fuse gated linear", "fuse norm"]);
});
