/** Target and phase with what follows from them: the legal graph and the routes. Answers to older questions are dropped. */
import type { Phase, TargetSpec } from "../../main/contract/views/common.ts";
import { sameWeights, targetSpec } from "../../main/contract/views/common.ts";
import { isRouted, ROUTED, routedStage } from "../../main/contract/views/graph.ts";
import type { Backend } from "../../main/contract/views/graph.ts";
import type { Overview } from "../../main/contract/views/model.ts";
import type { TargetList } from "../../main/contract/views/route.ts";
import type { GraphModel } from "../graph/graphModel.ts";
import { createGraphModel, withBytesRead } from "../graph/graphModel.ts";
import { current, failed, IDLE, loading, ready } from "./async.ts";
import { createRouteMemory } from "./routeMemory.ts";
import type { RoutesSlice } from "./sessionSlice.ts";
import type { SliceTools } from "./slice.ts";

const NO_ROUTES = { target: null, routes: { prefill: IDLE, decode: IDLE }, graph: IDLE } as const;
export const INITIAL_ROUTES = { ...NO_ROUTES, targets: IDLE, backend: ROUTED.backend, phase: "decode" } as const;

/** What routes are asked for. */
interface Viewpoint {
  readonly model: string;
  readonly backend: Backend;
  readonly target: TargetSpec;
  readonly phase: Phase;
}

export function createRoutesSlice(tools: SliceTools<RoutesSlice>): RoutesSlice {
  const { engine, set, get, on, emit } = tools;
  const loader = createRouteLoader(tools);
  on("modelLeft", () => {
    loader.drop();
    set(NO_ROUTES);
  });
  on("modelShown", (overview) => {
    set({ target: withinContext(overview.target, overview) });
    loader.load(false);
    void loadTargets();
  });

  const loadTargets = async (): Promise<void> => {
    if (get().targets.kind === "ready") return;
    try {
      set({ targets: ready(await engine.call("targets.list", {})) });
    } catch (error) {
      set({ targets: failed(error) });
    }
  };

  return {
    ...INITIAL_ROUTES,
    setBackend(backend, by = "person") {
      if (backend !== get().backend) {
        set({ backend });
        loader.load(false);
      }
      emit("backendChanged", { backend, by });
      const { phase, target } = get();
      if (by === "person" && target !== null) get().noteCommand({ kind: "route", backend, phase, target });
    },
    setTarget(wanted) {
      const model = current(get().model);
      const { target: before, phase, backend } = get();
      const target = withinContext(wanted, model);
      set({ target });
      loader.load(false);
      if (model !== null) get().noteCommand({ kind: "route", backend, phase, target });
      emit("targetChanged", { contextChanged: before?.context !== target.context });
    },
    setPhase(phase) {
      set({ phase });
      loader.load(true);
      emit("phaseChanged", null);
    },
  };
}

