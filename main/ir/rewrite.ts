/**
 * How passes change a graph: a rewriter walks the old graph in order and copies each node into a
 * new builder, unless the pass replaces it. Origins are carried by the rewriter, so no pass can
 * forget them.
 */
import { invariant } from "../diagnostics/errors.ts";
import type { AttrRecord } from "./attributes.ts";
import type { ApplyOptions } from "./builder.ts";
import { GraphBuilder } from "./builder.ts";
import type { Graph, Node, NodeId, Origin, Value } from "./graph.ts";
import { isLeaf, placed, rootsOf } from "./graph.ts";
import type { HostTensor } from "./hostTensor.ts";
import type { OpTable } from "./opTable.ts";
import type { Steps } from "./steps.ts";
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
  /** Maps an old value to this new one from here on: a fused node now gives a result of an earlier node. */
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

/** Nodes between two pauses. */
const SLICE = 256;

/** One walk with `rule`; nodes nothing needs any more are dropped. Returns the same graph object if nothing changed. */
export function* rewrite(table: OpTable, graph: Graph, pass: string, rule: RewriteRule): Steps<Rewritten> {
  const copy = new Copy(table, graph, pass);
  for (const node of graph.nodes) {
    if (node.id % SLICE === 0) {
      yield;
      copy.catchUp(node.id);
    }
    copy.visit(node, rule);
  }
  if (copy.changed === 0) return { graph, moved: Int32Array.from(graph.nodes.keys()), changed: 0 };
  yield;
  const first = yield* copy.finish();
  yield;
  const { graph: pruned, moved } = compact(first.graph, liveNodes(first.graph));
  return {
    graph: pruned,
    moved: first.moved.map((id) => (id < 0 ? -1 : (moved[id] ?? -1))),
    changed: copy.changed,
  };
}

/** Drops the nodes that are not live. */
export function prune(graph: Graph): Rewritten {
  const live = liveNodes(graph);
  const dead = live.reduce((n, flag) => n + (flag === 1 ? 0 : 1), 0);
  return { ...compact(graph, live), changed: dead };
}

/** The live nodes with new ids; what stands before the first dead one is shared. */
function compact(graph: Graph, live: Uint8Array): Omit<Rewritten, "changed"> {
  const moved = new Int32Array(graph.nodes.length).fill(-1);
  if (live.every((flag) => flag === 1)) return { graph, moved: Int32Array.from(graph.nodes.keys()) };
  const map = (old: Value): Value => ({ node: (moved[old.node] ?? -1) as NodeId, output: old.output });
  const nodes: Node[] = [];
  const constants = new Map<string, HostTensor>();
  for (const node of graph.nodes) {
    if (live[node.id] !== 1) continue;
    const id = nodes.length as NodeId;
    moved[node.id] = id;
    // Ids only fall, so a node that keeps its place has operands that kept theirs.
    nodes.push(id === node.id ? node : placed(node, id, node.inputs.map(map)));
    const data = node.op === "constant" ? graph.constants.get(String(node.attrs["data"])) : undefined;
    if (data) constants.set(String(node.attrs["data"]), data);
  }
  return {
    moved,
    graph: {
      ...graph,
      nodes,
      constants,
      inputs: graph.inputs.map((id) => (moved[id] ?? -1) as NodeId),
      outputs: graph.outputs.map((output) => ({ name: output.name, value: map(output.value) })),
      states: graph.states.map(({ name, input, output }) => ({
        name,
        input: (moved[input] ?? -1) as NodeId,
        output: map(output),
      })),
    },
  };
}

type Provenance = Required<Pick<ApplyOptions, "origins" | "passes">>;

/**
 * The copy that a rewrite makes. Nothing is copied before a rule asks for it, so a walk without a
 * match costs little.
 */
class Copy {
  changed = 0;
  readonly #graph: Graph;
  readonly #pass: string;
  readonly #builder: GraphBuilder;
  readonly #values: (readonly Value[] | undefined)[] = [];
  readonly #moved: Int32Array;
  /** Lists of passes with this one, by those without: nodes share them. */
  readonly #passes = new Map<readonly string[], readonly string[]>();
  /** Nodes before this one have been copied. */
  #done = 0;
  #current: Node | undefined;

  constructor(table: OpTable, graph: Graph, pass: string) {
    this.#graph = graph;
    this.#pass = pass;
    this.#builder = new GraphBuilder(table, graph.name);
    this.#moved = new Int32Array(graph.nodes.length).fill(-1);
  }

