/** Keeps the address bar and the window alike: another model or tab is a step of the history, another op is not. */
import { isRouted } from "../../main/contract/views/graph.ts";
import type { Address } from "../session/address.ts";
import { addressText, openOf, readAddress, sourceAt } from "../session/address.ts";
import { current } from "../session/async.ts";
import { titleOf } from "../session/openSource.ts";
import type { WorkbenchState, WorkbenchStore } from "./store.ts";
import { shownTabs } from "./tabs.ts";
import type { StartPageName } from "./windowSlice.ts";

/** What a model takes with it when it opens is there by then. */
const SETTLED_MS = 60;

/** Part of a window that this file uses: tests bring one of their own. */
export interface Bar {
  readonly location: Pick<Location, "hash" | "pathname" | "search">;
  readonly history: Pick<History, "pushState" | "replaceState" | "state">;
  addEventListener(name: "popstate", listener: () => void): void;
}

/** A dropped file has no path; its name tells whether it is still the one that is open. */
interface Step {
  readonly dropped: string | null;
}

const droppedName = ({ source }: WorkbenchState): string | null =>
  source?.kind === "file" || source?.kind === "text" ? titleOf(source) : null;

/** What works without a model has the name of its tab. */
const startPageOf = (tab: Address["tab"]): StartPageName => (tab === "server" || tab === "train" ? tab : "first");

export function addressOf(state: WorkbenchState): Address {
  const { source, tab, selection, startPage } = state;
  if (current(state.model) === null) return { open: null, tab: startPage === "first" ? null : startPage, op: null };
  const op =
    selection.kind === "node" && isRouted(selection.key.stage)
      ? { backend: selection.key.stage.backend, phase: selection.key.phase, node: selection.node }
      : null;
  return { open: openOf(source), tab, op };
}

/** Shows what the address says of the open model, or of the first screen. */
export function showView(store: WorkbenchStore, { tab, op }: Address): void {
  const { get } = { get: store.getState };
  if (get().model.kind === "idle") get().showStartPage(startPageOf(tab));
  if (tab !== null && shownTabs(get()).includes(tab) && get().tab !== tab) get().setTab(tab);
  if (op === null) return;
  const model = current(get().model)?.model;
  const { selection } = get();
  const isShown =
    selection.kind === "node" &&
    selection.node === op.node &&
    selection.key.phase === op.phase &&
    selection.key.stage.backend === op.backend;
  if (isShown) return;
  if (get().backend !== op.backend) get().setBackend(op.backend);
  if (get().phase !== op.phase) get().setPhase(op.phase);
  whenDrawn(store, () => {
    const graph = current(get().graph);
    if (current(get().model)?.model === model && graph !== null && op.node < graph.view.nodeCount)
      get().showNode(op.node);
  });
}

function whenDrawn(store: WorkbenchStore, show: () => void): void {
  const isDrawn = ({ graph, picture, phase, backend }: WorkbenchState): boolean => {
    if (graph.kind !== "ready" || picture.kind !== "ready") return false;
    const { key } = graph.value.view;
    return key.phase === phase && key.stage.backend === backend;
  };
  if (isDrawn(store.getState())) return show();
  const stop = store.subscribe((state) => {
    if (!isDrawn(state) && current(state.model) !== null) return;
    stop();
    show();
  });
}

/** From now on; the address that is there has been shown. */
export function bindAddress(store: WorkbenchStore, bar: Bar = window): void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  /** While the window goes where the history leads, it makes no step of its own. */
  let following = 0;
  const write = (): void => {
    timer = undefined;
    const state = store.getState();
    // Neither here nor there: the address of the last model stays.
    if (state.model.kind === "loading" || state.model.kind === "failed") return;
    const address = addressOf(state);
    const before = readAddress(bar.location.hash);
    const text = addressText(address);
    const step: Step = { dropped: droppedName(state) };
    if (text === addressText(before) && (bar.history.state as Step | null)?.dropped === step.dropped) return;
    // The tab that a link leaves open is none.
    const isTabStep = address.tab !== before.tab && (before.tab !== null || address.open === null);
    const isStep = address.open !== before.open || isTabStep;
    const url = bar.location.pathname + bar.location.search + text;
    if (isStep && following === 0) bar.history.pushState(step, "", url);
    else bar.history.replaceState(step, "", url);
  };
  const seen = (state: WorkbenchState): readonly unknown[] => [
    ...[state.model, state.source, state.tab, state.selection, state.startPage],
  ];
  let before: readonly unknown[] = [];
  store.subscribe((state) => {
    const now = seen(state);
    if (now.every((value, i) => value === before[i])) return;
    before = now;
    clearTimeout(timer);
    timer = setTimeout(write, SETTLED_MS);
  });
  write();

  const follow = async (): Promise<void> => {
    clearTimeout(timer);
    following += 1;
    try {
      const address = readAddress(bar.location.hash);
      const { source, open, close, model } = store.getState();
      const dropped = (bar.history.state as Step | null)?.dropped ?? null;
      if (address.open !== null && address.open !== openOf(source)) await open(sourceAt(address.open));
      else if (address.open === null && dropped === null && current(model) !== null) close();
      else if (address.open === null && dropped !== null && dropped !== droppedName(store.getState())) return;
      await store.getState().whenRestored();
      showView(store, address);
    } finally {
      setTimeout(() => {
        write();
        following -= 1;
      }, SETTLED_MS);
    }
  };
  bar.addEventListener("popstate", () => void follow());
}
