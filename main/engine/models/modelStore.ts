/** Opens models from wherever they come and keeps them by handle. */
import { readdir, stat } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, join, resolve } from "node:path";
import type { CompileWatch } from "../../compiler/prepare.ts";
import type { LocateResult, ModelSource } from "../../contract/views/model.ts";
import { WorkbenchError } from "../../diagnostics/errors.ts";
import type { GgufFile } from "../../formats/gguf/file.ts";
import { openGguf } from "../../formats/gguf/open.ts";
import { fewRanges, hashOfRanges } from "../../formats/gguf/samples.ts";
import { openFileSource, siblingOpener } from "../../node/files/fileByteSource.ts";
import type { Headers } from "./headers.ts";
import { createHeaders } from "./headers.ts";
import type { Offers } from "../../node/files/offers.ts";
import type { ModelInit } from "./openModel.ts";
import { OpenModel } from "./openModel.ts";
import type { Recents } from "../../node/files/recents.ts";
import type { Uploads } from "../../node/files/uploads.ts";

export interface ModelStore {
  readonly headers: Headers;
  open(source: ModelSource, signal?: AbortSignal): Promise<OpenModel>;
  get(id: string): OpenModel;
  close(id: string): Promise<void>;
  /** The window that opened it is gone: closes the model unless that was done before. */
  leave(id: string): Promise<void>;
  attach(id: string, source: ModelSource, signal?: AbortSignal): Promise<OpenModel>;
  locate(id: string, folder: string | null): Promise<LocateResult>;
  dispose(): Promise<void>;
}

type Release = () => Promise<void>;

/** How deep folders are searched for a dropped file. */
const SEARCH_DEPTH = 4;
const SEARCH_ENTRIES = 20_000;
/** Of a dropped file, to know its like by: each is a question to the window. */
const DROPPED_RANGES = 16;

