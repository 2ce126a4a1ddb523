/** How a command ends: with its exit code, with an error for people and programs, by ^C, or because its reader has left. */
import type { WireError } from "../../diagnostics/errors.ts";
import { toWireError } from "../../diagnostics/errors.ts";
import { readSettings } from "../settings.ts";
import { errorText, exitCode, INTERRUPTED, isMisuse } from "./output.ts";

const stopped = new AbortController();

/** Fires on the first ^C. */
export const interrupted: AbortSignal = stopped.signal;

/** The first ^C asks the command to stop, so that it can say how far it came; the second ends the process. */
export function watchInterrupts(): void {
  process.on("SIGINT", () => {
    if (stopped.signal.aborted) process.exit(INTERRUPTED);
    stopped.abort();
  });
}

/** `rlx … | head`: whoever reads has enough, and that is no failure. */
export function endWithReader(): void {
  for (const stream of [process.stdout, process.stderr])
    stream.on("error", (error: NodeJS.ErrnoException) => {
      if (error.code !== "EPIPE") throw error;
      process.exit(process.exitCode ?? 0);
    });
}

/** Says what went wrong: to people on stderr; with --json to programs on stdout as well. */
export function fail(error: unknown, command: string, json: boolean): void {
  const wire = withHint(toWireError(error), command);
  if (json) process.stdout.write(`${JSON.stringify({ error: wire }, null, 2)}\n`);
  process.stderr.write(`${errorText(wire)}\n`);
  if (wire.code === "BUG_UNEXPECTED" && error instanceof Error && wantsStack())
    process.stderr.write(`${error.stack ?? ""}\n`);
  process.exitCode = exitCode(wire);
}

function wantsStack(): boolean {
  try {
    return readSettings(process.env).verbose;
  } catch {
    // Of another variable that is not understood; it is no reason to hide where the fault is.
    return true;
  }
}

/** Whoever wrote the command wrongly is told where it says how. */
function withHint(wire: WireError, command: string): WireError {
  return isMisuse(wire) && wire.hint === undefined
    ? { ...wire, hint: `\`${command} --help\` says what it takes.` }
    : wire;
}
