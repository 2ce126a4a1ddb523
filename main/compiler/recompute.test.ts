/** Checkpointing by a budget: less memory in the engine's own plan, the same numbers, a linear size, and an honest trade. */
import { describe, expect, it } from "vitest";
import { isLeaf } from "../ir/graph.ts";
import type { Graph, Value } from "../ir/graph.ts";
import { hostScalar } from "../ir/hostTensor.ts";
import type { GraphMaker } from "../library/graphs.ts";
import { buildGraph, evaluate } from "../library/graphs.ts";
import { verify } from "../ir/verify.ts";
import { opTable } from "../ops/index.ts";
import { compileArtifact } from "../runtime/devices/cpu.ts";
import { compileNow } from "./compile.ts";
import { pipelineFor } from "./pipelines.ts";
import type { Checkpointed } from "./recompute.ts";
import { checkpoint } from "./recompute.ts";

const [ROWS, WIDTH] = [8, 4];

const mlp = (layers: number): Graph =>
  buildGraph("mlp", (g) => {
    let y = g.input("x", `f32[${ROWS},${WIDTH}]`);
    for (let i = 0; i < layers; i++)
      y = g.gelu(
        [g.add([g.linear([y, g.param(`w${i}`, `f32[${WIDTH},${WIDTH}]`)]), g.param(`b${i}`, `f32[${WIDTH}]`)])],
        { approx: false },
      );
    g.output("loss", g.reduce([g.mul([y, y])], { kind: "mean", axes: [0, 1] }));
  });

/** Norm, attention of one head, norm, gated block, with both residual paths. */
const transformer = (layers: number): Graph =>
  buildGraph("transformer", (g) => {
    let x = g.input("x", `f32[${ROWS},${WIDTH}]`);
    for (let i = 0; i < layers; i++) {
      x = g.add([x, attention(g, g.rms_norm([x, g.param(`n${i}`, `f32[${WIDTH}]`)], { eps: 1e-5 }), i)]);
      const h = g.rms_norm([x, g.param(`m${i}`, `f32[${WIDTH}]`)], { eps: 1e-5 });
      const weight = (name: string): Value => g.param(`${name}${i}`, `f32[${WIDTH},${WIDTH}]`);
      x = g.add([
        x,
        g.linear([g.mul([g.silu([g.linear([h, weight("gate")])]), g.linear([h, weight("up")])]), weight("down")]),
      ]);
    }
    g.output("loss", g.reduce([g.mul([x, x])], { kind: "mean", axes: [0, 1] }));
  });

function attention(g: GraphMaker, x: Value, i: number): Value {
  const [q, k, v, o] = ["q", "k", "v", "o"].map((name) => g.param(`${name}${i}`, `f32[${WIDTH},${WIDTH}]`));
  const scores = g.matmul([g.linear([x, q!]), g.transpose([g.linear([x, k!])], { perm: [1, 0] })]);
  const weights = g.softmax([g.mul([scores, g.constant(hostScalar("f32", WIDTH ** -0.5))])], { axis: 1 });
  return g.linear([g.matmul([weights, g.linear([x, v!])]), o!]);
}

const paramsOf = (graph: Graph): readonly string[] =>
  graph.nodes.filter(({ op }) => op === "param").map(({ attrs }) => String(attrs["name"]));
const made = (graph: Graph, budget: number): Checkpointed =>
  checkpoint(graph, { of: ["loss"], wrt: paramsOf(graph), cotangents: "ones", budget });

function numbersOf(graph: Graph): Readonly<Record<string, readonly number[]>> {
  const wave = (size: number, salt: number): readonly number[] =>
    Array.from({ length: size }, (_, i) => Math.sin(2.3 * i + salt) / 3);
  const params = graph.nodes
    .filter(({ op }) => op === "param")
    .map(({ attrs, outputs }, i) => [
      String(attrs["name"]),
      wave(
        outputs[0]!.shape.reduce<number>((n, d) => n * Number(d), 1),
        i,
      ),
    ]);
  const { outputs } = evaluate(
    graph,
    { x: wave(ROWS * WIDTH, 1) },
    { params: Object.fromEntries(params) as Record<string, number[]> },
  );
  return Object.fromEntries(Object.entries(outputs).map(([name, { data }]) => [name, [...data]]));
}

