/** The small parts around optimisers, sessions on the reference, and what is refused. */
import { describe, expect, it } from "vitest";
import { hostTensor } from "../ir/hostTensor.ts";
import { buildGraph, evaluate } from "../library/graphs.ts";
import { referenceDevice } from "../runtime/devices/reference.ts";
import { LINEAR, linearGraph, linearSession, losses } from "../testing/trainingCases.ts";
import { withAverage } from "./average.ts";
import { clipped, globalNorm } from "./clipping.ts";
import { graphAlgebra } from "./graphAlgebra.ts";
import { assign, muonForMatrices } from "./groups.ts";
import type { HostArray } from "./hostAlgebra.ts";
import { hostAlgebra, hostArray } from "./hostAlgebra.ts";
import { startOf, updateOnHost } from "./hostUpdate.ts";
import { LossScale } from "./lossScale.ts";
import { adafactor } from "./optimisers/adafactor.ts";
import { adam, adamw } from "./optimisers/adam.ts";
import { OPTIMIZER_NAMES, optimizerNamed } from "./optimisers/index.ts";
import { muon } from "./optimisers/muon.ts";
import { scheduleFreeAdamw } from "./optimisers/scheduleFree.ts";
import { sgd } from "./optimisers/sgd.ts";
import { sophia } from "./optimisers/sophia.ts";
import { TrainingSession } from "./session.ts";
import { trainingOn } from "./trainingDevice.ts";

const reference = trainingOn(referenceDevice());
const column = (...numbers: readonly number[]): HostArray => hostArray([numbers.length], numbers);
const wave = (shape: readonly number[], seed: number): HostArray =>
  hostArray(
    shape,
    Array.from({ length: shape.reduce((n, dim) => n * dim, 1) }, (_, i) => Math.sin(3.7 * i + seed)),
  );

describe("options", () => {
  it("of every optimiser are checked by name and range", () => {
    for (const name of OPTIMIZER_NAMES) {
      expect(optimizerNamed(name).name).toBe(name);
      expect(() => optimizerNamed(name, { speed: 1 }), name).toThrow(`[${name}] option: got speed, expected one of `);
      expect(() => optimizerNamed(name, { weightDecay: -1 }), name).toThrow(
        `[${name}] weightDecay: got -1, expected a number from 0`,
      );
    }
    expect(() => optimizerNamed("toString")).toThrow("[optimizer] got toString, expected one of sgd, adam");
    expect(() => optimizerNamed("sgd", { toString: 1 })).toThrow("[sgd] option: got toString");
    expect(() => adam({ beta1: 1 })).toThrow("[adam] beta1: got 1, expected a number from 0 below 1");
    expect(() => adam({ epsilon: NaN })).toThrow("[adam] epsilon: got NaN, expected a number above 0");
    expect(() => optimizerNamed("sgd", { nesterov: 1 })).toThrow("[sgd] nesterov: got 1, expected true or false");
    expect(() => optimizerNamed("muon", { scaling: "long" })).toThrow("expected one of original, matchRms, size");
    expect(() => sophia({ interval: 2.5 })).toThrow("[sophia] interval: got 2.5, expected a whole number from 1");
  });

  it("relativeStep makes Adafactor's rate 1 / √t at most", () => {
    const { learningRate } = adafactor().scalars({ step: 100, learningRate: 0.5 });
    expect(learningRate).toBe(0.1);
  });
});

