/** A reader of texts, where nothing comes from standard input. */
import { Readable } from "node:stream";
import type { TextReader } from "../node/cli/text.ts";

export const textReader = (signal: AbortSignal = new AbortController().signal): TextReader => ({
  signal,
  streams: { stdin: Readable.from([]) },
});
