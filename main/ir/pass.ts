/** What a pass is, what it reports, and how patterns look at a graph. */
import { invariant } from "../diagnostics/errors.ts";
import type { Graph, GraphState, Node, NodeId, Value } from "./graph.ts";
import { rootsOf, valueKey } from "./graph.ts";
import type { Steps } from "./steps.ts";
import { finish } from "./steps.ts";
import type { TensorType } from "./type.ts";

/** Where a pattern nearly matched, and why it did not. */
export interface Miss {
  /** In the graph before the pass. */
  readonly node: NodeId;
  readonly where: string;
  readonly why: string;
}

export interface PassOutcome {
  readonly graph: Graph;
  /** Old node id → new node id, -1 when it is gone. */
  readonly moved: Int32Array;
  readonly hits: number;
  readonly misses: readonly Miss[];
}

/** A pure function of graphs. */
export interface Pass {
  readonly name: string;
  /** One sentence: why it is in the pipeline, and why at this place. */
  readonly reason: string;
  readonly run: (graph: Graph) => PassOutcome;
  /** The same with pauses, where a walk through a large graph takes long. */
  readonly inPieces?: (graph: Graph) => Steps<PassOutcome>;
}

/** A pass that walks through the whole graph: in one go, and in pieces. */
export const walkingPass = (
  about: Pick<Pass, "name" | "reason">,
  inPieces: (graph: Graph) => Steps<PassOutcome>,
): Pass => ({ ...about, inPieces, run: (graph) => finish(inPieces(graph)) });

export const unchanged = (graph: Graph, misses: readonly Miss[] = []): PassOutcome => ({
  graph,
  moved: Int32Array.from(graph.nodes.keys()),
  hits: 0,
  misses,
});

/** "blk.3/ffn gate". */
export function placeOf(node: Node): string {
  const [origin] = node.origins;
  if (!origin) return node.op;
  return origin.scope === "" ? origin.label : `${origin.scope} ${origin.label}`;
}

/** A graph with its uses counted, and the misses that a pattern notes on the way. */
export class Pattern {
  readonly graph: Graph;
  readonly misses: Miss[] = [];
  /** Of first outputs by node, and of the others. */
  readonly #uses: Int32Array;
  readonly #otherUses = new Map<string, number>();
  readonly #stateUses = new Map<string, number>();
  readonly #states = new Map<NodeId, GraphState>();
  readonly #outputs = new Map<string, number>();

  constructor(graph: Graph) {
    this.graph = graph;
    this.#uses = new Int32Array(graph.nodes.length);
    const count = (value: Value): void => {
      if (value.output === 0) this.#uses[value.node] = this.usesOf(value) + 1;
      else this.#otherUses.set(valueKey(value), this.usesOf(value) + 1);
    };
    for (const state of graph.states) {
      this.#states.set(state.input, state);
      this.#stateUses.set(valueKey(state.output), this.statesThatBecome(state.output) + 1);
    }
    for (const { value } of graph.outputs) this.#outputs.set(valueKey(value), this.outputsOf(value) + 1);
    for (const node of graph.nodes) for (const input of node.inputs) count(input);
    for (const root of rootsOf(graph)) count(root);
  }

  usesOf(value: Value): number {
    return (value.output === 0 ? this.#uses[value.node] : this.#otherUses.get(valueKey(value))) ?? 0;
  }

  typeOf(value: Value): TensorType {
    const type = this.graph.nodes[value.node]?.outputs[value.output];
    invariant(type, `no value ${valueKey(value)} in ${this.graph.name}`);
    return type;
  }

  /** How many states become this value. */
  statesThatBecome(value: Value): number {
    return this.#stateUses.get(valueKey(value)) ?? 0;
  }

  /** The state that a node reads. */
  stateOf(input: NodeId): GraphState | undefined {
    return this.#states.get(input);
  }

  /** How many outputs of the graph show this value. */
  outputsOf(value: Value): number {
    return this.#outputs.get(valueKey(value)) ?? 0;
  }

  /** The node that makes operand `index` of `node`, when it is the first output of an `op`. */
  operand(node: Node, index: number, op: string): Node | undefined {
    const value = node.inputs[index];
    return value && value.output === 0 ? this.producer(value, op) : undefined;
  }

  producer(value: Value, op: string): Node | undefined {
    const node = this.graph.nodes[value.node];
    return node?.op === op ? node : undefined;
  }

  /** True when nothing but one operand reads the node's first output. */
  readOnce(node: Node): boolean {
    return this.usesOf({ node: node.id, output: 0 }) === 1;
  }

  /** Notes a near match and gives undefined, so that a rule can end with it. */
  miss(node: Node, why: string): undefined {
    this.misses.push({ node: node.id, where: placeOf(node), why });
    return undefined;
  }
}
