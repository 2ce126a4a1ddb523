/** The ops of a graph that read a tensor of the file. */
import type { GraphModel } from "../../graph/graphModel.ts";
import { consumersOf, nodeName } from "../../graph/graphModel.ts";

/** Parameters have the tensor's own name and are not drawn; neither is a constant between one and its reader. */
export function readersOf(model: GraphModel, tensor: string): readonly number[] {
  const { view, hidden } = model;
  const found = new Set<number>();
  const seen = new Set<number>();
  const follow = (node: number): void => {
    if (seen.has(node)) return;
    seen.add(node);
    for (const reader of consumersOf(model, node)) {
      if (hidden[reader] === 1) follow(reader);
      else found.add(reader);
    }
  };
  for (let node = 0; node < view.nodeCount; node++)
    if (hidden[node] === 1 && nodeName(view, node) === tensor) follow(node);
  return [...found].sort((a, b) => a - b);
}
