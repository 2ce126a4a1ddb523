/** Overlays that the graph itself holds: what a node reads and what type it gives. No question to the engine, so no wait. */
import type { OverlayKind, OverlayView } from "../../main/contract/views/graph.ts";
import type { GraphModel } from "./graphModel.ts";
import { nodeType } from "./graphModel.ts";

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
    // "f32[1,T]" is an element type and a shape.
    const [dtype = ""] = nodeType(model.view, node).split("[", 1);
    const number = numbers.get(dtype) ?? numbers.size;
    numbers.set(dtype, number);
    values[node] = number;
  }
  return { ...shared, basis: "type of its first result", legend: [...numbers.keys()] };
}
