/**
 * What a person looks at: the tab, the selected part of the graph, the row of the tensor table. A selected op stays selected
 * when the subject or the stage changes: it is found again by the id that it has in every graph, or by its operation.
 */
import type { GraphKey } from "../../main/contract/views/graph.ts";
import { isRouted } from "../../main/contract/views/graph.ts";
import type { GraphModel } from "../graph/graphModel.ts";
import type { NodeSign } from "../graph/sameNode.ts";
import { nodeLike, signOf, signOfView } from "../graph/sameNode.ts";
import { createQuestions, current, IDLE } from "./async.ts";
import type { PlacedBefore, SelectionSlice } from "./sessionSlice.ts";
import type { SliceTools } from "./slice.ts";

const NOTHING = { selection: { kind: "none" }, node: IDLE, placedBefore: null } as const;
export const NO_SELECTION = { ...NOTHING, tab: "overview", tensorQuery: "", chosenTensor: null } as const;

/** An op that is to be selected in the graph that comes. */
interface Held {
  readonly sign: NodeSign;
  readonly before: PlacedBefore | null;
  /** It is looked for in the legal graph, else in that of the stage that is shown. */
  readonly inLegal: boolean;
}

export function createSelectionSlice(tools: SliceTools<SelectionSlice>): SelectionSlice {
  const { engine, set, get, on, watch, emit } = tools;
  const nodes = createQuestions();
  let held: Held | null = null;

  const ask = (key: GraphKey, node: number, placedBefore: PlacedBefore | null): void => {
    set({ selection: { kind: "node", key, node }, placedBefore });
    void nodes.ask(
      get().node,
      () => engine.call("graph.node", { key, node, target: get().target }),
      (state) => set({ node: state }),
    );
  };
  const selectNothing = (): void => {
    nodes.drop();
    set(NOTHING);
  };

  /** Its place before the change: of the answer on the screen if it speaks of this op. */
  const placeNow = (): PlacedBefore | null => {
    const { selection, node } = get();
    const shown = current(node);
    if (selection.kind !== "node" || shown === null || shown.node !== selection.node) return null;
    const { placement, key } = shown;
    return placement === null ? null : { backend: key.stage.backend, placement };
  };
  const signNow = (shown: GraphModel | null): NodeSign | null => {
    const { selection, node } = get();
    if (selection.kind !== "node") return null;
    if (shown?.view.key === selection.key) return signOf(shown.view, selection.node);
    const known = current(node);
    return known?.node === selection.node ? signOfView(known) : null;
  };
  const hold = (graph: GraphModel | null, before: PlacedBefore | null, inLegal: boolean): Held | null => {
    const sign = signNow(graph);
    return sign === null ? null : { sign, before, inLegal };
  };
  const follow = (inLegal = true): void => {
    const { selection, graph } = get();
    if (selection.kind === "group" && graph.kind === "ready") return;
    const before = placeNow();
    held = hold(current(graph), before, inLegal);
    // The same graph still stands, and only its columns are made anew.
    if (
      held !== null &&
      selection.kind === "node" &&
      graph.kind === "ready" &&
      current(graph)?.view.key === selection.key
    ) {
      held = null;
      ask(selection.key, selection.node, before);
    } else if (held === null) selectNothing();
  };
  /** Where the stage stays, and its graph is made anew. */
  const followStage = (): void => {
    const { selection } = get();
    follow(selection.kind !== "node" || isRouted(selection.key.stage));
  };
  on("targetChanged", followStage);
  on("phaseChanged", followStage);
  on("backendChanged", () => follow());
  // The graph that takes the place of the one that is shown.
  watch(
    ({ graph }) => [graph],
    () => {
      const { graph, selection } = get();
      if (graph.kind !== "ready") return;
      const { view } = graph.value;
      if (held !== null) {
        if (held.inLegal) get().findAgain(graph.value);
      }
      // Other weights give the same graph another key.
      else if (selection.kind === "node" && isRouted(selection.key.stage) && view.key !== selection.key)
        set({ selection: { ...selection, key: view.key } });
    },
  );
  on("modelLeft", () => {
    held = null;
    nodes.drop();
    set(NO_SELECTION);
  });
  return {
    ...NO_SELECTION,
    select(selection) {
      held = null;
      if (selection.kind === "node") {
        ask(selection.key, selection.node, null);
        return;
      }
      nodes.drop();
      set({ selection, node: IDLE, placedBefore: null });
    },
    holdSelection(shown) {
      held = hold(shown, null, false);
      nodes.drop();
      set(NOTHING);
    },
    findAgain(model) {
      const sought = held;
      held = null;
      if (sought === null) return;
      const node = nodeLike(model.view, sought.sign);
      if (node < 0) selectNothing();
      else {
        ask(model.view.key, node, sought.before);
        emit("nodeKept", node);
      }
    },
    setTab: (tab) => set({ tab }),
    setTensorQuery: (tensorQuery) => set({ tensorQuery }),
    showTensor: (name) => set({ tensorQuery: name, tab: "tensors" }),
    chooseTensor: (chosenTensor) => set({ chosenTensor }),
  };
}
