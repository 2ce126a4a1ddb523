/**
 * What the engine needs of the place it runs in: files, folders, the machine, what is kept on disk. main/node implements these for
 * Node; a browser would bring its own. Nothing in main/engine reaches a system by any other way.
 */
import type { DirectoryWriter } from "../backends/coreml/package.ts";
import type { Machine as PredictedMachine } from "../compiler/cost/machines.ts";
import type { AdviceVerdict } from "../contract/views/advice.ts";
import type { EngineInfo } from "../contract/views/engine.ts";
import type { MacFacts } from "../contract/views/mac.ts";
import type { Reading } from "../contract/views/machine.ts";
import type { FoundList, LookResult } from "../contract/views/found.ts";
import type { Recent } from "../contract/views/model.ts";
import type { Preferences, PreferencesView } from "../contract/views/preferences.ts";
import type { HistoryEntry, HistoryPage, SessionRow } from "../contract/views/session.ts";
import type { RouteView } from "../contract/views/route.ts";
import type { Phase, TargetSpec } from "../contract/views/common.ts";
import type { ServerInput, ServerRequest, ServerStatus } from "../contract/views/server.ts";
import type { ByteSink } from "../formats/byteSink.ts";
import type { ByteSource, SiblingOpener } from "../formats/byteSource.ts";
import type { GgufFile } from "../formats/gguf/file.ts";
import type { WeightFiles } from "../ir/weightPlace.ts";
import type { Calibration } from "../runtime/calibration.ts";
import type { Device } from "../runtime/device.ts";
import type { PromptCacheFiles } from "../runtime/promptCache.ts";
import type { Connectable } from "./connection.ts";

/** A file that was opened, and what was known of it then. */
export type KeptRecent = Omit<Recent, "speed"> & { readonly identity: string | null };

export interface Recents {
  list(): Promise<readonly KeptRecent[]>;
  add(path: string): Promise<void>;
  /** What is known of a file of the list; of another one nothing is kept. */
  note(path: string, facts: Partial<Pick<KeptRecent, "variant" | "aneShare" | "identity" | "name">>): Promise<void>;
  remove(path: string): Promise<void>;
}

/** What a person sets, in a file. */
export interface PreferenceStore {
  get(): Promise<PreferencesView>;
  set(change: { readonly [K in keyof Preferences]?: Preferences[K] | undefined }): Promise<PreferencesView>;
  /** Also when another process has written it. Returns the way to stop. */
  onChange(listener: (view: PreferencesView) => void): () => void;
}

/** Looks for models in folders of this machine. It reads only, within limits, and follows no link out of a folder. */
export interface ModelFinder {
  /**
   * A list for each change, the first as soon as something is known; ends when all was looked at, with `watch` when the signal
   * fires.
   */
  find(asked: FindOptions): AsyncIterable<FoundList>;
  look(path: string, signal: AbortSignal): Promise<LookResult>;
  /** The folder's absolute path; throws INPUT_ARGUMENT where there is no such folder. */
  folder(path: string): Promise<string>;
}

export interface FindOptions {
  /** Those that the user named. */
  readonly folders: readonly string[];
  /** Also where other programs keep theirs. */
  readonly usual: boolean;
  readonly watch: boolean;
  readonly signal: AbortSignal;
}

/** Session documents: each is text that `readDocument` accepts. */
export interface Sessions {
  /** The last ones that were saved, newest first. */
  list(limit: number): Promise<readonly SessionRow[]>;
  load(session: string): Promise<string>;
  /** Of a file anywhere; what is no session is refused. */
  read(path: string): Promise<string>;
  /** Whole or not at all. */
  save(session: string, text: string): Promise<void>;
  remove(session: string): Promise<void>;
}

/** Files to which lines are only added. */
export interface Histories {
  append(kind: string, entry: HistoryEntry): Promise<void>;
  /** Newest first; of one model where its identity is given. */
  list(kind: string, asked: { readonly limit: number; readonly identity: string | null }): Promise<HistoryPage>;
}

/** What was dropped with a file. */
export interface DroppedBeside {
  /** The folder that was dropped, in which the file lies. */
  readonly folder?: string | null;
  /** Names from the file's folder. */
  readonly beside?: readonly { readonly name: string; readonly size: number }[];
}

