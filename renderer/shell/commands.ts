/** What each command does. A command without an entry here does not compile. */
import type { CommandId, Tab } from "../../main/contract/commands.ts";
import { TABS } from "../../main/contract/commands.ts";
import { deviceCode } from "../../main/contract/views/common.ts";
import type { Device } from "../../main/contract/views/common.ts";
import { ROUTED } from "../../main/contract/views/graph.ts";
import type { ShellBridge } from "../../main/contract/shell.ts";
import type { Overview } from "../../main/contract/views/model.ts";
import { hasPlan } from "../features/export/slice.ts";
import { isPass } from "../features/graph/graphState.ts";
import { isTraining } from "../features/train/live.ts";
import { routeColumns } from "../drawing/pictureState.ts";
import { hasValues } from "../features/tensors/slice.ts";
import { current } from "../session/async.ts";
import { findInText } from "../ui/monaco/findInText.ts";
import type { WorkbenchState, WorkbenchStore } from "./store.ts";
import { isBusy, shownTabs, stopWork } from "./tabs.ts";
import type { StartPageName, WriteKind } from "./windowSlice.ts";

export interface BoundCommand {
  readonly run: () => void;
  readonly enabled: () => boolean;
}
export type CommandTable = { readonly [I in CommandId]: BoundCommand };

export interface CommandTools {
  readonly store: WorkbenchStore;
  readonly shell: ShellBridge | null;
  /** The browser's file picker. */
  readonly pickFile: () => void;
  /** The same for a session. */
  readonly pickSession: () => void;
}

const tabCommands = (of: (tab: Tab) => BoundCommand): { readonly [T in Tab as `view.${T}`]: BoundCommand } =>
  Object.fromEntries(TABS.map(({ id }) => [`view.${id}`, of(id)])) as {
    readonly [T in Tab as `view.${T}`]: BoundCommand;
  };

