/** What nets of recipes are made of: leaves, first weights, and the loss of a choice among classes. */
import { GraphBuilder } from "../../ir/builder.ts";
import type { Graph, Value } from "../../ir/graph.ts";
import { parseType } from "../../ir/type.ts";
import { opTable, typedBuilder } from "../../ops/index.ts";
import type { OpBuilder } from "../../ops/opBuilder.ts";
import { randomOf } from "../data/order.ts";

export interface NetBuilder {
  readonly g: OpBuilder;
  /** An input: data or a weight. */
  readonly input: (name: string, type: string) => Value;
  readonly output: (name: string, value: Value) => void;
}

export function net(name: string, build: (net: NetBuilder) => void): Graph {
  const builder = new GraphBuilder(opTable, name);
  build({
    g: typedBuilder(builder),
    input: (leaf, type) => builder.input(leaf, parseType(type)),
    output: (leaf, value) => builder.output(leaf, value),
  });
  return builder.finish();
}

/** A weight: its shape, and how far from 0 (or from `around`) its first numbers lie, at most. */
export interface WeightPlan {
  readonly name: string;
  readonly shape: readonly number[];
  readonly within: number;
  readonly around?: number;
}

const sizeOf = (shape: readonly number[]): number => shape.reduce((product, size) => product * size, 1);
const WEIGHTS_STREAM = 0x57454947;

/** Uniform numbers: the same on every platform, which logarithms and cosines are not. */
export function firstWeights(plan: readonly WeightPlan[], seed: number): Readonly<Record<string, Float32Array>> {
  const random = randomOf(seed, WEIGHTS_STREAM);
  return Object.fromEntries(
    plan.map(({ name, shape, within, around = 0 }) => [
      name,
      Float32Array.from({ length: sizeOf(shape) }, () => around + (within === 0 ? 0 : (2 * random() - 1) * within)),
    ]),
  );
}

export const countOf = (plan: readonly WeightPlan[]): number => plan.reduce((sum, { shape }) => sum + sizeOf(shape), 0);

/** Of so many inputs, for a layer before relu (He et al. 2015): a standard deviation of √(2 / inputs). */
export const beforeRelu = (inputs: number): number => Math.sqrt(6 / inputs);

/** −log of the share that each row gives to its own class: logits [N, C], labels i32 [N]; gives f32 [N]. */
export function crossEntropy(g: OpBuilder, logits: Value, labels: Value, rows: number, classes: number): Value {
  const largest = g.stop_gradient([g.reduce([logits], { kind: "max", axes: [1], keepDims: true })]);
  const low = g.sub([logits, largest]);
  const total = g.log([g.reduce([g.exp([low])], { kind: "sum", axes: [1] })]);
  const kinds = g.iota([], { shape: [1, classes], axis: 1 });
  const isOwn = g.cast([g.compare([kinds, g.reshape([labels], { shape: [rows, 1] })], { op: "eq" })], { to: "f32" });
  return g.sub([total, g.reduce([g.mul([low, isOwn])], { kind: "sum", axes: [1] })]);
}

/** The share of rows whose likeliest class is their own. */
export function correctShare(g: OpBuilder, logits: Value, labels: Value): Value {
  const likeliest = g.cast([g.argmax([logits], { axis: 1 })], { to: "i32" });
  const isRight = g.cast([g.compare([likeliest, labels], { op: "eq" })], { to: "f32" });
  return g.reduce([isRight], { kind: "mean", axes: [0] });
}
