/** Opens models from wherever they come and keeps them by handle. */
import type { CompileObserver } from "../../compiler/compile.ts";
import type { AdapterSource, LocateResult, ModelSource } from "../../contract/views/model.ts";
import { identityOf } from "../../contract/views/session.ts";
import { WorkbenchError } from "../../diagnostics/errors.ts";
import type { ByteSource } from "../../formats/byteSource.ts";
import type { AdapterChoice } from "../../formats/gguf/adapters.ts";
import { withAdapters } from "../../formats/gguf/adapters.ts";
import { describeFile } from "../../formats/gguf/describe.ts";
import type { GgufFile } from "../../formats/gguf/file.ts";
import { openGguf } from "../../formats/gguf/open.ts";
import { openModelFile } from "../../formats/openModel.ts";
import { fewRanges, hashOfRanges } from "../../formats/gguf/samples.ts";
import { hashText } from "../../ir/hash.ts";
import type { Headers } from "./headers.ts";
import { createHeaders } from "./headers.ts";
import type { Offers } from "./offers.ts";
import { writeMade } from "./madeModel.ts";
import type { ModelInit } from "./openModel.ts";
import { OpenModel } from "./openModel.ts";
import type { ModelFiles, Recents, Uploads } from "../services.ts";
import type { TextSubject } from "../text/subject.ts";
import { isTextName, textSubject } from "../text/subject.ts";
import { readTextFile } from "../text/textFile.ts";

export interface ModelStore {
  readonly headers: Headers;
  open(source: ModelSource, signal?: AbortSignal, adapters?: readonly AdapterSource[]): Promise<OpenModel>;
  get(id: string): OpenModel;
  close(id: string): Promise<void>;
  /** The window that opened it is gone: closes the model unless that was done before. */
  leave(id: string): Promise<void>;
  attach(id: string, source: ModelSource, signal?: AbortSignal): Promise<OpenModel>;
  locate(id: string, folder: string | null): Promise<LocateResult>;
  /** By name, size and header. */
  find(wanted: WantedFile, folder: string | null): Promise<LocateResult>;
  /** What each open model takes. */
  held(): { readonly model: string; readonly bytes: number }[];
  dispose(): Promise<void>;
}

const textInit = (text: TextSubject, argument: string | null, openedInSeconds: number): ModelInit => ({
  ...{ kind: "text", file: undefined, data: { kind: "none" }, offer: undefined },
  ...{ text, argument, openedInSeconds },
});

async function openText(
  source: ByteSource,
  path: string,
  argument: string,
  signal: AbortSignal | undefined,
): Promise<ModelInit> {
  const started = performance.now();
  const text = await readTextFile(source, signal);
  const subject = textSubject(source.name, { path, hash: hashText(text) }, text);
  return textInit(subject, argument, (performance.now() - started) / 1000);
}

/** It lies where nothing stays: no command names it, and nothing is written back to it. */
const sentFile = (init: ModelInit): ModelInit => ({
  ...init,
  argument: null,
  ...(init.text === undefined ? {} : { text: { ...init.text, file: null } }),
});

/** A file that is not open here. */
export interface WantedFile {
  readonly name: string;
  readonly headerHash: string;
  /** Of all its parts. */
  readonly bytes: number;
}

type Release = () => Promise<void>;

/** Of a dropped file, to know its like by: each is a question to the window. */
const DROPPED_RANGES = 16;

export interface ModelStoreParts {
  readonly files: ModelFiles;
  readonly offers: Offers;
  readonly recents: Recents;
  readonly uploads: Uploads;
  readonly watch?: CompileObserver;
  /** See OpenModel. */
  readonly rings?: boolean;
  /** A model has come or gone. */
  readonly changed?: () => void;
}

