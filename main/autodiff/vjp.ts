/**
 * Reverse mode: a graph in, a graph with gradients out. Fused ops are taken apart first; then the
 * rules of the ops are applied from the last node to the first. The result is an ordinary graph of
 * ordinary ops, so it can be differentiated again, optimised and compiled.
 */
import { WorkbenchError, invariant } from "../diagnostics/errors.ts";
import { GraphBuilder } from "../ir/builder.ts";
import { isContinuous } from "../ir/dtype.ts";
import type { Graph, Node, Value } from "../ir/graph.ts";
import { isLeaf, valueKey } from "../ir/graph.ts";
import { inlineNodes } from "../ir/nested.ts";
import { regionInputs, regionOutputs } from "../ir/regions.ts";
import { copyNode, prune, rewrite } from "../ir/rewrite.ts";
import { finish } from "../ir/steps.ts";
import { expandOps, nodeInfo, typeAt } from "../ops/expand.ts";
import { filledLike } from "../ops/families/constants.ts";
import { needsScanForGradient, scanForGradient } from "../ops/families/turnGradients.ts";
import type { ScanAttrs } from "../ops/families/turns.ts";
import { makeRegion, opBuilder, opOf, opTable, typedBuilder } from "../ops/index.ts";
import type { OpBuilder } from "../ops/opBuilder.ts";
import { checkNew, leavesOf, outputOf } from "./names.ts";

export interface GradientRequest {
  /** Outputs to differentiate; their cotangents become inputs `cotangent.<name>`. */
  readonly of: readonly string[];
  /** "ones": the cotangents are ones instead, which gives the gradient of the sum of these outputs. */
  readonly cotangents?: "inputs" | "ones";
  /** Inputs, weights or states by name; their gradients become outputs `gradient.<name>`. */
  readonly wrt: readonly string[];
  /** Of the outputs that are gradients, instead of "gradient": where the graph has some already. */
  readonly prefix?: string;
}

export const cotangentName = (output: string): string => `cotangent.${output}`;
export const gradientName = (input: string, prefix = "gradient"): string => `${prefix}.${input}`;

/** Decomposes the ops that take their gradient from their parts. */
export const expandForGradients = (graph: Graph): Graph =>
  expandOps(graph, "expand for gradients", (op) => (op.gradient.kind === "decompose" ? op.gradient.via : undefined));

/** Scans between what is `wanted` and the end give what their gradient reads (main/ops/families/turnGradients.ts). */
function withKeptCarries(graph: Graph, wanted: ReadonlySet<number | undefined>): Graph {
  if (!graph.nodes.some(({ op }) => op === "scan")) return graph;
  const active = activeNodes(graph, wanted);
  const walk = rewrite(opTable, graph, "keep for gradients", (node, map, replace) => {
    if (node.op !== "scan" || active[node.id] !== 1) return undefined;
    const info = { ...nodeInfo(graph, node), attrs: node.attrs as unknown as ScanAttrs };
    if (!needsScanForGradient(info)) return undefined;
    return scanForGradient(opBuilder(replace()), node.inputs.map(map), info);
  });
  return finish(walk).graph;
}

/** The graph's outputs, and the vector-Jacobian product of the requested ones. */
export const gradientGraph = (graph: Graph, request: GradientRequest): Graph => gradientParts(graph, request).graph;

export interface GradientParts {
  readonly graph: Graph;
  /** So many nodes are those of the graph itself; behind them are those of its gradient. */
  readonly forward: number;
}

