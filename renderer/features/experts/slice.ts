/** Which experts each layer of a mixture chooses for a text: that of the last run, or one that is written here. */
import type { ExpertsDone } from "../../../main/contract/views/score.ts";
import type { Async } from "../../session/async.ts";
import { createTask, current, failed, IDLE, isCancelled, loading, ready } from "../../session/async.ts";
import type { SliceTools } from "../../session/slice.ts";

export interface ExpertsSlice {
  readonly experts: Async<ExpertsDone>;
  readonly expertsText: string;
  readonly setExpertsText: (text: string) => void;
  readonly readExperts: () => Promise<void>;
  readonly stopExperts: () => void;
}

export function createExpertsSlice({ engine, set, get, on }: SliceTools<ExpertsSlice>): ExpertsSlice {
  const task = createTask();
  on("answered", (expertsText) => set({ expertsText }));
  on("modelLeft", ({ opensAgain }) => {
    if (opensAgain) return;
    task.abandon();
    set({ experts: IDLE, expertsText: "" });
  });
  return {
    experts: IDLE,
    expertsText: "",
    setExpertsText: (expertsText) => set({ expertsText }),
    async readExperts() {
      const { model, experts: before, expertsText: text } = get();
      const open = current(model);
      if (open === null || text === "" || before.kind === "loading") return;
      const { signal, isCurrent } = task.begin();
      set({ experts: loading(before) });
      try {
        const source = { kind: "text", text } as const;
        for await (const item of engine.stream("experts.run", { model: open.model, source }, { signal }))
          if (item.kind === "done" && isCurrent()) set({ experts: ready(item) });
        if (isCurrent() && get().experts.kind === "loading") set({ experts: before });
      } catch (error) {
        if (isCurrent()) set({ experts: isCancelled(error) ? before : failed(error) });
      }
    },
    stopExperts: task.stop,
  };
}
