/** How a command ends: exit code, error, signal, or a reader that left. */
import { writeSync } from "node:fs";
import { constants } from "node:os";
import type { ErrorCode } from "../../diagnostics/codes.ts";
import type { WireError } from "../../diagnostics/errors.ts";
import { toWireError } from "../../diagnostics/errors.ts";
import { errorText, exitCode, harmless, jsonText, INTERRUPTED, isMisuse } from "./output.ts";

const stopped = new AbortController();

/** Fires on the first ending signal, or when the reader leaves. Reason: the signal or READER_LEFT. */
export const interrupted: AbortSignal = stopped.signal;

/** `rlx … | head` closes the pipe early. That is no failure and prints nothing. */
export const READER_LEFT = "READER_LEFT";
const hasReaderLeft = (): boolean => interrupted.reason === READER_LEFT;

/** Sent by Ctrl+C, by `kill` and services, and by a terminal that closes. */
const ENDING_SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** The shell's exit code for this signal. */
const codeOf = (signal: NodeJS.Signals): number => 128 + constants.signals[signal];

/** Replaces INTERRUPTED by the code of the signal, which only this file knows. */
export function endingCode(code: number): number {
  if (code === INTERRUPTED && hasReaderLeft()) return 0;
  const signal = ENDING_SIGNALS.find((name) => name === interrupted.reason);
  return code === INTERRUPTED && signal !== undefined ? codeOf(signal) : code;
}

/**
 * The first signal asks the command to stop, report how far it came and tidy up. A second Ctrl+C
 * ends the process. SIGTERM and SIGHUP do not: terminals and service managers send them twice.
 */
export function watchInterrupts(): void {
  for (const signal of ENDING_SIGNALS) process.on(signal, () => stopped.abort(signal));
  process.once("SIGINT", () => process.on("SIGINT", () => process.exit(codeOf("SIGINT"))));
}

const LOST_OUTPUT: ErrorCode = "OUTPUT_WRITE";

/** Plain words for the system's codes. */
const WRITE_FAULTS: Readonly<Record<string, string>> = {
  ENOSPC: "the disk is full",
  EDQUOT: "the disk quota is used up",
  EIO: "the system cannot write there",
};

/** Time to tidy up after the reader left. */
const TIDY_MS = 3000;

/** Stops the command in silence. */
function endWithoutReader(): void {
  if (interrupted.aborted) return;
  stopped.abort(READER_LEFT);
  setTimeout(() => process.exit(process.exitCode ?? 0), TIDY_MS).unref();
}

/** Handles errors of the output: a reader that left stops the command, any other error ends it. */
export function endWithReader(): void {
  for (const stream of [process.stdout, process.stderr])
    stream.on("error", (error: NodeJS.ErrnoException) => {
      if (error.code === "EPIPE") {
        endWithoutReader();
        return;
      }
      // A closed terminal takes no more text. The command still tidies up.
      if (interrupted.aborted) return;
      const why = WRITE_FAULTS[error.code ?? ""] ?? error.code ?? error.message;
      if (stream === process.stdout) sayLast(`error ${LOST_OUTPUT}: [rlx] cannot write to standard output: ${why}\n`);
      process.exit(1);
    });
}

/** Writes without the stream, which would not be flushed before the exit. */
function sayLast(text: string): void {
  try {
    writeSync(2, text);
  } catch {
    return;
  }
}

/** Prints an error on stderr, and with --json on stdout too. `stack`: print the stack of a bug. */
export function fail(error: unknown, command: string, { json, stack }: { json: boolean; stack: boolean }): void {
  const wire = withHint(toWireError(error), command);
  process.exitCode = endingCode(exitCode(wire));
  if (wire.code === "CANCELLED" && hasReaderLeft()) return;
  if (json) process.stdout.write(`${jsonText({ error: wire }, process.stdout)}\n`);
  const said = errorText(wire);
  process.stderr.write(`${process.stderr.isTTY ? harmless(said) : said}\n`);
  if (wire.code === "BUG_UNEXPECTED" && error instanceof Error && stack) process.stderr.write(`${error.stack ?? ""}\n`);
}

/** Adds the help command to an error of the command line. */
function withHint(wire: WireError, command: string): WireError {
  return isMisuse(wire) && wire.hint === undefined
    ? { ...wire, hint: `\`${command} --help\` says what it takes.` }
    : wire;
}
