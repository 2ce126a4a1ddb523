/** The template inspector, and prompt caches: what an open model makes of a conversation, and what its session holds as a file. */
import type { Input } from "../../../main/contract/contract.ts";
import type { PromptCacheView } from "../../../main/contract/views/promptCache.ts";
import type { TemplateReportView } from "../../../main/contract/views/template.ts";
import type { Async } from "../../session/async.ts";
import { createTask, current, failed, IDLE, isCancelled, loading, ready } from "../../session/async.ts";
import type { SliceTools } from "../../session/slice.ts";

export type TemplateAsked = Omit<Input<"template.inspect">, "model">;
/** The session that answers: as a run chooses it. */
export type CachedSession = Pick<Input<"prompt.load">, "device" | "context" | "precision" | "cacheType">;

export interface TemplateSlice {
  readonly templateLook: Async<TemplateReportView>;
  readonly promptCache: Async<PromptCacheView>;
  readonly lookAtTemplate: (asked: TemplateAsked) => Promise<void>;
  readonly savePromptCache: (path: string, of: CachedSession) => Promise<void>;
  readonly loadPromptCache: (path: string, of: CachedSession) => Promise<void>;
  readonly stopPromptCache: () => void;
}

const NOTHING = { templateLook: IDLE, promptCache: IDLE } as const;

export function createTemplateSlice({ engine, set, get, on }: SliceTools<TemplateSlice>): TemplateSlice {
  const looking = createTask();
  const keeping = createTask();
  on("modelLeft", ({ opensAgain }) => {
    looking.abandon();
    keeping.abandon();
    if (!opensAgain) set(NOTHING);
  });
  const keep = async (
    work: (model: string, options: { readonly signal: AbortSignal }) => Promise<PromptCacheView>,
  ): Promise<void> => {
    const open = current(get().model);
    if (open === null) return;
    const { signal, isCurrent } = keeping.begin();
    set({ promptCache: loading(IDLE) });
    try {
      const done = await work(open.model, { signal });
      if (isCurrent()) set({ promptCache: ready(done) });
    } catch (error) {
      if (isCurrent()) set({ promptCache: isCancelled(error) ? IDLE : failed(error) });
    }
  };
  return {
    ...NOTHING,
    async lookAtTemplate(asked) {
      const open = current(get().model);
      if (open === null) return;
      const { signal, isCurrent } = looking.begin();
      set({ templateLook: loading(get().templateLook) });
      try {
        const report = await engine.call("template.inspect", { model: open.model, ...asked }, { signal });
        if (isCurrent()) set({ templateLook: ready(report) });
      } catch (error) {
        if (isCurrent()) set({ templateLook: failed(error) });
      }
    },
    savePromptCache: (path, of) =>
      keep((model, options) => engine.call("prompt.save", { model, path, ...of, overwrite: true }, options)),
    loadPromptCache: (path, of) =>
      keep((model, options) => engine.call("prompt.load", { model, path, ...of }, options)),
    stopPromptCache: keeping.stop,
  };
}
