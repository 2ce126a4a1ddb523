/** Texts from a file or standard input: whole, limited in size, and UTF-8. */
import { isUtf8 } from "node:buffer";
import type { Stats } from "node:fs";
import { closeSync, constants, createReadStream, open, openSync } from "node:fs";
import { stat } from "node:fs/promises";
import { Socket } from "node:net";
import { promisify } from "node:util";
import type { Readable } from "node:stream";
import { addAbortSignal } from "node:stream";
import { throwIfCancelled, WorkbenchError } from "../../diagnostics/errors.ts";
import { byteText, firstIllFormed } from "../../diagnostics/utf8.ts";
import { bytesText } from "./output.ts";
import type { Streams } from "./surroundings.ts";

/** More than any context holds; a string of it fits into memory. */
const MOST_BYTES = 256 << 20;

/** The file name that means standard input. */
export const STANDARD_INPUT = "-";

const SMALLER_HINT = "Give a part of it.";

/** The reading command: an interrupt ends it, and `-` is this standard input. */
export interface TextReader {
  readonly signal: AbortSignal;
  readonly streams: Pick<Streams, "stdin">;
}

export async function readText(path: string, reader: TextReader): Promise<string> {
  const { signal } = reader;
  if (path === STANDARD_INPUT) return readStandardInput(reader);
  const facts = await stat(path).catch((cause: unknown) => {
    throw unreadable(path, cause);
  });
  const other = whatElse(facts);
  if (other !== undefined)
    throw new WorkbenchError("INPUT_UNREADABLE", `[rlx] ${path}: got ${other}, expected a file with text`, {
      hint: "Name the file itself, or - for standard input.",
    });
  if (facts.size > MOST_BYTES)
    throw new WorkbenchError(
      "INPUT_LIMIT",
      `[rlx] ${path}: got ${bytesText(facts.size)}, expected at most ${bytesText(MOST_BYTES)}`,
      { hint: SMALLER_HINT },
    );
  const stream = facts.isFIFO() ? await openPipe(path, signal) : createReadStream(path);
  return textOf(path, await bytesOf(path, stream, signal));
}

export const readStandardInput = async ({ signal, streams }: TextReader): Promise<string> =>
  textOf("standard input", await bytesOf("standard input", streams.stdin, signal));

/** Interval of the attempts to wake a reader that waits for a pipe's writer. */
const WAKE_EVERY_MS = 20;

/**
 * A file read would block a thread until a writer comes, and a process does not end before its
 * threads. A socket needs no thread. While the pipe is being opened, an interrupt opens it for
 * writing for a moment, which wakes the reader.
 */
async function openPipe(path: string, signal: AbortSignal): Promise<Readable> {
  throwIfCancelled(signal);
  let waking: NodeJS.Timeout | undefined;
  const wake = (): void => {
    waking = setInterval(() => writeNothing(path), WAKE_EVERY_MS);
  };
  signal.addEventListener("abort", wake);
  try {
    return new Socket({ fd: await promisify(open)(path, "r"), readable: true, writable: false });
  } catch (cause) {
    throw unreadable(path, cause);
  } finally {
    signal.removeEventListener("abort", wake);
    clearInterval(waking);
  }
}

function writeNothing(path: string): void {
  try {
    closeSync(openSync(path, constants.O_WRONLY | constants.O_NONBLOCK));
  } catch {
    // No reader waits there.
  }
}

/** Refuses what is neither a file nor a pipe (a shell's `<(…)` is a pipe). */
function whatElse(facts: Stats): string | undefined {
  if (facts.isFile() || facts.isFIFO()) return undefined;
  if (facts.isDirectory()) return "a folder";
  return facts.isSocket() ? "a socket" : "a device";
}

/** Limits the size while reading: pipes and some system files tell no size. */
async function bytesOf(name: string, stream: Readable, signal: AbortSignal): Promise<Buffer> {
  const pieces: Buffer[] = [];
  let length = 0;
  try {
    for await (const piece of addAbortSignal(signal, stream) as AsyncIterable<Buffer>) {
      length += piece.byteLength;
      if (length > MOST_BYTES)
        throw new WorkbenchError(
          "INPUT_LIMIT",
          `[rlx] ${name}: got more than ${bytesText(MOST_BYTES)}, expected at most that`,
          { hint: SMALLER_HINT },
        );
      pieces.push(piece);
    }
  } catch (error) {
    if (error instanceof WorkbenchError || signal.aborted) throw error;
    throw unreadable(name, error);
  }
  return Buffer.concat(pieces);
}

function unreadable(name: string, cause: unknown): WorkbenchError {
  return new WorkbenchError("INPUT_NOT_FOUND", `[rlx] ${name} cannot be read`, { hint: "Check the path.", cause });
}

/** The exact text. Refuses invalid UTF-8, which would become other tokens. */
function textOf(name: string, bytes: Buffer): string {
  const text = bytes.toString("utf8");
  if (isUtf8(bytes)) return text;
  const offset = firstIllFormed(bytes, text) ?? 0;
  const byte = byteText(bytes[offset] ?? 0);
  throw new WorkbenchError(
    "INPUT_MALFORMED",
    `[rlx] ${name}: got the byte ${byte} at offset ${offset}, expected UTF-8`,
    {
      hint: "Convert it first, for example with `iconv -f ISO-8859-1 -t UTF-8`.",
      details: { offset },
    },
  );
}
