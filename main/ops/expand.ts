/** Replaces nodes by their decompositions, again and again until none is left. */
import { finish } from "../ir/steps.ts";
import { invariant } from "../diagnostics/errors.ts";
import type { Graph, Value } from "../ir/graph.ts";
import { rewrite } from "../ir/rewrite.ts";
import type { TensorType } from "../ir/type.ts";
import type { AnyNumber, AnyOp, Decomposition, NodeInfo } from "./defineOp.ts";
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
        const info: NodeInfo<AttrRecord> = {
          inputs: node.inputs.map((v) => typeAt(current, v)),
          outputs: node.outputs,
          attrs: node.attrs,
          regions: node.regions,
        };
        const values = via(opBuilder(replacement), node.inputs.map(map), node.attrs, info);
        return isList(values) ? values : [values];
      }),
    );
    if (changed === 0) return current;
    current = next;
  }
}

const isList = (values: Value | readonly Value[]): values is readonly Value[] => Array.isArray(values);

export function typeAt(graph: Graph, value: Value): TensorType {
  const type = graph.nodes[value.node]?.outputs[value.output];
  invariant(type, `no value ${value.node}.${value.output} in ${graph.name}`);
  return type;
}
