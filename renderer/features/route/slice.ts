/** The routing view's questions beyond the prediction: the system's own plan, and what MLX would do. Asked for, never by themselves. */
import type { StoreApi } from "zustand";
import { current, failed, IDLE, isCancelled, loading, ready } from "../../session/async.ts";
import type { SessionState, SliceTools } from "../../session/sessionSlice.ts";

export interface RouteSlice {
  readonly loadPlanned: () => Promise<void>;
  readonly stopPlanned: () => void;
  /** Gone for good: not even what was there before a question that is still under way comes back. */
  readonly dropPlanned: () => void;
  readonly loadOnMlx: () => Promise<void>;
}

export type RouteState = SessionState & RouteSlice;

export function createRouteSlice({ engine, set, get }: SliceTools<RouteState>): RouteSlice {
  let stopping: AbortController | null = null;
  let asks = 0;
  return {
    async loadPlanned() {
      const open = current(get().model);
      const { target, phase } = get();
      if (open === null || target === null) return;
      stopping?.abort();
      const mine = new AbortController();
      stopping = mine;
      const shown = current(get().planned);
      set({ planned: loading(get().planned) });
      try {
        const planned = await engine.call(
          "route.planned",
          { model: open.model, target, phase },
          { signal: mine.signal },
        );
        if (stopping === mine) set({ planned: ready(planned) });
      } catch (error) {
        if (stopping !== mine) return;
        if (!isCancelled(error)) set({ planned: failed(error) });
        else set({ planned: shown === null ? IDLE : ready(shown) });
      } finally {
        if (stopping === mine) stopping = null;
      }
    },
    stopPlanned: () => stopping?.abort(),
    dropPlanned() {
      stopping?.abort();
      stopping = null;
      if (get().planned.kind !== "idle") set({ planned: IDLE });
    },
    async loadOnMlx() {
      const open = current(get().model);
      const { target, phase } = get();
      if (open === null || target === null) return;
      asks += 1;
      const mine = asks;
      set({ onMlx: loading(get().onMlx) });
      try {
        const onMlx = await engine.call("route.mlx", { model: open.model, phase, context: target.context });
        if (mine === asks && current(get().model)?.model === open.model) set({ onMlx: ready(onMlx) });
      } catch (error) {
        if (mine === asks && current(get().model)?.model === open.model) set({ onMlx: failed(error) });
      }
    },
  };
}

/**
 * A plan is for a model, a target and a phase: with another of these it is gone. What MLX would do follows from model, phase and
 * context, and is asked for again, because it is quick and its columns belong to the graph that is shown.
 */
export function followRoute(store: StoreApi<RouteState>): void {
  let before = store.getState();
  store.subscribe((state) => {
    const last = before;
    before = state;
    const model = current(state.model)?.model;
    const other = current(last.model)?.model !== model || last.phase !== state.phase;
    if (!other && last.target === state.target) return;
    state.dropPlanned();
    if (!other && last.target?.context === state.target?.context) return;
    const wasShown = state.onMlx.kind !== "idle";
    if (wasShown) store.setState({ onMlx: IDLE });
    if (wasShown && model !== undefined && current(last.model)?.model === model) void store.getState().loadOnMlx();
  });
}
