/** What is made of a graph without its model: its gradient, or the graph of many items at once. */
import type { Derivation } from "../../contract/views/text.ts";
import { valueAndGrad } from "../../autodiff/transforms.ts";
import { mapGraph } from "../../autodiff/vmap.ts";
import { WorkbenchError } from "../../diagnostics/errors.ts";
import { isFloat } from "../../ir/dtype.ts";
import type { Graph } from "../../ir/graph.ts";
import { isMemoryParam } from "../../ir/graph.ts";
import { inputsOf } from "../../runtime/device.ts";

/** The graph's outputs, and the gradient of one of them. */
export function gradient(graph: Graph, { of, wrt }: Extract<Derivation, { readonly kind: "grad" }>): Graph {
  const names = wrt.length > 0 ? wrt : floatLeaves(graph);
  const output = of ?? graph.outputs.find(({ value }) => isOneNumber(graph, value.node, value.output))?.name;
  if (output === undefined)
    throw new WorkbenchError("INPUT_ARGUMENT", "[grad] output: got none that is one number, expected a loss", {
      hint: 'Sum the output first: reduce(%y) {kind: "sum", axes: [0]}.',
    });
  return valueAndGrad(graph, { of: output, wrt: [...names] });
}

function isOneNumber(graph: Graph, node: number, output: number): boolean {
  const type = graph.nodes[node]?.outputs[output];
  return type !== undefined && isFloat(type.dtype) && type.shape.every((dim) => dim === 1);
}

const floatLeaves = (graph: Graph): readonly string[] =>
  graph.nodes.flatMap((node) => {
    const [type] = node.outputs;
    const isWanted = (node.op === "input" || isMemoryParam(node)) && type !== undefined && isFloat(type.dtype);
    return isWanted ? [String(node.attrs["name"])] : [];
  });

export const mapped = (graph: Graph, { size, inputs }: Extract<Derivation, { readonly kind: "vmap" }>): Graph => {
  const names = inputs.length > 0 ? inputs : inputsOf(graph).map(({ name }) => name);
  return mapGraph(graph, { size, inAxes: Object.fromEntries(names.map((name) => [name, 0])) });
};
