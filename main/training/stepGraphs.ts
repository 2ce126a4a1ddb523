/**
 * The graphs that a session runs. `hostGraph` gives loss and gradients, and takes the weights with every run. `fusedGraph` holds
 * weights and slots as states, takes the batch and a few numbers of the step, and gives the loss: the update is nodes in it.
 */
import { invariant } from "../diagnostics/errors.ts";
import { GraphBuilder } from "../ir/builder.ts";
import type { Graph, Node, Value } from "../ir/graph.ts";
import { isMemoryParam } from "../ir/graph.ts";
import { hostScalar } from "../ir/hostTensor.ts";
import { initialOf } from "../ir/initial.ts";
import { inlineGraph, inlineNodes } from "../ir/nested.ts";
import { opTable, typedBuilder } from "../ops/index.ts";
import type { OpBuilder } from "../ops/opBuilder.ts";
import type { Clipping } from "./clipping.ts";
import { clipped } from "./clipping.ts";
import type { Forward, Gradients, Trained } from "./forward.ts";
import { graphAlgebra } from "./graphAlgebra.ts";
import type { Assigned } from "./groups.ts";
import type { Slot } from "./optimisers/optimizer.ts";

const nameOf = (node: Node): string => String(node.attrs["name"]);
const typeOf = (node: Node): Node["outputs"][number] => {
  const [type] = node.outputs;
  invariant(type, `${nameOf(node)} has a type`);
  return type;
};

/** Names of inputs, states and outputs; the builder refuses a weight that has one of them. */
export const SCALE = "training_scale";
export const UNSCALE = "training_unscale";
export const FINITE = "training_finite";
export const CURVED = "training_curved";
/** The length of each weight's gradient, before clipping. */
export const NORMS = "training_norms";
export const scalarName = (group: number, name: string): string => `training_${group}_${name}`;
export const signsName = (weight: string): string => `training_signs.${weight}`;
export const slotName = (weight: string, slot: string): string => `training_${slot}.${weight}`;
export const gradientOutput = (weight: string): string => `gradient.${weight}`;

type Leaves = Map<string, Value>;

/** Data and frozen weights, as the forward graph has them. */
function addLeaves(builder: GraphBuilder, { data, frozen, graph }: Forward): Leaves {
  for (const [symbol, size] of Object.entries(graph.symbolLimits)) builder.limitSymbol(symbol, size);
  const leaves: Leaves = new Map();
  for (const node of data) leaves.set(nameOf(node), builder.input(nameOf(node), typeOf(node)));
  for (const node of frozen) leaves.set(nameOf(node), builder.param(nameOf(node), typeOf(node), sourceOf(node)));
  return leaves;
}

function sourceOf(node: Node): Parameters<GraphBuilder["param"]>[2] {
  const initial = initialOf(node.attrs);
  if (isMemoryParam(node)) return { memory: true, ...(initial === undefined ? {} : { initial }) };
  return { file: String(node.attrs["file"]), tensor: String(node.attrs["tensor"]) };
}

/** What a graph's inputs are in another graph, in its order. */
const operandsOf = (graph: Graph, leaves: Leaves): readonly Value[] =>
  graph.inputs.map((id) => {
    const node = graph.nodes[id];
    const value = node && leaves.get(nameOf(node));
    invariant(value, `[training] input ${node === undefined ? id : nameOf(node)} has no value`);
    return value;
  });

interface Computed {
  readonly loss: Value;
  readonly gradients: readonly Value[];
}

function compute(builder: GraphBuilder, { graph, loss, outputs }: Gradients, leaves: Leaves): Computed {
  const made = inlineGraph(builder, graph, operandsOf(graph, leaves));
  const find = (name: string): Value => {
    const value = made[graph.outputs.findIndex((output) => output.name === name)];
    invariant(value, `[training] the gradient graph gives ${name}`);
    return value;
  };
  return { loss: find(loss), gradients: outputs.map(find) };
}

