/** The session's actions: they ask the engine and put down what it says. Answers to questions that were overtaken are dropped. */
import type { Phase, TargetSpec } from "../../main/contract/views/common.ts";
import { sameWeights, targetSpec } from "../../main/contract/views/common.ts";
import type { GraphKey } from "../../main/contract/views/graph.ts";
import { isRouted, routedStage } from "../../main/contract/views/graph.ts";
import type { Overview } from "../../main/contract/views/model.ts";
import type { TargetList } from "../../main/contract/views/route.ts";
import { toWireError } from "../../main/diagnostics/errors.ts";
import { createGraphModel } from "../graph/graphModel.ts";
import { current, failed, IDLE, isCancelled, loading, ready } from "./async.ts";
import { commandText } from "./command.ts";
import { appendLog } from "./log.ts";
import { feedHeader, folderError, uploadFile } from "./droppedFile.ts";
import type { SessionState, SliceTools } from "./sessionSlice.ts";
import { INITIAL_SESSION, NO_MODEL, NO_ROUTES } from "./sessionSlice.ts";
import type { OpenSource, Selection } from "./types.ts";
import { notOpened, titleOf } from "./openSource.ts";
import { createRouteMemory } from "./routeMemory.ts";

/** No number is shown for a context that the model cannot use. */
export function withinContext(target: TargetSpec, model: Overview | null): TargetSpec {
  const context = Math.min(target.context, model?.context.trained ?? Infinity);
  return context === target.context ? target : { ...target, context };
}

