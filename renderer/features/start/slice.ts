/** The first screen's own state: models found on the engine's machine, what was dropped together, and the settings of the machine. */
import type { FinderAction } from "../../../main/contract/shell.ts";
import type { FoundList } from "../../../main/contract/views/found.ts";
import type { PreferencesChange, PreferencesView } from "../../../main/contract/views/preferences.ts";
import { SESSION_ENDING } from "../../../main/contract/views/session.ts";
import { LONGEST_TEXT } from "../../../main/contract/views/text.ts";
import type { Async } from "../../session/async.ts";
import { createTask, failed, IDLE, isCancelled, loading, ready } from "../../session/async.ts";
import type { DroppedModels } from "../../session/droppedFile.ts";
import { isGraphText, modelsOfFiles, textOf } from "../../session/droppedFile.ts";
import type { SliceTools } from "../../session/slice.ts";
import type { OpenSource } from "../../session/types.ts";

/** Several models at one drop: one of them is chosen. */
export interface Choice {
  readonly title: string;
  readonly options: readonly Option[];
  /** Files that are no models, and what else there is to say. */
  readonly note: string | null;
}

export interface Option {
  readonly name: string;
  readonly detail: string;
  readonly bytes: number;
  readonly problem: string | null;
  readonly source: OpenSource;
}

export interface StartSlice {
  readonly found: Async<FoundList>;
  /** null: not asked yet. */
  readonly preferences: PreferencesView | null;
  readonly choice: Choice | null;
  /** Until the returned way to stop is taken. */
  readonly watchFound: () => () => void;
  readonly loadPreferences: () => Promise<void>;
  readonly changePreferences: (change: PreferencesChange) => Promise<void>;
  readonly addFolder: (path: string) => Promise<boolean>;
  readonly removeFolder: (path: string) => Promise<void>;
  /** One is opened, of several one is chosen. `others`: names of files that are no models. */
  readonly openOptions: (options: readonly Option[], others: readonly string[], title: string) => void;
  /** Picked or dropped files without paths. */
  readonly openFiles: (files: readonly File[]) => void;
  /** Files and folders on the engine's machine. */
  readonly openPaths: (paths: readonly string[]) => Promise<void>;
  readonly choose: (option: Option | null) => void;
  /** Finder's Quick Action; null where there is no Finder, or until it was looked at. */
  readonly finderAction: FinderAction | null;
  readonly askFinderAction: (wanted: "look" | "add" | "remove") => Promise<void>;
}

const baseName = (path: string): string => path.split(/[\\/]/u).findLast((part) => part !== "") ?? path;

