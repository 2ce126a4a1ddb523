/**
 * The lane of the subject: what each step of its pipeline is worth, worked out in the background while the tab shows, and the
 * halving that finds the step which lost something.
 */
import { BUILT, loweredOf } from "../../../main/contract/views/graph.ts";
import type { Bisection, StepDetail, StepNumbers, Watched } from "../../../main/contract/views/graph.ts";
import type { Async } from "../../session/async.ts";
import { createTask, current, failed, IDLE, isCancelled, loading, ready } from "../../session/async.ts";
import type { SessionState } from "../../session/sessionSlice.ts";
import type { SliceTools } from "../../session/slice.ts";
import type { PipelineSlice } from "./slice.ts";

export interface LaneStep {
  readonly name: string;
  /** What its ops are. */
  readonly counts: string;
  /** null: not known yet, or not all of it can run. */
  readonly ops: number | null;
  /** null: not worked out yet. */
  readonly numbers: StepNumbers | null;
  /** What it did, of steps that are no passes. */
  readonly says: string;
  readonly details: readonly StepDetail[];
}

export interface Lane {
  readonly steps: readonly LaneStep[];
}

export interface LaneSlice {
  readonly lane: Async<Lane>;
  /** A person stopped it: what is known stays. */
  readonly laneStopped: boolean;
  /** The step of the scrubber; the pass of the same name is chosen with it. */
  readonly laneAt: number;
  /** The step that is shown in the place of a pass: by its own table, or as built; else "". */
  readonly stepShown: string;
  readonly bisection: Async<Bisection>;
  readonly loadLane: () => Promise<void>;
  readonly stopLane: () => void;
  /** Goes on after a stop: what was worked out is kept by the engine. */
  readonly restartLane: () => Promise<void>;
  readonly scrub: (step: number) => void;
  readonly bisect: (watched: Watched) => Promise<void>;
  readonly stopBisect: () => void;
}

const NO_LANE = { lane: IDLE, laneStopped: false, laneAt: 0, stepShown: "", bisection: IDLE } as const;

export function createLaneSlice(tools: SliceTools<LaneSlice, SessionState & LaneSlice & PipelineSlice>): LaneSlice {
  const { engine, set, get, on, watch } = tools;
  const work = createTask();
  const halving = createTask();
  let loadedFor = "";

  const place = () => {
    const { model, backend, target, phase } = get();
    const open = current(model);
    return open === null || target === null || !open.canGraph.ok ? null : { model: open.model, backend, target, phase };
  };
  const drop = (): void => {
    work.abandon();
    halving.abandon();
    loadedFor = "";
    set(NO_LANE);
  };
  on("modelLeft", drop);
  on("targetChanged", drop);
  on("phaseChanged", drop);
  on("backendChanged", drop);
  // After the passes, which it is a commentary on; nothing waits for it.
  watch(
    ({ tab, passes, routes, phase, target, backend }) => [tab, passes, routes[phase], target, backend],
    () => {
      const { tab, passes, routes, phase } = get();
      const isQuiet = passes.kind === "ready" && routes[phase].kind === "ready";
      if (tab === "pipeline" && isQuiet && !get().laneStopped) void get().loadLane();
      else if (tab !== "pipeline" && get().lane.kind === "loading") {
        work.stop();
        loadedFor = "";
      }
    },
  );
  on("passChosen", (name) => {
    const at = current(get().lane)?.steps.findIndex((step) => step.name === name) ?? -1;
    set({ stepShown: "", ...(at >= 0 && { laneAt: at }) });
  });

  return {
    ...NO_LANE,
    async loadLane() {
      const at = place();
      const key = JSON.stringify(at);
      if (at === null || loadedFor === key) return;
      loadedFor = key;
      const { signal, isCurrent } = work.begin();
      let lane: Lane = { steps: [] };
      set({ lane: loading(get().lane), laneStopped: false });
      try {
        for await (const item of engine.stream("passes.steps", at, { signal })) {
          if (!isCurrent()) return;
          if (item.kind === "list") {
            lane = { steps: item.steps.map((step) => ({ ...step, numbers: null, says: "", details: [] })) };
            const chosen = item.steps.findIndex(({ name }) => name === get().passAt);
            // A pass that changed nothing is no step: while the list of passes hides it, too, the graph as built is shown.
            set({ laneAt: Math.max(0, chosen), ...(chosen < 0 && get().changedOnly && { stepShown: BUILT }) });
          } else {
            const { index, ops, says, details, numbers } = item;
            const known = { ops, says, details, numbers };
            lane = { steps: lane.steps.map((step, i) => (i === index ? { ...step, ...known } : step)) };
          }
          set({ lane: { kind: "loading", previous: lane } });
        }
        if (isCurrent()) set({ lane: ready(lane) });
      } catch (error) {
        if (!isCurrent()) return;
        if (isCancelled(error)) set({ lane: ready(lane), laneStopped: true });
        else set({ lane: failed(error) });
      }
    },
    stopLane: work.stop,
    restartLane() {
      loadedFor = "";
      return get().loadLane();
    },
    scrub(step) {
      const steps = current(get().lane)?.steps ?? [];
      const laneAt = Math.min(steps.length - 1, Math.max(0, step));
      const name = steps[laneAt]?.name;
      if (name === undefined) return;
      set({ laneAt });
      const { language, step: end } = loweredOf(get().backend);
      if (name === end) get().setPipelineView(language);
      else if (current(get().passes)?.passes.some((pass) => pass.name === name) === true) get().choosePass(name);
      else {
        if (get().pipelineView !== "diff") get().setPipelineView("diff");
        set({ stepShown: name });
      }
    },
    async bisect(watched) {
      const at = place();
      if (at === null) return;
      const { signal, isCurrent } = halving.begin();
      set({ bisection: loading<Bisection>(IDLE) });
      try {
        const bisection = await engine.call("passes.bisect", { ...at, watched, from: null }, { signal });
        if (!isCurrent()) return;
        set({ bisection: ready(bisection) });
        const { step } = bisection;
        const found = current(get().lane)?.steps.findIndex(({ name }) => name === step) ?? -1;
        if (found >= 0) get().scrub(found);
        else if (step !== null) get().choosePass(step);
      } catch (error) {
        if (isCurrent()) set({ bisection: isCancelled(error) ? IDLE : failed(error) });
      }
    },
    stopBisect: halving.stop,
  };
}