/** Files that a window sends because they have no path here. */
export interface Uploads {
  begin(
    name: string,
    size: number,
    others?: DroppedBeside,
  ): Promise<{ readonly upload: string; readonly chunkBytes: number }>;
  chunk(upload: string, offset: number, bytes: Uint8Array): Promise<number>;
  finish(upload: string): Promise<void>;
  cancel(upload: string): Promise<void>;
  /**
   * Called when the sending window closes. Deletes incomplete uploads; complete ones belong to
   * their model.
   */
  abandon(upload: string): Promise<void>;
  /** The finished file; where a folder was dropped, that. */
  pathOf(upload: string): { readonly path: string; readonly name: string };
  dispose(): Promise<void>;
}

/** A file that was opened by its path. */
export interface PathSource {
  /** Absolute. */
  readonly path: string;
  readonly source: ByteSource;
  readonly openSibling: SiblingOpener;
  /** The path of a file in the same folder. */
  readonly beside: (name: string) => string;
}

export interface ModelFiles {
  open(path: string): Promise<PathSource>;
  absolute(path: string): string;
  /** A place for a file that goes when `remove` is called, or with this process. */
  temporary(name: string): Promise<{ readonly path: string; remove(): Promise<void> }>;
  /** Folders in which models usually lie. */
  usualFolders(): readonly string[];
  /** Paths of files with this name and size, below a folder and not too deep. Without a size, of folders too. */
  find(folder: string, name: string, size: number | undefined): AsyncIterable<string>;
  /** The model that comes with the workbench; undefined where it is not part of the installation. */
  sample(): { readonly path: string; readonly bytes: number } | undefined;
  /**
   * A new file, of a model where no other ending is named: its absolute path, and what writes it. Throws INPUT_ARGUMENT where
   * none can be written.
   */
  create(
    path: string,
    overwrite: boolean,
    ending?: string,
  ): Promise<{ readonly path: string; readonly sink: ByteSink }>;
}

export interface PackageFiles {
  /** Replaces what is there, when everything is written. `noted`: the next engine removes it if this process dies. */
  writer(path: string, options?: { readonly noted: boolean }): Promise<DirectoryWriter>;
  /** The absolute path for a new package; throws INPUT_ARGUMENT where none can be written. */
  place(path: string, overwrite: boolean): Promise<string>;
  /** Where a package would go: beside the model, or in the user's folder; and the bytes that are free there. */
  suggest(model: string | null, name: string): Promise<{ readonly path: string; readonly freeBytes: number | null }>;
  /** Removes what engines that were killed have left half written. */
  removeAbandonedFiles(): Promise<void>;
  /** A place for a package that goes when `remove` is called. */
  temporary(name: string): Promise<{ readonly path: string; remove(): Promise<void> }>;
}

export interface CoreKinds {
  readonly performance: number;
  readonly efficiency: number;
}

/** Seconds of processors since any moment: of all programs, and of this one. */
export interface ProcessorTimes {
  readonly busy: number;
  readonly own: number;
}

/** Joules since any moment; it only grows. */
export interface EnergyCounter {
  readonly kind: "counter";
  readonly source: string;
  readonly joules: () => number;
}

export interface NoEnergy {
  readonly kind: "none";
  readonly sentence: string;
}

/** The machine: facts that a system always tells, and readings of its state. */
export interface Machine {
  readonly platform: EngineInfo["platform"];
  readonly osTitle: string;
  readonly chip: string;
  readonly cores: number;
  /** How many threads run at once. */
  readonly threads: number;
  readonly totalBytes: number;
  readonly freeBytes: () => number;
  /** Memory of the engine's own process. */
  readonly engineBytes: () => number;
  /** The kinds of its cores, where the system tells; null where they are all alike or not told. */
  readonly coreKinds: () => Promise<CoreKinds | null>;
  /** What its processors did so far; null where the system does not tell it of this process' own ones. */
  readonly processorTimes: () => ProcessorTimes | null;
  readonly energy: () => EnergyCounter | NoEnergy;
  /** Heat, power, memory and load. `mac`: what Core ML's bridge tells, where it measures. */
  readonly readings: (mac: MacFacts | undefined) => Promise<readonly Reading[]>;
}

