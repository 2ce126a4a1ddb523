/** The open model: how it comes and goes, its file, and the files opened before. */
import type { ShellBridge } from "../../main/contract/shell.ts";
import type { AdapterSource, Overview } from "../../main/contract/views/model.ts";
import { current, failed, IDLE, ready } from "./async.ts";
import { feedHeader, partsToSend, uploadModel } from "./droppedFile.ts";
import { notOpened, titleOf } from "./openSource.ts";
import type { ModelSlice, Outside } from "./sessionSlice.ts";
import type { SliceTools } from "./slice.ts";
import type { OpenSource } from "./types.ts";

const NO_MODEL = { source: null, openingTitle: "", model: IDLE, upload: null, adapters: [] } as const;
const NO_RESULTS = { profiled: null, weightErrors: null } as const;
export const INITIAL_MODEL = { ...NO_MODEL, ...NO_RESULTS, recents: IDLE, arriving: null } as const;

export function createModelSlice(tools: SliceTools<ModelSlice>): ModelSlice {
  const { engine, shell, set, get, on } = tools;
  on("profileChanged", (profiled) => set({ profiled }));
  on("weightErrorsChanged", (weightErrors) => set({ weightErrors }));
  on("modelLeft", ({ opensAgain }) => {
    if (!opensAgain) set(NO_RESULTS);
  });
  return {
    ...INITIAL_MODEL,
    ...openingActions(tools),
    ...fileActions(tools),
    pickFolder: shell === null ? null : () => shell.openFolderDialog(),
    pickFile: shell === null ? null : () => shell.openModelDialog(),
    showInFolder: shell === null ? null : (path) => shell.showInFolder(path),
    outside: shell === null ? null : outsideOf(shell),
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
        get().notifyError("The file could not be removed from the list", error);
      }
    },
    askMetadata: (input) => engine.call("model.metadata", input),
    askMetadataValue: (input) => engine.call("model.metadataValue", input),
    askWeightErrors: (input) => engine.call("model.weightErrors", input),
    askBlocks: (model) => engine.call("model.blocks", { model }),
    askTensors: (input) => engine.call("model.tensors", input),
    askVerdict: (input, signal) => engine.call("verdict.get", input, { signal }),
    askCost: (input, signal) => engine.call("cost.get", input, { signal }),
    askRoute: (input, signal) => engine.call("route.get", input, { signal }),
    askDoctor: () => engine.call("doctor.run", {}),
    askOps: () => engine.call("ops.list", {}),
    askOpSample: (op, sample) => engine.call("ops.sample", { op, sample }),
    askCompiles: () => engine.call("compiles.list", {}),
    allowCompile: (verdict) => engine.call("compiles.allow", { verdict }),
    verifyCompiles: (signal) => engine.stream("compiles.verify", {}, { signal }),
  };
}

const outsideOf = (shell: ShellBridge): Outside => ({
  startDrag: (paths) => shell.startDrag(paths),
  stage: async (name, blob) => shell.stageFile(name, new Uint8Array(await blob.arrayBuffer())),
  share: shell.platform === "darwin" ? (path) => shell.share(path) : null,
});