export function gradientParts(graph: Graph, request: GradientRequest): GradientParts {
  const whole = expandForGradients(graph);
  const source = withKeptCarries(whole, new Set(leavesOf("vjp", whole, request.wrt).map(({ id }) => id)));
  const builder = new GraphBuilder(opTable, `${graph.name} gradient`);
  const g = typedBuilder(builder);
  const map = copyAll(builder, source);

  const wrt = leavesOf("vjp", source, request.wrt);
  checkNew(
    "vjp",
    source,
    request.wrt.map((name) => gradientName(name, request.prefix)),
  );
  const sweep = new Sweep(source, g, map, new Set(wrt.map(({ id }) => id)));
  for (const name of request.of) {
    const output = outputOf("vjp", source, name);
    const value = map(output.value);
    const cotangent =
      request.cotangents === "ones"
        ? filledLike(g, value, 1)
        : builder.input(cotangentName(name), builder.typeOf(value));
    sweep.give(output.value, cotangent);
  }
  sweep.run();
  request.wrt.forEach((name, i) => {
    builder.output(gradientName(name, request.prefix), sweep.gradientOf({ node: itemAt(wrt, i).id, output: 0 }));
  });
  return { graph: builder.finish(), forward: source.nodes.length };
}

/**
 * The same for a sub-graph, by position: a graph over the inputs of `region` followed by the
 * cotangents of its outputs `of`, which gives the gradients of its inputs `wrt` and nothing else.
 */
export function gradientOf(region: Graph, of: readonly number[], wrt: readonly number[]): Graph {
  const key = `${of.join()} ${wrt.join()}`;
  const ofRegion = known.get(region) ?? new Map<string, Graph>();
  known.set(region, ofRegion);
  const made = ofRegion.get(key) ?? newGradientOf(region, of, wrt);
  ofRegion.set(key, made);
  return made;
}

/** Every turn of an unrolled loop holds the same body, and the bodies of loops in it: each is differentiated once. */
const known = new WeakMap<Graph, Map<string, Graph>>();

function newGradientOf(region: Graph, of: readonly number[], wrt: readonly number[]): Graph {
  const whole = expandForGradients(region);
  const source = withKeptCarries(whole, new Set(wrt.map((i) => whole.inputs[i])));
  const inputs = regionInputs(source);
  const results = regionOutputs(source);
  const cotangents = of.map((i) => itemAt(results, i));
  const made = makeRegion(`${region.name} gradient`, [...inputs, ...cotangents], (g, ...operands) => {
    const leaves = wrt.map((i) => source.inputs[i]);
    const sweep = new Sweep(source, g, inlineNodes(g.graph, source, operands), new Set(leaves));
    of.forEach((place, i) => {
      const [output, ct] = [source.outputs[place], operands[inputs.length + i]];
      if (output && ct) sweep.give(output.value, ct);
    });
    sweep.run();
    return leaves.map((node) => {
      invariant(node !== undefined, `[vjp] ${region.name} has no such input`);
      return sweep.gradientOf({ node, output: 0 });
    });
  });
  return prune(made).graph;
}

export function itemAt<T>(items: readonly T[], index: number): T {
  const item = items[index];
  invariant(item !== undefined, `[autodiff] nothing at ${index}`);
  return item;
}

/** Copies a graph into a builder: leaves, nodes, outputs and states. Gives the way from old values to new ones. */
export function copyAll(builder: GraphBuilder, source: Graph): (old: Value) => Value {
  const map = copyNodes(builder, source);
  for (const output of source.outputs) builder.output(output.name, map(output.value));
  for (const state of source.states) builder.setState(state.name, map(state.output));
  return map;
}

/** The same without outputs and states; inputs that are `given` become these values. */
export function copyNodes(
  builder: GraphBuilder,
  source: Graph,
  given: ReadonlyMap<string, Value> = new Map(),
): (old: Value) => Value {
  const values: (readonly Value[])[] = [];
  const map = (old: Value): Value => {
    const value = values[old.node]?.[old.output];
    invariant(value, `value ${valueKey(old)} is read before it is made`);
    return value;
  };
  for (const [symbol, size] of Object.entries(source.symbolLimits)) builder.limitSymbol(symbol, size);
  for (const node of source.nodes) {
    const own = node.op === "input" ? given.get(String(node.attrs["name"])) : undefined;
    values.push(own === undefined ? copyNode(builder, source, node, map) : [own]);
  }
  return map;
}

