/**
 * A dropped model without a path (in a browser): a file, some files, or a folder. The engine asks for the ranges of its header,
 * and of the files beside it that it needs. All of these are sent only on request, if the engine did not find them on its own
 * disk.
 */
import type { EngineClient } from "../../main/contract/contract.ts";
import { WorkbenchError } from "../../main/diagnostics/errors.ts";
import type { DroppedModel } from "./types.ts";

const CONFIG = "config.json";
/** A graph in text. */
export const isGraphText = (name: string): boolean => /\.rlx$/iu.test(name);
const isGguf = (name: string): boolean => /\.gguf$/iu.test(name);
const isSafetensors = (name: string): boolean => /\.safetensors$/iu.test(name);
const byName = (a: File, b: File): number => a.name.localeCompare(b.name);

/** A part of a split file counts by the name that all parts share. */
const stemOf = (name: string): string => name.replace(/-\d{5}-of-\d{5}\.(gguf|safetensors)$/iu, "");
/** A projector or an importance matrix lies beside a model. The engine's search goes by the same names. */
const isBeside = (name: string): boolean => /(^|[-_.])(mmproj|imatrix)([-_.]|$)/iu.test(name);
/** What a safetensors model may need: its config, tokenizer and template. */
const isOfFolder = (name: string): boolean => /\.(json|txt|jinja|model|md)$/iu.test(name);

export interface DroppedModels {
  readonly models: readonly DroppedModel[];
  /** Files that are no models and belong to none. */
  readonly others: readonly File[];
}

/** The models in files that were dropped or picked together: a split one once, by its first part, with the others beside it. */
export function modelsOfFiles(given: readonly File[]): DroppedModels {
  const files = given.toSorted(byName);
  const beside = new Map(files.map((each) => [each.name, each]));
  const config = beside.get(CONFIG);
  const tensors = files.filter(({ name }) => isSafetensors(name));
  const models = [
    ...firstParts(files.filter(({ name }) => isGguf(name) && !isBeside(name))),
    ...(config !== undefined && tensors.length > 0 ? tensors.slice(0, 1) : firstParts(tensors)),
  ].map((file): DroppedModel => ({ file, folder: null, beside }));
  const others = files.filter(
    ({ name }) =>
      !isSafetensors(name) && !isGguf(name) && !isGraphText(name) && !(tensors.length > 0 && isOfFolder(name)),
  );
  return { models, others };
}

function firstParts(files: readonly File[]): readonly File[] {
  const firsts = new Map<string, File>();
  for (const file of files) if (!firsts.has(stemOf(file.name))) firsts.set(stemOf(file.name), file);
  return [...firsts.values()];
}

/** The models in a folder: that of Hugging Face, and the GGUFs in it and in its folders. `files` have names from it. */
export function modelsOfFolder(folder: string, files: ReadonlyMap<string, File>): readonly DroppedModel[] {
  const inside = new Map<string, Map<string, File>>();
  for (const [path, file] of files) {
    const at = path.slice(0, path.lastIndexOf("/") + 1);
    inside.set(at, (inside.get(at) ?? new Map<string, File>()).set(path.slice(at.length), file));
  }
  return [...inside]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .flatMap(([at, own]): readonly DroppedModel[] => {
      const ggufs = firstParts(
        [...own.values()].filter(({ name }) => isGguf(name) && !isBeside(name)).toSorted(byName),
      );
      const config = own.get(CONFIG);
      const isWhole = config !== undefined && [...own.keys()].some(isSafetensors);
      const below = new Map(
        [...files].flatMap(([path, file]) => (path.startsWith(at) ? [[path.slice(at.length), file] as const] : [])),
      );
      return [
        ...(isWhole ? [{ file: config, folder: at.split("/").at(-2) ?? folder, beside: below }] : []),
        ...ggufs.map((file) => ({ file, folder: null, beside: own })),
      ];
    });
}

/** A folder without a model: what it has instead. */
export function noModelIn(folder: string, files: ReadonlyMap<string, File>): WorkbenchError {
  // As where a path is opened.
  if (files.has("Manifest.json"))
    return new WorkbenchError(
      "INPUT_NOT_GGUF",
      `[${folder}] not a GGUF: got a Core ML package, expected a model file`,
      {
        hint: "Packages are written here, not opened: open the GGUF or the Hugging Face folder that it was made from.",
      },
    );
  const what = "no GGUF file, and no config.json with safetensors files";
  // Not at the start, where a message gets a capital.
  return new WorkbenchError("INPUT_UNREADABLE", `[folder] the folder ${folder}: got ${what}, expected a model`, {
    hint: "Drop a .gguf file (of a split model, all its parts), or the folder of a Hugging Face model.",
  });
}

/** Most files that are read of a folder, and how deep they may lie: LM Studio keeps models two folders deep. */
const MOST_FILES = 4000;
const DEEPEST = 3;

/** The files of a folder by their names from it, hidden ones left out. */
export async function filesOf(folder: FileSystemDirectoryEntry): Promise<ReadonlyMap<string, File>> {
  const found = new Map<string, File>();
  const walk = async (from: FileSystemDirectoryEntry, prefix: string, depth: number): Promise<void> => {
    for (const entry of await entriesOf(from)) {
      if (entry.name.startsWith(".") || found.size >= MOST_FILES) continue;
      const path = prefix + entry.name;
      if (isFileEntry(entry)) found.set(path, await fileOf(entry));
      else if (isFolderEntry(entry) && depth < DEEPEST) await walk(entry, `${path}/`, depth + 1);
    }
  };
  await walk(folder, "", 0);
  return found;
}

