/**
 * Cuts a legal graph into parts: stretches that Core ML can run, and host parts for what it cannot (Fourier transforms,
 * recurrent cells, custom functions). As few parts as the graph allows: in turn, everything that is ready on one side.
 * A state whose only place is one part that Core ML runs stays a state of that part; any other crosses like a value.
 * What a package cannot hold (64 bits, complex numbers, no elements) never enters or leaves a part that Core ML runs.
 */
import { WorkbenchError, invariant } from "../../../diagnostics/errors.ts";
import { GraphBuilder } from "../../../ir/builder.ts";
import type { Dim } from "../../../ir/dim.ts";
import type { Graph, GraphState, Node, Value } from "../../../ir/graph.ts";
import { isLeaf, valueKey } from "../../../ir/graph.ts";
import { initialOf } from "../../../ir/initial.ts";
import type { OpTable } from "../../../ir/opTable.ts";
import { copyNode } from "../../../ir/rewrite.ts";
import type { TensorType } from "../../../ir/type.ts";
import { byteLength } from "../../../ir/type.ts";
import { whyNotHeld } from "../rules.ts";

export type Side = "coreml" | "host";

/** A value that enters or leaves a part. */
export interface Crossing {
  /** Name inside the part's own graph: the graph's input, output or state name, or `v<node>_<output>`. */
  readonly name: string;
  readonly value: Value;
  readonly type: TensorType;
  readonly bytes: number;
}

export interface Part {
  readonly index: number;
  readonly side: Side;
  /** Ids in the whole graph, in order; leaves left out. */
  readonly nodes: readonly number[];
  readonly inputs: readonly Crossing[];
  readonly outputs: readonly Crossing[];
  readonly bytesIn: number;
  readonly bytesOut: number;
  /** Why the graph is cut before this part. */
  readonly why: string;
  /** The part alone; node ids of its own. */
  readonly graph: Graph;
  /** For each node of `graph` its id in the whole graph. */
  readonly origin: Int32Array;
}

/** true, or why Core ML cannot run the node. */
export type Support = (node: Node, graph: Graph) => true | string;

export function partition(table: OpTable, graph: Graph, support: Support): readonly Part[] {
  const verdicts = graph.nodes.map((node) => (isLeaf(node) ? true : support(node, graph)));
  const sides = assignParts(graph, verdicts);
  const [only] = sides;
  if (sides.length === 1 && only !== undefined) return [wholePart(graph, only, reason(graph, verdicts, sides, 0))];
  return sides.map(({ side, nodes }, index) =>
    makePart(table, graph, { index, side, nodes, why: reason(graph, verdicts, sides, index) }),
  );
}

/** The whole graph as its only part: nothing is copied, and states stay states. */
function wholePart(graph: Graph, stretch: Stretch, why: string): Part {
  const crosses = ({ type }: Crossing): boolean => stretch.side === "host" || whyNotHeld(type) === undefined;
  const [inputs, outputs] = [wholeInputs(graph).filter(crosses), wholeOutputs(graph).filter(crosses)];
  return {
    index: 0,
    ...stretch,
    inputs,
    outputs,
    bytesIn: total(inputs),
    bytesOut: total(outputs),
    why,
    graph,
    origin: Int32Array.from(graph.nodes.keys()),
  };
}

/** Whether one Core ML function is all of the graph: it takes every input and state, and gives every output. */
export function isWhole(graph: Graph, parts: readonly Part[]): boolean {
  const [only, more] = parts;
  const crossing = [
    ...graph.inputs.map((node): Value => ({ node, output: 0 })),
    ...graph.states.map(({ output }) => output),
    ...graph.outputs.map(({ value }) => value),
  ];
  return (
    only?.side === "coreml" &&
    more === undefined &&
    crossing.every((value) => whyNotHeld(typeOf(graph, value)) === undefined)
  );
}

const total = (crossings: readonly Crossing[]): number => crossings.reduce((sum, c) => sum + c.bytes, 0);

interface Stretch {
  readonly side: Side;
  readonly nodes: readonly number[];
}

