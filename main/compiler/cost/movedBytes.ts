/**
 * Bytes a step reads and writes on this graph's backend: weights as held, only picked table rows,
 * only appended cache rows.
 */
import type { Bindings } from "../../ir/dim.ts";
import type { Graph, Node, Value } from "../../ir/graph.ts";
import { isLeaf, valueKey } from "../../ir/graph.ts";
import type { HeldBytes } from "../../ir/heldBytes.ts";
import { rewindOf } from "../../ir/rewind.ts";
import type { TensorType } from "../../ir/type.ts";
import { bindType, byteLength, elementCount } from "../../ir/type.ts";
import { opOf } from "../../ops/index.ts";

/** Bytes of a value under bindings; 0 when a symbol stays free. */
export function valueBytes(type: TensorType, bindings: Bindings): number {
  const bytes = byteLength(bindType(type, bindings));
  return typeof bytes === "number" ? bytes : 0;
}

/** What the number is, beside it. */
export const BYTES_READ = "weights as this backend holds them, caches and activations";

/** What a node reads, told apart; and what it writes. */
export interface NodeBytes {
  readonly weights: number;
  /** Keys and values, for every position that there is room for. */
  readonly caches: number;
  /** Of recurrent layers, whatever the context. */
  readonly states: number;
  readonly activations: number;
  readonly written: number;
}

type KeptKind = "caches" | "states";

/** Values that are kept from step to step: states, and what they become. A cache has a row for each position, a ring for the newest. */
function keptValues(graph: Graph): ReadonlyMap<string, KeptKind> {
  const kept = new Map<string, KeptKind>();
  for (const { input, output } of graph.states) {
    const leaf = graph.nodes[input];
    const kind = leaf !== undefined && ["positions", "ring"].includes(rewindOf(leaf)) ? "caches" : "states";
    kept.set(valueKey({ node: input, output: 0 }), kind);
    kept.set(valueKey(output), kind);
  }
  return kept;
}

export class MovedBytes {
  readonly #graph: Graph;
  readonly #bindings: Bindings;
  readonly #held: HeldBytes;
  /** Types are shared by nodes. */
  readonly #values = new Map<TensorType, number>();
  readonly #weights = new Map<TensorType, number>();
  readonly #kept: ReadonlyMap<string, KeptKind>;

  constructor(graph: Graph, bindings: Bindings, held: HeldBytes) {
    this.#graph = graph;
    this.#bindings = bindings;
    this.#held = held;
    this.#kept = keptValues(graph);
  }

  value(type: TensorType): number {
    const known = this.#values.get(type) ?? valueBytes(type, this.#bindings);
    this.#values.set(type, known);
    return known;
  }

  weight(type: TensorType): number {
    const known = this.#weights.get(type);
    if (known !== undefined) return known;
    const fileBytes = this.value(type);
    const elements = this.#elements(type);
    const held = this.#held({ type: type.dtype, shape: this.#sizes(type), elements, fileBytes });
    this.#weights.set(type, held);
    return held;
  }

  read(node: Node): number {
    const { weights, caches, states, activations } = this.parts(node);
    return weights + caches + states + activations;
  }

  written(node: Node): number {
    return this.parts(node).written;
  }

  parts(node: Node): NodeBytes {
    const op = opOf(node.op);
    const bytes = { weights: 0, caches: 0, states: 0, activations: 0, written: 0 };
    if (isLeaf(node) || op?.traits.includes("view") === true) return bytes;
    node.inputs.forEach((value, operand) => {
      const type = this.#typeOf(value);
      if (type === undefined || (operand === 0 && op?.moves === "appends")) return;
      const isWeight = this.#graph.nodes[value.node]?.op === "param";
      const whole = isWeight ? this.weight(type) : this.value(type);
      const kind = isWeight ? "weights" : (this.#kept.get(valueKey(value)) ?? "activations");
      bytes[kind] += operand === 0 && op?.moves === "picks" ? whole * this.#picked(node, type) : whole;
    });
    bytes.written = this.#written(node);
    return bytes;
  }

  #typeOf({ node, output }: Value): TensorType | undefined {
    return this.#graph.nodes[node]?.outputs[output];
  }

  #written(node: Node): number {
    const [cache] = node.outputs;
    if (opOf(node.op)?.moves === "appends" && cache !== undefined) {
      const rows = node.inputs[1] === undefined ? undefined : this.#typeOf(node.inputs[1]);
      return rows === undefined ? 0 : this.value({ dtype: cache.dtype, shape: rows.shape });
    }
    // A cache that grows stays in place: its new rows are operands of the node.
    return node.outputs.reduce(
      (sum, type, output) =>
        this.#kept.get(valueKey({ node: node.id, output })) === "caches" ? sum : sum + this.value(type),
      0,
    );
  }

  /** Which part of a table has as many elements as the result. */
  #picked(node: Node, table: TensorType): number {
    const [result] = node.outputs;
    const all = this.#elements(table);
    return result === undefined || all === 0 ? 1 : Math.min(1, this.#elements(result) / all);
  }

  #sizes(type: TensorType): readonly number[] {
    return bindType(type, this.#bindings).shape.map((size) => (typeof size === "number" ? size : 0));
  }

  #elements(type: TensorType): number {
    const count = elementCount(bindType(type, this.#bindings));
    return typeof count === "number" ? count : 0;
  }
}
