/** The open model: how it comes and goes, its file, and the files opened before. */
import type { Overview } from "../../main/contract/views/model.ts";
import { current, failed, IDLE, ready } from "./async.ts";
import { feedHeader, folderError, uploadFile } from "./droppedFile.ts";
import { notOpened, titleOf } from "./openSource.ts";
import type { ModelSlice } from "./sessionSlice.ts";
import type { SliceTools } from "./slice.ts";
import type { OpenSource } from "./types.ts";

const NO_MODEL = { source: null, openingTitle: "", model: IDLE, upload: null } as const;
const NO_RESULTS = { profiled: null, weightErrors: null } as const;
export const INITIAL_MODEL = { ...NO_MODEL, ...NO_RESULTS, recents: IDLE, arriving: null } as const;

export function createModelSlice(tools: SliceTools<ModelSlice>): ModelSlice {
  const { engine, set, get, on } = tools;
  on("profileChanged", (profiled) => set({ profiled }));
  on("weightErrorsChanged", (weightErrors) => set({ weightErrors }));
  on("modelLeft", ({ opensAgain }) => {
    if (!opensAgain) set(NO_RESULTS);
  });
  return {
    ...INITIAL_MODEL,
    ...openingActions(tools),
    ...fileActions(tools),
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
    askComparison: (input) => engine.call("route.compare", input),
    askDoctor: () => engine.call("doctor.run", {}),
  };
}

function openingActions({ engine, shell, set, get, emit }: SliceTools<ModelSlice>): Pick<ModelSlice, "open" | "close"> {
  /** Counts openings; the answer to an older one is not shown. */
  let opening = 0;

  const askOverview = async (source: OpenSource): Promise<Overview> => {
    if (source.kind !== "file") return engine.call("model.open", { source });
    if (source.isFolder === true) throw folderError(source.file.name);
    const header = await feedHeader(engine, source.file);
    return engine.call("model.open", { source: { kind: "header", header } });
  };

  /** The handle may be gone already with a lost engine: then there is nothing to close. */
  const closeHandle = (model: Overview | null): void => {
    if (model !== null) engine.call("model.close", { model: model.model }).catch(() => undefined);
  };

  const leaveFor = (next: Pick<ModelSlice, "source" | "openingTitle" | "model">): void => {
    const { model, source } = get();
    get().cancelUpload();
    closeHandle(current(model));
    set({ ...NO_MODEL, ...next });
    emit("modelLeft", { opensAgain: source === next.source });
  };
  const leaveForSource = (source: OpenSource): void =>
    leaveFor({ source, openingTitle: titleOf(source), model: { kind: "loading", previous: null } });

  return {
    async open(source) {
      opening += 1;
      const mine = opening;
      // The open model stays until the next one is there: a wrong path costs nothing.
      const keeps = current(get().model) !== null && source !== get().source;
      if (keeps) set({ arriving: titleOf(source) });
      else leaveForSource(source);
      try {
        const overview = await askOverview(source);
        if (mine !== opening) {
          closeHandle(overview);
          return;
        }
        if (keeps) leaveForSource(source);
        set({ model: ready(overview) });
        shell?.setDocument(overview.title, overview.file?.path ?? null);
        emit("modelShown", overview);
        get().noteCommand({ kind: "inspect" });
        void get().loadRecents();
      } catch (error) {
        if (mine !== opening) return;
        if (keeps) get().notifyError(notOpened(source), error);
        else set({ model: failed(error) });
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
      const { file } = source;
      uploading?.abort();
      const mine = new AbortController();
      uploading = mine;
      const showProgress = (doneBytes: number): void =>
        set({ upload: { name: file.name, doneBytes, totalBytes: file.size } });
      showProgress(0);
      try {
        const upload = await uploadFile(engine, file, mine.signal, showProgress);
        await attach({ kind: "upload", upload });
      } catch (error) {
        get().notifyError(`${file.name} could not be sent`, error);
      } finally {
        if (uploading === mine) set({ upload: null });
      }
    },
    cancelUpload: () => uploading?.abort(),
  };
}