export function createModelStore(parts: ModelStoreParts): ModelStore {
  const { files } = parts;
  const models = new Map<string, OpenModel>();
  /** How many models, and attempts at one, each upload is for. */
  const users = new Map<string, number>();
  /** What gives up the uploads that each model was made of. */
  const sent = new Map<OpenModel, readonly Release[]>();
  /** Where each model's bytes came from last. */
  const sources = new WeakMap<OpenModel, ModelSource>();
  /** What is known of the weights of files that lie in a window, which answers only while they are dropped. */
  const samples = new WeakMap<GgufFile, string>();
  let next = 1;

  const openPath = async (
    path: string,
    argument: string | null,
    signal: AbortSignal | undefined,
  ): Promise<ModelInit> => {
    const started = performance.now();
    const { source, openSibling, beside, path: full } = await files.open(path);
    if (isTextName(source.name)) return openText(source, full, argument ?? quotePath(path), signal);
    const file = await openModelFile(source, { openSibling, signal });
    return {
      kind: "model",
      file,
      data:
        file.made === undefined
          ? { kind: "paths", paths: file.parts.map((part) => beside(part.name)) }
          : { kind: "made", path: full, write: writeMade(files) },
      offer: undefined,
      argument: argument ?? quotePath(path),
      openedInSeconds: (performance.now() - started) / 1000,
    };
  };

  /** The list of files says what each was when it was opened. */
  const noteOpened = async (path: string, { file }: ModelInit): Promise<void> => {
    await parts.recents.add(path);
    if (file === undefined) return;
    const { title, variant } = describeFile(file);
    const identity = identityOf(title, { headerHash: file.headerHash, bytes: file.byteLength });
    await parts.recents.note(path, { name: title.slice(0, 300), variant: variant.slice(0, 200), identity });
  };

  /** Another model's source in place of that model. */
  const resolved = (source: ModelSource): ModelSource => {
    const own = source.kind === "model" ? sources.get(get(source.model)) : source;
    if (own !== undefined && !(source.kind === "model" && own.kind === "header")) return own;
    throw new WorkbenchError("INPUT_ARGUMENT", "[open] the weights of this model are not here: expected a file", {
      hint: "Send the file to the engine first, or open it by its path.",
    });
  };

  /** A text of a window. What it is an edited form of has a name in commands only while both are the same. */
  const writtenText = ({ name, text, file }: Extract<ModelSource, { kind: "text" }>): ModelInit => {
    const known = file === undefined ? null : { path: files.absolute(file.path), hash: file.hash };
    const isStored = known !== null && known.hash === hashText(text);
    return textInit(textSubject(name, known, text), isStored ? quotePath(known.path) : null, 0);
  };

  const initOf = async (source: ModelSource, signal: AbortSignal | undefined): Promise<ModelInit> => {
    switch (source.kind) {
      case "model":
        return initOf(resolved(source), signal);
      case "path": {
        const init = await openPath(source.path, null, signal);
        const path = files.absolute(source.path);
        await noteOpened(path, init).catch(() => undefined);
        return init;
      }
      case "text":
        return writtenText(source);
      case "upload":
        return sentFile(await openPath(parts.uploads.pathOf(source.upload).path, null, signal));
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

  /** The model with adapters, whose files come behind its own. */
  const adapted = async (
    init: ModelInit,
    adapters: readonly AdapterSource[],
    signal: AbortSignal | undefined,
  ): Promise<ModelInit> => {
    const { file, data } = init;
    if (adapters.length === 0) return init;
    const choices: (AdapterChoice & { readonly path: string })[] = [];
    try {
      const own = data.kind === "made" ? [data.path] : data.kind === "paths" ? data.paths : undefined;
      if (file === undefined || own === undefined)
        throw new WorkbenchError(
          "INPUT_ARGUMENT",
          "[adapter] the weights of this model are not here: expected a file",
          {
            hint: "Open the model by the path of its file.",
          },
        );
      for (const { path, scale } of adapters) {
        const opened = await files.open(path);
        choices.push({ file: await openGguf(opened.source, { signal }), scale, path: opened.path });
      }
      const paths = [...own, ...choices.map(({ path }) => path)];
      return { ...init, file: withAdapters(file, choices), data: { kind: "paths", paths } };
    } catch (error) {
      const opened = [...(file === undefined ? [] : [file]), ...choices.map((choice) => choice.file)];
      await Promise.allSettled(opened.map((each) => each.close()));
      throw error;
    }
  };

  /**
   * Deletes an upload with the last model or attempt that uses it. Throws while the upload is
   * incomplete.
   */
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
    parts.changed?.();
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

  /** The first path in the known folders, or in the one given, that is the file. */
  const lookFor = async (
    folder: string | null,
    findIn: (start: string) => Promise<string | undefined>,
  ): Promise<LocateResult> => {
    const recents = await parts.recents.list();
    const known = [...new Set(recents.map((recent) => recent.folder))];
    const folders = folder === null ? [...known, ...files.usualFolders()] : [folder];
    for (const start of folders) {
      const path = await findIn(start);
      if (path !== undefined) return { path, searched: folders, sentence: `Found as ${path}.` };
    }
    return {
      path: null,
      searched: folders,
      sentence: `Not found in ${folders.length === 1 ? (folders[0] ?? "") : `${folders.length} folders`}. Name its folder, or send the file here.`,
    };
  };

  const locateFile = (file: GgufFile, folder: string | null): Promise<LocateResult> =>
    // What is made of other files has no size of its own on the disk.
    lookFor(folder, (start) =>
      findFile(
        start,
        file.name,
        file.made === undefined ? file.parts[0]?.byteLength : undefined,
        async (found) => found.headerHash === file.headerHash && (await sameWeights(file, found)),
      ),
    );

  /** The file with this name and size below a folder that `isIt` knows. */
  const findFile = async (
    start: string,
    name: string,
    size: number | undefined,
    isIt: (found: GgufFile) => Promise<boolean>,
  ): Promise<string | undefined> => {
    for await (const path of files.find(start, name, size)) if (await isFile(path, isIt)) return path;
    return undefined;
  };
  const isFile = async (path: string, isIt: (found: GgufFile) => Promise<boolean>): Promise<boolean> => {
    try {
      const { source, openSibling } = await files.open(path);
      const file = await openModelFile(source, { openSibling });
      try {
        return await isIt(file);
      } finally {
        await file.close();
      }
    } catch {
      // A file that cannot be read is not the one we look for; nor is it known to be where the window does not answer.
      return false;
    }
  };

  const headers = createHeaders(async (file) => {
    // At once: a file of this header may come to be found later, when the connection is gone.
    samples.set(file, await sampleOf(file));
    return (await locateFile(file, null)).path;
  });

  const store: ModelStore = {
    headers,
    get,
    async open(asked, signal, adapters = []) {
      const source = resolved(asked);
      const release = hold(source);
      try {
        const init = await adapted(await initOf(source, signal), adapters, signal);
        const model = new OpenModel(`m${next++}`, init, parts);
        models.set(model.id, model);
        sent.set(model, [release]);
        sources.set(model, source);
        parts.changed?.();
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
    held: () => [...models.values()].map(({ id, heldBytes }) => ({ model: id, bytes: heldBytes })),
    async leave(id) {
      if (models.has(id)) await store.close(id);
    },
    async attach(id, asked, signal) {
      const model = get(id);
      const source = resolved(asked);
      const release = hold(source);
      // Before it is tried: the model may be closed meanwhile.
      sent.set(model, [...(sent.get(model) ?? []), release]);
      let init: ModelInit | undefined;
      try {
        init = await initOf(source, signal);
        model.attach(init);
        sources.set(model, source);
        return model;
      } catch (error) {
        await init?.file?.close();
        await release();
        throw error;
      }
    },
    find: ({ name, headerHash, bytes }, folder) =>
      lookFor(folder, (start) =>
        // One of several parts has a size of its own.
        findFile(start, name, undefined, (found) =>
          Promise.resolve(found.headerHash === headerHash && found.byteLength === bytes),
        ),
      ),
    locate: (id, folder) => locateFile(get(id).requireFile("locate"), folder),
    async dispose() {
      for (const model of models.values()) await dispose(model);
      models.clear();
    },
  };
  return store;
}

const quotePath = (path: string): string => (/^[\w./~-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`);
