/** The NaN alarm on the CPU engine: which operation is named, in every precision, fused and not, inside branches and loops. */
import { describe, expect, it } from "vitest";
import type { Graph, Value } from "../ir/graph.ts";
import { hostScalar, hostTensor } from "../ir/hostTensor.ts";
import type { GraphMaker } from "../library/graphs.ts";
import { buildGraph } from "../library/graphs.ts";
import { loadAddon } from "../node/native/addon.ts";
import { cpuDevice } from "../runtime/devices/cpu.ts";
import { TrainingSession } from "./session.ts";
import { trainingOn } from "./trainingDevice.ts";

const device = trainingOn(cpuDevice(loadAddon(), { threads: 1 }), "cpu");

/** The sum of what `build` makes of x · w, in the part "head". */
const lossOf = (build: (g: GraphMaker, x: Value) => Value): Graph =>
  buildGraph("net", (g) => {
    const scaled = g.mul([g.input("x", "f32[4]"), g.param("w", "f32[4]")], {}, "scaled");
    g.output("loss", g.reduce([g.scoped("head", () => build(g, scaled))], { kind: "sum", axes: [0] }));
  });

const sessionOn = (graph: Graph, w: readonly number[]): TrainingSession =>
  new TrainingSession(graph, ["w"], { w }, { device, lr: 0.1 });

const ones = [1, 1, 1, 1];

describe("the alarm names", () => {
  it.each([
    {
      title: "log of 0",
      build: (g: GraphMaker, x: Value) => g.log([x], {}, "likelihood"),
      x: [1, 0, 2, 3],
      found: { op: "log", name: "likelihood", place: "head", kind: "-infinity", isGradient: false },
      message: "log (head/likelihood) made -infinity in f32 from x 0 … 3",
      advice: "keep its operand above 0",
    },
    {
      title: "0 / 0",
      build: (g: GraphMaker, x: Value) => g.div([x, x], {}, "share"),
      x: [1, 0, 2, 3],
      found: { op: "div", name: "share", kind: "NaN" },
      message: "div (head/share) made NaN in f32 from dividend 0 … 3, divisor 0 … 3",
      advice: "The divisor reaches 0",
    },
    {
      title: "an exponential that is too large",
      build: (g: GraphMaker, x: Value) => g.log([g.exp([x])]),
      x: [1, 100, 2, 3],
      found: { op: "exp", place: "head", kind: "+infinity" },
      message: "exp (head) made +infinity in f32 from x 1 … 100",
      advice: "subtract the largest operand first",
    },
    {
      title: "the derivative of a root at 0, though the loss is a number",
      build: (g: GraphMaker, x: Value) => g.sqrt([x], {}, "length"),
      x: [1, 0, 2, 3],
      found: { name: "gradient of length", place: "head", isGradient: true },
      message: "in the gradient",
      advice: "0",
    },
    {
      title: "the first of several, and none that does no harm",
      build: (g: GraphMaker, x: Value) => {
        const masked = g.where([g.compare([x, x], { op: "lt" }), g.log([x], {}, "harmless"), x]);
        return g.sub([g.exp([masked], {}, "cause"), g.exp([g.exp([masked], {}, "later")])]);
      },
      x: [1, 100, 0, 0],
      found: { op: "exp", name: "cause", kind: "+infinity" },
      message: "exp (head/cause)",
      advice: "",
    },
    {
      title: "a row that an infinite mask hides wholly, not the mask",
      build: (g: GraphMaker, x: Value) => {
        const mask = g.constant(hostTensor("f32", [2, 2], [0, 0, -Infinity, -Infinity]));
        const rows = g.softmax([g.add([g.reshape([x], { shape: [2, 2] }), mask])], { axis: 1 }, "weights");
        return g.reshape([rows], { shape: [4] });
      },
      x: ones,
      found: { op: "softmax", name: "weights", kind: "NaN" },
      message: "and -infinity",
      advice: "mask no row wholly",
    },
    {
      title: "the turn of a loop",
      build: (g: GraphMaker, x: Value) => {
        const types = [g.typeOf(x)];
        const turns = g.while([x], { carried: 1, maxIterations: 6 }, "growth", [
          g.region("condition", types, (h, a) => [
            h.compare([h.reduce([a], { kind: "max", axes: [0] }), h.constant(hostScalar("f32", 1000))], { op: "lt" }),
          ]),
          g.region("body", types, (h, a) => [h.mul([a, h.exp([a], {}, "inner")])]),
        ]);
        return turns[0] ?? x;
      },
      x: [1, 5, 2, 3],
      found: { op: "exp", name: "inner", place: "head/growth", kind: "+infinity" },
      message: "exp (head/growth/inner) made +infinity in f32",
      advice: "subtract the largest",
    },
    {
      title: "the data",
      build: (g: GraphMaker, x: Value) => x,
      x: [1, NaN, 2, 3],
      found: { op: "input", name: "x", kind: "NaN" },
      message: "input (x) holds NaN",
      advice: "look at the data",
    },
  ])("$title", async ({ build, x, found, message, advice }) => {
    const session = sessionOn(lossOf(build), ones);
    const fault = await session.findFault({ x });
    expect(fault).toMatchObject(found);
    expect(fault?.message).toContain(message);
    expect(fault?.advice).toContain(advice);
    expect(await session.findFault({ x: ones.map((one) => one * 0.5) }).then((one) => one?.name)).toBe(
      found.name === "weights" ? "weights" : undefined,
    );
    await session.dispose();
  });

  it("what f16 cannot hold, where f32 can", async () => {
    const graph = lossOf((g, x) => g.mul([x, x], {}, "square"));
    const x = [1, 300, 2, 3];
    const half = sessionOn(graph, ones).withPrecisionPolicy("f16", { start: 1 });
    const fault = await half.findFault({ x });
    expect(fault).toMatchObject({ op: "mul", name: "square", dtype: "f16", kind: "+infinity" });
    expect(fault?.inputs).toMatchObject([{ name: "left", type: "f16", low: 1, high: 300 }, { name: "right" }]);
    expect(fault?.advice).toContain("largest number of f16");
    const full = sessionOn(graph, ones);
    expect(await full.findFault({ x })).toBeUndefined();
    await half.dispose();
    await full.dispose();
  });
});

