/** Export: the plan for the current target, progress, and the report. */
import type { TargetSpec } from "../../../main/contract/views/common.ts";
import type { ExportItem, ExportPlan } from "../../../main/contract/views/export.ts";
import type { Overview } from "../../../main/contract/views/model.ts";
import type { Async } from "../../session/async.ts";
import { createQuestions, createTask, current, IDLE, isCancelled } from "../../session/async.ts";
import type { SliceTools } from "../../session/slice.ts";
import type { WireError } from "../../../main/diagnostics/errors.ts";
import { toWireError } from "../../../main/diagnostics/errors.ts";

export type ExportReport = Extract<ExportItem, { kind: "done" }>;
export type ExportProgress = Extract<ExportItem, { kind: "phase" | "progress" }>;

export interface ExportSlice {
  readonly exportPlan: Async<ExportPlan>;
  readonly exportPath: string;
  readonly exportOverwrite: boolean;
  readonly exportProgress: ExportProgress | null;
  readonly exportRunning: boolean;
  /** When the running export began, by Date.now(). */
  readonly exportSince: number;
  /** Of the last package that was written; it stays until the next one is. */
  readonly exportReport: ExportReport | null;
  /** The last export's own target: the window's may have changed since. */
  readonly exportTarget: TargetSpec | null;
  readonly exportError: WireError | null;
  readonly exportSaid: string;
  readonly loadExportPlan: () => Promise<void>;
  readonly setExportPath: (path: string) => void;
  readonly setOverwrite: (on: boolean) => void;
  readonly pickExportPath: () => Promise<void>;
  readonly startExport: () => Promise<void>;
  readonly stopExport: () => void;
  /** null in a browser, which has no folders to show. */
  readonly showInFolder: ((path: string) => void) | null;
}

/** What a package would be is known from the header; only writing it needs the weights. */
export const hasPlan = (model: Pick<Overview, "canGraph" | "file">): boolean =>
  model.canGraph.ok && model.file !== null;

/** The engine was asked about the disk of the folder that it suggests, and about no other. */
export function isSuggestedFolder(path: string, { suggestedPath }: Pick<ExportPlan, "suggestedPath">): boolean {
  const folder = (of: string): string => of.replace(/[\\/][^\\/]*$/, "");
  return folder(path.trim()) === folder(suggestedPath);
}

/** The engine refuses to write over a package unasked. */
export const isThereAlready = ({ details }: WireError): boolean => details?.["exists"] === true;

const CANCELLED = "Cancelled. Nothing was left behind.";
const NO_EXPORT = {
  exportPlan: IDLE,
  exportPath: "",
  exportOverwrite: false,
  exportProgress: null,
  exportRunning: false,
  exportReport: null,
  exportTarget: null,
  exportError: null,
  exportSaid: "",
} as const;

export function createExportSlice({ engine, shell, set, get, on, emit }: SliceTools<ExportSlice>): ExportSlice {
  const task = createTask();
  const plans = createQuestions();
  let suggested = "";
  on("modelLeft", ({ opensAgain }) => {
    if (opensAgain) return;
    task.abandon();
    plans.drop();
    suggested = "";
    set(NO_EXPORT);
    emit("weightErrorsChanged", null);
  });
  return {
    ...NO_EXPORT,
    exportSince: 0,
    showInFolder: shell === null ? null : (path) => shell.showInFolder(path),
    async loadExportPlan() {
      const { model, target, exportPlan } = get();
      const open = current(model);
      if (open === null || target === null || !hasPlan(open)) return;
      await plans.ask(
        exportPlan,
        () => engine.call("export.plan", { model: open.model, target }),
        (plan) => {
          set({ exportPlan: plan });
          if (plan.kind !== "ready") return;
          // A path that a person typed stays; a suggestion follows the target.
          const { exportPath } = get();
          if (exportPath === "" || exportPath === suggested) set({ exportPath: plan.value.suggestedPath });
          suggested = plan.value.suggestedPath;
        },
      );
    },
    // An error was about the path before.
    setExportPath: (exportPath) => set({ exportPath, exportError: null }),
    setOverwrite: (exportOverwrite) => set({ exportOverwrite, exportError: null }),
    async pickExportPath() {
      const path = (await shell?.savePackageDialog(get().exportPath)) ?? null;
      // The system's dialog has asked about replacing already.
      if (path !== null) set({ exportPath: path, exportOverwrite: true, exportError: null });
    },
    async startExport() {
      const { model, target, exportPath: path, exportOverwrite: overwrite, exportRunning } = get();
      const open = current(model);
      if (open === null || target === null || exportRunning || path.trim() === "") return;
      const { signal, isCurrent } = task.begin();
      set({
        exportRunning: true,
        exportSince: Date.now(),
        exportTarget: target,
        exportProgress: null,
        exportError: null,
        exportSaid: "",
      });
      get().noteCommand({ kind: "export", target, path });
      try {
        let done = false;
        const input = { model: open.model, target, path, overwrite };
        for await (const item of engine.stream("export.start", input, { signal })) {
          if (!isCurrent()) return;
          if (item.kind === "done") {
            done = true;
            set({ exportReport: item, exportProgress: null });
            emit("weightErrorsChanged", { target, rows: item.weights });
          } else set({ exportProgress: item });
        }
        if (!done && isCurrent()) set({ exportSaid: CANCELLED });
      } catch (error) {
        if (!isCurrent()) return;
        if (isCancelled(error)) set({ exportSaid: CANCELLED });
        else set({ exportError: toWireError(error) });
      } finally {
        if (isCurrent()) set({ exportRunning: false, exportProgress: null });
      }
    },
    stopExport: task.stop,
  };
}
