/**
 * The one error class of the engine, and the two helpers that turn impossible states into it.
 * Messages read "[source] what is wrong: got …, expected …"; `hint` says what to do next.
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

const PERMISSION = ["no permission", "Check the permissions of the file and of its folder."] as const;

/** What an error of the system means, and what to do about it. Any other is ENV_IO without a hint. */
const SYSTEM_ERRORS: { readonly [code: string]: readonly [meaning: string, hint: string] } = {
  EACCES: PERMISSION,
  EPERM: PERMISSION,
  EROFS: ["the disk is read-only", "Choose another folder."],
  ENOSPC: ["the disk is full", "Free some space, or choose another folder."],
  EDQUOT: ["your share of the disk is used up", "Free some space, or choose another folder."],
  EMFILE: ["too many files are open in this process", "Raise the limit (ulimit -n)."],
  ENFILE: ["too many files are open on this machine", "Close some programs."],
  ENOMEM: ["the system gave no memory", "Close some programs, or raise the limit (ulimit -v)."],
  EAGAIN: ["the system gave no more processes or threads", "Raise the limit (ulimit -u)."],
  ELOOP: ["a link leads back to itself", "Give the path of the file itself."],
  ENAMETOOLONG: ["a name is too long", "Choose a shorter one."],
  ENOENT: ["a file or folder is not there", "Check that the folder still exists. TMPDIR and HOME name folders, too."],
};

/** Errors of Node's system calls have the call and the system's code. */
function systemError(error: Error): WireError | undefined {
  if (!("syscall" in error) || !("code" in error) || typeof error.code !== "string") return undefined;
  if (error.syscall === "uv_cwd")
    return {
      code: "ENV_IO",
      message: "[system] the current folder no longer exists",
      hint: "Change to another folder.",
    };
  const known = SYSTEM_ERRORS[error.code];
  const code = error.code === "ENOMEM" ? "ENV_NO_MEMORY" : "ENV_IO";
  if (known === undefined) return { code, message: `[system] ${error.message}` };
  return { code, message: `[system] ${known[0]} (${error.message})`, hint: known[1] };
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
