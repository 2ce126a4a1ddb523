/** Overlays that the graph itself holds: what a node reads, and how its weights are packed. No question to the engine, so no wait. */
import type { OverlayKind, OverlayView } from "../../main/contract/views/graph.ts";
import type { GraphModel } from "./graphModel.ts";
import { nodeWeight } from "./graphModel.ts";

/** null: a kind that only the engine knows. */
export function ownOverlay(model: GraphModel, kind: OverlayKind): OverlayView | null {
  const { view } = model;
  const values = new Float32Array(view.nodeCount);
  const shared = { key: view.key, kind, truth: "exact", values } as const;
  if (kind === "bytes") {
    values.set(view.nodes.bytesRead);
    return { ...shared, basis: "weights as this backend holds them, caches and activations", legend: [] };
  }
  if (kind !== "type") return null;
  const numbers = new Map<string, number>();
  for (let node = 0; node < view.nodeCount; node++) {
    const type = model.hidden[node] === 1 ? "" : nodeWeight(view, node);
    const number = type === "" ? Number.NaN : (numbers.get(type) ?? numbers.size);
    if (type !== "") numbers.set(type, number);
    values[node] = number;
  }
  return { ...shared, basis: "types of the weights that it reads", legend: [...numbers.keys()] };
}