describe("as a graph", () => {
  /** Four steps with gradients by formula, of a matrix and of a vector: all slots, too. */
  it.each(OPTIMIZER_NAMES)("%s is what it means", (name) => {
    const options = name === "soap" ? { interval: 2 } : {};
    const optimizer = optimizerNamed(name, options);
    for (const shape of name === "muon"
      ? [
          [4, 3],
          [2, 3, 2],
        ]
      : [[4, 3], [3]]) {
      const graph = buildGraph(name, (g) => {
        const leaf = (own: string, size: readonly number[]): [string, ReturnType<typeof g.input>] => [
          own,
          g.input(own, { dtype: "f64", shape: size }),
        ];
        const names = Object.keys(optimizer.scalars({ step: 1, learningRate: 0.1 }));
        const made = optimizer.update(graphAlgebra(g, "f64"), {
          parameter: leaf("parameter", shape)[1],
          gradient: leaf("gradient", shape)[1],
          curvature: leaf("curvature", shape)[1],
          slots: Object.fromEntries(optimizer.slots(shape).map((slot) => leaf(slot.name, slot.shape))),
          scalars: Object.fromEntries(names.map((own) => [own, leaf(`scalar ${own}`, [])[1]])),
        });
        g.output("parameter", made.parameter);
        for (const [own, value] of Object.entries(made.slots)) g.output(own, value);
      });
      let state = startOf(optimizer, wave(shape, 1));
      for (let step = 1; step <= 4; step++) {
        const facts = { step, learningRate: 0.1 };
        const [gradient, curvature] = [wave(shape, 7 * step), wave(shape, 3 * step)];
        const given = { parameter: state.parameter, gradient, curvature, ...state.slots };
        const scalars = Object.entries(optimizer.scalars(facts));
        const { outputs } = evaluate(graph, {
          ...Object.fromEntries(Object.entries(given).map(([own, x]) => [own, hostTensor("f64", x.shape, x.data)])),
          ...Object.fromEntries(scalars.map(([own, value]) => [`scalar ${own}`, hostTensor("f64", [], [value])])),
        });
        state = updateOnHost(optimizer, state, gradient, facts, curvature);
        for (const [own, wanted] of Object.entries({ parameter: state.parameter, ...state.slots })) {
          expect(outputs[own]!.shape, own).toEqual(wanted.shape);
          wanted.data.forEach((value, i) => {
            expect(Math.abs(outputs[own]!.data[i]! - value), `${own} ${i}`).toBeLessThan(1e-11 * (1 + Math.abs(value)));
          });
        }
      }
    }
  });
});

describe("clipping", () => {
  const gradients = [column(3, 0), column(0, -4)];
  const after = (clipping: Parameters<typeof clipped>[2]): number[][] =>
    clipped(hostAlgebra, gradients, clipping).map(({ data }) => [...data]);

  it("by norm scales all gradients alike, and leaves short ones", () => {
    expect(globalNorm(hostAlgebra, gradients).data[0]).toBe(5);
    expect(after({ norm: 1 })).toEqual([
      [0.6000000000000001, 0],
      [0, -0.8],
    ]);
    expect(after({ norm: 5 })).toEqual(after({}));
    expect(clipped(hostAlgebra, [column(0)], { norm: 1 })[0]?.data[0]).toBe(0);
  });

  it("by value comes first", () => {
    expect(after({ value: 3.5 })[1]).toEqual([0, -3.5]);
    expect(after({ value: 1, norm: 1 })[1]![1]).toBeCloseTo(-Math.SQRT1_2, 12);
  });
});

it("a loss scale is halved where a gradient is no number, and doubled after a while", () => {
  const scale = new LossScale({ start: 8, growAfter: 2, largest: 16 });
  const seen = [true, true, true, true, false, true, false, false, false, false, false, false].map((isFinite) => {
    expect(scale.after(isFinite)).toBe(isFinite);
    return scale.scale;
  });
  expect(seen).toEqual([8, 16, 16, 16, 8, 8, 4, 2, 1, 1, 1, 1]);
  expect(() => new LossScale({ start: 0 })).toThrow("[lossScale] start: got 0");
});

it("an average of the weights goes along with any optimiser", () => {
  const optimizer = withAverage(sgd(), 0.5);
  let state = startOf(optimizer, column(1));
  for (let step = 1; step <= 2; step++) state = updateOnHost(optimizer, state, column(1), { step, learningRate: 1 });
  // Weights 1, 0, -1: the average is 1, then 0.5, then -0.25.
  expect(state.parameter.data[0]).toBe(-1);
  expect(optimizer.evaluated?.(hostAlgebra, state.parameter, state.slots).data[0]).toBe(-0.25);
  expect(() => withAverage(sgd(), 1)).toThrow("[withAverage] averageDecay: got 1");
});

