/** What an edge carries, in the words of its value's type. */
import type { GraphModel } from "../graph/graphModel.ts";
import type { Scene } from "../graph/scene.ts";

/** "f32[1,T,64]" → "1×T×64"; a scalar has no shape to say. */
export function shapeOf(type: string): string {
  const dims = /\[(.*)\]/.exec(type)?.[1] ?? "";
  return dims.split(",").join("×").replaceAll(" ", "");
}

/** Of an edge that stands for several values, their number. */
export function shapeText({ view }: GraphModel, scene: Scene, edge: number): string {
  const values = scene.edgeValues[edge] ?? 0;
  if (values > 1) return `${values} values`;
  const [source, target] = [scene.edgeSource[edge] ?? 0, scene.edgeTarget[edge] ?? 0];
  for (let at = view.edges.start[target] ?? 0; at < (view.edges.start[target + 1] ?? 0); at++)
    if (view.edges.source[at] === source) return shapeOf(view.strings[view.edges.type[at] ?? 0] ?? "");
  return "";
}
