/** What ends the process of a command: signals, a reader that leaves, output that cannot be written. */
import { writeSync } from "node:fs";
import type { ErrorCode } from "../../diagnostics/codes.ts";
import { codeOf, ENDING_SIGNALS, READER_LEFT } from "./ending.ts";

/**
 * The first signal asks the command to stop, report how far it came and tidy up. A second Ctrl+C
 * ends the process. SIGTERM and SIGHUP do not: terminals and service managers send them twice.
 */
export function watchInterrupts(stopped: AbortController): void {
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
function endWithoutReader(stopped: AbortController): void {
  if (stopped.signal.aborted) return;
  stopped.abort(READER_LEFT);
  setTimeout(() => process.exit(process.exitCode ?? 0), TIDY_MS).unref();
}

/** Handles errors of the output: a reader that left stops the command, any other error ends it. */
export function endWithReader(stopped: AbortController): void {
  for (const stream of [process.stdout, process.stderr])
    stream.on("error", (error: NodeJS.ErrnoException) => {
      if (error.code === "EPIPE") {
        endWithoutReader(stopped);
        return;
      }
      // A closed terminal takes no more text. The command still tidies up.
      if (stopped.signal.aborted) return;
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