export function createSession(tools: SliceTools<SessionState>): SessionState {
  const { engine, shell, set, get } = tools;
  /** Counts openings; an answer for an older one is not written. */
  let opening = 0;
  let routing = 0;
  let choosing = 0;
  let notices = 0;
  let uploading: AbortController | null = null;
  /** Ends the questions about a target when another is chosen: the engine stops working on them. */
  let asking = new AbortController();
  /** Routes of the open model that were shown before: going back to one of them asks nobody. */
  const memory = createRouteMemory();

  const notify: SessionState["notify"] = (notice) => {
    notices += 1;
    const { level, code, title, text } = notice;
    set({
      notices: [...get().notices, { ...notice, id: notices }].slice(-4),
      log: appendLog(get().log, { kind: level, code, text: `${title}: ${text}` }, Date.now()),
    });
  };
  const notifyError = (title: string, error: unknown): void => {
    if (isCancelled(error)) return;
    const wire = toWireError(error);
    notify({
      level: "error",
      title,
      code: wire.code,
      text: wire.message,
      hint: wire.hint ?? null,
      details: wire.details === undefined ? null : JSON.stringify(wire.details, null, 2),
    });
  };

  const loadRoute = async (model: string, target: TargetSpec, phase: Phase, mine: number): Promise<void> => {
    const put = (state: SessionState["routes"][Phase]): void => {
      if (mine === routing) set({ routes: { ...get().routes, [phase]: state } });
    };
    try {
      const route = await engine.call("route.get", { model, target, phase }, { signal: asking.signal });
      if (mine !== routing) return;
      memory.show(target, phase, route);
      put(ready(route));
    } catch (error) {
      put(failed(error));
    }
  };

  const loadGraph = async (model: string, target: TargetSpec, phase: Phase, mine: number): Promise<void> => {
    try {
      const key = { model, stage: routedStage(target), phase };
      const view = await engine.call("graph.get", key, { signal: asking.signal });
      if (mine === routing) set({ graph: ready(createGraphModel(view)) });
    } catch (error) {
      if (mine === routing) set({ graph: failed(error) });
    }
  };

  /** Routes of both phases and the graph of the current one; what is there stays until its successor comes. */
  const loadRoutes = (overview: Overview, target: TargetSpec, keepRoutes = false): void => {
    routing += 1;
    const before = asking;
    asking = new AbortController();
    if (overview.canGraph.ok) askInOrder(overview, target, keepRoutes);
    // Only now: what both targets need is not begun again.
    before.abort();
  };

  const askInOrder = (overview: Overview, target: TargetSpec, keepRoutes: boolean): void => {
    const { routes, graph, phase } = get();
    const isKept = graph.kind === "ready" && isLegalGraph(graph.value.view.key, overview.model, target, phase);
    const next = (of: Phase): SessionState["routes"][Phase] => {
      const known = memory.take(target, of);
      return known === undefined ? loading(routes[of]) : ready(known);
    };
    set({
      ...(isKept ? {} : { graph: loading(graph) }),
      ...(keepRoutes ? {} : { routes: { prefill: next("prefill"), decode: next("decode") } }),
    });
    void loadInOrder(overview.model, target, phase, isKept, routing);
  };

  /**
   * One after the other, what is on the screen first: the engine computes one thing at a time, and an answer that is ready
   * would wait behind the next question.
   */
  const loadInOrder = async (
    model: string,
    target: TargetSpec,
    phase: Phase,
    keepGraph: boolean,
    mine: number,
  ): Promise<void> => {
    if (!keepGraph) await loadGraph(model, target, phase, mine);
    for (const each of [phase, phase === "decode" ? "prefill" : "decode"] as const) {
      if (mine !== routing) return;
      if (get().routes[each].kind !== "ready") await loadRoute(model, target, each, mine);
    }
    await lookAhead(model, target, phase, mine);
  };

  /** Routes of targets that are one choice away, so that the choice shows at once; ended by any choice. */
  const lookAhead = async (model: string, target: TargetSpec, phase: Phase, mine: number): Promise<void> => {
    for (const near of nearTargets(target, current(get().targets))) {
      if (mine !== routing) return;
      if (memory.has(near, phase)) continue;
      try {
        const route = await engine.call("route.get", { model, target: near, phase }, { signal: asking.signal });
        if (mine === routing) memory.keepAhead(near, phase, route);
      } catch {
        // Nobody asked for this one: whoever does is told why there is none.
        return;
      }
    }
  };

  const loadTargets = async (): Promise<void> => {
    if (get().targets.kind === "ready") return;
    try {
      set({ targets: ready(await engine.call("targets.list", {})) });
    } catch (error) {
      set({ targets: failed(error) });
    }
  };

  const askOverview = async (source: OpenSource): Promise<Overview> => {
    if (source.kind !== "file") return engine.call("model.open", { source });
    if (source.isFolder === true) throw folderError(source.file.name);
    const header = await feedHeader(engine, source.file);
    return engine.call("model.open", { source: { kind: "header", header } });
  };

  const closeEngineSide = (): void => {
    memory.clear();
    routing += 1;
    choosing += 1;
    asking.abort();
    const open = current(get().model);
    // The handle may be gone already with a lost engine: then there is nothing to close.
    if (open !== null) engine.call("model.close", { model: open.model }).catch(() => undefined);
  };

  const show = (overview: Overview): void => {
    const target = withinContext(overview.target, overview);
    set({ model: ready(overview), target, routes: NO_ROUTES, graph: IDLE });
    shell?.setDocument(overview.title, overview.file?.path ?? null);
    loadRoutes(overview, target);
    void loadTargets();
  };

  const open = async (source: OpenSource): Promise<void> => {
    opening += 1;
    const mine = opening;
    // Another model takes the place of the open one only when it is there: a wrong path costs nothing.
    const keeps = current(get().model) !== null && source !== get().source;
    if (keeps) set({ arriving: titleOf(source) });
    else leaveFor(source);
    try {
      const overview = await askOverview(source);
      if (mine !== opening) {
        engine.call("model.close", { model: overview.model }).catch(() => undefined);
        return;
      }
      if (keeps) leaveFor(source);
      show(overview);
      get().noteCommand({ kind: "inspect" });
      void get().loadRecents();
    } catch (error) {
      if (mine !== opening) return;
      if (keeps) notifyError(notOpened(source), error);
      else set({ model: failed(error) });
    } finally {
      if (mine === opening) set({ arriving: null });
    }
  };

  /** From what is open, if anything, to what comes. */
  const leaveFor = (source: OpenSource): void => {
    uploading?.abort();
    closeEngineSide();
    // What was lost with the engine belongs to the model before.
    if (source !== get().source && get().loss?.over === true) set({ loss: null });
    set({ ...NO_MODEL, source, openingTitle: titleOf(source), model: { kind: "loading", previous: null } });
  };

  const chooseNode = async (selection: Selection): Promise<void> => {
    choosing += 1;
    const mine = choosing;
    if (selection.kind !== "node") {
      set({ node: IDLE });
      return;
    }
    set({ node: loading(get().node) });
    try {
      const view = await engine.call("graph.node", { key: selection.key, node: selection.node, target: get().target });
      if (mine === choosing) set({ node: ready(view) });
    } catch (error) {
      if (mine === choosing) set({ node: failed(error) });
    }
  };

  /** The overview for a target, for as long as it is the target. */
  const askForecast = async (model: string, target: TargetSpec): Promise<void> => {
    try {
      const overview = await engine.call("model.overview", { model, context: target.context, target });
      if (get().target === target && current(get().model)?.model === model) set({ model: ready(overview) });
    } catch (error) {
      if (get().target === target) notifyError("The forecast for this target could not be made", error);
    }
  };

  const attach = async (source: { kind: "path"; path: string } | { kind: "upload"; upload: string }): Promise<void> => {
    const model = current(get().model);
    if (model === null) return;
    const overview = await engine.call("model.attach", { model: model.model, source });
    if (current(get().model)?.model !== overview.model) return;
    set({ model: ready(overview) });
    // This overview is for the target that models are opened with.
    const { target } = get();
    if (target !== null) await askForecast(overview.model, target);
  };

  return {
    ...INITIAL_SESSION,
    notify,
    open,
    close() {
      opening += 1;
      uploading?.abort();
      closeEngineSide();
      set({ ...NO_MODEL, arriving: null });
      shell?.setDocument("RLX Workbench", null);
      void get().loadRecents();
    },
    setTarget(wanted) {
      const model = current(get().model);
      const target = withinContext(wanted, model);
      choosing += 1;
      set({ target, selection: { kind: "none" }, node: IDLE });
      if (model === null) return;
      loadRoutes(model, target);
      get().noteCommand({ kind: "route", phase: get().phase, target });
      void askForecast(model.model, target);
    },
    setPhase(phase) {
      const { target, model } = get();
      choosing += 1;
      set({ phase, selection: { kind: "none" }, node: IDLE });
      const overview = current(model);
      if (overview !== null && target !== null) loadRoutes(overview, target, true);
    },
    setTab: (tab) => set({ tab }),
    setTensorQuery: (tensorQuery) => set({ tensorQuery }),
    showTensor: (name) => set({ tensorQuery: name, tab: "tensors" }),
    chooseTensor: (chosenTensor) => set({ chosenTensor }),
    select(selection) {
      set({ selection });
      void chooseNode(selection);
    },
    noteProfile: (profiled) => set({ profiled }),
    noteWeightErrors: (weightErrors) => set({ weightErrors }),
    async loadRecents() {
      try {
        const { recents } = await engine.call("recents.list", {});
        set({ recents: ready(recents) });
      } catch (error) {
        set({ recents: failed(error) });
      }
    },
    async forgetRecent(path) {
      try {
        await engine.call("recents.remove", { path });
        await get().loadRecents();
      } catch (error) {
        notifyError("It could not be forgotten", error);
      }
    },
    async locate(folder) {
      const model = current(get().model);
      if (model === null) return "";
      const found = await engine.call("model.locate", { model: model.model, folder });
      if (found.path !== null) await attach({ kind: "path", path: found.path });
      return found.sentence;
    },
    async sendFile() {
      const { source } = get();
      if (source?.kind !== "file") return;
      const { file } = source;
      uploading?.abort();
      const mine = new AbortController();
      uploading = mine;
      set({ upload: { name: file.name, doneBytes: 0, totalBytes: file.size } });
      try {
        const upload = await uploadFile(engine, file, mine.signal, (doneBytes) =>
          set({ upload: { name: file.name, doneBytes, totalBytes: file.size } }),
        );
        await attach({ kind: "upload", upload });
      } catch (error) {
        notifyError(`${file.name} could not be sent`, error);
      } finally {
        if (uploading === mine) set({ upload: null });
      }
    },
    cancelUpload: () => uploading?.abort(),
    dismissNotice: (id) => set({ notices: get().notices.filter((notice) => notice.id !== id) }),
    dismissLoss: () => set({ loss: null }),
    noteCommand(command) {
      const text = commandText(command, current(get().model)?.argument ?? null);
      if (text === null) return;
      set({
        lastCommand: text,
        log: appendLog(get().log, { kind: "command", code: null, text }, Date.now()),
      });
    },
    clearLog: () => set({ log: [] }),
    askMetadata: (input) => engine.call("model.metadata", input),
    askMetadataValue: (input) => engine.call("model.metadataValue", input),
    askWeightErrors: (input) => engine.call("model.weightErrors", input),
    askBlocks: (model) => engine.call("model.blocks", { model }),
    askTensors: (input) => engine.call("model.tensors", input),
    askComparison: (input) => engine.call("route.compare", input),
    askDoctor: () => engine.call("doctor.run", {}),
  };
}

/** Those that cost the engine little: another chip, or other units with the same weights, place the same operators again. */
export function nearTargets(target: TargetSpec, targets: TargetList | null): readonly TargetSpec[] {
  if (targets === null) return [];
  const chips = targets.chips.filter(({ id }) => id !== target.chip).map(({ id }) => ({ ...target, chip: id }));
  // The weights that follow the units would have to be lowered first.
  if (target.profile === "auto") return chips;
  const others = targetSpec.shape.units.options.filter((units) => units !== target.units);
  return [...chips, ...others.map((units) => ({ ...target, units }))];
}

/** The legal graph follows from phase, context and weights, which count as bytes read: another chip leaves it as it is. */
function isLegalGraph(key: GraphKey, model: string, target: TargetSpec, phase: Phase): boolean {
  const { stage } = key;
  return (
    key.model === model &&
    key.phase === phase &&
    isRouted(stage) &&
    "target" in stage &&
    stage.target.context === target.context &&
    sameWeights(stage.target, target)
  );
}
