/**
 * Models on this machine: each place is walked within limits, headers are read, and a file that has several names is told once.
 * Nothing is written. With `watch` the places are watched, and one that changes is looked at again.
 */
import type { FSWatcher } from "node:fs";
import { watch as watchFolder } from "node:fs";
import { readdir, realpath, stat } from "node:fs/promises";
import { homedir } from "node:os";
import { basename, join, resolve } from "node:path";
import type { FoundList, FoundModel, FoundPlace } from "../../contract/views/found.ts";
import { throwIfCancelled, WorkbenchError } from "../../diagnostics/errors.ts";
import type { ModelFinder } from "../../engine/services.ts";
import type { FactReader } from "./facts.ts";
import { factReader } from "./facts.ts";
import type { Candidate } from "./group.ts";
import { candidatesOf, isWanted, repositoryOf } from "./group.ts";
import { ollamaModels } from "./ollama.ts";
import type { Place } from "./places.ts";
import { createNews } from "./news.ts";
import type { Limits } from "./walk.ts";
import { Budget, LIMITS, walk } from "./walk.ts";

/** Models of one place that are told. */
const MOST_MODELS = 500;
/** What is being written changes many times a second. */
const QUIET_MS = 400;

/** Between two lists while places are looked at. */
const TOLD_EVERY_MS = 150;

/** A model, and which file on the disk it is. */
interface Found {
  readonly model: FoundModel;
  readonly identity: string;
}

interface PlaceState {
  readonly place: Place;
  found: readonly Found[];
  note: string | null;
  isThere: boolean;
  isDone: boolean;
  watcher: FSWatcher | undefined;
}

export interface FinderParts {
  /** Where other programs keep theirs. */
  readonly usual: readonly Place[];
  readonly limits?: Limits;
}

export function createFinder({ usual, limits = LIMITS }: FinderParts): ModelFinder {
  const facts = factReader();

  const scan = async (state: PlaceState, signal: AbortSignal, tell: () => void): Promise<void> => {
    const { place } = state;
    const root = await realRoot(place.folder);
    state.isThere = root !== undefined;
    const found: Found[] = [];
    const budget = new Budget(limits);
    if (root !== undefined)
      for await (const one of modelsIn({ place, root, budget, signal, facts })) {
        found.push(one);
        // What is known is shown while the rest is looked at; what was known before stays until then.
        if (!state.isDone) state.found = [...found];
        tell();
        if (found.length >= MOST_MODELS) break;
      }
    state.found = found;
    state.note =
      found.length >= MOST_MODELS
        ? `Only its first ${MOST_MODELS} models are listed.`
        : root === undefined
          ? "This folder is not there."
          : budget.note;
    state.isDone = true;
    tell();
  };

  return {
    async *find({ folders, usual: withUsual, watch, signal }) {
      const places = [...folders.map((folder): Place => ({ kind: "folder", folder })), ...(withUsual ? usual : [])];
      const states = places.map((place): PlaceState => {
        return { place, found: [], note: null, isThere: false, isDone: false, watcher: undefined };
      });
      const news = createNews(signal);
      const work = scanAll(states, (state) => scan(state, signal, news.tell), { watch, signal, tell: news.tell });
      work.catch(news.tell);
      try {
        let isOver = false;
        while (!isOver) {
          isOver = !watch && states.every(({ isDone }) => isDone);
          yield { ...listOf(states), usual: withUsual && usual.length > 0 };
          if (isOver) break;
          await Promise.race([news.next(), work]);
          // Several at once while there are many.
          if (states.some(({ isDone }) => !isDone)) await pause(TOLD_EVERY_MS, signal);
          if (signal.aborted) return;
        }
        await work;
      } finally {
        news.end();
        for (const { watcher } of states) watcher?.close();
        work.catch(() => undefined);
      }
    },
    async look(path, signal) {
      const full = resolve(path);
      const there = await stat(full).catch(() => undefined);
      if (there?.isDirectory() !== true) return { isModel: true, models: [], note: null };
      const names = await readdir(full).catch((): string[] => []);
      if (names.includes("config.json") && names.some((name) => /\.safetensors$/iu.test(name)))
        return { isModel: true, models: [], note: null };
      const state: PlaceState = {
        place: { kind: "folder", folder: full },
        ...{ found: [], note: null, isThere: false, isDone: false, watcher: undefined },
      };
      await scan(state, signal, () => undefined);
      // Nothing in it: opening it says what it is.
      return { isModel: state.found.length === 0, models: listOf([state]).models, note: state.note };
    },
    folder,
  };
}

/** One after the other, and then again what changes. */
async function scanAll(
  states: readonly PlaceState[],
  scan: (state: PlaceState) => Promise<void>,
  { watch, signal, tell }: { readonly watch: boolean; readonly signal: AbortSignal; readonly tell: () => void },
): Promise<void> {
  const changed = new Set<PlaceState>();
  const changes = createNews(signal);
  for (const state of states) {
    await scan(state);
    if (watch && state.isThere && !signal.aborted)
      state.watcher = watcherOf(state.place, () => {
        changed.add(state);
        changes.tell();
      });
  }
  tell();
  while (watch && !signal.aborted) {
    await changes.next();
    await pause(QUIET_MS, signal);
    for (const state of [...changed]) {
      changed.delete(state);
      if (!signal.aborted) await scan(state);
    }
  }
}