/** Nodes that depend on what the gradient is wanted for. */
function activeNodes(graph: Graph, wanted: ReadonlySet<number | undefined>): Uint8Array {
  const active = new Uint8Array(graph.nodes.length);
  for (const node of graph.nodes)
    active[node.id] = wanted.has(node.id) || node.inputs.some((input) => active[input.node] === 1) ? 1 : 0;
  return active;
}

/** The builder for the gradient of one node: what it makes stands where the node stands, and is called after it. */
function within(g: OpBuilder, node: Node): OpBuilder {
  const origins = node.origins.map((origin) => ({ ...origin, label: gradientLabel(origin.label) }));
  return opBuilder({
    apply: (op, inputs, attrs, options) => g.graph.apply(op, inputs, attrs, { ...options, origins }),
    typeOf: (value) => g.graph.typeOf(value),
    constant: (tensor) => g.graph.constant(tensor, { origins }),
  });
}

const GRADIENT_OF = "gradient of ";
/** Of a gradient's gradient it is the same: labels do not grow with the order. */
const gradientLabel = (label: string): string => (isGradientLabel(label) ? label : GRADIENT_OF + label);
export const isGradientLabel = (label: string): boolean => label.startsWith(GRADIENT_OF);

function summed(g: OpBuilder, a: Value, b: Value): Value {
  if (g.typeOf(a).dtype !== "c64") return g.add([a, b]);
  return g.to_complex([g.add([g.from_complex([a]), g.from_complex([b])])]);
}

/** One walk from the last node to the first, over a copy of the graph that stands in `g` already. */
class Sweep {
  readonly #source: Graph;
  readonly #g: OpBuilder;
  readonly #map: (old: Value) => Value;
  readonly #active: Uint8Array;
  readonly #sums = new Map<string, Value>();

  constructor(source: Graph, g: OpBuilder, map: (old: Value) => Value, wanted: ReadonlySet<number | undefined>) {
    this.#source = source;
    this.#g = g;
    this.#map = map;
    this.#active = activeNodes(source, wanted);
  }

  give(old: Value, cotangent: Value): void {
    const before = this.#sums.get(valueKey(old));
    this.#sums.set(valueKey(old), before ? summed(this.#g, before, cotangent) : cotangent);
  }

  gradientOf(old: Value): Value {
    return this.#sums.get(valueKey(old)) ?? filledLike(this.#g, this.#map(old), 0);
  }

  run(): void {
    for (const node of [...this.#source.nodes].reverse()) {
      if (isLeaf(node) || this.#active[node.id] !== 1) continue;
      const cotangents = node.outputs.map((_, output) => this.#sums.get(valueKey({ node: node.id, output })));
      if (cotangents.some((ct) => ct !== undefined)) this.#backward(node, cotangents);
    }
  }

  #backward(node: Node, cotangents: readonly (Value | undefined)[]): void {
    const gradient = opOf(node.op)?.gradient;
    if (gradient?.kind !== "vjp")
      throw new WorkbenchError(
        "UNSUPPORTED_OP",
        `[vjp] no gradient flows through ${node.op}: ${gradient?.kind === "nondifferentiable" ? gradient.reason : "no rule"}`,
      );
    const g = within(this.#g, node);
    const outputs = node.outputs.map((_, output) => this.#map({ node: node.id, output }));
    const [first] = outputs;
    invariant(first, `${node.op} has an output`);
    const info = nodeInfo(this.#source, node);
    const results = gradient.rule({
      g,
      inputs: node.inputs.map(this.#map),
      outputs,
      cotangents,
      ct: cotangents[0] ?? filledLike(g, first, 0),
      attrs: node.attrs,
      node: info,
      wanted: node.inputs.map((input) => this.#active[input.node] === 1),
      gradientOf,
    });
    node.inputs.forEach((input, i) => {
      const result = results[i];
      if (result && isContinuous(typeAt(this.#source, input).dtype)) this.give(input, result);
    });
  }
}
