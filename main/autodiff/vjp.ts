/**
 * Reverse mode: a graph in, a graph with gradients out. Fused ops are taken apart first; then the rules of the ops are
 * applied from the last node to the first. The result is an ordinary graph of ordinary ops, so it can be differentiated
 * again, optimised and compiled.
 */
import { WorkbenchError, invariant } from "../diagnostics/errors.ts";
import type { AttrRecord } from "../ir/attributes.ts";
import { GraphBuilder } from "../ir/builder.ts";
import { isFloat } from "../ir/dtype.ts";
import type { Graph, Node, Value } from "../ir/graph.ts";
import { isLeaf, valueKey } from "../ir/graph.ts";
import { copyNode } from "../ir/rewrite.ts";
import type { NodeInfo } from "../ops/defineOp.ts";
import { expandOps, typeAt } from "../ops/expand.ts";
import { filledLike } from "../ops/families/constants.ts";
import { opOf, opTable, typedBuilder } from "../ops/index.ts";
import type { OpBuilder } from "../ops/opBuilder.ts";

export interface GradientRequest {
  /** Outputs to differentiate; their cotangents become inputs `cotangent.<name>`. */
  readonly of: readonly string[];
  /** Inputs, weights or states by name; their gradients become outputs `gradient.<name>`. */
  readonly wrt: readonly string[];
  /** Another first word than "gradient": to differentiate once more. */
  readonly prefix?: string;
}

export const cotangentName = (output: string): string => `cotangent.${output}`;
export const gradientName = (input: string, prefix = "gradient"): string => `${prefix}.${input}`;

/** The graph's outputs, and the vector-Jacobian product of the requested ones. */
export function gradientGraph(graph: Graph, request: GradientRequest): Graph {
  const source = expandOps(graph, "expand for gradients", (op) =>
    op.gradient.kind === "decompose" ? op.gradient.via : undefined,
  );
  const builder = new GraphBuilder(opTable, `${graph.name} gradient`);
  const g = typedBuilder(builder);
  const values: (readonly Value[])[] = [];
  const map = (old: Value): Value => {
    const value = values[old.node]?.[old.output];
    invariant(value, `[vjp] value ${valueKey(old)} is read before it is made`);
    return value;
  };
  for (const node of source.nodes) values.push(copyNode(builder, source, node, map));
  for (const [symbol, size] of Object.entries(source.symbolLimits)) builder.limitSymbol(symbol, size);
  for (const output of source.outputs) builder.output(output.name, map(output.value));
  for (const state of source.states) builder.setState(state.name, map(state.output));

  const sums = new Map<string, Value>();
  const give = (old: Value, cotangent: Value): void => {
    const before = sums.get(valueKey(old));
    sums.set(valueKey(old), before ? g.add([before, cotangent]) : cotangent);
  };
  for (const name of request.of) {
    const output = source.outputs.find((o) => o.name === name);
    if (!output) throw new WorkbenchError("INPUT_ARGUMENT", `[vjp] no output "${name}" in ${graph.name}`);
    give(output.value, builder.input(cotangentName(name), builder.typeOf(map(output.value))));
  }
  const leaves = leavesByName(source);
  const wanted = new Set(request.wrt.map((name) => leaves.get(name)?.id));
  const active = activeNodes(source, wanted);
  for (const node of [...source.nodes].reverse()) {
    if (isLeaf(node) || active[node.id] !== 1) continue;
    const cotangents = node.outputs.map((_, output) => sums.get(valueKey({ node: node.id, output })));
    if (cotangents.some((ct) => ct !== undefined)) backward(source, node, g, map, cotangents, give);
  }
  for (const name of request.wrt) {
    const leaf = leaves.get(name);
    if (!leaf) throw new WorkbenchError("INPUT_ARGUMENT", `[vjp] no input or weight "${name}" in ${graph.name}`);
    const value: Value = { node: leaf.id, output: 0 };
    builder.output(gradientName(name, request.prefix), sums.get(valueKey(value)) ?? filledLike(g, map(value), 0));
  }
  return builder.finish();
}

function leavesByName(graph: Graph): ReadonlyMap<string, Node> {
  const named = graph.nodes.filter((node) => isLeaf(node) && typeof node.attrs["name"] === "string");
  return new Map(named.map((node) => [String(node.attrs["name"]), node]));
}

/** Nodes that depend on what the gradient is wanted for. */
function activeNodes(graph: Graph, wanted: ReadonlySet<number | undefined>): Uint8Array {
  const active = new Uint8Array(graph.nodes.length);
  for (const node of graph.nodes)
    active[node.id] = wanted.has(node.id) || node.inputs.some((input) => active[input.node] === 1) ? 1 : 0;
  return active;
}

function backward(
  graph: Graph,
  node: Node,
  g: OpBuilder,
  map: (old: Value) => Value,
  cotangents: readonly (Value | undefined)[],
  give: (old: Value, cotangent: Value) => void,
): void {
  const gradient = opOf(node.op)?.gradient;
  if (gradient?.kind !== "vjp")
    throw new WorkbenchError(
      "UNSUPPORTED_OP",
      `[vjp] no gradient flows through ${node.op}: ${gradient?.kind === "nondifferentiable" ? gradient.reason : "no rule"}`,
    );
  const outputs = node.outputs.map((_, output) => map({ node: node.id, output }));
  const [first] = outputs;
  invariant(first, `${node.op} has an output`);
  const info: NodeInfo<AttrRecord> = {
    inputs: node.inputs.map((value) => typeAt(graph, value)),
    outputs: node.outputs,
    attrs: node.attrs,
  };
  const ct = cotangents[0] ?? filledLike(g, first, 0);
  const inputs = node.inputs.map(map);
  const results = gradient.rule({ g, inputs, outputs, cotangents, ct, attrs: node.attrs, node: info });
  node.inputs.forEach((input, i) => {
    const result = results[i];
    if (result && isFloat(typeAt(graph, input).dtype)) give(input, result);
  });
}
