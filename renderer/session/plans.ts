/** Other answers to "where does it run": the system's own plan, and what MLX would do with the same graph. */
import { createQuestions, createTask, current, failed, IDLE, isCancelled, loading, ready } from "./async.ts";
import type { PlansSlice } from "./sessionSlice.ts";
import type { SliceTools } from "./slice.ts";

export const NO_PLANS = { planned: IDLE, onMlx: IDLE, ghost: null } as const;

export function createPlansSlice({ engine, set, get, on, watch }: SliceTools<PlansSlice>): PlansSlice {
  const planning = createTask();
  const mlx = createQuestions();
  const dropPlanned = (): void => {
    planning.abandon();
    if (get().planned.kind !== "idle") set({ planned: IDLE });
  };
  const dropOnMlx = (): void => {
    mlx.drop();
    set({ onMlx: IDLE });
  };
  /** MLX's answer depends on phase and context. It is quick, and its columns belong to the graph that is shown. */
  const reloadOnMlx = (): void => {
    if (get().onMlx.kind === "idle") return;
    dropOnMlx();
    void get().loadOnMlx();
  };
  watch(
    ({ backend, target, phase }) => [backend, target, phase],
    () => set({ ghost: null }),
  );
  on("modelLeft", () => {
    dropPlanned();
    dropOnMlx();
  });
  on("targetChanged", ({ contextChanged }) => {
    dropPlanned();
    if (contextChanged) reloadOnMlx();
  });
  on("phaseChanged", () => {
    dropPlanned();
    reloadOnMlx();
  });
  // MLX's time was computed from what was known before.
  on("devicesCalibrated", dropOnMlx);
  return {
    ...NO_PLANS,
    showGhost: (ghost) => set({ ghost }),
    async loadPlanned() {
      const { model, target, phase, planned: before } = get();
      const open = current(model);
      if (open === null || target === null) return;
      planning.stop();
      const { signal, isCurrent } = planning.begin();
      set({ planned: loading(before) });
      try {
        const planned = await engine.call("route.planned", { model: open.model, target, phase }, { signal });
        if (isCurrent()) set({ planned: ready(planned) });
      } catch (error) {
        if (!isCurrent()) return;
        const shown = current(before);
        if (!isCancelled(error)) set({ planned: failed(error) });
        else set({ planned: shown === null ? IDLE : ready(shown) });
      }
    },
    stopPlanned: planning.stop,
    async loadOnMlx() {
      const { model, target, phase, onMlx: before } = get();
      const open = current(model);
      if (open === null || target === null) return;
      await mlx.ask(
        before,
        () => engine.call("route.mlx", { model: open.model, phase, context: target.context }),
        (onMlx) => set({ onMlx }),
      );
    },
  };
}