export function createCommands({ store, shell, pickFile, pickSession }: CommandTools): CommandTable {
  const get = store.getState;
  const model = () => current(get().model);
  const always = (run: () => void): BoundCommand => ({ run, enabled: () => true });
  const withModel = (run: () => void): BoundCommand => ({ run, enabled: () => model() !== null });
  const withGraph = (run: () => void): BoundCommand => ({ run, enabled: () => model()?.canGraph.ok === true });
  const withRun = (run: () => void): BoundCommand => ({ run, enabled: () => model()?.canRun.ok === true });
  /** What is started in a tab that not every model has. */
  const runIn = (name: Tab, start: () => void): BoundCommand => ({
    run: () => {
      get().setTab(name);
      start();
    },
    enabled: () => model()?.canRun.ok === true && shownTabs(get()).includes(name),
  });
  const tab = (name: Tab): BoundCommand => ({
    run: () => {
      get().setTab(name);
      requestAnimationFrame(focusView);
    },
    enabled: () => shownTabs(get()).includes(name),
  });
  /** What works without a model, too. */
  const atStartToo = (name: Tab & StartPageName): BoundCommand => ({
    run: () => (isAtStart(get()) ? get().showStartPage(name) : tab(name).run()),
    enabled: () => isAtStart(get()) || tab(name).enabled(),
  });
  const write = (kind: WriteKind, can: (open: Overview) => boolean): BoundCommand => ({
    run: () => {
      get().setWriteKind(kind);
      tab("export").run();
    },
    enabled: () => {
      const open = model();
      return open !== null && can(open);
    },
  });
  /** Of the view's search while that is shown, else of the graph's. */
  const stepHit = (step: 1 | -1): BoundCommand => ({
    run: () => {
      if (get().findShown) return get().stepFind(step);
      get().setTab("graph");
      get().nextHit(step);
    },
    enabled: () => get().findShown || get().graphHits.length > 0,
  });
  /** Of the graph's stages, or of the pipeline's list. */
  const stepPass = (step: 1 | -1, passes: "changed" | "all"): BoundCommand =>
    withGraph(() => (get().tab === "graph" ? get().stepStage(step, passes) : get().stepPass(step, passes)));
  const isolate = (device: Device): BoundCommand => withGraph(() => get().isolate(device));

  return {
    "file.open": always(() => {
      if (shell === null) pickFile();
      else
        void shell.openModelDialog().then((path) => {
          if (path !== null) void get().openPaths([path]);
        });
    }),
    "file.openPath": always(() => get().showDialog("path")),
    "file.share": {
      run: () => {
        const path = model()?.file?.path ?? null;
        if (path !== null) get().outside?.share?.(path);
      },
      enabled: () => (model()?.file?.path ?? null) !== null && (get().outside?.share ?? null) !== null,
    },
    // In a browser a dialog: it has no windows of its own.
    "file.settings": always(() => (shell === null ? get().showDialog("settings") : shell.openSettings())),
    "file.gallery": always(() => get().showDialog("gallery")),
    "file.openSample": {
      run: () => {
        const sample = current(get().info)?.offers.find(({ kind }) => kind === "sample");
        if (sample !== undefined) void get().open({ kind: "offer", id: sample.id });
      },
      enabled: () => current(get().info)?.offers.some(({ kind }) => kind === "sample") === true,
    },
    "file.saveReport": withModel(() => get().showDialog("report")),
    "file.copyReport": withModel(() => void get().copyReport()),
    "file.exportSession": withModel(() => get().showDialog("session")),
    "file.importSession": always(pickSession),
    "file.close": withModel(() => get().close()),
    "file.export": write("package", (open) => exportRefusal(open) === null),
    "file.quantize": write("quantize", ({ file }) => file !== null),
    "file.convert": write("convert", ({ file }) => file !== null),
    "edit.find": withModel(() => focusSearch(store)),
    "edit.findNext": stepHit(1),
    "edit.findPrevious": stepHit(-1),
    "edit.copyCommand": {
      run: () => {
        const { lastCommand, notify } = get();
        if (lastCommand === null) return;
        navigator.clipboard.writeText(lastCommand).catch(() =>
          notify({
            level: "warning",
            title: "The command was not copied",
            code: null,
            text: lastCommand,
            hint: "This page may not use the clipboard.",
            details: null,
          }),
        );
      },
      enabled: () => get().lastCommand !== null,
    },
    "navigate.back": always(() => history.back()),
    "navigate.forward": always(() => history.forward()),
    "view.palette": always(() => get().showDialog(get().dialog === "palette" ? null : "palette")),
    ...tabCommands(tab),
    "view.server": atStartToo("server"),
    "view.train": atStartToo("train"),
    "view.navigator": withModel(() => get().toggleNavigator()),
    "view.inspector": withModel(() => get().toggleInspector()),
    "view.log": withModel(() => get().toggleLog()),
    "view.theme": always(() => {
      get().cycleTheme();
      // What the settings name counts for every window: it follows.
      const { preferences } = get();
      if (preferences !== null && preferences.preferences.appearance !== null)
        void get().changePreferences({ appearance: get().theme });
    }),
    "model.run": withRun(() => {
      // The same key starts what the tab is about.
      if (get().tab === "train") return void get().startTraining();
      get().setTab("run");
      if (model()?.kind === "demo-graph") void get().runHybrid();
      else if (model()?.kind === "text") void get().runGraph();
      else if (get().draft.trim() !== "") void get().send();
      else requestAnimationFrame(() => document.getElementById("composer")?.focus());
    }),
    "model.stop": {
      run: () => stopWork(get()),
      enabled: () => isBusy(get()),
    },
    "model.compare": tab("compare"),
    "model.faster": always(() => get().showDialog("pair")),
    "model.bench": runIn("bench", () => void get().startBench()),
    "model.profile": runIn("profile", () => void get().startProfile()),
    "model.train": {
      run: () => void get().startTraining(),
      enabled: () => get().askedTraining()?.ok === true && !isTraining(get()),
    },
    "model.check": {
      run: () => {
        get().setTab("tensors");
        void get().startCheck();
      },
      enabled: () => hasValues(model()),
    },
    "model.phase": withGraph(() => get().setPhase(get().phase === "decode" ? "prefill" : "decode")),
    "navigate.previousOfAll": stepPass(-1, "all"),
    "navigate.nextOfAll": stepPass(1, "all"),
    "navigate.previousPass": stepPass(-1, "changed"),
    "navigate.nextPass": stepPass(1, "changed"),
    "navigate.nextChange": withGraph(() => get().nextChange(1)),
    "navigate.previousChange": withGraph(() => get().nextChange(-1)),
    "graph.passSide": withGraph(() => {
      const { graphStage, setPassSide } = get();
      if (isPass(graphStage)) setPassSide(graphStage.side === "after" ? "before" : "after");
    }),
    "graph.onlyChanges": { run: () => get().showOnly("changes"), enabled: () => get().stageChanges !== null },
    "graph.criticalPath": { run: () => get().showOnly("path"), enabled: () => routeColumns(get()).work !== null },
    "graph.quickLook": withGraph(() => get().toggleInspector()),
    "graph.walkUp": withGraph(() => get().walk("up")),
    "graph.walkDown": withGraph(() => get().walk("down")),
    "graph.walkLeft": withGraph(() => get().walk("left")),
    "graph.walkRight": withGraph(() => get().walk("right")),
    "graph.find": withGraph(() => focusSearch(store)),
    "navigate.nextHop": withGraph(() => stepHop(store, 1)),
    "navigate.previousHop": withGraph(() => stepHop(store, -1)),
    "graph.fit": withGraph(() => get().fit()),
    "graph.fitSelection": withGraph(() => get().requestView("fitSelection")),
    "graph.zoomIn": withGraph(() => get().requestView("zoomIn")),
    "graph.zoomOut": withGraph(() => get().requestView("zoomOut")),
    "graph.open": withGraph(() => openSelected(store)),
    "graph.up": withGraph(() => get().goUp()),
    "graph.expandAll": withGraph(() => get().expandAll()),
    "graph.foldAll": withGraph(() => get().foldAll()),
    "graph.byDevice": withGraph(() => get().setGraphMode("device")),
    "graph.bySegment": withGraph(() => get().setGraphMode("segment")),
    "graph.byTime": withGraph(() => get().setGraphMode("time")),
    "graph.byBytes": withGraph(() => get().setGraphMode("bytes")),
    "graph.byFlops": withGraph(() => get().setGraphMode("flops")),
    "graph.byType": withGraph(() => get().setGraphMode("type")),
    "graph.byMeasured": {
      run: () => get().setGraphMode("measured"),
      enabled: () => get().profiled !== null,
    },
    "graph.byError": { run: () => get().setGraphMode("error"), enabled: () => get().weightErrors !== null },
    "graph.byPlanned": {
      run: () => get().setGraphMode("planned"),
      enabled: () => current(get().planned) !== null,
    },
    "graph.byMlx": {
      // Asks for the answer if it is missing.
      run: () => {
        get().setGraphMode("mapped");
        if (["idle", "failed"].includes(get().onMlx.kind)) void get().loadOnMlx();
      },
      enabled: () => model()?.canGraph.ok === true && get().backend === ROUTED.backend,
    },
    "graph.savePng": withGraph(() => void get().savePicture("png", "shown")),
    "graph.saveSvg": withGraph(() => void get().savePicture("svg", "shown")),
    "graph.saveWholePng": withGraph(() => void get().savePicture("png", "whole")),
    "graph.saveWholeSvg": withGraph(() => void get().savePicture("svg", "whole")),
    "graph.saveNodeData": withGraph(() => get().saveNodeData()),
    "graph.isolateAne": isolate("ane"),
    "graph.isolateGpu": isolate("gpu"),
    "graph.isolateCpu": isolate("cpu"),
    "graph.isolateHost": isolate("host"),
    "help.doctor": always(() => get().showDialog("doctor")),
    "help.operations": always(() => get().showDialog("operations")),
    "help.about": always(() => get().showDialog("about")),
    "help.shortcuts": always(() => get().showDialog("shortcuts")),
  };
}

