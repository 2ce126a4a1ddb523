/**
 * What the engine needs of the place it runs in: files, folders, the machine, what is kept on disk. main/node implements these for
 * Node; a browser would bring its own. Nothing in main/engine reaches a system by any other way.
 */
import type { DirectoryReader, DirectoryWriter } from "../backends/coreml/package.ts";
import type { EngineInfo } from "../contract/views/engine.ts";
import type { Recent } from "../contract/views/model.ts";
import type { ByteSource, SiblingOpener } from "../formats/byteSource.ts";

export interface Recents {
  list(): Promise<readonly Recent[]>;
  add(path: string): Promise<void>;
  remove(path: string): Promise<void>;
}

/** Files that a window sends because they have no path here. */
export interface Uploads {
  begin(name: string, size: number): Promise<{ readonly upload: string; readonly chunkBytes: number }>;
  chunk(upload: string, offset: number, bytes: Uint8Array): Promise<number>;
  finish(upload: string): Promise<void>;
  cancel(upload: string): Promise<void>;
  /** The finished file. */
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
  /** Folders in which models usually lie. */
  usualFolders(): readonly string[];
  /** Paths of files with this name and size, below a folder and not too deep. */
  find(folder: string, name: string, size: number | undefined): AsyncIterable<string>;
  /** The model that comes with the workbench; undefined where it is not part of the installation. */
  sample(): { readonly path: string; readonly bytes: number } | undefined;
}

export interface PackageFiles {
  /** Closes what it opened. */
  reader(path: string): DirectoryReader & { close(): Promise<void> };
  /** Replaces what is there, when everything is written. `noted`: the next engine removes it if this process dies. */
  writer(path: string, options?: { readonly noted: boolean }): Promise<DirectoryWriter>;
  /** The absolute path for a new package; throws INPUT_ARGUMENT where none can be written. */
  place(path: string, overwrite: boolean): Promise<string>;
  /** Where a package would go: beside the model, or in the user's folder; and the bytes that are free there. */
  suggest(model: string | null, name: string): Promise<{ readonly path: string; readonly freeBytes: number | null }>;
  /** Removes what engines that were killed have left half written. */
  removeLeftovers(): Promise<void>;
}

export interface TemporaryFolder {
  readonly path: (name: string) => string;
  remove(): Promise<void>;
}

/** The machine in facts that a system always tells. */
export interface MachineInfo {
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
}
