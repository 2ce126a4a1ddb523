/** A small net in few bits: calibrated (PTQ) and trained on (QAT), with its accuracy in floats, after one and after the other. */
import { expect, it } from "vitest";
import type { Graph } from "../ir/graph.ts";
import { numbersIn } from "../ir/hostBytes.ts";
import { loadAddon } from "../node/native/addon.ts";
import { cpuDevice } from "../runtime/devices/cpu.ts";
import { seededRandom } from "../runtime/statistics.ts";
import { adamw } from "./optimisers/adam.ts";
import { calibrate, quantizedGraph } from "./quantized.ts";
import { beforeRelu, classLoss, correctShare, firstWeights, net } from "./recipes/netParts.ts";
import { TrainingSession } from "./session.ts";
import { trainingOn } from "./trainingDevice.ts";

const cpu = trainingOn(cpuDevice(loadAddon(), { threads: 1 }), "cpu");
const [ROWS, WIDTH, CLASSES] = [128, 16, 4];
const BITS = { weights: 2, activations: 4 };
const PLAN = [
  { name: "w1", shape: [WIDTH, 2], within: beforeRelu(2) },
  { name: "b1", shape: [WIDTH], within: 0 },
  { name: "w2", shape: [CLASSES, WIDTH], within: beforeRelu(WIDTH) },
];
const NAMES = PLAN.map(({ name }) => name);

const graphOf = (output: "loss" | "correct"): Graph =>
  net(output, ({ g, input, output: give }) => {
    const [w1, b1, w2] = PLAN.map(({ name, shape }) => input(name, `f32[${shape.join(",")}]`));
    const hidden = g.relu([g.add([g.linear([input("points", `f32[${ROWS},2]`), w1!]), b1!])]);
    const logits = g.linear([hidden, w2!]);
    const labels = input("labels", `i32[${ROWS}]`);
    if (output === "correct") give(output, correctShare(g, logits, labels));
    else give(output, classLoss(g, logits, labels));
  });

/** Rings around the middle: which one a point lies in. */
function batch(seed: number): { points: Float32Array; labels: Int32Array } {
  const random = seededRandom(seed);
  const points = Float32Array.from({ length: 2 * ROWS }, () => 2 * random() - 1);
  const labels = Int32Array.from({ length: ROWS }, (_, i) =>
    Math.min(CLASSES - 1, Math.floor(3.2 * Math.hypot(points[2 * i]!, points[2 * i + 1]!))),
  );
  return { points, labels };
}

type Weights = Readonly<Record<string, Float32Array>>;

async function trained(graph: Graph, initial: Weights, steps: number, lr: number): Promise<Weights> {
  const config = { device: cpu, optimizer: adamw(), lr };
  const session = new TrainingSession(graph, NAMES, initial, config).withFusedOptimizer();
  for (let step = 0; step < steps; step++) await session.step(batch(step));
  const params = await session.params();
  await session.dispose();
  return Object.fromEntries(Object.entries(params).map(([name, { data }]) => [name, Float32Array.from(data)]));
}

async function accuracy(graph: Graph, weights: Weights): Promise<number> {
  const runner = await cpu.open(graph, "f32");
  let sum = 0;
  for (let i = 0; i < 8; i++) {
    const { correct } = await runner.run({ ...weights, ...batch(10_000 + i) }, ["correct"]);
    sum += numbersIn(correct!.dtype, correct!.bytes)[0]! / 8;
  }
  await runner.dispose();
  return sum;
}

it("loses accuracy by rounding to few bits, and gets it back by training on the grid", async () => {
  const [loss, correct] = [graphOf("loss"), graphOf("correct")];
  const floats = await trained(loss, firstWeights(PLAN, 1), 300, 0.02);
  const batches = [1, 2, 3, 4].map(batch);
  const ranges = await calibrate(loss, NAMES, floats, batches, cpu);
  // The points lie within 1, and relu gives something.
  expect(ranges).toHaveLength(2);
  expect(ranges[0]).toBeCloseTo(1, 1);
  expect(ranges[1]).toBeGreaterThan(0);
  const few = (graph: Graph): Graph => quantizedGraph(graph, NAMES, ranges, BITS);
  const learned = await trained(few(loss), floats, 300, 0.01);
  const before = await accuracy(correct, floats);
  const rounded = await accuracy(few(correct), floats);
  const after = await accuracy(few(correct), learned);
  const told = `floats ${before}, calibrated ${rounded}, trained on ${after}`;
  expect(before, told).toBeGreaterThan(0.85);
  expect(rounded, told).toBeLessThan(before - 0.1);
  expect(after, told).toBeGreaterThan(rounded + 0.05);
  // In eight bits nothing is lost worth naming.
  const eight = quantizedGraph(correct, NAMES, ranges, { weights: 8, activations: 8 });
  expect(Math.abs((await accuracy(eight, floats)) - before), told).toBeLessThan(0.02);
});

it("refuses what it cannot round", async () => {
  const graph = graphOf("loss");
  expect(() => quantizedGraph(graph, NAMES, [1, 1], { weights: 1, activations: 8 })).toThrow("got 1, expected 2 to 8");
  expect(() => quantizedGraph(graph, NAMES, [1], BITS)).toThrow("ranges: got 1, expected 2");
  expect(() => quantizedGraph(graph, NAMES, [1, NaN], BITS)).toThrow("range 1: got NaN");
  expect(() => quantizedGraph(graph, ["b1"], [], BITS)).toThrow("got no product with a trained weight");
  await expect(calibrate(graph, NAMES, {}, [], cpu)).rejects.toThrow("batches: got none");
});
