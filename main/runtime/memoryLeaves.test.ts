// Parameters in memory and variables, on the reference: set before and between runs, initial values, forks, and a step of SGD.
import { describe, expect, it } from "vitest";
import { GraphBuilder } from "../ir/builder.ts";
import type { Graph } from "../ir/graph.ts";
import { graphHash } from "../ir/hash.ts";
import type { Initial } from "../ir/initial.ts";
import { initialValues } from "../ir/initial.ts";
import { printGraph } from "../ir/text/print.ts";
import { tensor } from "../ir/type.ts";
import { verify } from "../ir/verify.ts";
import { opTable, typedBuilder } from "../ops/index.ts";
import type { GraphSession } from "../ir/session.ts";
import { memoryGraph, yOf } from "../testing/memoryGraph.ts";
import { referenceDevice } from "./devices/reference.ts";

const open = (graph: Graph): GraphSession => referenceDevice().compile(graph).open();

describe("initial values", () => {
  it("follow from the seed, with the deviation and the bounds that were asked for", () => {
    const of = (initial: Initial) => [...initialValues(initial, { dtype: "f32", shape: [4000] }).data];
    const normal = of({ kind: "normal", scale: 0.5, seed: 3 });
    expect(of({ kind: "normal", scale: 0.5, seed: 3 })).toEqual(normal);
    expect(of({ kind: "normal", scale: 0.5, seed: 4 })).not.toEqual(normal);
    const mean = (x: readonly number[]) => x.reduce((a, b) => a + b, 0) / x.length;
    expect(mean(normal)).toBeCloseTo(0, 1);
    expect(Math.sqrt(mean(normal.map((x) => x * x)))).toBeCloseTo(0.5, 1);
    const uniform = of({ kind: "uniform", scale: 2, seed: 1 });
    expect(Math.max(...uniform.map(Math.abs))).toBeLessThanOrEqual(2);
    expect(mean(uniform.map((x) => x * x))).toBeCloseTo(4 / 3, 1);
    expect(of({ kind: "constant", value: 7 }).every((x) => x === 7)).toBe(true);
  });

  it("are part of the graph: printed, hashed, and verified", () => {
    const graph = memoryGraph();
    expect(verify(opTable, graph)).toEqual([]);
    expect(printGraph(graph)).toContain('param "w" {memory: true} : f32[2,3]');
    expect(printGraph(graph)).toContain('state "v" {rewind: "checkpoint", initial: "constant", value: 10}');
    expect(graphHash(memoryGraph(11))).not.toBe(graphHash(graph));
    const builder = new GraphBuilder(opTable, "bad");
    builder.param("w", tensor("f32", ["T", 3]), { memory: true });
    builder.param("q", tensor("q8_0", [2, 32]), { memory: true });
    builder.variable("v", tensor("f32", [2]), { kind: "normal", scale: NaN, seed: 1 });
    expect(verify(opTable, builder.finish()).map(({ code, node }) => [code, node])).toEqual([
      ["IR_ATTRIBUTE", 0],
      ["IR_ATTRIBUTE", 1],
      ["IR_ATTRIBUTE", 2],
    ]);
  });
});

describe("parameters in memory", () => {
  it("are set before the first run and between runs, as numbers or in their own type", async () => {
    const session = open(memoryGraph());
    await expect(yOf(session, [1, 1, 1])).rejects.toMatchObject({ code: "INPUT_ARGUMENT" });
    session.params?.setParam("w", [1, 2, 3, 4, 5, 6]);
    // w x + b, b is 0.5; v counts from 10.
    expect(await yOf(session, [1, 1, 1])).toEqual([6.5, 15.5]);
    session.params?.setParamTyped("w", "f32", Float32Array.of(0, 0, 1, 0, 0, 2));
    session.params?.setParam("b", [1, -1]);
    expect(await yOf(session, [1, 1, 1])).toEqual([2, 1]);
  });

  it("are refused under another name, in another type or number", () => {
    const { params } = open(memoryGraph());
    const refused = expect.objectContaining({ code: "INPUT_ARGUMENT" });
    expect(() => params?.setParam("x", [1])).toThrow(refused);
    expect(() => params?.setParam("w", [1])).toThrow(refused);
    expect(() => params?.setParamTyped("w", "f32", new Float32Array(5))).toThrow(refused);
    expect(() => params?.setParamTyped("w", "f16", new Uint16Array(6))).toThrow(refused);
  });

  it("belong to their session, and a fork goes on with them", async () => {
    const session = open(memoryGraph());
    session.params?.setParam("w", [1, 2, 3, 4, 5, 6]);
    const fork = await session.fork(0);
    fork.params?.setParam("w", [0, 0, 0, 0, 0, 0]);
    expect(await yOf(fork, [1, 1, 1])).toEqual([0.5, 0.5]);
    expect(await yOf(session, [1, 1, 1])).toEqual([6.5, 15.5]);
  });
});

describe("a variable", () => {
  it("starts with its initial value, and again after a reset", async () => {
    const session = open(memoryGraph());
    session.params?.setParam("w", [1, 2, 3, 4, 5, 6]);
    const v = async () => (await yOf(session, [1, 0, 0], "v_next"))[0];
    expect([await v(), await v()]).toEqual([11, 12]);
    await session.reset();
    expect(await v()).toBe(11);
  });

  it("learns: gradient descent on w x = y, by hand", async () => {
    const builder = new GraphBuilder(opTable, "sgd");
    const g = typedBuilder(builder);
    const w = builder.variable("w", tensor("f32", []), { kind: "constant", value: 0 });
    const x = builder.input("x", tensor("f32", []));
    const y = builder.input("y", tensor("f32", []));
    const error = g.sub([g.mul([w, x]), y]);
    const rate = builder.param("rate", tensor("f32", []), { memory: true, initial: { kind: "constant", value: 0.25 } });
    const next = g.sub([w, g.mul([rate, g.mul([error, x])])]);
    builder.setState("w", next);
    builder.output("w_next", next);
    const session = open(builder.finish());
    const run = () => session.run({ inputs: { x: Float32Array.of(1), y: Float32Array.of(8) }, fetch: ["w_next"] });
    // w ← w + (8 - w) / 4: 2, 3.5, 4.625
    const seen: number[] = [];
    for (let i = 0; i < 3; i++) seen.push(new Float32Array((await run()).outputs["w_next"]!.bytes.buffer)[0]!);
    expect(seen).toEqual([2, 3.5, 4.625]);
  });
});