it("schedule-free weights to use are the average of the fast ones", () => {
  const optimizer = scheduleFreeAdamw();
  let state = startOf(optimizer, column(1));
  const fast: number[] = [];
  for (let step = 1; step <= 3; step++) {
    state = updateOnHost(optimizer, state, column(step), { step, learningRate: 0.1 });
    fast.push(state.slots["fast"]!.data[0]!);
  }
  const mean = fast.reduce((sum, value) => sum + value, 0) / 3;
  expect(optimizer.evaluated?.(hostAlgebra, state.parameter, state.slots).data[0]).toBeCloseTo(mean, 12);
});

describe("groups", () => {
  const parameters = [
    { name: "embedding", shape: [5, 2] },
    { name: "blk.0.w", shape: [2, 2] },
    { name: "blk.0.b", shape: [2] },
  ];

  it("take parameters by name and rank, the first rule that fits", () => {
    const rules = [{ name: /^embedding/g, optimizer: sgd(), lr: 0.5 }, ...muonForMatrices(0.02).groups];
    const made = assign(parameters, rules, { optimizer: adamw(), lr: 0.1 });
    expect(made.map(({ optimizer, rate, group }) => [optimizer.name, rate(1), group])).toEqual([
      ["sgd", 0.5, 0],
      ["muon", 0.02, 1],
      ["adamw", 0.1, 2],
    ]);
  });
});

