/** A node of a host part as a graph of its own, for an executor that runs graphs. */
import { invariant } from "../../../diagnostics/errors.ts";
import { GraphBuilder } from "../../../ir/builder.ts";
import type { Graph, Node, Value } from "../../../ir/graph.ts";
import { isLeaf, valueKey } from "../../../ir/graph.ts";
import type { OpTable } from "../../../ir/opTable.ts";

export interface SingleNode {
  readonly graph: Graph;
  /** Its inputs: values of the whole graph. */
  readonly operands: readonly { readonly name: string; readonly value: Value }[];
}

/** One node with its operands as inputs `x0 …` and results as outputs `y0 …`; weights and constants stay what they are. */
export function singleNode(table: OpTable, graph: Graph, node: Node): SingleNode {
  const builder = new GraphBuilder(table, `host ${node.op}`);
  const operands: { readonly name: string; readonly value: Value }[] = [];
  const known = new Map<string, Value>();
  const enter = (value: Value): Value => {
    const source = graph.nodes[value.node];
    const type = source?.outputs[value.output];
    invariant(source !== undefined && type !== undefined, `no value ${valueKey(value)}`);
    if (source.op === "param" || source.op === "constant") {
      const [copy] = builder.adopt(source, [], graph.constants);
      invariant(copy, `no value ${valueKey(value)}`);
      return copy;
    }
    const name = `x${operands.length}`;
    operands.push({ name, value });
    return builder.input(name, type);
  };
  const operand = (value: Value): Value => {
    const made = known.get(valueKey(value)) ?? enter(value);
    known.set(valueKey(value), made);
    return made;
  };
  const made = isLeaf(node)
    ? [operand({ node: node.id, output: 0 })]
    : builder.apply(node.op, node.inputs.map(operand), node.attrs, { regions: node.regions });
  made.forEach((value, i) => builder.output(`y${i}`, value));
  return { graph: builder.finish(), operands };
}