describe("a session with the alarm", () => {
  const graph = lossOf((g, x) => g.log([x]));
  it.each([false, true])("leaves the weights as they are, fused: %s", async (isFused) => {
    const session = sessionOn(graph, ones).withNanAlarm();
    if (isFused) session.withFusedOptimizer();
    expect(await session.step({ x: [1, 0, 2, 3] })).toMatchObject({ applied: false, alarm: true });
    expect([session.steps, ...(await session.param("w")).data]).toEqual([0, ...ones]);
    expect(await session.findFault({ x: [1, 0, 2, 3] })).toMatchObject({ op: "log" });
    expect(await session.step({ x: [1, 2, 2, 3] })).toEqual({
      loss: expect.any(Number),
      path: "gradient",
      applied: true,
    });
    await session.dispose();
  });

  it("without it, the weights are what is named", async () => {
    const session = sessionOn(graph, ones).withFusedOptimizer();
    expect((await session.step({ x: [1, 0, 2, 3] })).alarm).toBeUndefined();
    const fault = await session.findFault({ x: ones });
    expect(fault).toMatchObject({ op: "param", name: "w", kind: "NaN", message: "param (w) holds NaN" });
    expect(fault?.advice).toContain("withNanAlarm()");
    await session.dispose();
  });

  it("lowers the scale of the loss first, and is no alarm while that can help", async () => {
    const session = sessionOn(
      lossOf((g, x) => g.mul([x, x])),
      [20, 1, 1, 1],
    ).withPrecisionPolicy("f16", { start: 2 ** 15 });
    session.withNanAlarm();
    const { loss, applied, alarm } = await session.step({ x: ones });
    expect([Number.isFinite(loss), applied, alarm]).toEqual([true, false, undefined]);
    await session.dispose();
  });
});
