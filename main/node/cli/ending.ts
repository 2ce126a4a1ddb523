/** How a command ends: exit code, error, signal, or a reader that left. What only a process can do is in processEnding.ts. */
import { constants } from "node:os";
import type { WireError } from "../../diagnostics/errors.ts";
import { toWireError } from "../../diagnostics/errors.ts";
import { errorText, exitCode, harmless, jsonText, INTERRUPTED, isMisuse } from "./output.ts";
import type { Surroundings } from "./surroundings.ts";

/** `rlx … | head` closes the pipe early. That is no failure and prints nothing. */
export const READER_LEFT = "READER_LEFT";

/** Sent by Ctrl+C, by `kill` and services, and by a terminal that closes. */
export const ENDING_SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** The shell's exit code for this signal. */
export const codeOf = (signal: NodeJS.Signals): number => 128 + constants.signals[signal];

/** Replaces INTERRUPTED by the code of the signal, which is the reason of the interrupt. */
export function endingCode(code: number, { reason }: AbortSignal): number {
  if (code === INTERRUPTED && reason === READER_LEFT) return 0;
  const signal = ENDING_SIGNALS.find((name) => name === reason);
  return code === INTERRUPTED && signal !== undefined ? codeOf(signal) : code;
}

/** Prints an error on stderr, and with --json on stdout too; gives the exit code. `stack`: print the stack of a bug. */
export function fail(
  error: unknown,
  command: string,
  { json, stack }: { readonly json: boolean; readonly stack: boolean },
  { streams: { stdout, stderr }, interrupted }: Surroundings,
): number {
  const wire = withHint(toWireError(error), command);
  const code = endingCode(exitCode(wire), interrupted);
  if (wire.code === "CANCELLED" && interrupted.reason === READER_LEFT) return code;
  if (json) stdout.write(`${jsonText({ error: wire }, stdout)}\n`);
  const said = errorText(wire);
  stderr.write(`${stderr.isTTY === true ? harmless(said) : said}\n`);
  if (wire.code === "BUG_UNEXPECTED" && error instanceof Error && stack) stderr.write(`${error.stack ?? ""}\n`);
  return code;
}

/** Adds the help command to an error of the command line. */
function withHint(wire: WireError, command: string): WireError {
  return isMisuse(wire) && wire.hint === undefined
    ? { ...wire, hint: `\`${command} --help\` says what it takes.` }
    : wire;
}