export function createStartSlice({ engine, shell, set, get, emit }: SliceTools<StartSlice>): StartSlice {
  const finding = createTask();
  /** Places of the window that show what is found; one search is for all of them. */
  let watchers = 0;
  const take = (preferences: PreferencesView): void => {
    set({ preferences });
    emit("preferencesChanged", preferences.preferences);
  };
  engine.on("preferences.changed", take);
  engine.onState((state) => {
    if (state === "connected") void get().loadPreferences();
  });

  const optionsAt = async (path: string): Promise<readonly Option[]> => {
    const own: Option = {
      ...{ name: baseName(path), detail: path, bytes: 0, problem: null },
      source: { kind: "path", path },
    };
    const looked = await engine.call("models.look", { path });
    if (looked.isModel) return [own];
    return looked.models.map(({ name, where, bytes, problem, path: at }) => ({
      ...{ name, detail: where, bytes, problem },
      source: { kind: "path", path: at },
    }));
  };

  /** Graphs in text cross as what they say: the engine needs no file. */
  const openGraphs = async (graphs: readonly File[], { models, others }: DroppedModels): Promise<void> => {
    try {
      const texts = await Promise.all(
        graphs.map(async (file): Promise<Option> => {
          const text = await textOf(file, LONGEST_TEXT);
          const source = { kind: "text", name: file.name, text } as const;
          return { name: file.name, detail: "Graph in text", bytes: file.size, problem: null, source };
        }),
      );
      const options = [...texts, ...models.map((model) => fileOption(model))];
      const left = others.map(({ name }) => name);
      get().openOptions(options, left, `${options.length} graphs and models were dropped`);
    } catch (error) {
      get().notifyError("What was dropped could not be read", error);
    }
  };

  return {
    found: IDLE,
    preferences: null,
    choice: null,
    watchFound() {
      watchers += 1;
      let isWatching = true;
      const stop = (): void => {
        if (!isWatching) return;
        isWatching = false;
        watchers -= 1;
        if (watchers === 0) finding.stop();
      };
      if (watchers > 1) return stop;
      const { signal, isCurrent } = finding.begin();
      set({ found: loading(get().found) });
      const follow = async (): Promise<void> => {
        try {
          for await (const list of engine.stream("models.find", { watch: true }, { signal }))
            if (isCurrent()) set({ found: ready(list) });
        } catch (error) {
          if (isCurrent() && !isCancelled(error)) set({ found: failed(error) });
        }
      };
      void follow();
      return stop;
    },
    async loadPreferences() {
      try {
        take(await engine.call("preferences.get", {}));
      } catch (error) {
        get().notifyError("The settings could not be read", error);
      }
    },
    async changePreferences(change) {
      try {
        take(await engine.call("preferences.set", change));
      } catch (error) {
        get().notifyError("The settings could not be kept", error);
      }
    },
    async addFolder(path) {
      try {
        take(await engine.call("models.addFolder", { path }));
        return true;
      } catch (error) {
        get().notifyError("The folder was not added", error);
        return false;
      }
    },
    async removeFolder(path) {
      try {
        take(await engine.call("models.removeFolder", { path }));
      } catch (error) {
        get().notifyError("The folder was not removed", error);
      }
    },
    openOptions(options, others, title) {
      const [first, ...more] = options;
      const left = others.length === 0 ? null : `No model, left out: ${others.join(", ")}.`;
      if (first === undefined) return;
      if (more.length > 0) {
        set({ choice: { title, options, note: left } });
        return;
      }
      if (left !== null)
        get().notify({
          ...{ level: "info", code: null, details: null, hint: null, stays: true },
          title: "Not everything was opened",
          text: left,
        });
      void get().open(first.source);
    },
    openFiles(files) {
      const graphs = files.filter(({ name }) => isGraphText(name));
      if (graphs.length > 0) {
        void openGraphs(graphs, modelsOfFiles(files));
        return;
      }
      const { models, others } = modelsOfFiles(files);
      // A file of another format is opened by the engine, which says what it is.
      const [foreign] = models.length === 0 ? files.toSorted((a, b) => a.name.localeCompare(b.name)) : [];
      const dropped =
        foreign === undefined ? models : [{ file: foreign, folder: null, beside: new Map([[foreign.name, foreign]]) }];
      get().openOptions(
        dropped.map((model) => fileOption(model)),
        others.filter((file) => file !== foreign).map(({ name }) => name),
        `${dropped.length} models were dropped`,
      );
    },
    async openPaths(paths) {
      const session = paths.find((path) => path.endsWith(SESSION_ENDING));
      try {
        if (session !== undefined) {
          const { text } = await engine.call("sessions.read", { path: session });
          emit("sessionGiven", new File([text], baseName(session)));
          return;
        }
        const all = (await Promise.all(paths.map(optionsAt))).flat();
        const usable = all.filter(({ problem }) => problem === null);
        get().openOptions(usable.length === 1 ? usable : all, [], `${all.length} models are in what was opened`);
      } catch (error) {
        get().notifyError("What was opened could not be looked at", error);
      }
    },
    finderAction: null,
    async askFinderAction(wanted) {
      if (shell === null) return;
      try {
        set({ finderAction: await shell.finderAction(wanted) });
      } catch (error) {
        get().notifyError("Finder’s Quick Action could not be changed", error);
      }
    },
    choose(option) {
      set({ choice: null });
      if (option !== null) void get().open(option.source);
    },
  };
}

/** `at`: the folder it was dropped in. */
export function fileOption(dropped: Extract<OpenSource, { readonly kind: "file" }>["dropped"], at = ""): Option {
  const stem = dropped.file.name.replace(/-\d{5}-of-\d{5}(\.gguf)$/iu, "");
  const parts =
    dropped.folder === null ? [...dropped.beside.values()].filter(({ name }) => name.startsWith(`${stem}-`)) : [];
  const sizes = stem === dropped.file.name ? [dropped.file] : parts;
  const weights = [...dropped.beside].filter(([name]) => /\.safetensors$/iu.test(name)).map(([, file]) => file);
  return {
    name: dropped.folder ?? dropped.file.name,
    detail: dropped.folder === null ? (at === "" ? "Dropped file" : at) : "Folder of a Hugging Face model",
    bytes: (dropped.folder === null ? sizes : weights).reduce((sum, { size }) => sum + size, 0),
    problem: null,
    source: { kind: "file", dropped },
  };
}
