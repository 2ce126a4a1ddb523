/**
 * The chain of ops that takes longest by the prediction: what nothing but making these ops faster can shorten. Nodes stand in the
 * order of the program, so one pass finds the longest way to each of them.
 */
import type { GraphModel } from "./graphModel.ts";
import { producersOf } from "./graphModel.ts";

export interface CriticalPath {
  /** 1 for each node of the chain. */
  readonly nodes: Uint8Array;
  readonly ops: number;
  /** Of the work of all ops. */
  readonly share: number;
}

/** `work`: share of the predicted time per node. */
export function criticalPath(model: GraphModel, work: ArrayLike<number>): CriticalPath {
  const { nodeCount } = model.view;
  const longest = new Float64Array(nodeCount);
  const before = new Int32Array(nodeCount).fill(-1);
  let [last, total] = [-1, 0];
  for (let node = 0; node < nodeCount; node++) {
    if (model.hidden[node] === 1) continue;
    for (const from of producersOf(model, node))
      if (from < node && model.hidden[from] === 0 && (longest[from] ?? 0) > (longest[before[node] ?? -1] ?? 0))
        before[node] = from;
    const own = work[node] ?? 0;
    total += own;
    longest[node] = own + (longest[before[node] ?? -1] ?? 0);
    if (last < 0 || (longest[node] ?? 0) > (longest[last] ?? 0)) last = node;
  }
  const nodes = new Uint8Array(nodeCount);
  let ops = 0;
  for (let node = last; node >= 0; node = before[node] ?? -1) {
    nodes[node] = 1;
    ops += 1;
  }
  return { nodes, ops, share: total > 0 ? (longest[last] ?? 0) / total : 0 };
}
