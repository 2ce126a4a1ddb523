/**
 * Numbers for nodes that are alike: one op with the same attributes over operands of the same types. What follows from these is
 * worked out once. Attributes and types are told apart as objects, which copies of a graph share.
 */
import { invariant } from "../diagnostics/errors.ts";
import type { Graph, Node } from "./graph.ts";
import { Numbering, Sequences } from "./numbering.ts";

export class NodeKinds {
  readonly #ops = new Numbering<string>();
  readonly #objects = new Numbering<object>();
  readonly #sequences = new Sequences();

  /** For nodes without sub-graphs, which are not compared. */
  of(graph: Graph, node: Node): number {
    let kind = this.#sequences.step(this.#sequences.step(0, this.#ops.of(node.op)), this.#objects.of(node.attrs));
    for (const { node: id, output } of node.inputs) {
      const type = graph.nodes[id]?.outputs[output];
      invariant(type, `no value ${id}.${output} in ${graph.name}`);
      kind = this.#sequences.step(kind, this.#objects.of(type));
    }
    return kind;
  }
}
