/** Export: the plan for the current target, its writing, and the target that it was written for. */
import type { TargetSpec } from "../../../main/contract/views/common.ts";
import type { ExportItem, ExportPlan } from "../../../main/contract/views/export.ts";
import type { Overview } from "../../../main/contract/views/model.ts";
import { current } from "../../session/async.ts";
import type { SliceTools } from "../../session/slice.ts";
import type { ReportOf, WriteActions, WriteState } from "../../writing/writing.ts";
import { createWriting, NOT_WRITING } from "../../writing/writing.ts";

export type ExportReport = ReportOf<ExportItem>;

export interface ExportSlice {
  readonly exporting: WriteState<ExportPlan, ExportItem>;
  /** The last export's own target: the window's may have changed since. */
  readonly exportTarget: TargetSpec | null;
  readonly exportActions: WriteActions;
}

/** What a package would be is known from the header; only writing it needs the weights. A graph in text has no file. */
export const hasPlan = (model: Pick<Overview, "canExport" | "canGraph" | "file">): boolean =>
  model.canExport.ok || (model.canGraph.ok && model.file !== null);

export function createExportSlice(tools: SliceTools<ExportSlice>): ExportSlice {
  const { engine, set, get, on, emit } = tools;
  // The plan for another target has nothing to say where none can be made for this one.
  on("targetChanged", () => set({ exporting: { ...get().exporting, planned: null } }));
  /** What is exported now: the open model for the window's target. */
  const subject = (): { readonly model: string; readonly target: TargetSpec } | null => {
    const { model, target } = get();
    const open = current(model);
    return open === null || target === null || !hasPlan(open) ? null : { model: open.model, target };
  };
  return {
    exporting: NOT_WRITING,
    exportTarget: null,
    exportActions: createWriting<ExportPlan, ExportItem>(tools, {
      get: () => get().exporting,
      set: (exporting) => set({ exporting }),
      plan() {
        const asked = subject();
        return asked === null ? null : engine.call("export.plan", asked);
      },
      write({ path, overwrite }, signal) {
        const asked = subject();
        if (asked === null || path === null) return null;
        set({ exportTarget: asked.target });
        get().noteCommand({ kind: "export", target: asked.target, path });
        return engine.stream("export.start", { ...asked, path, overwrite }, { signal });
      },
      onWritten({ weights }) {
        const { exportTarget } = get();
        if (exportTarget !== null) emit("weightErrorsChanged", { target: exportTarget, rows: weights });
      },
      onLeft() {
        set({ exportTarget: null });
        emit("weightErrorsChanged", null);
      },
    }),
  };
}
