/** How a command ends: with its exit code, with an error for people and programs, by a signal, or because nobody takes what it writes. */
import { writeSync } from "node:fs";
import { constants } from "node:os";
import type { ErrorCode } from "../../diagnostics/codes.ts";
import type { WireError } from "../../diagnostics/errors.ts";
import { toWireError } from "../../diagnostics/errors.ts";
import { errorText, exitCode, harmless, jsonText, INTERRUPTED, isMisuse } from "./output.ts";

const stopped = new AbortController();

/** Fires on the first signal that ends programs, or when nobody reads on; its reason is the signal's name or READER_LEFT. */
export const interrupted: AbortSignal = stopped.signal;

/** `rlx … | head`: whoever reads has enough, and that is no failure, nor anything to speak of. */
export const READER_LEFT = "READER_LEFT";
const hasReaderLeft = (): boolean => interrupted.reason === READER_LEFT;

/** Ctrl+C, what `kill` and services send, and what a terminal sends when it is closed. */
const ENDING_SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** What a shell says of a program that this signal ended. */
const codeOf = (signal: NodeJS.Signals): number => 128 + constants.signals[signal];

/** The exit code of a command that says with INTERRUPTED that it was stopped; which signal it was, only this file knows. */
export function endingCode(code: number): number {
  if (code === INTERRUPTED && hasReaderLeft()) return 0;
  const signal = ENDING_SIGNALS.find((name) => name === interrupted.reason);
  return code === INTERRUPTED && signal !== undefined ? codeOf(signal) : code;
}

/**
 * The first signal asks the command to stop, so that it can say how far it came and tidy up. A second Ctrl+C ends the process; the
 * others may come twice, or together, where nobody is impatient: as a terminal is closed, or from a service's manager.
 */
export function watchInterrupts(): void {
  for (const signal of ENDING_SIGNALS) process.on(signal, () => stopped.abort(signal));
  process.once("SIGINT", () => process.on("SIGINT", () => process.exit(codeOf("SIGINT"))));
}

const LOST_OUTPUT: ErrorCode = "OUTPUT_WRITE";

/** What the system means, where its own word says too little. */
const WRITE_FAULTS: Readonly<Record<string, string>> = {
  ENOSPC: "the disk is full",
  EDQUOT: "the disk quota is used up",
  EIO: "the system cannot write there",
};

/** For a command that does not look up: without a reader it works for nobody. */
const TIDY_MS = 3000;

/** The command stops and tidies up, and nobody is told. */
function endWithoutReader(): void {
  if (interrupted.aborted) return;
  stopped.abort(READER_LEFT);
  setTimeout(() => process.exit(process.exitCode ?? 0), TIDY_MS).unref();
}

/** Any other error than that of a reader who left means that what was asked for does not arrive, and nothing that follows would either. */
export function endWithReader(): void {
  for (const stream of [process.stdout, process.stderr])
    stream.on("error", (error: NodeJS.ErrnoException) => {
      if (error.code === "EPIPE") {
        endWithoutReader();
        return;
      }
      // A terminal that was closed takes no more words; the command still tidies up.
      if (interrupted.aborted) return;
      const why = WRITE_FAULTS[error.code ?? ""] ?? error.code ?? error.message;
      if (stream === process.stdout) sayLast(`error ${LOST_OUTPUT}: [rlx] cannot write to standard output: ${why}\n`);
      process.exit(1);
    });
}

/** Past the stream, which would not be emptied before the end; and where this cannot be written either, nobody is told. */
function sayLast(text: string): void {
  try {
    writeSync(2, text);
  } catch {
    return;
  }
}

/** Says what went wrong: to people on stderr; with --json to programs on stdout as well. `stack`: of a fault of ours, too. */
export function fail(error: unknown, command: string, { json, stack }: { json: boolean; stack: boolean }): void {
  const wire = withHint(toWireError(error), command);
  process.exitCode = endingCode(exitCode(wire));
  if (wire.code === "CANCELLED" && hasReaderLeft()) return;
  if (json) process.stdout.write(`${jsonText({ error: wire }, process.stdout)}\n`);
  const said = errorText(wire);
  process.stderr.write(`${process.stderr.isTTY ? harmless(said) : said}\n`);
  if (wire.code === "BUG_UNEXPECTED" && error instanceof Error && stack) process.stderr.write(`${error.stack ?? ""}\n`);
}

/** Whoever wrote the command wrongly is told where it says how. */
function withHint(wire: WireError, command: string): WireError {
  return isMisuse(wire) && wire.hint === undefined
    ? { ...wire, hint: `\`${command} --help\` says what it takes.` }
    : wire;
}