const UNMARKED = pipelineFor("cpu").filter(({ name }) => name !== "mark regions");
const arenaOf = (graph: Graph, passes = pipelineFor("cpu")): number =>
  compileArtifact(compileNow(graph, { backend: "cpu", passes }).graph, {}).arenaBytes;

describe.each([
  ["an MLP", mlp, 6, [0.75, 0.6], [8, 16]],
  ["a transformer", transformer, 3, [0.7], [3, 6]],
] as const)("%s", (_, build, depth, shares, depths) => {
  const graph = build(depth);
  const whole = made(graph, Infinity);

  it("is left alone where all activations fit", () => {
    expect(whole.trade).toMatchObject({ opsAdded: 0, workAdded: 0, bytes: whole.trade.bytesWithout });
    expect(made(graph, whole.trade.bytesWithout).graph.nodes).toHaveLength(whole.graph.nodes.length);
  });

  it("holds less for more operations, and gives the same numbers", () => {
    const want = numbersOf(whole.graph);
    const arena = arenaOf(whole.graph);
    // What is counted here is what the CPU engine plans; between the steps of a region nothing is held.
    const unmarked = arenaOf(whole.graph, UNMARKED);
    expect(Math.abs(unmarked - whole.trade.bytesWithout)).toBeLessThan(0.1 * unmarked);
    expect(arena).toBeLessThanOrEqual(unmarked);
    let added = 0;
    for (const share of shares) {
      const budget = Math.floor(share * whole.trade.bytesWithout);
      const { graph: less, trade } = made(graph, budget);
      expect(verify(opTable, less)).toEqual([]);
      expect(trade.bytes).toBeLessThanOrEqual(budget);
      expect(trade.opsAdded).toBeGreaterThan(added);
      // At most the forward pass once more: a third of the whole.
      expect(trade.workAdded).toBeLessThan(0.4);
      const nodes = (own: Graph): number => own.nodes.filter((node) => !isLeaf(node)).length;
      expect(nodes(less) - nodes(whole.graph)).toBe(trade.opsAdded);
      expect(numbersOf(less)).toEqual(want);
      expect(arenaOf(less)).toBeLessThan(0.9 * arena);
      added = trade.opsAdded;
    }
  });

  it("grows as the graph does", () => {
    const [small, large] = depths.map((layers) => {
      const own = build(layers);
      return made(own, 0.6 * made(own, Infinity).trade.bytesWithout).graph.nodes.length;
    });
    expect(large! / small!).toBeLessThan(2.1);
  });
});

function refusalOf(call: () => unknown): Error {
  try {
    call();
  } catch (error) {
    if (error instanceof Error) return error;
  }
  throw new Error("it was not refused");
}

describe("refuses", () => {
  it("a budget that no choice can keep, and says the least", () => {
    const refused = expect.objectContaining({ code: "INPUT_ARGUMENT", hint: expect.stringContaining("smaller batch") });
    expect(() => made(mlp(4), 100)).toThrow(refused);
    const { message } = refusalOf(() => made(mlp(4), 100));
    const least = /expected (\d+) or more/.exec(message)?.[1];
    expect(made(mlp(4), Number(least)).trade.bytes).toBe(Number(least));
  });

  it("sizes that are not known", () => {
    const rows = buildGraph("rows", (g) => {
      const y = g.tanh([g.mul([g.input("x", "f32[N]"), g.param("w", "f32[]")])]);
      g.output("loss", g.reduce([y], { kind: "sum", axes: [0] }));
    });
    const request = { of: ["loss"], wrt: ["w"], cotangents: "ones", budget: 1e6 } as const;
    expect(() => checkpoint(rows, request)).toThrow("[checkpoint] symbols: got none for N, expected sizes");
    expect(checkpoint(rows, { ...request, symbols: { N: 1000 } }).trade.bytes).toBeGreaterThan(4000);
  });
});
