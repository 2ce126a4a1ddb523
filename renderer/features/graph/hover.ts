/**
 * What lies around the box under the pointer: the boxes that it reads from, those that read from it, and the edges between.
 * Found in the flat arrays of a scene, without React.
 */
import { consumersOf, producersOf } from "../../graph/graphModel.ts";
import { BOX_KINDS } from "../../graph/lift.ts";
import type { Scene } from "../../graph/scene.ts";
import type { Picture } from "../../drawing/graphModes.ts";

export interface Around {
  readonly producers: ReadonlySet<number>;
  readonly consumers: ReadonlySet<number>;
  readonly edges: readonly number[];
}

/** Edges at each box, in CSR form. */
export interface EdgesOfBoxes {
  readonly start: Uint32Array;
  readonly edges: Uint32Array;
}

export function edgesOfBoxes(scene: Scene): EdgesOfBoxes {
  const start = new Uint32Array(scene.boxCount + 1);
  const ends = (edge: number): readonly number[] => [scene.edgeFrom[edge] ?? -1, scene.edgeTo[edge] ?? -1];
  for (let edge = 0; edge < scene.edgeCount; edge++)
    for (const box of ends(edge)) if (box >= 0) start[box + 1] = (start[box + 1] ?? 0) + 1;
  for (let box = 0; box < scene.boxCount; box++) start[box + 1] = (start[box + 1] ?? 0) + (start[box] ?? 0);
  const next = start.slice();
  const edges = new Uint32Array(start[scene.boxCount] ?? 0);
  for (let edge = 0; edge < scene.edgeCount; edge++)
    for (const box of ends(edge)) {
      if (box < 0) continue;
      const at = next[box] ?? 0;
      edges[at] = edge;
      next[box] = at + 1;
    }
  return { start, edges };
}

export function aroundBox({ scene, model }: Picture, { start, edges }: EdgesOfBoxes, box: number): Around {
  const producers = new Set<number>();
  const consumers = new Set<number>();
  const own = edges.subarray(start[box] ?? 0, start[box + 1] ?? 0);
  const add = (set: Set<number>, node: number): void => {
    const at = scene.boxOfNode[node] ?? -1;
    if (at >= 0 && at !== box) set.add(at);
  };
  // An op says by itself what it reads, stubs and ports of frames between or not; of a group its edges say it.
  if (scene.kind[box] === BOX_KINDS.op) {
    const node = scene.ref[box] ?? 0;
    for (const from of producersOf(model, node)) add(producers, from);
    for (const to of consumersOf(model, node)) add(consumers, to);
  } else
    for (const edge of own)
      if (scene.edgeTo[edge] === box) add(producers, scene.edgeSource[edge] ?? 0);
      else add(consumers, scene.edgeTarget[edge] ?? 0);
  return { producers, consumers, edges: [...own, ...furtherPieces(scene, own)] };
}

/** The pieces of an edge beyond the ports of frames that it passes. */
function furtherPieces(scene: Scene, own: Uint32Array): readonly number[] {
  const passing = new Set<string>();
  const key = (edge: number): string => `${scene.edgeSource[edge] ?? 0}/${scene.edgeTarget[edge] ?? 0}`;
  for (const edge of own) if (scene.edgeInner[edge] === 1) passing.add(key(edge));
  if (passing.size === 0) return [];
  const found: number[] = [];
  for (let edge = 0; edge < scene.edgeCount; edge++)
    if (passing.has(key(edge)) && !own.includes(edge)) found.push(edge);
  return found;
}