/** Ends early with the signal. */
const pause = (milliseconds: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      signal.removeEventListener("abort", end);
      resolve();
    };
    const timer = setTimeout(end, milliseconds);
    signal.addEventListener("abort", end);
    if (signal.aborted) end();
  });

/** Undefined where the system cannot watch it: its models stay as they were found. */
function watcherOf({ kind, folder }: Place, onChange: () => void): FSWatcher | undefined {
  try {
    // Of Hugging Face's cache, where there are thousands of files, a new repository is noticed.
    const watcher = watchFolder(folder, { recursive: kind !== "hugging-face", persistent: false }, onChange);
    watcher.on("error", () => watcher.close());
    return watcher;
  } catch {
    return undefined;
  }
}

async function realRoot(path: string): Promise<string | undefined> {
  const root = await realpath(path).catch(() => undefined);
  const isFolder = root !== undefined && (await stat(root).catch(() => undefined))?.isDirectory() === true;
  return isFolder ? root : undefined;
}

async function folder(path: string): Promise<string> {
  const home = path === "~" || path.startsWith("~/") ? join(homedir(), path.slice(1)) : path;
  const full = resolve(home);
  if ((await realRoot(full)) !== undefined) return full;
  throw new WorkbenchError("INPUT_ARGUMENT", `[models] ${full}: expected a folder that is there`, {
    hint: "Name a folder with model files.",
  });
}

interface Search {
  readonly place: Place;
  readonly root: string;
  readonly budget: Budget;
  readonly signal: AbortSignal;
  readonly facts: FactReader;
}

async function* modelsIn(search: Search): AsyncGenerator<Found> {
  if (search.place.kind === "ollama") yield* inOllama(search);
  else
    for await (const walked of walk(search.root, isWanted, search.budget, search.signal))
      for (const candidate of candidatesOf(walked)) {
        throwIfCancelled(search.signal);
        const found = await foundOf(search, candidate, wordsOf(search.place, candidate));
        if (found !== undefined) yield found;
      }
}

async function* inOllama(search: Search): AsyncGenerator<Found> {
  for await (const { name, blob } of ollamaModels(search.root, search.budget, search.signal)) {
    const candidate: Candidate = {
      ...{ path: blob.path, name, folder: "", kind: "gguf", files: [blob], parts: 1 },
    };
    const found = await foundOf(search, candidate, { name, where: "Ollama" });
    if (found !== undefined) yield found;
  }
}

async function foundOf(
  { place, facts, signal }: Search,
  candidate: Candidate,
  words: Pick<FoundModel, "name" | "where">,
): Promise<Found | undefined> {
  const { isModel, variant, architecture, problem } = await facts.read(candidate, signal);
  if (!isModel) return undefined;
  const weights = candidate.kind === "gguf" ? candidate.files : candidate.files.slice(1);
  const model: FoundModel = {
    ...{ path: candidate.path, place: place.kind, ...words, parts: candidate.parts, variant, architecture, problem },
    bytes: weights.reduce((sum, file) => sum + file.bytes, 0),
    changedAt: Math.max(...candidate.files.map(({ changedAt }) => changedAt)),
  };
  return { model, identity: weights[0]?.identity ?? candidate.path };
}

/** No control characters: the names are other people's. */
const plain = (text: string): string => text.replace(/\p{Cc}/gu, " ").slice(0, 300);

function wordsOf(
  { kind, folder: root }: Place,
  { kind: form, name, folder: inside }: Candidate,
): Pick<FoundModel, "name" | "where"> {
  if (kind === "hugging-face") {
    const repository = repositoryOf(inside) ?? inside;
    return form === "gguf"
      ? { name: plain(name), where: plain(`Hugging Face, ${repository}`) }
      : { name: plain(repository), where: "Hugging Face" };
  }
  const own = name === "" ? basename(root) : name;
  if (kind === "folder") return { name: plain(own), where: plain(inside === "" ? root : join(root, inside)) };
  const title = kind === "lm-studio" ? "LM Studio" : "llama.cpp";
  return { name: plain(own), where: plain(inside === "" ? title : `${title}, ${inside}`) };
}

/** Each file on the disk once: the first place that has it is told. */
function listOf(states: readonly PlaceState[]): Omit<FoundList, "usual"> {
  const seen = new Map<string, number>();
  const models: FoundModel[] = [];
  const places: FoundPlace[] = [];
  for (const { place, found, note, isThere, isDone, watcher } of states) {
    let own = 0;
    for (const { model, identity } of found) {
      const at = seen.get(identity);
      const known = at === undefined ? undefined : models[at];
      if (at !== undefined && known !== undefined) {
        if (known.place === "ollama")
          models[at] = { ...known, where: `${known.where}, also ${model.name}`.slice(0, 300) };
        continue;
      }
      seen.set(identity, models.length);
      models.push(model);
      own += 1;
    }
    if (isThere || (isDone && place.kind === "folder"))
      places.push({ ...place, models: own, note, watched: watcher !== undefined });
  }
  return { models, places, complete: states.every(({ isDone }) => isDone) };
}