function openingActions({
  engine,
  shell,
  set,
  get,
  emit,
}: SliceTools<ModelSlice>): Pick<ModelSlice, "open" | "close" | "setAdapters"> {
  /** Counts openings; the answer to an older one is not shown. */
  let opening = 0;

  const askOverview = async (source: OpenSource, adapters: readonly AdapterSource[]): Promise<Overview> => {
    if (source.kind !== "file") return engine.call("model.open", { source, adapters: [...adapters] });
    const header = await feedHeader(engine, source.dropped);
    return engine.call("model.open", { source: { kind: "header", header } });
  };

  /** The handle may be gone already with a lost engine: then there is nothing to close. */
  const closeHandle = (model: Overview | null): void => {
    if (model !== null) engine.call("model.close", { model: model.model }).catch(() => undefined);
  };

  const leaveFor = (next: Pick<ModelSlice, "source" | "openingTitle" | "model" | "adapters">): void => {
    const { model, source } = get();
    if (current(model) !== null) emit("modelLeaving", { opensAgain: source === next.source });
    get().cancelUpload();
    closeHandle(current(model));
    set({ ...NO_MODEL, ...next });
    emit("modelLeft", { opensAgain: source === next.source });
  };
  const leaveForSource = (source: OpenSource, adapters: readonly AdapterSource[]): void =>
    leaveFor({ source, adapters, openingTitle: titleOf(source), model: { kind: "loading", previous: null } });
  const show = (overview: Overview): void => {
    set({ model: ready(overview) });
    shell?.setDocument(overview.title, overview.file?.path ?? null);
    emit("modelShown", overview);
    get().noteCommand({ kind: "inspect" });
  };

  return {
    async open(source) {
      opening += 1;
      const mine = opening;
      // The open model stays until the next one is there: a wrong path costs nothing.
      const keeps = current(get().model) !== null && source !== get().source;
      // After a lost engine a model comes back with its adapters; those of a file would need it sent again.
      const adapters = source === get().source && source.kind !== "file" ? get().adapters : [];
      if (keeps) set({ arriving: titleOf(source) });
      else leaveForSource(source, adapters);
      try {
        const overview = await askOverview(source, adapters);
        if (mine !== opening) {
          closeHandle(overview);
          return;
        }
        if (keeps) leaveForSource(source, adapters);
        show(overview);
        void get().loadRecents();
      } catch (error) {
        if (mine !== opening) return;
        if (keeps) get().notifyError(notOpened(source), error);
        else set({ model: failed(error) });
      } finally {
        if (mine === opening) set({ arriving: null });
      }
    },
    async setAdapters(adapters) {
      const { source, openingTitle, model, tab } = get();
      const open = current(model);
      if (open === null || source === null) return;
      opening += 1;
      const mine = opening;
      set({ arriving: openingTitle });
      try {
        const again = { kind: "model", model: open.model } as const;
        const overview = await engine.call("model.open", { source: again, adapters: [...adapters] });
        if (mine !== opening) {
          closeHandle(overview);
          return;
        }
        leaveForSource(source, adapters);
        // Nothing else changes for the person who chose them.
        get().setTab(tab);
        // They were measured of other weights.
        set(NO_RESULTS);
        show(overview);
      } catch (error) {
        if (mine === opening) get().notifyError("The adapters could not be applied", error);
      } finally {
        if (mine === opening) set({ arriving: null });
      }
    },
    close() {
      opening += 1;
      set({ arriving: null });
      leaveFor(NO_MODEL);
      shell?.setDocument("RLX Workbench", null);
      void get().loadRecents();
    },
  };
}

/** Finding the weights of a model that was opened by its header, or sending them. */
function fileActions(tools: SliceTools<ModelSlice>): Pick<ModelSlice, "locate" | "sendFile" | "cancelUpload"> {
  const { engine, set, get, on } = tools;
  let uploading: AbortController | null = null;

  const askForecast = async (): Promise<void> => {
    const { model, target } = get();
    const open = current(model);
    if (open === null || target === null) return;
    try {
      const overview = await engine.call("model.overview", { model: open.model, context: target.context, target });
      if (get().target === target && current(get().model)?.model === open.model) set({ model: ready(overview) });
    } catch (error) {
      if (get().target === target) get().notifyError("The forecast for this target could not be made", error);
    }
  };
  on("targetChanged", () => void askForecast());

  const attach = async (source: { kind: "path"; path: string } | { kind: "upload"; upload: string }): Promise<void> => {
    const open = current(get().model);
    if (open === null) return;
    const overview = await engine.call("model.attach", { model: open.model, source });
    if (current(get().model)?.model !== overview.model) return;
    set({ model: ready(overview) });
    // This overview is for the target that models are opened with.
    await askForecast();
  };

  return {
    async locate(folder) {
      const open = current(get().model);
      if (open === null) return "";
      const found = await engine.call("model.locate", { model: open.model, folder });
      if (found.path !== null) await attach({ kind: "path", path: found.path });
      return found.sentence;
    },
    async sendFile() {
      const { source } = get();
      if (source?.kind !== "file") return;
      const { dropped } = source;
      const name = titleOf(source);
      const totalBytes = partsToSend(dropped).reduce((sum, [, { size }]) => sum + size, 0);
      uploading?.abort();
      const mine = new AbortController();
      uploading = mine;
      const showProgress = (doneBytes: number): void => set({ upload: { name, doneBytes, totalBytes } });
      showProgress(0);
      try {
        const upload = await uploadModel(engine, dropped, mine.signal, showProgress);
        await attach({ kind: "upload", upload });
      } catch (error) {
        get().notifyError(`${name} could not be sent`, error);
      } finally {
        if (uploading === mine) set({ upload: null });
      }
    },
    cancelUpload: () => uploading?.abort(),
  };
}
