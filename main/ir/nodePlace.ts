/** Where a node of a model is: the path of parts that it lies in, and its name within the last of them. */
import type { Node } from "./graph.ts";

/** The scope all origins of a node share: a node fused from two parts belongs to what holds both. */
export function scopeOf(node: Node): readonly string[] {
  let shared: readonly string[] | undefined;
  for (const origin of node.origins) {
    const path = origin.scope === "" ? [] : origin.scope.split("/");
    if (shared === undefined) shared = path;
    else {
      const end = shared.findIndex((part, i) => part !== path[i]);
      shared = end < 0 ? shared : shared.slice(0, end);
    }
  }
  return shared ?? [];
}

export const nodeName = (node: Node): string => {
  const own = node.attrs["name"];
  if (typeof own === "string") return own;
  if (node.origins.length === 1) return node.origins[0]?.label ?? "";
  const labels = [...new Set(node.origins.map((origin) => origin.label))];
  return labels.length > 3 ? `${labels.slice(0, 3).join(" + ")} …` : labels.join(" + ");
};
