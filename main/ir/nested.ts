/** Rewriting with sub-graphs: their nodes put into another graph, and the sub-graphs of a graph changed one by one. */
import { finish } from "./steps.ts";
import { invariant } from "../diagnostics/errors.ts";
import type { AttrRecord } from "./attributes.ts";
import type { GraphBuilder } from "./builder.ts";
import type { Graph, Node, Value } from "./graph.ts";
import { isLeaf } from "./graph.ts";
import type { OpTable } from "./opTable.ts";
import type { Rewritten } from "./rewrite.ts";
import { rewrite } from "./rewrite.ts";

/** Where nodes can be put: a builder, or what a pass or a rule has of one. */
type Target = Pick<GraphBuilder, "constant"> & {
  readonly apply: (
    op: string,
    inputs: readonly Value[],
    attrs: AttrRecord,
    options: Pick<Node, "regions" | "origins" | "passes">,
  ) => readonly Value[];
};

/** The nodes of a region over these operands, in another graph; gives what stands for its outputs. */
export function inlineGraph(target: Target, region: Graph, operands: readonly Value[]): readonly Value[] {
  const map = inlineNodes(target, region, operands);
  return region.outputs.map(({ value }) => map(value));
}

/** The same; gives the way from values of the region to those of the other graph. */
export function inlineNodes(target: Target, region: Graph, operands: readonly Value[]): (old: Value) => Value {
  const values: (readonly Value[])[] = [];
  const map = (old: Value): Value => {
    const value = values[old.node]?.[old.output];
    invariant(value, `[inline] value ${old.node}.${old.output} of ${region.name} is read before it is made`);
    return value;
  };
  region.inputs.forEach((id, i) => {
    const operand = operands[i];
    invariant(operand, `[inline] ${region.name} has ${region.inputs.length} inputs, got ${operands.length} operands`);
    values[id] = [operand];
  });
  for (const node of region.nodes) {
    if (values[node.id] !== undefined) continue;
    const data = node.op === "constant" ? region.constants.get(String(node.attrs["data"])) : undefined;
    invariant(data !== undefined || !isLeaf(node), `[inline] ${node.op} in ${region.name}`);
    values[node.id] = data ? [target.constant(data)] : target.apply(node.op, node.inputs.map(map), node.attrs, node);
  }
  return map;
}

/** The graph with `change` applied to the regions of its nodes; the same object when none changed. */
export function mapRegions(
  table: OpTable,
  graph: Graph,
  pass: string,
  change: (region: Graph, node: Node, index: number) => Graph,
): Rewritten {
  const made = new Map<Node, readonly Graph[]>();
  for (const node of graph.nodes) {
    if (node.regions.length === 0) continue;
    const regions = node.regions.map((region, i) => change(region, node, i));
    if (regions.some((region, i) => region !== node.regions[i])) made.set(node, regions);
  }
  if (made.size === 0) return { graph, moved: Int32Array.from(graph.nodes.keys()), changed: 0 };
  return finish(
    rewrite(table, graph, pass, (node, map, replace) => {
      const regions = made.get(node);
      return regions && replace().apply(node.op, node.inputs.map(map), node.attrs, { regions });
    }),
  );
}
