/**
 * How passes change a graph: a rewriter walks the old graph in order and copies each node into a new builder,
 * unless the pass replaces it. Origins are carried by the rewriter, so no pass can forget them.
 */
import { invariant } from "../diagnostics/errors.ts";
import type { AttrRecord } from "./attributes.ts";
import type { ApplyOptions } from "./builder.ts";
import { GraphBuilder } from "./builder.ts";
import type { Graph, Node, NodeId, Origin, Value } from "./graph.ts";
import { rootsOf } from "./graph.ts";
import type { HostTensor } from "./hostTensor.ts";
import type { OpTable } from "./opTable.ts";
import type { TensorType } from "./type.ts";

export interface Replacement {
  /** Makes a new node with the origins of the replaced nodes, or of the old nodes named in `of`. */
  readonly apply: (
    op: string,
    inputs: readonly Value[],
    attrs?: AttrRecord,
    options?: Pick<ApplyOptions, "regions"> & { readonly of?: readonly Node[] },
  ) => readonly Value[];
  readonly constant: (tensor: HostTensor) => Value;
  readonly typeOf: (value: Value) => TensorType;
  /** From here on the old value stands for this new one: for results that earlier nodes gave and a fused node gives now. */
  readonly redirect: (old: Value, now: Value) => void;
}

/**
 * For a node of the old graph: the values (in the new graph) that stand for its outputs, or undefined to keep it.
 * `map` turns an old value into its new one; weights and constants may be mapped before their turn. `absorbed` are further old nodes
 * whose origins the new ones inherit.
 */
export type RewriteRule = (
  node: Node,
  map: (old: Value) => Value,
  replace: (absorbed?: readonly Node[]) => Replacement,
) => readonly Value[] | undefined;

export interface Rewritten {
  readonly graph: Graph;
  /** Old node id → new node id of its first output, -1 when it is gone. */
  readonly moved: Int32Array;
  readonly changed: number;
}

export function mergeOrigins(nodes: readonly Node[]): readonly Origin[] {
  const seen = new Map<number, Origin>();
  for (const node of nodes) for (const origin of node.origins) seen.set(origin.source, origin);
  return [...seen.values()].sort((a, b) => a.source - b.source);
}

/** Nodes that a root needs. Inputs and states always stay: they are the signature. */
export function liveNodes(graph: Graph): Uint8Array {
  const live = new Uint8Array(graph.nodes.length);
  for (const root of rootsOf(graph)) live[root.node] = 1;
  for (const id of graph.inputs) live[id] = 1;
  for (const state of graph.states) live[state.input] = 1;
  for (let id = graph.nodes.length - 1; id >= 0; id--)
    if (live[id] === 1) for (const input of graph.nodes[id]?.inputs ?? []) live[input.node] = 1;
  return live;
}

/** One walk with `rule`; nodes nothing needs any more are dropped. Returns the same graph object if nothing changed. */
export function rewrite(table: OpTable, graph: Graph, pass: string, rule: RewriteRule): Rewritten {
  const first = copyInto(table, graph, pass, rule);
  if (first.changed === 0) return { graph, moved: Int32Array.from(graph.nodes.keys()), changed: 0 };
  const live = liveNodes(first.graph);
  if (live.every((flag) => flag === 1)) return first;
  const second = copyInto(table, first.graph, pass, () => undefined, live);
  return {
    graph: second.graph,
    moved: first.moved.map((id) => (id < 0 ? -1 : (second.moved[id] ?? -1))),
    changed: first.changed,
  };
}

/** Drops the nodes that are not live. */
export function prune(table: OpTable, graph: Graph, pass: string): Rewritten {
  const live = liveNodes(graph);
  const dead = live.reduce((n, flag) => n + (flag === 1 ? 0 : 1), 0);
  if (dead === 0) return { graph, moved: Int32Array.from(graph.nodes.keys()), changed: 0 };
  return { ...copyInto(table, graph, pass, () => undefined, live), changed: dead };
}

function copyInto(table: OpTable, graph: Graph, pass: string, rule: RewriteRule, keep?: Uint8Array): Rewritten {
  const builder = new GraphBuilder(table, graph.name);
  const values: (readonly Value[] | undefined)[] = [];
  const moved = new Int32Array(graph.nodes.length).fill(-1);
  let changed = 0;
  const map = (old: Value): Value => {
    const early = values[old.node];
    const node = graph.nodes[old.node];
    if (early === undefined && (node?.op === "param" || node?.op === "constant"))
      values[old.node] = copyNode(builder, graph, node, map);
    const value = values[old.node]?.[old.output];
    invariant(value, `[${pass}] value ${old.node}.${old.output} has no successor`);
    return value;
  };
  for (const node of graph.nodes) {
    if (keep && keep[node.id] !== 1) continue;
    const replace = (absorbed: readonly Node[] = []): Replacement => {
      const replaced = [...absorbed, node];
      const provenance = (nodes: readonly Node[]): Required<Pick<ApplyOptions, "origins" | "passes">> => ({
        origins: mergeOrigins(nodes),
        passes: [...new Set([...nodes.flatMap((n) => n.passes), pass])],
      });
      return {
        apply: (op, inputs, attrs = {}, { regions, of } = {}) =>
          builder.apply(op, inputs, attrs, { ...provenance(of ?? replaced), ...(regions ? { regions } : {}) }),
        constant: (tensor) => builder.constant(tensor, provenance(replaced)),
        typeOf: (value) => builder.typeOf(value),
        redirect: (old, now) => {
          const known = [...(values[old.node] ?? [])];
          known[old.output] = now;
          values[old.node] = known;
        },
      };
    };
    const replaced = values[node.id] === undefined ? rule(node, map, replace) : undefined;
    if (replaced) changed++;
    const now = replaced ?? values[node.id] ?? copyNode(builder, graph, node, map);
    values[node.id] = now;
    moved[node.id] = now[0]?.node ?? -1;
  }
  for (const [symbol, size] of Object.entries(graph.symbolLimits)) builder.limitSymbol(symbol, size);
  for (const output of graph.outputs) builder.output(output.name, map(output.value));
  for (const state of graph.states) builder.setState(state.name, map(state.output));
  return { graph: builder.finish(), moved, changed };
}

/** The same node in another builder. */
export function copyNode(
  builder: GraphBuilder,
  graph: Graph,
  node: Node,
  map: (old: Value) => Value,
): readonly Value[] {
  const options: ApplyOptions = { origins: node.origins, passes: node.passes, regions: node.regions };
  const [type] = node.outputs;
  const name = node.attrs["name"];
  switch (node.op) {
    case "input":
      invariant(type && typeof name === "string", "an input has a type and a name");
      return [builder.input(name, type, options)];
    case "state":
      invariant(type && typeof name === "string", "a state has a type and a name");
      return [builder.state(name, type, options)];
    case "param": {
      const { file, tensor } = node.attrs;
      invariant(
        type && typeof name === "string" && typeof file === "string" && typeof tensor === "string",
        "a param has a source",
      );
      return [builder.param(name, type, { file, tensor }, options)];
    }
    case "constant": {
      const data = graph.constants.get(String(node.attrs["data"]));
      invariant(data, `constant ${node.id} has no data`);
      return [builder.constant(data, options)];
    }
    default:
      return builder.apply(node.op, node.inputs.map(map), node.attrs, options);
  }
}

export const nodeOf = (graph: Graph, id: NodeId): Node => {
  const node = graph.nodes[id];
  invariant(node, `no node ${id} in ${graph.name}`);
  return node;
};
