/**
 * Bytes a step reads and writes on this graph's backend: weights as held, only picked table rows,
 * only appended cache rows.
 */
import type { Bindings } from "../../ir/dim.ts";
import type { Graph, Node } from "../../ir/graph.ts";
import { isLeaf } from "../../ir/graph.ts";
import type { HeldBytes } from "../../ir/heldBytes.ts";
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

export class MovedBytes {
  readonly #graph: Graph;
  readonly #bindings: Bindings;
  readonly #held: HeldBytes;
  /** Types are shared by nodes. */
  readonly #values = new Map<TensorType, number>();
  readonly #weights = new Map<TensorType, number>();

  constructor(graph: Graph, bindings: Bindings, held: HeldBytes) {
    this.#graph = graph;
    this.#bindings = bindings;
    this.#held = held;
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
    const held = this.#held({ type: type.dtype, rank: type.shape.length, elements, fileBytes });
    this.#weights.set(type, held);
    return held;
  }

  read(node: Node): number {
    const op = opOf(node.op);
    if (isLeaf(node) || op?.traits.includes("view") === true) return 0;
    return node.inputs.reduce((sum, value, operand) => {
      const from = this.#graph.nodes[value.node];
      const type = from?.outputs[value.output];
      if (type === undefined || (operand === 0 && op?.moves === "appends")) return sum;
      const whole = from?.op === "param" ? this.weight(type) : this.value(type);
      return sum + (operand === 0 && op?.moves === "picks" ? whole * this.#picked(node, type) : whole);
    }, 0);
  }

  written(node: Node): number {
    const op = opOf(node.op);
    if (isLeaf(node) || op?.traits.includes("view") === true) return 0;
    const [cache] = node.outputs;
    if (op?.moves !== "appends" || cache === undefined)
      return node.outputs.reduce((sum, type) => sum + this.value(type), 0);
    const fresh = node.inputs[1];
    const rows = fresh === undefined ? undefined : this.#graph.nodes[fresh.node]?.outputs[fresh.output];
    return rows === undefined ? 0 : this.value({ dtype: cache.dtype, shape: rows.shape });
  }

  /** Which part of a table has as many elements as the result. */
  #picked(node: Node, table: TensorType): number {
    const [result] = node.outputs;
    const all = this.#elements(table);
    return result === undefined || all === 0 ? 1 : Math.min(1, this.#elements(result) / all);
  }

  #elements(type: TensorType): number {
    const count = elementCount(bindType(type, this.#bindings));
    return typeof count === "number" ? count : 0;
  }
}
