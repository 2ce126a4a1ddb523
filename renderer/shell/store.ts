/** The one store of a window: the session and a slice per feature, made around an engine so that tests get their own. */
import { isRouted, LEGAL } from "../../main/contract/views/graph.ts";
import type { StoreApi } from "zustand/vanilla";
import { createStore } from "zustand/vanilla";
import type { EngineClient } from "../../main/contract/contract.ts";
import type { ShellBridge } from "../../main/contract/shell.ts";
import type { DevicesSlice } from "../devices/slice.ts";
import { createDevicesSlice } from "../devices/slice.ts";
import type { BenchSlice } from "../features/bench/slice.ts";
import { createBenchSlice } from "../features/bench/slice.ts";
import type { ExportSlice } from "../features/export/slice.ts";
import { createExportSlice } from "../features/export/slice.ts";
import { followGraph } from "../features/graph/followGraph.ts";
import type { GraphSlice } from "../features/graph/graphState.ts";
import { isPass, LEGAL_STAGE } from "../features/graph/graphState.ts";
import { createGraphSlice } from "../features/graph/slice.ts";
import type { PipelineSlice } from "../features/pipeline/slice.ts";
import { createPipelineSlice } from "../features/pipeline/slice.ts";
import type { ProfileSlice } from "../features/profile/slice.ts";
import { createProfileSlice } from "../features/profile/slice.ts";
import { nodesOfSlice } from "../features/profile/slices.ts";
import type { RouteSlice } from "../features/route/slice.ts";
import { createRouteSlice, followRoute } from "../features/route/slice.ts";
import type { PairSlice } from "../features/run/pairSlice.ts";
import { createPairSlice } from "../features/run/pairSlice.ts";
import type { RunSlice } from "../features/run/slice.ts";
import { createRunSlice } from "../features/run/slice.ts";
import { browserLayoutWorker, createLayoutClient } from "../graph/layoutClient.ts";
import type { LayoutClient } from "../graph/layoutClient.ts";
import { current, IDLE } from "../session/async.ts";
import { watchConnection } from "../session/connection.ts";
import { createSession } from "../session/createSession.ts";
import type { SessionState } from "../session/sessionSlice.ts";
import type { WindowSlice } from "./windowSlice.ts";
import { createWindowSlice } from "./windowSlice.ts";

export type WorkbenchState = SessionState &
  WindowSlice &
  GraphSlice &
  PipelineSlice &
  RunSlice &
  PairSlice &
  RouteSlice &
  DevicesSlice &
  BenchSlice &
  ProfileSlice &
  ExportSlice;
export type WorkbenchStore = StoreApi<WorkbenchState>;

export function createWorkbenchStore(
  engine: EngineClient,
  shell: ShellBridge | null,
  layout: LayoutClient = createLayoutClient(browserLayoutWorker),
): WorkbenchStore {
  const store: WorkbenchStore = createStore<WorkbenchState>()((set, get) => {
    const tools = { engine, shell, set: (part: Partial<WorkbenchState>) => set(part), get };
    return {
      ...createSession(tools),
      ...createWindowSlice(tools),
      ...createGraphSlice(tools),
      ...createPipelineSlice(tools),
      ...createRunSlice(tools),
      ...createPairSlice(tools),
      ...createRouteSlice(tools),
      ...createDevicesSlice(tools),
      ...createBenchSlice(tools),
      ...createProfileSlice(tools),
      ...createExportSlice(tools),
    };
  });
  followModel(store);
  followPasses(store);
  followStage(store);
  followResults(store);
  followGraph(store, layout);
  followSlices(store);
  followRoute(store);
  watchConnection(engine, store);
  return store;
}

/**
 * What belongs to one model goes with it. Opening the same source again after the engine was lost is no other model: the
 * conversation and the results stay on the screen.
 */
function followModel(store: WorkbenchStore): void {
  let before = store.getState().source;
  store.subscribe((state) => {
    if (state.source === before) return;
    before = state.source;
    state.resetRun();
    state.resetBench();
    state.resetProfile();
    state.resetExport();
    state.resetAdvice();
    store.setState({ passes: IDLE, passesFor: "", passAt: "", diff: IDLE, page: IDLE, passChoices: [] });
  });
}

/** What a profile and an export have found out about single ops is shown in the graph, too. */
function followResults(store: WorkbenchStore): void {
  store.subscribe((state, before) => {
    if (state.profile !== before.profile) store.setState({ profiled: current(state.profile) });
    if (state.exportReport === before.exportReport) return;
    const { exportReport: report, exportTarget: target } = state;
    store.setState({ weightErrors: report === null || target === null ? null : { target, rows: report.weights } });
  });
}

/** A slice that is chosen in the timeline is an op of the graph: it is selected there, too. */
function followSlices(store: WorkbenchStore): void {
  store.subscribe((state, before) => {
    const { profileSlice } = state;
    const [graph, profile] = [current(state.graph), current(state.profile)];
    if (profileSlice < 0 || profileSlice === before.profileSlice || graph === null || profile === null) return;
    const [node] = nodesOfSlice(profile, profileSlice, graph.view.nodes.id);
    if (node === undefined) return;
    if (!isRouted(state.graphStage)) state.setGraphStage(LEGAL_STAGE);
    store.getState().showNode(node);
  });
}

/** What is looked at in the graph is what the pipeline is open at: the backend, and a pass of it. */
function followStage(store: WorkbenchStore): void {
  store.subscribe(({ graphStage, passAt, pipelineBackend, followBackend, followPass }, before) => {
    if (graphStage === before.graphStage) return;
    if (graphStage.backend !== pipelineBackend) followBackend(graphStage.backend);
    if (isPass(graphStage) && graphStage.step !== passAt) followPass(graphStage.step);
  });
}

/** The navigator and the graph's stages show the passes: asked for once graph and routes are there, for nothing waits for them. */
function followPasses(store: WorkbenchStore): void {
  const isSettled = ({ graph, routes }: WorkbenchState): boolean =>
    graph.kind === "ready" &&
    [routes.prefill, routes.decode].every(({ kind }) => kind === "ready" || kind === "failed");
  store.subscribe((state, before) => {
    if (isSettled(state) && (state.graph !== before.graph || !isSettled(before))) void state.loadPasses();
    if (state.passes === before.passes) return;
    const list = current(state.passes);
    const passChoices = list?.passes.filter(({ name }) => name !== LEGAL) ?? [];
    store.setState({ passChoices, passBackend: list?.backend ?? state.pipelineBackend });
  });
}