  visit(node: Node, rule: RewriteRule): void {
    if (this.#values[node.id] !== undefined) return;
    this.#current = node;
    const replaced = rule(node, this.#map, this.#replace);
    if (replaced === undefined) return;
    this.#copyBefore(node.id);
    this.changed++;
    this.#values[node.id] = replaced;
  }

  /** What is copied in any case, while it is little: the whole copy at the end would be one long piece. */
  catchUp(end: number): void {
    if (this.changed > 0) this.#copyBefore(end);
  }

  *finish(): Steps<{ readonly graph: Graph; readonly moved: Int32Array }> {
    const graph = this.#graph;
    while (this.#done < graph.nodes.length) {
      this.#copyBefore(Math.min(graph.nodes.length, this.#done + SLICE));
      yield;
    }
    for (const [symbol, size] of Object.entries(graph.symbolLimits)) this.#builder.limitSymbol(symbol, size);
    for (const output of graph.outputs) this.#builder.output(output.name, this.#valueOf(output.value));
    for (const state of graph.states) this.#builder.setState(state.name, this.#valueOf(state.output));
    return { graph: this.#builder.finish(), moved: this.#moved };
  }

  #copyBefore(end: number): void {
    for (; this.#done < end; this.#done++) {
      const id = this.#done;
      const node = this.#graph.nodes[id];
      if (node) this.#values[id] ??= copyNode(this.#builder, this.#graph, node, this.#valueOf);
      this.#moved[id] = this.#values[id]?.[0]?.node ?? -1;
    }
  }

  readonly #valueOf = (old: Value): Value => {
    const node = this.#graph.nodes[old.node];
    if (this.#values[old.node] === undefined && (node?.op === "param" || node?.op === "constant"))
      this.#values[old.node] = copyNode(this.#builder, this.#graph, node, this.#valueOf);
    const value = this.#values[old.node]?.[old.output];
    invariant(value, `[${this.#pass}] value ${old.node}.${old.output} has no successor`);
    return value;
  };

  readonly #map = (old: Value): Value => {
    this.#copyBefore(this.#current?.id ?? 0);
    return this.#valueOf(old);
  };

  #provenance(nodes: readonly Node[]): Provenance {
    const [only] = nodes;
    if (nodes.length !== 1 || only === undefined)
      return { origins: mergeOrigins(nodes), passes: [...new Set([...nodes.flatMap((n) => n.passes), this.#pass])] };
    const origins = only.origins.length === 1 ? only.origins : mergeOrigins(nodes);
    const passes = this.#passes.get(only.passes) ?? [...new Set([...only.passes, this.#pass])];
    this.#passes.set(only.passes, passes);
    return { origins, passes };
  }

  readonly #replace = (absorbed: readonly Node[] = []): Replacement => {
    const node = this.#current;
    invariant(node, "a rule replaces the node it is asked about");
    this.#copyBefore(node.id);
    const builder = this.#builder;
    // Worked out once: a decomposition asks for each of its parts.
    let own: Provenance | undefined;
    const ofReplaced = (): Provenance => (own ??= this.#provenance([...absorbed, node]));
    return {
      apply: (op, inputs, attrs = {}, { regions, of } = {}) => {
        const { origins, passes } = of === undefined ? ofReplaced() : this.#provenance(of);
        return builder.apply(op, inputs, attrs, regions ? { origins, passes, regions } : { origins, passes });
      },
      constant: (tensor) => builder.constant(tensor, ofReplaced()),
      typeOf: (value) => builder.typeOf(value),
      redirect: (old, now) => {
        const known = [...(this.#values[old.node] ?? [])];
        known[old.output] = now;
        this.#values[old.node] = known;
        if (old.output === 0) this.#moved[old.node] = now.node;
      },
    };
  };
}

/** The same node in another builder, typed again where its operands have other types now. */
export function copyNode(
  builder: GraphBuilder,
  graph: Graph,
  node: Node,
  map: (old: Value) => Value,
): readonly Value[] {
  if (isLeaf(node)) return builder.adopt(node, [], graph.constants);
  const inputs = node.inputs.map(map);
  // Types are shared from copy to copy, so this is a comparison of references.
  const unchanged = node.inputs.every((old, i) => {
    const now = inputs[i];
    return now !== undefined && graph.nodes[old.node]?.outputs[old.output] === builder.typeOf(now);
  });
  return unchanged ? builder.adopt(node, inputs, graph.constants) : builder.retype(node, inputs);
}