/** Runs all ready nodes of one side, then all of the other, until none is left; starts with the side that needs fewer turns. */
function assignParts(graph: Graph, verdicts: readonly (true | string)[]): readonly Stretch[] {
  if (verdicts.every((verdict) => verdict === true)) {
    const nodes = graph.nodes.filter((node) => !isLeaf(node)).map((node): number => node.id);
    return nodes.length === 0 ? [] : [{ side: "coreml", nodes }];
  }
  const first = turns(graph, verdicts, "coreml");
  const second = turns(graph, verdicts, "host");
  return second.length < first.length ? second : first;
}

function turns(graph: Graph, verdicts: readonly (true | string)[], start: Side): readonly Stretch[] {
  const sideOf = (id: number): Side => (verdicts[id] === true ? "coreml" : "host");
  const waiting = new Int32Array(graph.nodes.length);
  const users: number[][] = graph.nodes.map(() => []);
  const ready: { readonly [S in Side]: number[] } = { coreml: [], host: [] };
  for (const node of graph.nodes) {
    if (isLeaf(node)) continue;
    const needed = new Set(node.inputs.map((v) => v.node).filter((id) => !isLeafId(graph, id)));
    waiting[node.id] = needed.size;
    for (const id of needed) users[id]?.push(node.id);
    if (needed.size === 0) ready[sideOf(node.id)].push(node.id);
  }
  const stretches: Stretch[] = [];
  for (let side = start; ready.coreml.length + ready.host.length > 0; side = side === "coreml" ? "host" : "coreml") {
    const nodes: number[] = [];
    for (let id = ready[side].pop(); id !== undefined; id = ready[side].pop()) {
      nodes.push(id);
      for (const user of users[id] ?? []) {
        waiting[user] = (waiting[user] ?? 0) - 1;
        if (waiting[user] === 0) ready[sideOf(user)].push(user);
      }
    }
    if (nodes.length > 0) stretches.push({ side, nodes: nodes.sort((a, b) => a - b) });
  }
  return stretches;
}

const isLeafId = (graph: Graph, id: number): boolean => {
  const node = graph.nodes[id];
  return node !== undefined && isLeaf(node);
};

function reason(
  graph: Graph,
  verdicts: readonly (true | string)[],
  stretches: readonly Stretch[],
  index: number,
): string {
  const stretch = stretches[index];
  const before = stretches[index - 1];
  if (stretch === undefined || before === undefined) return "The program begins here.";
  const hosts = (nodes: readonly number[]): readonly string[] => [
    ...new Set(nodes.map((id) => graph.nodes[id]?.op ?? "")),
  ];
  if (stretch.side === "coreml") return `Core ML goes on once ${hosts(before.nodes).join(", ")} has run on the host.`;
  const blocked = stretch.nodes.find((id) => verdicts[id] !== true);
  const why = blocked === undefined ? "" : String(verdicts[blocked]);
  return `${hosts(stretch.nodes).join(", ")}: ${why}`;
}

/** Some operations of a graph as a part of their own, whatever is beside them. */
export const partOf = (table: OpTable, graph: Graph, nodes: readonly number[]): Part =>
  makePart(table, graph, { index: 0, side: "coreml", nodes, why: "" });

interface PartDraft extends Stretch {
  readonly index: number;
  readonly why: string;
}

const fixedBytes = (type: TensorType): number => {
  const bytes: Dim = byteLength(type);
  return typeof bytes === "number" ? bytes : 0;
};