export interface FolderFacts {
  readonly folder: string;
  readonly entries: number;
  readonly bytes: number;
  readonly limit: number;
}

/** A folder of things that can be made again. */
export interface KeptFolder {
  facts(): Promise<FolderFacts>;
  /** Removes every entry; answers what was really removed. */
  clear(): Promise<FolderFacts>;
}

/** Predicted routes that are kept; `make` is asked for one that is not. */
export interface RouteCache {
  get(
    request: {
      readonly model: string;
      readonly file: GgufFile | undefined;
      readonly target: TargetSpec;
      readonly phase: Phase;
      /** That seconds are predicted for. */
      readonly machine: PredictedMachine;
    },
    make: () => Promise<RouteView>,
  ): Promise<RouteView>;
}

export interface KnownCalibration {
  readonly calibration: Calibration;
  readonly how: "kept" | "measured";
}

/** What devices measured here, kept for the next process. */
export interface CalibrationStore {
  kept(device: Pick<Device, "id" | "title">): Promise<Calibration | undefined>;
  /** Devices are made over the weight that the quantised product reads. `again`: measures what is kept, too. */
  measure(
    devices: readonly ((weights: WeightFiles) => Device)[],
    options: { readonly signal: AbortSignal; readonly again: boolean },
  ): Promise<readonly KnownCalibration[]>;
}

/** Verdicts of measured advice: for a model, a change and this machine. */
export interface VerdictStore {
  get(key: string): Promise<AdviceVerdict | undefined>;
  put(key: string, verdict: AdviceVerdict): Promise<void>;
}

/** A running HTTP server for other programs. */
export interface ApiServing {
  status(): ServerStatus;
  readonly log: {
    /** The last requests, oldest first. */
    last(): readonly ServerRequest[];
    listen(listener: (request: ServerRequest) => void): () => void;
  };
  /** When its status has changed. */
  onChange(listener: () => void): () => void;
  close(): Promise<void>;
}

/** Starts the HTTP server, which is a client of the engine like the window. */
export interface ApiHost {
  start(input: ServerInput, engine: Connectable): Promise<ApiServing>;
}

/** Records of training runs, as text, one file each. */
export interface TrainingRuns {
  /** Newest first. */
  list(): Promise<readonly string[]>;
  load(run: string): Promise<string>;
  /** Whole or not at all. */
  save(run: string, text: string): Promise<void>;
  remove(run: string): Promise<void>;
}

/** Files that a training reads and writes. */
export interface TrainingFiles {
  /** The absolute path of a new file; throws INPUT_ARGUMENT where none can be written, or where one is there already. */
  place(path: string, options: { readonly ending: string; readonly overwrite: boolean }): Promise<string>;
  /** Beside its place, then at it: a kill leaves the old file or the new one. */
  write(path: string, pieces: readonly Uint8Array[], signal?: AbortSignal): Promise<void>;
  /** What writes a file whose bytes come one after the other, in the same way. */
  sink(path: string): Promise<ByteSink>;
  /** Raw deflate; an error where more than `most` bytes come out. */
  inflate(bytes: Uint8Array, most: number): Promise<Uint8Array>;
}

export interface EngineServices {
  readonly files: ModelFiles;
  readonly packages: PackageFiles;
  readonly recents: Recents;
  readonly preferences: PreferenceStore;
  readonly finder: ModelFinder;
  readonly sessions: Sessions;
  readonly histories: Histories;
  readonly trainingRuns: TrainingRuns;
  readonly trainingFiles: TrainingFiles;
  readonly uploads: Uploads;
  readonly promptCaches: PromptCacheFiles;
  readonly machine: Machine;
  /** Where this user's own files are kept, and why nothing can be written there. */
  readonly data: { readonly folder: string; problem(): Promise<string | undefined> };
  /** The compile cache; undefined when it is switched off. */
  readonly plans: KeptFolder | undefined;
  readonly routes: RouteCache;
  readonly calibrations: CalibrationStore;
  readonly verdicts: VerdictStore;
  readonly api: ApiHost;
  /** A line for the person who runs the engine. */
  readonly log: (line: string) => void;
}