/** Loss and gradients, which are of the loss times the scale. */
export function hostGraph(forward: Forward, gradients: Gradients): Graph {
  const builder = new GraphBuilder(opTable, `${forward.graph.name} gradients`);
  const leaves = addLeaves(builder, forward);
  for (const { name, shape } of forward.trained) leaves.set(name, builder.input(name, { dtype: "f32", shape }));
  leaves.set(gradients.scale, builder.input(SCALE, { dtype: "f32", shape: [] }));
  const made = compute(builder, gradients, leaves);
  builder.output(gradients.loss, made.loss);
  forward.trained.forEach(({ name }, i) => {
    const gradient = made.gradients[i];
    invariant(gradient, "every weight has a gradient");
    builder.output(gradientOutput(name), gradient);
  });
  return builder.finish();
}

export interface Planned extends Trained, Assigned {
  readonly slots: readonly Slot[];
}

export interface FusedOptions {
  readonly clipping: Clipping;
  /** The loss is scaled: gradients are divided by it, and a step whose gradients are no numbers changes nothing. */
  readonly isScaled: boolean;
  /** The step also gives NORMS. */
  readonly givesNorms: boolean;
  /** A step whose loss or gradients are no numbers changes nothing. */
  readonly isGuarded?: boolean;
  /** Products of the Hessian with vectors, where an optimiser wants them. */
  readonly curvature?: Graph;
}

/** States in the order of `statesOf`. */
export function fusedGraph(
  forward: Forward,
  gradients: Gradients,
  plan: readonly Planned[],
  { clipping, isScaled, isGuarded = false, givesNorms, curvature }: FusedOptions,
): Graph {
  const builder = new GraphBuilder(opTable, `${forward.graph.name} training`);
  const g = typedBuilder(builder);
  const a = graphAlgebra(g, "f32");
  const leaves = addLeaves(builder, forward);
  const number = (name: string): Value => builder.input(name, { dtype: "f32", shape: [] });
  const before = plan.map(({ name, shape, slots }) => {
    const weight = builder.state(name, { dtype: "f32", shape });
    leaves.set(name, weight);
    const own = slots.map((slot) => [
      slot.name,
      builder.state(slotName(name, slot.name), { dtype: "f32", shape: slot.shape }),
    ]);
    return { weight, slots: Object.fromEntries(own) as Readonly<Record<string, Value>> };
  });
  leaves.set(gradients.scale, isScaled ? number(SCALE) : g.constant(hostScalar("f32", 1)));
  const made = compute(builder, gradients, leaves);
  builder.output(gradients.loss, made.loss);

  const unscale = isScaled ? number(UNSCALE) : undefined;
  const plain = unscale === undefined ? made.gradients : made.gradients.map((one) => a.mul(one, unscale));
  const checked = isGuarded ? [...plain, made.loss] : plain;
  const isFinite = isScaled || isGuarded ? finite(g, checked) : undefined;
  if (isFinite !== undefined) builder.output(FINITE, a.mul(g.cast([isFinite], { to: "f32" }), a.scalar(1)));
  if (givesNorms) builder.output(NORMS, lengths(g, plain));
  const used = clipped(a, plain, clipping);
  const scalars = groupScalars(plan, number);
  const bent = curvature === undefined ? [] : curvatures(builder, g, plan, leaves, curvature);

  plan.forEach(({ name, optimizer, group }, i) => {
    const [old, gradient, own] = [before[i], used[i], bent[i]];
    invariant(old && gradient, "every weight has a gradient");
    const next = optimizer.update(a, {
      parameter: old.weight,
      gradient,
      slots: old.slots,
      scalars: scalars.get(group) ?? {},
      ...(own === undefined ? {} : { curvature: own }),
    });
    const keep = (now: Value, then: Value): Value => (isFinite === undefined ? now : g.where([isFinite, now, then]));
    builder.setState(name, keep(next.parameter, old.weight));
    for (const [slot, then] of Object.entries(old.slots)) {
      const now = next.slots[slot];
      invariant(now, `${optimizer.name} gives its slot ${slot}`);
      builder.setState(slotName(name, slot), keep(now, then));
    }
  });
  return builder.finish();
}