function createRouteLoader({ engine, set, get, on, emit }: SliceTools<RoutesSlice>) {
  /** Another choice aborts the questions about the one before: the engine stops working on them. */
  let asking = new AbortController();
  /** Of looking ahead; aborted, as long as a person waits for other work. */
  let ahead = new AbortController();
  let later: (() => void) | null = null;
  on("personWaits", (waits) => {
    if (waits) return ahead.abort();
    ahead = new AbortController();
    later?.();
    later = null;
  });
  /** A known route of the open model is shown at once. */
  const memory = createRouteMemory();

  const loadGraph = async ({ model, backend, target, phase }: Viewpoint, signal: AbortSignal): Promise<void> => {
    try {
      const view = await engine.call("graph.get", { model, stage: routedStage(backend, target), phase }, { signal });
      if (!signal.aborted) set({ graph: ready(createGraphModel(view)) });
    } catch (error) {
      if (!signal.aborted) set({ graph: failed(error) });
    }
  };

  /** Another profile of weights changes how many bytes the nodes read, and nothing else of the graph. */
  const loadBytes = async (
    graph: GraphModel,
    { model, backend, target, phase }: Viewpoint,
    signal: AbortSignal,
  ): Promise<void> => {
    const key = { model, stage: routedStage(backend, target), phase };
    try {
      const { values } = await engine.call("graph.overlay", { key, kind: "bytes", target }, { signal });
      if (!signal.aborted) set({ graph: ready(withBytesRead(graph, key, values)) });
    } catch (error) {
      if (!signal.aborted) set({ graph: failed(error) });
    }
  };

  const loadRoute = async (at: Viewpoint, signal: AbortSignal): Promise<void> => {
    const { phase } = at;
    const put = (state: RoutesSlice["routes"][Phase]): void => {
      if (!signal.aborted) set({ routes: { ...get().routes, [phase]: state } });
    };
    try {
      const route = await engine.call("route.get", at, { signal });
      if (!signal.aborted) memory.show(at, route);
      put(ready(route));
    } catch (error) {
      put(failed(error));
    }
  };

  /** Routes of targets that are one choice away, so that the choice shows at once. Any choice ends this. */
  const lookAhead = async (at: Viewpoint, signal: AbortSignal): Promise<void> => {
    const { backend, target } = at;
    // Only Core ML places the same program elsewhere for another chip or other units.
    if (backend !== ROUTED.backend) return;
    for (const near of nearTargets(target, current(get().targets))) {
      if (signal.aborted) return;
      if (memory.has({ ...at, target: near })) continue;
      const { signal: mayGoOn } = ahead;
      try {
        mayGoOn.throwIfAborted();
        const own = AbortSignal.any([signal, mayGoOn]);
        const route = await engine.call("route.get", { ...at, target: near }, { signal: own });
        if (!signal.aborted) memory.keepAhead({ ...at, target: near }, route);
      } catch {
        if (mayGoOn.aborted) later = () => void lookAhead(at, signal);
        // The error is shown when this target is chosen.
        return;
      }
    }
  };

  /** One question after the other, what is on the screen first: the engine computes one thing at a time. */
  const loadInOrder = async (at: Viewpoint, graph: GraphModel | null, signal: AbortSignal): Promise<void> => {
    if (graph === null) await loadGraph(at, signal);
    for (const phase of [at.phase, at.phase === "decode" ? "prefill" : "decode"] as const) {
      if (signal.aborted) return;
      if (get().routes[phase].kind !== "ready") await loadRoute({ ...at, phase }, signal);
      if (phase === at.phase && graph !== null && !hasWeightsOf(graph, at.target)) await loadBytes(graph, at, signal);
    }
    if (signal.aborted) return;
    if (get().graph.kind === "ready") emit("routesSettled", null);
    await lookAhead(at, signal);
  };

  return {
    /** Routes of both phases and the graph of the current one; what is shown stays until its successor comes. */
    load(areRoutesKept: boolean): void {
      const { model, backend, target, phase, routes, graph } = get();
      const open = current(model);
      if (open === null || target === null) return;
      const before = asking;
      asking = new AbortController();
      if (open.canGraph.ok) {
        const at = { model: open.model, backend, target, phase };
        const shown = current(graph);
        const kept = shown !== null && isGraphOf(shown, at) ? shown : null;
        const next = (of: Phase): RoutesSlice["routes"][Phase] => {
          const known = memory.take({ ...at, phase: of });
          return known === undefined ? loading(routes[of]) : ready(known);
        };
        const isKnown = kept !== null && hasWeightsOf(kept, target);
        if (!isKnown) set({ graph: loading(graph) });
        else if (graph.kind !== "ready") set({ graph: ready(kept) });
        if (!areRoutesKept) set({ routes: { prefill: next("prefill"), decode: next("decode") } });
        void loadInOrder(at, kept, asking.signal);
      }
      // Only now: the engine keeps working on what both choices need.
      before.abort();
    },
    drop(): void {
      memory.clear();
      asking.abort();
    },
  };
}

/** No number is shown for a context that the model cannot use. */
export function withinContext(target: TargetSpec, model: Overview | null): TargetSpec {
  const context = Math.min(target.context, model?.context.trained ?? Infinity);
  return context === target.context ? target : { ...target, context };
}

/** Targets that cost the engine little: another chip, or other units with the same weights, only place the operators again. */
export function nearTargets(target: TargetSpec, targets: TargetList | null): readonly TargetSpec[] {
  if (targets === null) return [];
  // Families: a variant places as its family does.
  const chips = targets.chips
    .filter(({ id }) => id !== target.chip && !id.includes("-"))
    .map(({ id }) => ({ ...target, chip: id }));
  // Weights that follow the units have to be lowered first.
  if (target.profile === "auto") return chips;
  const others = targetSpec.shape.units.options.filter((units) => units !== target.units);
  return [...chips, ...others.map((units) => ({ ...target, units }))];
}

/** The legal graph follows from phase and context: other weights and another chip leave its nodes as they are. */
function isGraphOf({ view: { key } }: GraphModel, { model, backend, phase, target }: Viewpoint): boolean {
  const { stage } = key;
  const context = stage.backend === ROUTED.backend ? stage.target.context : stage.context;
  return (
    key.model === model &&
    key.phase === phase &&
    isRouted(stage) &&
    stage.backend === backend &&
    context === target.context
  );
}

/** Whether the bytes that nodes read are those of the target's weights; other runtimes hold them in one way. */
function hasWeightsOf({ view: { key } }: GraphModel, target: TargetSpec): boolean {
  return key.stage.backend !== ROUTED.backend || sameWeights(key.stage.target, target);
}
