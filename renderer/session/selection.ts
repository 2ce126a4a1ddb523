/** What a person looks at: the tab, the selected part of the graph, the row of the tensor table. */
import { createQuestions, IDLE } from "./async.ts";
import type { SelectionSlice } from "./sessionSlice.ts";
import type { SliceTools } from "./slice.ts";

const NOTHING = { selection: { kind: "none" }, node: IDLE } as const;
export const NO_SELECTION = { ...NOTHING, tab: "overview", tensorQuery: "", chosenTensor: null } as const;

export function createSelectionSlice({ engine, set, get, on }: SliceTools<SelectionSlice>): SelectionSlice {
  const nodes = createQuestions();
  const selectNothing = (): void => {
    nodes.drop();
    set(NOTHING);
  };
  on("targetChanged", selectNothing);
  on("phaseChanged", selectNothing);
  on("modelLeft", () => {
    nodes.drop();
    set(NO_SELECTION);
  });
  return {
    ...NO_SELECTION,
    select(selection) {
      if (selection.kind !== "node") {
        nodes.drop();
        set({ selection, node: IDLE });
        return;
      }
      set({ selection });
      const { key, node } = selection;
      void nodes.ask(
        get().node,
        () => engine.call("graph.node", { key, node, target: get().target }),
        (state) => set({ node: state }),
      );
    },
    setTab: (tab) => set({ tab }),
    setTensorQuery: (tensorQuery) => set({ tensorQuery }),
    showTensor: (name) => set({ tensorQuery: name, tab: "tensors" }),
    chooseTensor: (chosenTensor) => set({ chosenTensor }),
  };
}
