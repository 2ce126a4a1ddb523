/** What the whole window shares: notices, losses, and how a model came to be open. */
import type { Job } from "../../main/contract/views/engine.ts";
import type { TextFile } from "../../main/contract/views/text.ts";

/** A model whose files were dropped or picked in a browser and have no path. */
export interface DroppedModel {
  /** Its first file: a GGUF, safetensors, or the config.json of a folder. */
  readonly file: File;
  /** The folder that was dropped; null where files were. */
  readonly folder: string | null;
  /** The files beside it, by their names from its folder. */
  readonly beside: ReadonlyMap<string, File>;
}

/** A graph as text, which lies in no file of the engine's machine, or is the edited form of one. */
export interface TextSource {
  readonly kind: "text";
  /** "cnn.rlx" */
  readonly name: string;
  readonly text: string;
  readonly file?: TextFile | undefined;
}

export type OpenSource =
  | { readonly kind: "path"; readonly path: string }
  | { readonly kind: "offer"; readonly id: string }
  | TextSource
  | { readonly kind: "file"; readonly dropped: DroppedModel };

/** Work of this window, or of the engine itself; that of another window's model is not. */
export const isOwnJob = ({ model }: Pick<Job, "model">, open: string | null): boolean =>
  model === null || model === open;

export interface ShownNotice {
  readonly id: number;
  readonly level: "info" | "warning" | "error";
  readonly title: string;
  readonly code: string | null;
  readonly text: string;
  readonly hint: string | null;
  readonly details: string | null;
  /** It is not about the open model: it stays when that goes. */
  readonly stays?: boolean;
}

/** The engine went away: since when, and what was running. */
export interface Loss {
  readonly sentence: string;
  readonly lost: readonly string[];
  /** What kind of work that was, so that it can be started again. */
  readonly jobs: readonly Job["kind"][];
  /** The engine is there again; the sentence stays until it has been read. */
  readonly over: boolean;
  /** What answers in its place is an engine of another version: only a reload or a new start of it helps. */
  readonly foreign: boolean;
}

export interface UploadProgress {
  readonly name: string;
  readonly doneBytes: number;
  readonly totalBytes: number;
}