describe("a session", () => {
  it("trains on the reference, and says why it is not fused there", async () => {
    const session = linearSession(reference, sgd(), 0.2, 0).withFusedOptimizer();
    const all = await losses(session, 20);
    expect(all.at(-1)).toBeLessThan(0.2 * all[0]!);
    expect([session.fusedActive, session.fusedRefusal]).toEqual([false, expect.stringContaining("float64")]);
    await session.dispose();
    await expect(session.step(LINEAR)).rejects.toThrow("[training] the session is closed");
  });

  it("leaves the weights where a gradient is no number, with a scaled loss", async () => {
    const session = linearSession(reference, sgd(), 0.2, 0).withPrecisionPolicy("f32", { start: 4 });
    const bad = { ...LINEAR, target: LINEAR.target.map(() => Infinity) };
    expect(await session.step(bad)).toMatchObject({ applied: false });
    expect([session.steps, (await session.param("W")).data[0]]).toEqual([0, 0]);
    expect((await session.step(LINEAR)).applied).toBe(true);
    await session.dispose();
  });

  it("computes activations twice where their budget says so, with the same losses", async () => {
    const deep = buildGraph("deep", (g) => {
      let y = g.input("x", "f32[8,4]");
      const w = g.param("w", "f32[4,4]");
      for (let i = 0; i < 8; i++) y = g.tanh([g.linear([y, w])]);
      g.output("loss", g.reduce([g.mul([y, y])], { kind: "sum", axes: [0, 1] }));
    });
    const open = (): TrainingSession =>
      new TrainingSession(deep, ["w"], { w: wave([4, 4], 1).data }, { device: reference, lr: 0.1 });
    const whole = open().withActivationBudget(1e9);
    const { bytesWithout } = whole.activationTrade!;
    const less = open().withActivationBudget(0.7 * bytesWithout);
    expect(less.activationTrade).toMatchObject({ bytesWithout, opsAdded: expect.any(Number) });
    expect(less.activationTrade!.bytes).toBeLessThan(0.7 * bytesWithout);
    const batch = { x: wave([8, 4], 2).data };
    for (let i = 0; i < 3; i++) expect(await less.step(batch)).toEqual(await whole.step(batch));
    expect(() => open().withActivationBudget(10)).toThrow("[checkpoint] budget: got 10 bytes, expected");
    expect(() => less.withActivationBudget(1e9)).toThrow("expected a call before the first step");
    for (const session of [whole, less]) await session.dispose();
  });

  it("clips gradients, and follows a schedule", async () => {
    const session = linearSession(reference, sgd(), 0, 0, {
      lr: (step) => (step === 1 ? 1 : 0),
      clipping: { norm: 0.5 },
    });
    await losses(session, 3);
    expect(Math.hypot(...(await session.param("W")).data)).toBeCloseTo(0.5, 6);
    await session.dispose();
  });

  const config = { device: reference };
  const start = { W: [0, 0, 0] };
  it.each([
    ["no weights", () => new TrainingSession(linearGraph, [], {}, config), "trainable: got none"],
    [
      "an unknown weight",
      () => new TrainingSession(linearGraph, ["V"], { V: [0] }, config),
      "got V, expected a parameter",
    ],
    [
      "missing numbers",
      () => new TrainingSession(linearGraph, ["W"], {}, config),
      "initial: got none, expected numbers of W",
    ],
    ["too few numbers", () => new TrainingSession(linearGraph, ["W"], { W: [0] }, config), "got 1 numbers, expected 3"],
    [
      "numbers of nothing",
      () => new TrainingSession(linearGraph, ["W"], { ...start, V: [0] }, config),
      "initial: got V, expected one of W",
    ],
    [
      "Muon for a vector",
      () =>
        new TrainingSession(
          buildGraph("vector", (g) => {
            const b = g.param("b", "f32[3]");
            g.output("loss", g.reduce([g.mul([b, b])], { kind: "sum", axes: [0] }));
          }),
          ["b"],
          { b: [0, 0, 0] },
          { ...config, optimizer: muon() },
        ),
      "[muon] got a parameter [3], expected a matrix",
    ],
    [
      "a loss that is not one number",
      () =>
        new TrainingSession(
          buildGraph("rows", (g) => g.output("loss", g.param("b", "f32[3]"))),
          ["b"],
          { b: [0, 0, 0] },
          config,
        ),
      "expected one loss, f32[]",
    ],
    [
      "packed weights",
      () =>
        new TrainingSession(
          buildGraph("packed", (g) => {
            const y = g.linear([g.input("x", "f32[1,32]"), g.param("w", "q8_0[2,32]")]);
            g.output("loss", g.reduce([y], { kind: "sum", axes: [0, 1] }));
          }),
          ["w"],
          { w: [] },
          config,
        ),
      "w: got q8_0[2,32], expected f32",
    ],
  ])("refuses %s", (_, make, message) => {
    expect(make).toThrow(message);
  });

  it("takes one step over several batches, with the mean of their losses and gradients", async () => {
    const halves = [0, 1].map((half) => ({ x: LINEAR.x.map((x) => x * (1 + half)), target: LINEAR.target }));
    const [over, added] = [0, 1].map(() => linearSession(reference, sgd(), 0.05, 0.1).withGradientNorms());
    const { loss, norms, applied } = await over!.stepOver(halves);
    const losses = [await added!.accumulate(halves[0]!), await added!.accumulate(halves[1]!)];
    await added!.stepAccumulated();
    expect(loss).toBeCloseTo((losses[0]! + losses[1]!) / 2, 12);
    expect([applied, norms?.length, over!.steps]).toEqual([true, 1, 1]);
    expect((await over!.param("W")).data).toEqual((await added!.param("W")).data);
    expect(() => over!.stepOver([])).toThrow("stepOver: got no batch");
    await over!.dispose();
    await added!.dispose();
  });

  it("refuses what comes at the wrong time", async () => {
    const session = linearSession(reference, sgd(), 0.1, 0);
    expect(await session.stepAccumulated()).toBe(0);
    await session.accumulate(LINEAR);
    await expect(session.step(LINEAR)).rejects.toThrow(
      "step: got 1 accumulated batches, expected stepAccumulated first",
    );
    expect(() => session.withFusedOptimizer()).toThrow("expected a call before the first step");
    await expect(session.step({ x: LINEAR.x })).rejects.toThrow("got 1 accumulated");
    await session.stepAccumulated();
    await expect(session.step({ x: LINEAR.x })).rejects.toThrow("got x, expected x, target");
    await expect(session.param("V")).rejects.toThrow("param: got V, expected one of W");
    await expect(session.step(LINEAR, AbortSignal.abort())).rejects.toMatchObject({ code: "CANCELLED" });
    await session.dispose();
  });
});
