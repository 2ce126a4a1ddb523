/**
 * The IR: a pure, typed SSA graph. A node's id is its place in `nodes`, which is a topological
 * order; a value is (node, output index). State is explicit: a `state` leaf and the value it
 * becomes. Graphs are immutable; only the builder and the rewriter make them.
 */
import type { AttrRecord } from "./attributes.ts";
import type { Shape } from "./dim.ts";
import type { HostTensor } from "./hostTensor.ts";
import type { TensorType } from "./type.ts";

declare const brand: unique symbol;
export type NodeId = number & { readonly [brand]: "NodeId" };

export interface Value {
  readonly node: NodeId;
  readonly output: number;
}

/** Where a node came from: one entry per operation of the model as first built. */
export interface Origin {
  /** Place in the model, outermost first: "blk.7/attention". */
  readonly scope: string;
  /** What it is there: "q", "norm". */
  readonly label: string;
  /** Node id in the graph as first built. */
  readonly source: number;
}

export interface Node {
  readonly id: NodeId;
  readonly op: string;
  readonly inputs: readonly Value[];
  readonly attrs: AttrRecord;
  readonly outputs: readonly TensorType[];
  readonly origins: readonly Origin[];
  /** Names of the passes that made or changed it, oldest first. */
  readonly passes: readonly string[];
  /** Bodies of control-flow ops. */
  readonly regions: readonly Graph[];
}

export interface GraphOutput {
  readonly name: string;
  readonly value: Value;
}

export interface GraphState {
  readonly name: string;
  /** The `state` leaf that reads it. */
  readonly input: NodeId;
  /** What it is after the step; the leaf itself when unchanged. */
  readonly output: Value;
}

export interface Graph {
  readonly name: string;
  readonly nodes: readonly Node[];
  readonly inputs: readonly NodeId[];
  readonly outputs: readonly GraphOutput[];
  readonly states: readonly GraphState[];
  /** Data of `constant` nodes by content hash (attribute `data`). */
  readonly constants: ReadonlyMap<string, HostTensor>;
  /** Largest size of each symbol, where one is known ("T" → 512): memory is planned for it. */
  readonly symbolLimits: Readonly<Record<string, number>>;
}

/** Leaf ops the builder itself makes; every other op comes from the op table. */
export const LEAF_OPS = ["input", "param", "constant", "state"] as const;
export type LeafOp = (typeof LEAF_OPS)[number];
const LEAVES: ReadonlySet<string> = new Set(LEAF_OPS);
export const isLeaf = (node: Node): boolean => LEAVES.has(node.op);

/** The same node at another place. Written out, because objects of one shape are fast in JavaScript engines. */
export const placed = (node: Node, id: NodeId, inputs: readonly Value[]): Node => ({
  id,
  op: node.op,
  inputs,
  attrs: node.attrs,
  outputs: node.outputs,
  origins: node.origins,
  passes: node.passes,
  regions: node.regions,
});

/** Where the bytes of a `param` come from. The graph knows identity, never bytes. */
export interface WeightSource {
  /** Stable identity of the file: size, header hash. */
  readonly identity: string;
  /** The file's name in messages. */
  readonly name?: string;
  readonly has: (tensor: string) => boolean;
  /** Its type in the file; `expected` is the shape that a graph needs. */
  readonly tensorType: (tensor: string, expected?: Shape) => TensorType | undefined;
  /** What is added to its matrices, in this order. */
  readonly adapters?: readonly LowRank[];
}

/** Low-rank changes of a source's matrices (LoRA): W x becomes W x + factor · B (A x). */
export interface LowRank {
  /** The rank of A and B of a matrix; undefined where it stays as it is. */
  readonly rankOf: (tensor: string) => number | undefined;
  readonly factor: (rank: number) => number;
  /** The names under which the source has A and B. */
  readonly parts: (tensor: string) => { readonly a: string; readonly b: string };
}

export const valueKey = (value: Value): string => `${value.node}.${value.output}`;
export const sameValue = (a: Value, b: Value): boolean => a.node === b.node && a.output === b.output;

/** Every value that must survive: outputs and next states. */
export const rootsOf = (graph: Graph): readonly Value[] => [
  ...graph.outputs.map((output) => output.value),
  ...graph.states.map((state) => state.output),
];

/** A parameter that sessions hold; the others lie in a file. */
export const isMemoryParam = ({ op, attrs }: Node): boolean => op === "param" && attrs["memory"] === true;