export const isFolderEntry = (entry: FileSystemEntry): entry is FileSystemDirectoryEntry => entry.isDirectory;
const isFileEntry = (entry: FileSystemEntry): entry is FileSystemFileEntry => entry.isFile;

const fileOf = (entry: FileSystemFileEntry): Promise<File> =>
  new Promise((resolve, reject) => entry.file(resolve, (cause) => reject(unreadable(entry.name, cause))));

/** A reader gives some entries at a time, and none at the end. */
async function entriesOf(folder: FileSystemDirectoryEntry): Promise<readonly FileSystemEntry[]> {
  const reader = folder.createReader();
  const all: FileSystemEntry[] = [];
  for (;;) {
    const some = await new Promise<readonly FileSystemEntry[]>((resolve, reject) =>
      reader.readEntries(resolve, (cause) => reject(unreadable(folder.name, cause))),
    );
    if (some.length === 0) return all;
    all.push(...some);
  }
}

const unreadable = (name: string, cause: unknown): WorkbenchError =>
  new WorkbenchError("INPUT_UNREADABLE", `[file] ${name} cannot be read`, {
    hint: "It may have been moved. Drop or choose it again.",
    cause,
  });

async function readRange(file: File, offset: number, length: number): Promise<Uint8Array> {
  try {
    return new Uint8Array(await file.slice(offset, offset + length).arrayBuffer());
  } catch (cause) {
    throw unreadable(file.name, cause);
  }
}

/** The text of a small file. A decoder may refuse what is none. */
export async function textOf(file: File, mostBytes: number, decoder = new TextDecoder()): Promise<string> {
  if (file.size > mostBytes)
    throw new WorkbenchError(
      "INPUT_LIMIT",
      `[file] ${file.name}: got ${file.size} bytes, expected ${mostBytes} at most`,
      { hint: "Choose a smaller file." },
    );
  return decoder.decode(await readRange(file, 0, file.size));
}

/** The files beside a model that the engine has asked for. */
const needed = new WeakMap<DroppedModel, Set<string>>();

const besideOf = (names: Iterable<readonly [string, File]>): { name: string; size: number }[] =>
  [...names].map(([name, { size }]) => ({ name, size }));

export async function feedHeader(engine: EngineClient, dropped: DroppedModel): Promise<string> {
  const { file, folder, beside } = dropped;
  const asked = new Set<string>();
  needed.set(dropped, asked);
  try {
    let need = await engine.call("header.begin", {
      ...{ name: file.name, size: file.size, folder },
      beside: besideOf(beside),
    });
    while (need.kind === "more") {
      const { header, offset, length } = need;
      if (need.file !== null) asked.add(need.file);
      const source = need.file === null ? file : beside.get(need.file);
      if (source === undefined)
        throw new WorkbenchError("BUG_INVARIANT", `[header] there is no file ${need.file ?? ""}`);
      need = await engine.call("header.feed", { header, offset, bytes: await readRange(source, offset, length) });
    }
    return need.header;
  } catch (error) {
    throw folder === null ? withFolderHint(error) : error;
  }
}

/** A page sees no other file than those that were dropped. */
function withFolderHint(error: unknown): unknown {
  if (!(error instanceof WorkbenchError) || !["INPUT_SPLIT", "INPUT_NOT_FOUND"].includes(error.code)) return error;
  const { code, message, details } = error;
  return new WorkbenchError(code, message, {
    hint: "A browser sees only what is dropped: drop the model's folder, or all of its files together.",
    ...(details === undefined ? {} : { details }),
    cause: error,
  });
}

/** What the engine needs of a model, in the order in which it is sent. */
export function partsToSend(dropped: DroppedModel): readonly (readonly [string, File])[] {
  const { file, beside } = dropped;
  const others = [...(needed.get(dropped) ?? [])].flatMap((name): readonly (readonly [string, File])[] => {
    const other = beside.get(name);
    return other === undefined || name === file.name ? [] : [[name, other]];
  });
  return [[file.name, file], ...others];
}

export async function uploadModel(
  engine: EngineClient,
  dropped: DroppedModel,
  signal: AbortSignal,
  onProgress: (doneBytes: number) => void,
): Promise<string> {
  const [[name, file] = ["", dropped.file], ...others] = partsToSend(dropped);
  const { upload, chunkBytes } = await engine.call("upload.begin", {
    ...{ name, size: file.size, folder: dropped.folder },
    beside: besideOf(others),
  });
  try {
    let sent = 0;
    for (const [, part] of [[name, file] as const, ...others])
      for (let offset = 0; offset < part.size; offset += chunkBytes) {
        if (signal.aborted) throw new WorkbenchError("CANCELLED", "[upload] cancelled");
        const bytes = await readRange(part, offset, chunkBytes);
        await engine.call("upload.chunk", { upload, offset: sent, bytes }, { signal });
        sent += bytes.byteLength;
        onProgress(sent);
      }
    await engine.call("upload.finish", { upload });
    return upload;
  } catch (error) {
    // Remove the incomplete upload; after a lost engine, the next one removes it.
    await engine.call("upload.cancel", { upload }).catch(() => undefined);
    throw error;
  }
}
