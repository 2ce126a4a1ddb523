/** The layout worker: keeps the graph it was given last and lays out what is asked for. */
import type { GraphView } from "../../main/contract/views/graph.ts";
import type { GraphModel } from "./graphModel.ts";
import { createGraphModel } from "./graphModel.ts";
import type { LayoutRoom } from "./layout.ts";
import { layoutScene } from "./layout.ts";
import type { Scene } from "./scene.ts";

export type LayoutRequest =
  | { readonly kind: "graph"; readonly view: GraphView }
  | {
      readonly kind: "layout";
      readonly id: number;
      readonly open: readonly number[];
      readonly classes: Uint32Array;
      readonly rough: Uint32Array | undefined;
      readonly room: LayoutRoom;
    };

export type LayoutAnswer =
  | { readonly kind: "scene"; readonly id: number; readonly scene: Scene }
  | { readonly kind: "failed"; readonly id: number; readonly message: string };

let model: GraphModel | null = null;

addEventListener("message", (message: MessageEvent<LayoutRequest>) => {
  const request = message.data;
  if (request.kind === "graph") {
    model = createGraphModel(request.view);
    return;
  }
  const answer = ((): LayoutAnswer => {
    try {
      if (model === null) return { kind: "failed", id: request.id, message: "no graph" };
      return {
        kind: "scene",
        id: request.id,
        scene: layoutScene(
          model,
          { open: new Set(request.open), classes: request.classes, rough: request.rough },
          request.room,
        ),
      };
    } catch (error) {
      return { kind: "failed", id: request.id, message: error instanceof Error ? error.message : String(error) };
    }
  })();
  const transfer = answer.kind === "scene" ? buffersOf(answer.scene) : [];
  postMessage(answer, { transfer });
});

function buffersOf(scene: Scene): ArrayBuffer[] {
  return Object.values(scene as unknown as { readonly [field: string]: unknown })
    .filter((value) => ArrayBuffer.isView(value))
    .map(({ buffer }) => buffer)
    .filter((buffer) => buffer instanceof ArrayBuffer);
}
