/**
 * The one error class of the engine, and the two helpers that turn impossible states into it.
 * Messages read "[who] what is wrong: got …, expected …"; `hint` says what to do next.
 */
import type { ErrorCode } from "./codes.ts";
import { ERROR_CODES } from "./codes.ts";

/** Plain data that may cross a process boundary. */
export type Json = string | number | boolean | null | readonly Json[] | { readonly [key: string]: Json };

export interface ErrorInit {
  readonly hint?: string;
  readonly details?: { readonly [key: string]: Json };
  readonly cause?: unknown;
}

/** The form an error takes on the wire, in logs and in `--json` output. */
export interface WireError {
  readonly code: ErrorCode;
  readonly message: string;
  readonly hint?: string;
  readonly details?: { readonly [key: string]: Json };
}

export class WorkbenchError extends Error {
  override readonly name = "WorkbenchError";
  readonly code: ErrorCode;
  readonly hint: string | undefined;
  readonly details: { readonly [key: string]: Json } | undefined;

  constructor(code: ErrorCode, message: string, init: ErrorInit = {}) {
    super(message, init.cause === undefined ? undefined : { cause: init.cause });
    this.code = code;
    this.hint = init.hint;
    this.details = init.details;
  }
}

/** Asserts what can only be false through our own fault. */
export function invariant(condition: unknown, message: string): asserts condition {
  if (condition === false || condition === undefined || condition === null)
    throw new WorkbenchError("BUG_INVARIANT", `[invariant] ${message}`, {
      hint: "This is a fault of the workbench; please report it.",
    });
}

export function isErrorCode(value: unknown): value is ErrorCode {
  return typeof value === "string" && (ERROR_CODES as readonly string[]).includes(value);
}

/** What to do about errors of the system, by their own codes. Anything else of the system is ENV_IO without a hint. */
const SYSTEM_HINTS: { readonly [code: string]: string } = {
  EACCES: "Check the permissions of the file and of its folder.",
  EPERM: "Check the permissions of the file and of its folder.",
  EROFS: "The disk is read-only: choose another folder.",
  ENOSPC: "The disk is full: free some space or choose another folder.",
  EDQUOT: "Your share of the disk is used up: free some space or choose another folder.",
  EMFILE: "Too many files are open in this process: raise the limit (ulimit -n).",
  ENFILE: "Too many files are open on this machine: close some programs.",
  ENOMEM: "The system gave no memory: close some programs, or raise the limit (ulimit -v).",
  EAGAIN: "The system gave no more processes or threads: raise the limit (ulimit -u).",
  ENOENT: "Check that the folder still exists: the current one, TMPDIR and HOME too.",
};

/** Errors of Node's system calls have the call and the system's code. */
function systemError(error: Error): WireError | undefined {
  if (!("syscall" in error) || !("code" in error) || typeof error.code !== "string") return undefined;
  const hint = SYSTEM_HINTS[error.code];
  const code = error.code === "ENOMEM" ? "ENV_NO_MEMORY" : "ENV_IO";
  return { code, message: `[system] ${error.message}`, ...(hint === undefined ? {} : { hint }) };
}

/**
 * Any thrown value in wire form. Errors of the system keep their message and get a hint; anything
 * else that was not foreseen becomes BUG_UNEXPECTED, with its message.
 */
export function toWireError(error: unknown): WireError {
  if (error instanceof WorkbenchError)
    return {
      code: error.code,
      message: error.message,
      ...(error.hint === undefined ? {} : { hint: error.hint }),
      ...(error.details === undefined ? {} : { details: error.details }),
    };
  if (error instanceof Error && error.name === "AbortError") return { code: "CANCELLED", message: "Cancelled." };
  const system = error instanceof Error ? systemError(error) : undefined;
  if (system !== undefined) return system;
  return { code: "BUG_UNEXPECTED", message: error instanceof Error ? error.message : String(error) };
}

export function fromWireError(wire: WireError): WorkbenchError {
  return new WorkbenchError(wire.code, wire.message, {
    ...(wire.hint === undefined ? {} : { hint: wire.hint }),
    ...(wire.details === undefined ? {} : { details: wire.details }),
  });
}

/** Throws CANCELLED when the signal has fired; long loops call it between steps. */
export function throwIfCancelled(signal: AbortSignal | undefined): void {
  if (signal?.aborted === true) throw new WorkbenchError("CANCELLED", "Cancelled.");
}
