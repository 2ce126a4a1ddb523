/** What a command line runs in: a process's own (entry.ts), or what a test gives. No command reads `process` itself. */
import type { Readable } from "node:stream";
import type { Environment } from "../files/folders.ts";

/** A stream that may be a terminal. */
export type OutStream = NodeJS.WritableStream & { readonly isTTY?: boolean; readonly columns?: number };

export interface Streams {
  readonly stdin: Readable & { readonly isTTY?: boolean };
  readonly stdout: OutStream;
  readonly stderr: OutStream;
}

export interface Surroundings {
  readonly environment: Environment;
  readonly streams: Streams;
  /** Fires on the first ending signal, or when the reader leaves. Reason: the signal or READER_LEFT. */
  readonly interrupted: AbortSignal;
}
