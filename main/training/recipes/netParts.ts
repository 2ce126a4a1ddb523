/** What nets of recipes are made of: leaves, first weights, and the mean loss of a choice among classes. */
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

/** Logits [N, C] and the classes that they should choose, i32 [N]. */
export const classLoss = (g: OpBuilder, logits: Value, labels: Value): Value =>
  g.reduce([g.softmax_cross_entropy([logits, labels])], { kind: "mean", axes: [0] });

/** The share of rows whose likeliest class is their own. */
export function correctShare(g: OpBuilder, logits: Value, labels: Value): Value {
  const likeliest = g.cast([g.argmax([logits], { axis: 1 })], { to: "i32" });
  const isRight = g.cast([g.compare([likeliest, labels], { op: "eq" })], { to: "f32" });
  return g.reduce([isRight], { kind: "mean", axes: [0] });
}
