/** Export: the plan for the current target, progress, and the report. */
import type { TargetSpec } from "../../../main/contract/views/common.ts";
import type { ExportItem, ExportPlan } from "../../../main/contract/views/export.ts";
import type { Overview } from "../../../main/contract/views/model.ts";
import type { Async } from "../../session/async.ts";
import { current, failed, IDLE, loading, ready } from "../../session/async.ts";
import type { SessionState, SliceTools } from "../../session/sessionSlice.ts";
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
  /** Of the last one that was written; it stays until the next one is. */
  readonly exportReport: ExportReport | null;
  /** What the last export was started for; the target may be another one by the time of its report. */
  readonly exportTarget: TargetSpec | null;
  readonly exportError: WireError | null;
  readonly exportSaid: string;
  readonly loadExportPlan: () => Promise<void>;
  readonly setExportPath: (path: string) => void;
  readonly setOverwrite: (on: boolean) => void;
  readonly pickExportPath: () => Promise<void>;
  readonly startExport: () => Promise<void>;
  readonly stopExport: () => void;
  readonly resetExport: () => void;
  /** null in a browser, which has no folders to show. */
  readonly showInFolder: ((path: string) => void) | null;
}

type State = SessionState & ExportSlice;

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

export function createExportSlice({ engine, shell, set, get }: SliceTools<State>): ExportSlice {
  let stopping: AbortController | null = null;
  let plans = 0;
  let suggested = "";
  return {
    exportPlan: IDLE,
    exportPath: "",
    exportOverwrite: false,
    exportProgress: null,
    exportRunning: false,
    exportSince: 0,
    exportReport: null,
    exportTarget: null,
    exportError: null,
    exportSaid: "",
    showInFolder: shell === null ? null : (path) => shell.showInFolder(path),
    async loadExportPlan() {
      const open = current(get().model);
      const { target } = get();
      if (open === null || target === null || !hasPlan(open)) return;
      plans += 1;
      const mine = plans;
      set({ exportPlan: loading(get().exportPlan) });
      try {
        const plan = await engine.call("export.plan", { model: open.model, target });
        if (mine !== plans) return;
        // A path that a person typed stays; a suggestion follows the target.
        const untouched = get().exportPath === "" || get().exportPath === suggested;
        suggested = plan.suggestedPath;
        set({ exportPlan: ready(plan), ...(untouched ? { exportPath: plan.suggestedPath } : {}) });
      } catch (error) {
        if (mine === plans) set({ exportPlan: failed(error) });
      }
    },
    // What was wrong with the path before is not said of this one.
    setExportPath: (exportPath) => set({ exportPath, exportError: null }),
    setOverwrite: (exportOverwrite) => set({ exportOverwrite, exportError: null }),
    async pickExportPath() {
      const path = (await shell?.savePackageDialog(get().exportPath)) ?? null;
      // The system's dialog has asked about replacing already.
      if (path !== null) set({ exportPath: path, exportOverwrite: true, exportError: null });
    },
    async startExport() {
      const open = current(get().model);
      const { target, exportPath, exportOverwrite, exportRunning } = get();
      if (open === null || target === null || exportRunning || exportPath.trim() === "") return;
      const mine = new AbortController();
      stopping = mine;
      set({
        exportRunning: true,
        exportSince: Date.now(),
        exportTarget: target,
        exportProgress: null,
        exportError: null,
        exportSaid: "",
      });
      get().noteCommand({ kind: "export", target, path: exportPath });
      try {
        let done = false;
        for await (const item of engine.stream(
          "export.start",
          { model: open.model, target, path: exportPath, overwrite: exportOverwrite },
          { signal: mine.signal },
        )) {
          // What an aborted export still says belongs to a model that is closed.
          if (stopping !== mine) return;
          if (item.kind === "done") {
            done = true;
            set({ exportReport: item, exportProgress: null });
          } else set({ exportProgress: item });
        }
        if (!done && stopping === mine) set({ exportSaid: "Cancelled. Nothing was left behind." });
      } catch (error) {
        if (stopping !== mine) return;
        const wire = toWireError(error);
        set(wire.code === "CANCELLED" ? { exportSaid: "Cancelled. Nothing was left behind." } : { exportError: wire });
      } finally {
        if (stopping === mine) {
          stopping = null;
          set({ exportRunning: false, exportProgress: null });
        }
      }
    },
    stopExport: () => stopping?.abort(),
    resetExport() {
      stopping?.abort();
      stopping = null;
      suggested = "";
      set({
        exportPlan: IDLE,
        exportPath: "",
        exportOverwrite: false,
        exportProgress: null,
        exportRunning: false,
        exportReport: null,
        exportTarget: null,
        exportError: null,
        exportSaid: "",
      });
    },
  };
}
