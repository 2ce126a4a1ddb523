/** Which weights of a program are read in fp32 and nowhere else, whatever its floats: their rules say so (`reads32`). */
import { isFloat } from "../../../ir/dtype.ts";
import type { Graph, Node } from "../../../ir/graph.ts";
import { rootsOf } from "../../../ir/graph.ts";
import type { FunctionSource, RuleOf } from "./source.ts";

/** The tensor of a param. */
export const tensorOf = (param: Node): string => String(param.attrs["tensor"] ?? param.attrs["name"]);

/** One that is read in half as well keeps the profile's form: both readers get one record. */
export function weightsRead32(sources: readonly FunctionSource[], rules: RuleOf): ReadonlySet<string> {
  const [exact, other] = [new Set<string>(), new Set<string>()];
  for (const { graph } of sources) {
    const note = (node: number, into: Set<string>): void => {
      const param = plainParam(graph, node);
      if (param !== undefined) into.add(tensorOf(param));
    };
    for (const { op, inputs } of graph.nodes) {
      const reads32 = rules(op)?.reads32 ?? [];
      inputs.forEach((value, i) => note(value.node, reads32.includes(i) ? exact : other));
    }
    for (const root of rootsOf(graph)) note(root.node, other);
  }
  return new Set([...exact].filter((tensor) => !other.has(tensor)));
}

/** A packed weight has its own scales. */
function plainParam(graph: Graph, id: number): Node | undefined {
  const node = graph.nodes[id];
  const [type] = node?.op === "param" ? node.outputs : [];
  return type !== undefined && isFloat(type.dtype) ? node : undefined;
}
