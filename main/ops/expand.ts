/** Replaces nodes by their decompositions, again and again until none is left. */
import { finish } from "../ir/steps.ts";
import { invariant } from "../diagnostics/errors.ts";
import type { Graph, Node, Value } from "../ir/graph.ts";
import { rewrite } from "../ir/rewrite.ts";
import type { TensorType } from "../ir/type.ts";
import type { AnyNumber, AnyOp, Decomposition, NodeInfo } from "./defineOp.ts";
import { asList } from "./defineOp.ts";
import type { AttrRecord } from "../ir/attributes.ts";
import { opBuilder, opOf, opTable } from "./index.ts";

type Via = Decomposition<AttrRecord, AnyNumber>;

/** `viaOf` says how an op is taken apart, or that it stays. */
export function expandOps(graph: Graph, pass: string, viaOf: (op: AnyOp) => Via | undefined): Graph {
  let current = graph;
  for (;;) {
    const { graph: next, changed } = finish(
      rewrite(opTable, current, pass, (node, map, replace) => {
        const op = opOf(node.op);
        const via = op && viaOf(op);
        if (!via) return undefined;
        const replacement = replace();
        return asList(via(opBuilder(replacement), node.inputs.map(map), node.attrs, nodeInfo(current, node)));
      }),
    );
    if (changed === 0) return current;
    current = next;
  }
}

/** A node as the rules of ops see it. */
export const nodeInfo = (graph: Graph, { inputs, outputs, attrs, regions }: Node): NodeInfo<AttrRecord> => ({
  inputs: inputs.map((value) => typeAt(graph, value)),
  outputs,
  attrs,
  regions,
});

export function typeAt(graph: Graph, value: Value): TensorType {
  const type = graph.nodes[value.node]?.outputs[value.output];
  invariant(type, `no value ${value.node}.${value.output} in ${graph.name}`);
  return type;
}
