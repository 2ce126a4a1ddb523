/**
 * The text form: one line a node, `%3 = add(%1, %2) {axis: 1} : f32[T,64]  // blk.0/attention q`.
 * Attributes are JSON values; constants go by hash; regions are indented below their node.
 */
import type { AttrRecord } from "./attributes.ts";
import type { Graph, Node, Value } from "./graph.ts";
import { formatType } from "./type.ts";

const valueText = (graph: Graph, value: Value): string =>
  (graph.nodes[value.node]?.outputs.length ?? 1) > 1 ? `%${value.node}.${value.output}` : `%${value.node}`;

const attrsText = (attrs: AttrRecord): string => {
  const entries = Object.entries(attrs).filter(([, value]) => value !== undefined);
  return entries.length === 0
    ? ""
    : ` {${entries.map(([key, value]) => `${key}: ${JSON.stringify(value)}`).join(", ")}}`;
};

function originText(node: Node): string {
  const places = node.origins.map((o) => (o.scope === "" ? o.label : `${o.scope} ${o.label}`));
  const passes = node.passes.length === 0 ? "" : ` [${node.passes.join(", ")}]`;
  return places.length === 0 ? passes : `  // ${places.join(" | ")}${passes}`;
}

export function printNode(graph: Graph, node: Node): string {
  const inputs = node.inputs.map((v) => valueText(graph, v)).join(", ");
  return `%${node.id} = ${node.op}(${inputs})${attrsText(node.attrs)} : ${node.outputs.map(formatType).join(", ")}${originText(node)}`;
}

export function printGraph(graph: Graph, indent = ""): string {
  const lines = [`${indent}graph ${JSON.stringify(graph.name)} {`];
  for (const [symbol, size] of Object.entries(graph.symbolLimits)) lines.push(`${indent}  limit ${symbol} = ${size}`);
  for (const node of graph.nodes) {
    lines.push(`${indent}  ${printNode(graph, node)}`);
    for (const region of node.regions) lines.push(printGraph(region, `${indent}    `));
  }
  for (const state of graph.states)
    lines.push(`${indent}  next ${JSON.stringify(state.name)} = ${valueText(graph, state.output)}`);
  for (const output of graph.outputs)
    lines.push(`${indent}  return ${JSON.stringify(output.name)} = ${valueText(graph, output.value)}`);
  lines.push(`${indent}}`);
  return lines.join("\n");
}