/** The part as a graph: values of other parts become inputs, values that others need become outputs. */
function makePart(table: OpTable, graph: Graph, draft: PartDraft): Part {
  const inside = new Set(draft.nodes);
  const own = draft.side === "coreml" ? ownStates(graph, inside) : new Map<number, GraphState>();
  const builder = new GraphBuilder(table, `${graph.name}.${draft.index}`);
  const values = new Map<string, Value>();
  const origin: number[] = [];
  const inputs: Crossing[] = [];
  const note = (made: Value, id: number): Value => {
    origin[made.node] = id;
    return made;
  };
  const enter = (value: Value, node: Node): Value => {
    const type = typeOf(graph, value);
    const named = node.op === "input" || node.op === "state" ? String(node.attrs["name"]) : crossingName(graph, value);
    inputs.push({ name: named, value, type, bytes: fixedBytes(type) });
    return builder.input(named, type, { origins: node.origins });
  };
  const resolve = (value: Value): Value => {
    const known = values.get(valueKey(value));
    if (known !== undefined) return known;
    const node = nodeAt(graph, value.node);
    // Weights and constants are cheap to name twice; a state of several parts is an input like any other value.
    const copied = node.op === "param" || node.op === "constant" || own.has(node.id);
    const made = copied
      ? (copyNode(builder, graph, node, resolve)[value.output] ?? missing(value))
      : enter(value, node);
    values.set(valueKey(value), note(made, value.node));
    return made;
  };
  for (const id of draft.nodes) {
    const node = nodeAt(graph, id);
    copyNode(builder, graph, node, resolve).forEach((made, output) =>
      values.set(valueKey({ node: node.id, output }), note(made, id)),
    );
  }
  for (const { name, output } of own.values()) builder.setState(name, resolve(output));
  const outputs = leaving(graph, inside, own);
  for (const out of outputs) builder.output(out.name, resolve(out.value));
  return {
    index: draft.index,
    side: draft.side,
    nodes: draft.nodes,
    inputs,
    outputs,
    bytesIn: total(inputs),
    bytesOut: total(outputs),
    why: draft.why,
    graph: builder.finish(),
    origin: Int32Array.from(origin),
  };
}

const missing = (value: Value): never => {
  throw new WorkbenchError("BUG_INVARIANT", `[partition] no value ${valueKey(value)}`);
};

function nodeAt(graph: Graph, id: number): Node {
  const node = graph.nodes[id];
  invariant(node, `no node ${id}`);
  return node;
}

function typeOf(graph: Graph, value: Value): TensorType {
  return nodeAt(graph, value.node).outputs[value.output] ?? missing(value);
}

/** States, by their leaf, that no node outside reads or writes and no other state or output takes; they start as zeros. */
function ownStates(graph: Graph, inside: ReadonlySet<number>): ReadonlyMap<number, GraphState> {
  const own = new Map<number, GraphState>();
  for (const state of graph.states)
    if (inside.has(state.output.node) && initialOf(nodeAt(graph, state.input).attrs) === undefined)
      own.set(state.input, state);
  if (own.size === 0) return own;
  for (const node of graph.nodes) if (!inside.has(node.id)) for (const value of node.inputs) own.delete(value.node);
  for (const { value } of graph.outputs) own.delete(value.node);
  for (const { output } of graph.states) own.delete(output.node);
  return own;
}

/** No input or state of the graph has this name. */
function crossingName(graph: Graph, { node, output }: Value): string {
  const taken = (name: string): boolean =>
    [...graph.inputs, ...graph.states.map(({ input }) => input)].some(
      (id) => String(nodeAt(graph, id).attrs["name"]) === name,
    );
  let name = `v${node}_${output}`;
  while (taken(name)) name = `${name}_`;
  return name;
}

/** Values made inside that other parts, outputs of the graph, or next states need. */
function leaving(graph: Graph, inside: ReadonlySet<number>, own: ReadonlyMap<number, GraphState>): readonly Crossing[] {
  const wanted = new Map<string, Crossing>();
  const want = (value: Value): void => {
    if (!inside.has(value.node)) return;
    const type = typeOf(graph, value);
    wanted.set(valueKey(value), { name: crossingName(graph, value), value, type, bytes: fixedBytes(type) });
  };
  for (const node of graph.nodes) if (!isLeaf(node) && !inside.has(node.id)) node.inputs.forEach(want);
  for (const output of graph.outputs) want(output.value);
  for (const state of graph.states) if (!own.has(state.input)) want(state.output);
  return [...wanted.values()];
}

function wholeInputs(graph: Graph): readonly Crossing[] {
  return graph.inputs.map((id) => {
    const type = typeOf(graph, { node: id, output: 0 });
    return {
      name: String(nodeAt(graph, id).attrs["name"]),
      value: { node: id, output: 0 },
      type,
      bytes: fixedBytes(type),
    };
  });
}

function wholeOutputs(graph: Graph): readonly Crossing[] {
  return graph.outputs.map(({ name, value }) => {
    const type = typeOf(graph, value);
    return { name, value, type, bytes: fixedBytes(type) };
  });
}
