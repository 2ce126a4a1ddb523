/** Which pass changed the result of a graph in text: it runs on a device as it stands after each of them. */
import { DEFAULT_DEVICE } from "../../../main/contract/views/engine.ts";
import type { BisectTextInput, TextBisection } from "../../../main/contract/views/text.ts";
import type { Async } from "../../session/async.ts";
import { createTask, current, failed, IDLE, isCancelled, loading, ready } from "../../session/async.ts";
import type { SessionState } from "../../session/sessionSlice.ts";
import type { SliceTools } from "../../session/slice.ts";
import type { PipelineSlice } from "./slice.ts";

/** Inputs are drawn by the engine's own seed: what a run of other numbers says is told by `rlx bisect`. */
export type ResultForm = Pick<BisectTextInput, "device" | "precision">;

export interface ResultSlice {
  readonly resultForm: ResultForm;
  readonly setResultForm: (change: Partial<ResultForm>) => void;
  readonly resultBisection: Async<TextBisection>;
  readonly bisectResult: () => Promise<void>;
  readonly stopBisectResult: () => void;
}

export function createResultSlice(
  tools: SliceTools<ResultSlice, SessionState & ResultSlice & PipelineSlice>,
): ResultSlice {
  const { engine, set, get, on } = tools;
  const running = createTask();
  const drop = (): void => {
    running.abandon();
    set({ resultBisection: IDLE });
  };
  on("modelLeft", drop);

  return {
    resultForm: { device: DEFAULT_DEVICE, precision: "f32" },
    resultBisection: IDLE,
    setResultForm(change) {
      // What was found is of the device and the floats that were asked for.
      drop();
      set({ resultForm: { ...get().resultForm, ...change } });
    },
    async bisectResult() {
      const open = current(get().model);
      if (open?.kind !== "text") return;
      const { signal, isCurrent } = running.begin();
      set({ resultBisection: loading<TextBisection>(IDLE) });
      try {
        const { text, name } = await engine.call("text.source", { model: open.model }, { signal });
        const found = await engine.call("text.bisect", { text, name, ...get().resultForm }, { signal });
        if (!isCurrent()) return;
        set({ resultBisection: ready(found) });
        const isShown = current(get().passes)?.passes.some(({ name }) => name === found.step) === true;
        if (isShown && found.step !== null) get().choosePass(found.step);
      } catch (error) {
        if (isCurrent()) set({ resultBisection: isCancelled(error) ? IDLE : failed(error) });
      }
    },
    stopBisectResult: running.stop,
  };
}