export function createModelStore(parts: {
  readonly offers: Offers;
  readonly recents: Recents;
  readonly uploads: Uploads;
  readonly watch?: CompileWatch;
}): ModelStore {
  const models = new Map<string, OpenModel>();
  /** How many models, and attempts at one, each upload is for. */
  const users = new Map<string, number>();
  /** What gives up the uploads that each model was made of. */
  const sent = new Map<OpenModel, readonly Release[]>();
  /** What is known of the weights of files that lie in a window, which answers only while they are dropped. */
  const samples = new WeakMap<GgufFile, string>();
  let next = 1;

  const openPath = async (
    path: string,
    argument: string | null,
    signal: AbortSignal | undefined,
  ): Promise<ModelInit> => {
    const started = performance.now();
    const full = resolve(path);
    const source = await openFileSource(full);
    const file = await openGguf(source, { openSibling: siblingOpener(full), signal });
    const folder = dirname(full);
    return {
      kind: "model",
      file,
      data: { kind: "paths", paths: file.parts.map((part) => join(folder, part.name)) },
      offer: undefined,
      argument: argument ?? quotePath(path),
      openedInSeconds: (performance.now() - started) / 1000,
    };
  };

  const initOf = async (source: ModelSource, signal: AbortSignal | undefined): Promise<ModelInit> => {
    switch (source.kind) {
      case "path": {
        const init = await openPath(source.path, null, signal);
        await parts.recents.add(resolve(source.path)).catch(() => undefined);
        return init;
      }
      case "upload":
        return { ...(await openPath(parts.uploads.pathOf(source.upload).path, null, signal)), argument: null };
      case "header": {
        const { file, seconds } = headers.take(source.header);
        return {
          kind: "model",
          file,
          data: { kind: "remote" },
          offer: undefined,
          argument: null,
          openedInSeconds: seconds,
        };
      }
      case "offer":
        return parts.offers.open(source.id, (path, argument) => openPath(path, argument, signal));
    }
  };

  /** What was sent goes with the last that it was for, be it only an attempt. Throws while it has not arrived: it is not ours yet. */
  const hold = (source: ModelSource): Release => {
    if (source.kind !== "upload") return () => Promise.resolve();
    const { upload } = source;
    parts.uploads.pathOf(upload);
    users.set(upload, (users.get(upload) ?? 0) + 1);
    let isHeld = true;
    return async () => {
      if (!isHeld) return;
      isHeld = false;
      const left = (users.get(upload) ?? 1) - 1;
      users.set(upload, left);
      if (left > 0) return;
      users.delete(upload);
      await parts.uploads.cancel(upload);
    };
  };
  const dispose = async (model: OpenModel): Promise<void> => {
    const releases = sent.get(model) ?? [];
    sent.delete(model);
    await model.dispose();
    for (const release of releases) await release();
  };

  const get = (id: string): OpenModel => {
    const model = models.get(id);
    if (!model)
      throw new WorkbenchError("HANDLE_UNKNOWN", `[engine] there is no open model ${JSON.stringify(id)}`, {
        hint: "Open the file again.",
      });
    return model;
  };

  const sampleOf = (file: GgufFile): Promise<string> => hashOfRanges(file, fewRanges(file.tensors, DROPPED_RANGES));

  /** Whether a file of the dropped one's header has its weights, too. */
  const sameWeights = async (file: GgufFile, other: GgufFile): Promise<boolean> =>
    (await sampleOf(other)) === samples.get(file);

  const locateFile = async (file: GgufFile, folder: string | null): Promise<LocateResult> => {
    const recents = await parts.recents.list();
    const known = [...new Set(recents.map((recent) => recent.folder))];
    const home = homedir();
    const usual = [
      join(home, "Downloads"),
      join(home, ".lmstudio", "models"),
      join(home, ".cache", "huggingface", "hub"),
      join(home, "models"),
    ];
    const folders = folder === null ? [...known, ...usual] : [folder];
    for (const start of folders) {
      const path = await findFile(start, file, (other) => sameWeights(file, other));
      if (path !== undefined) return { path, searched: folders, sentence: `Found as ${path}.` };
    }
    return {
      path: null,
      searched: folders,
      sentence: `Not found in ${folders.length === 1 ? (folders[0] ?? "") : `${folders.length} folders`}. Name its folder, or send the file here.`,
    };
  };

  const headers = createHeaders(async (file) => {
    // At once: a file of this header may come to be found later, when nobody answers any more.
    samples.set(file, await sampleOf(file));
    return (await locateFile(file, null)).path;
  });

  const store: ModelStore = {
    headers,
    get,
    async open(source, signal) {
      const release = hold(source);
      try {
        const model = new OpenModel(`m${next++}`, await initOf(source, signal), parts.watch);
        models.set(model.id, model);
        sent.set(model, [release]);
        return model;
      } catch (error) {
        await release();
        throw error;
      }
    },
    async close(id) {
      const model = get(id);
      models.delete(id);
      await dispose(model);
    },
    async leave(id) {
      if (models.has(id)) await store.close(id);
    },
    async attach(id, source, signal) {
      const model = get(id);
      const release = hold(source);
      // Before it is tried: the model may be closed meanwhile.
      sent.set(model, [...(sent.get(model) ?? []), release]);
      let init: ModelInit | undefined;
      try {
        init = await initOf(source, signal);
        model.attach(init);
        return model;
      } catch (error) {
        await init?.file?.close();
        await release();
        throw error;
      }
    },
    locate: (id, folder) => locateFile(get(id).requireFile("locate"), folder),
    async dispose() {
      for (const model of models.values()) await dispose(model);
      models.clear();
    },
  };
  return store;
}

const quotePath = (path: string): string => (/^[\w./~-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`);

type Compare = (other: GgufFile) => Promise<boolean>;

/** The file with this name, size and header, and the same weights, below a folder. */
async function findFile(start: string, wanted: GgufFile, sameWeights: Compare): Promise<string | undefined> {
  const size = wanted.parts[0]?.byteLength;
  let left = SEARCH_ENTRIES;
  let level = [start];
  for (let depth = 0; depth <= SEARCH_DEPTH && level.length > 0; depth++) {
    const deeper: string[] = [];
    for (const folder of level) {
      const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
      for (const entry of entries) {
        if (left-- <= 0) return undefined;
        const path = join(folder, entry.name);
        if (entry.isDirectory()) deeper.push(path);
        else if (
          entry.name === wanted.name &&
          (await stat(path).catch(() => undefined))?.size === size &&
          (await isSameFile(path, wanted, sameWeights))
        )
          return path;
      }
    }
    level = deeper;
  }
  return undefined;
}

async function isSameFile(path: string, wanted: GgufFile, sameWeights: Compare): Promise<boolean> {
  try {
    const file = await openGguf(await openFileSource(path), { openSibling: siblingOpener(path) });
    try {
      return file.headerHash === wanted.headerHash && (await sameWeights(file));
    } finally {
      await file.close();
    }
  } catch {
    // A file that cannot be read is not the one we look for; nor is it known to be where the window does not answer.
    return false;
  }
}