/** One truth value: all are numbers. A NaN is not below anything. */
function finite(g: OpBuilder, gradients: readonly Value[]): Value {
  const a = graphAlgebra(g, "f32");
  const sum = gradients.reduce((total, one) => a.add(total, a.sum(a.abs(one))), a.scalar(0));
  return g.compare([sum, a.scalar(3e38)], { op: "lt" });
}

/** One number for each gradient. */
function lengths(g: OpBuilder, gradients: readonly Value[]): Value {
  const a = graphAlgebra(g, "f32");
  const each = gradients.map((one) => g.reshape([a.sqrt(a.sum(a.mul(one, one)))], { shape: [1] }));
  const [first, ...rest] = each;
  invariant(first, "a training has weights");
  return rest.length === 0 ? first : g.concat([first, ...rest], { axis: 0 });
}

function groupScalars(
  plan: readonly Planned[],
  number: (name: string) => Value,
): ReadonlyMap<number, Readonly<Record<string, Value>>> {
  const made = new Map<number, Readonly<Record<string, Value>>>();
  for (const { group, optimizer } of plan) {
    if (made.has(group)) continue;
    const names = Object.keys(optimizer.scalars({ step: 1, learningRate: 0 }));
    made.set(group, Object.fromEntries(names.map((name) => [name, number(scalarName(group, name))])));
  }
  return made;
}

/** u ⊙ (H u) for each weight where the step asks for it, in a branch: in other steps it costs nothing, and is zero. */
function curvatures(
  builder: GraphBuilder,
  g: OpBuilder,
  plan: readonly Planned[],
  leaves: Leaves,
  curvature: Graph,
): readonly Value[] {
  const asked = builder.input(CURVED, { dtype: "f32", shape: [] });
  const signs = plan.map(({ name, shape }) => builder.input(signsName(name), { dtype: "f32", shape }));
  plan.forEach(({ name }, i) => {
    const own = signs[i];
    if (own !== undefined) leaves.set(`tangent.${name}`, own);
  });
  const operands = operandsOf(curvature, leaves);
  const types = operands.map((value) => builder.typeOf(value));
  const place = (weight: string): number =>
    curvature.inputs.findIndex((id) => curvature.nodes[id]?.attrs["name"] === `tangent.${weight}`);
  const then = g.region("curvature", types, (h, ...inner) => {
    const map = inlineNodes(h.graph, curvature, inner);
    return plan.map(({ name }) => {
      const product = curvature.outputs.find((output) => output.name === `tangent.gradient.${name}`);
      const own = inner[place(name)];
      invariant(product && own, `[training] the curvature of ${name}`);
      return h.mul([own, map(product.value)]);
    });
  });
  const otherwise = g.region("no curvature", types, (h, ...inner) =>
    plan.map(({ name }) => {
      const own = inner[place(name)];
      invariant(own, `[training] the signs of ${name}`);
      return h.sub([own, own]);
    }),
  );
  const zero = g.constant(hostScalar("f32", 0));
  return g.if([g.compare([asked, zero], { op: "ne" }), ...operands], {}, "curvature", [then, otherwise]);
}

export interface StatePlace {
  readonly weight: number;
  /** The weight itself without one. */
  readonly slot?: string;
  readonly shape: readonly number[];
}

/** What the states of the fused graph are, in order. */
export const statesOf = (plan: readonly Planned[]): readonly StatePlace[] =>
  plan.flatMap(({ shape, slots }, weight) => [
    { weight, shape },
    ...slots.map((slot) => ({ weight, slot: slot.name, shape: slot.shape })),
  ]);
