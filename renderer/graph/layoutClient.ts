/** Asks the layout worker and drops overtaken answers. A layout that takes too long is ended with its worker. */
import { WorkbenchError } from "../../main/diagnostics/errors.ts";
import type { FoldState } from "./fold.ts";
import type { GraphModel } from "./graphModel.ts";
import { isSameStructure } from "./graphModel.ts";
import type { LayoutRoom } from "./layout.ts";
import type { Scene } from "./scene.ts";
import type { LayoutAnswer, LayoutRequest } from "./worker.ts";

export interface LayoutWorker {
  postMessage(request: LayoutRequest): void;
  onAnswer(listener: (answer: LayoutAnswer) => void): void;
  /** The worker could not be loaded, or something was thrown outside of a layout. */
  onError(listener: (message: string) => void): void;
  terminate(): void;
}

export interface LayoutClient {
  /** null: overtaken by a later request. */
  layout(model: GraphModel, state: FoldState, room: LayoutRoom): Promise<Scene | null>;
}

/** A running layout may be waited for this long before a newer request ends it. */
const PATIENCE_MS = 1500;

export function createLayoutClient(createWorker: () => LayoutWorker): LayoutClient {
  let worker: LayoutWorker | null = null;
  let sent: GraphModel | null = null;
  let latest = 0;
  let waiting: {
    readonly id: number;
    readonly since: number;
    readonly settle: (answer: LayoutAnswer | null) => void;
  } | null = null;

  const start = (): LayoutWorker => {
    const next = createWorker();
    next.onAnswer((answer) => {
      if (waiting?.id !== answer.id) return;
      const { settle } = waiting;
      waiting = null;
      settle(answer);
    });
    next.onError((message) => {
      if (worker !== next) return;
      next.terminate();
      worker = null;
      if (waiting === null) return;
      const { id, settle } = waiting;
      waiting = null;
      settle({ kind: "failed", id, message });
    });
    sent = null;
    return next;
  };

  // Started before the first graph arrives, which would wait for it.
  worker = start();
  return {
    async layout(model, { open, classes, rough }, room) {
      latest += 1;
      const id = latest;
      if (waiting !== null) {
        if (performance.now() - waiting.since > PATIENCE_MS) {
          worker?.terminate();
          worker = null;
        }
        waiting.settle(null);
      }
      worker ??= start();
      if (sent === null || !isSameStructure(sent, model)) {
        worker.postMessage({ kind: "graph", view: model.view });
        sent = model;
      }
      worker.postMessage({ kind: "layout", id, open: [...open], classes, rough, room });
      const answer = await new Promise<LayoutAnswer | null>((settle) => {
        waiting = { id, since: performance.now(), settle };
      });
      if (answer === null || id !== latest) return null;
      if (answer.kind === "failed") throw new WorkbenchError("BUG_UNEXPECTED", `[layout] ${answer.message}`);
      return answer.scene;
    },
  };
}

export function browserLayoutWorker(): LayoutWorker {
  const worker = new Worker(new URL("./worker.ts", import.meta.url), { type: "module" });
  return {
    postMessage: (request) => worker.postMessage(request),
    onAnswer: (listener) =>
      worker.addEventListener("message", (message: MessageEvent<LayoutAnswer>) => listener(message.data)),
    onError: (listener) => {
      worker.addEventListener("error", ({ message }) => listener(message || "the worker could not be started"));
      worker.addEventListener("messageerror", () => listener("an answer could not be read"));
    },
    terminate: () => worker.terminate(),
  };
}