/** No model is open, and none is on its way. */
export const isAtStart = ({ model }: Pick<WorkbenchState, "model">): boolean =>
  model.kind === "idle" || model.kind === "failed";

/** Why there is no package of this model, nor a plan for one. */
export const exportRefusal = (model: Pick<Overview, "canExport" | "canGraph" | "file">): string | null =>
  model.canExport.ok || hasPlan(model) ? null : model.canExport.sentence;

/** To the view that a key has chosen, unless it has put the focus somewhere itself; in the graph to the canvas. */
export function focusView(): void {
  const view = document.getElementById("view");
  if (view === null || view.contains(document.activeElement)) return;
  (view.querySelector<HTMLElement>("[data-graph-canvas]") ?? view).focus({ preventScroll: true });
}

/** Searches of tabs; beside a run, of the conversations. */
const SEARCHES = "#text-search, #graph-search, #tensor-search, #metadata-search, #conversation-filter";

/** Finds in what is shown: in its text, by its own search, or else in all that the view says. */
export function focusSearch(store: WorkbenchStore): void {
  if (findInText()) return;
  const field = document.querySelector<HTMLInputElement>(SEARCHES);
  if (field === null) {
    store.getState().showFind(true);
    requestAnimationFrame(() => document.querySelector<HTMLInputElement>("#view-search")?.select());
    return;
  }
  field.scrollIntoView({ block: "nearest" });
  field.focus();
}

/** From hop to hop in program order, starting after what is selected. */
function stepHop(store: WorkbenchStore, step: 1 | -1): void {
  const { routes, phase, selection, showNode, setTab } = store.getState();
  const route = current(routes[phase]);
  if (route === null || route.hops.length === 0) return;
  const firsts = route.segments
    .slice(1)
    .map(({ firstNode }) => firstNode)
    .filter((node) => (route.nodes.device[node] ?? 0) !== deviceCode("none"));
  const at = selection.kind === "node" ? selection.node : -1;
  const next =
    step > 0
      ? (firsts.find((node) => node > at) ?? firsts[0])
      : (firsts.findLast((node) => node < at) ?? firsts.at(-1));
  if (next === undefined) return;
  setTab("graph");
  showNode(next);
}

function openSelected(store: WorkbenchStore): void {
  const { selection, toggleGroup } = store.getState();
  if (selection.kind === "group") toggleGroup(selection.group);
}
