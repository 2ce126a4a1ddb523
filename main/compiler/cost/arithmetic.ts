/** Operations that a node of a graph computes; a multiplication and an addition are two. */
import type { Bindings } from "../../ir/dim.ts";
import { bindDim } from "../../ir/dim.ts";
import type { Graph, Node } from "../../ir/graph.ts";
import { isLeaf } from "../../ir/graph.ts";
import type { TensorType } from "../../ir/type.ts";
import { bindType, elementCount } from "../../ir/type.ts";
import { opOf } from "../../ops/index.ts";

/** Of elements that a recurrence keeps, for each token. */
const RECURRENCE = 8;

export class Arithmetic {
  readonly #graph: Graph;
  readonly #bindings: Bindings;

  constructor(graph: Graph, bindings: Bindings) {
    this.#graph = graph;
    this.#bindings = bindings;
  }

  of(node: Node): number {
    if (isLeaf(node) || opOf(node.op)?.traits.includes("view") === true) return 0;
    const inputs = node.inputs.map(({ node: from, output }) => this.#graph.nodes[from]?.outputs[output]);
    const inside = node.regions.reduce((sum, region) => {
      const own = new Arithmetic(region, this.#bindings);
      return sum + region.nodes.reduce((all, each) => all + own.of(each), 0);
    }, 0);
    return inside * this.#turns(node) + this.#own(node, inputs);
  }

  /** How often a node runs its sub-graphs, where that is known. */
  #turns({ op, attrs }: Node): number {
    const { length } = attrs;
    const turns = op === "scan" && (typeof length === "number" || typeof length === "string") ? length : 1;
    const bound = bindDim(turns, this.#bindings);
    return typeof bound === "number" ? bound : 1;
  }

  #own(node: Node, inputs: readonly (TensorType | undefined)[]): number {
    const [first, second] = inputs;
    const result = this.#elements(node.outputs[0]);
    switch (node.op) {
      case "linear":
        return 2 * this.#rows(first) * this.#elements(second);
      case "linear_block":
        return 2 * this.#rows(first) * this.#matrices(node);
      case "linear_grouped":
      case "matmul":
        return 2 * result * this.#size(first, -1);
      case "dot_general": {
        const axes = node.attrs["lhsContracting"];
        const inner = Array.isArray(axes)
          ? axes.reduce((product: number, axis) => product * this.#size(first, Number(axis)), 1)
          : 1;
        return 2 * result * inner;
      }
      case "attention":
      case "attention_cached":
      case "attention_packed":
        return 4 * this.#elements(first) * this.#size(second, -2);
      case "attention_block":
        return 4 * this.#elements(first) * this.#size(inputs[5], -2);
      case "conv":
        return (2 * result * this.#elements(second)) / Math.max(1, this.#size(second, 0));
      case "conv_transpose":
        return (2 * this.#elements(first) * this.#elements(second)) / Math.max(1, this.#size(second, 0));
      case "gated_delta":
      case "selective_scan":
      case "ssd":
      case "wkv6":
      case "wkv7":
        return RECURRENCE * this.#rows(first) * Math.max(...inputs.map((type) => this.#elements(type)));
      // Only what is picked is touched.
      case "gather":
        return result;
      default:
        return Math.max(result, this.#elements(first));
    }
  }

  /** Elements of the matrices among a node's weights. */
  #matrices(node: Node): number {
    return node.inputs.reduce((sum, { node: from, output }) => {
      const maker = this.#graph.nodes[from];
      const type = maker?.outputs[output];
      return maker?.op === "param" && type !== undefined && type.shape.length > 1 ? sum + this.#elements(type) : sum;
    }, 0);
  }

  #elements(type: TensorType | undefined): number {
    const count = type === undefined ? 0 : elementCount(bindType(type, this.#bindings));
    return typeof count === "number" ? count : 0;
  }

  #size(type: TensorType | undefined, axis: number): number {
    const size = type === undefined ? 1 : bindType(type, this.#bindings).shape.at(axis);
    return typeof size === "number" ? size : 1;
  }

  #rows(type: TensorType | undefined): number {
    return this.#elements(type) / Math.max(1, this.#size(type, -1));
  }
}
