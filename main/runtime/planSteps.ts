/** The steps of a plan with what people call them: the ops of the nodes that each executes, and where in the model they stand. */
import type { Graph } from "../ir/graph.ts";
import type { PlanStep } from "./device.ts";

/** "rms_norm + linear" and "blk.3/attention": ops in order without repeats, the common scope. */
export function stepsOf(
  graph: Graph,
  instructions: readonly { readonly kernel: string; readonly nodes: readonly number[] }[],
): readonly PlanStep[] {
  return instructions.map(({ kernel, nodes: ids }) => {
    const nodes = ids.flatMap((id) => graph.nodes[id] ?? []);
    const ops = [...new Set(nodes.map((node) => node.op))];
    const scopes = nodes.flatMap((node) =>
      node.origins.map((origin) => (origin.scope === "" ? origin.label : origin.scope)),
    );
    const sources = [...new Set(nodes.flatMap((node) => node.origins.map(({ source }) => source)))];
    const op = ops.length === 0 ? kernel : ops.join(" + ");
    return { kernel, nodes: ids, op, label: commonScope(scopes), sources };
  });
}

function commonScope(scopes: readonly string[]): string {
  const [first, ...rest] = scopes.map((scope) => scope.split("/"));
  if (first === undefined) return "";
  let depth = first.length;
  for (const scope of rest)
    while (depth > 0 && first.slice(0, depth).join("/") !== scope.slice(0, depth).join("/")) depth--;
  return first.slice(0, depth).join("/");
}
