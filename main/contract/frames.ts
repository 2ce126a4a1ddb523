/**
 * The nine frames of the wire and the check that a value is one of them. Frames from the other side are never trusted:
 * everything here is looked at before it is used.
 *
 *   client → server   req · abort · credit          server → client   res · next · end · err · event · hello
 */
import type { WireError } from "../diagnostics/errors.ts";
import { isErrorCode, WorkbenchError } from "../diagnostics/errors.ts";

/** Id 0 belongs to the connection: an `err` with it says why the connection ends. */
export const CONNECTION_ID = 0;

export interface RequestFrame {
  readonly t: "req";
  readonly id: number;
  readonly kind: "call" | "stream";
  readonly method: string;
  readonly input: unknown;
  /** How many items a stream may send before it is given more. */
  readonly credit: number;
}
export interface AbortFrame {
  readonly t: "abort";
  readonly id: number;
  /** True when what is still to come will not be read. */
  readonly drop: boolean;
}
export interface CreditFrame {
  readonly t: "credit";
  readonly id: number;
  readonly n: number;
}
export interface ResultFrame {
  readonly t: "res";
  readonly id: number;
  readonly value: unknown;
}
export interface NextFrame {
  readonly t: "next";
  readonly id: number;
  readonly value: unknown;
}
export interface EndFrame {
  readonly t: "end";
  readonly id: number;
}
export interface ErrorFrame {
  readonly t: "err";
  readonly id: number;
  readonly error: WireError;
}
export interface EventFrame {
  readonly t: "event";
  readonly name: string;
  readonly payload: unknown;
}
export interface HelloFrame {
  readonly t: "hello";
  readonly version: number;
}

export type ClientFrame = RequestFrame | AbortFrame | CreditFrame;
export type ServerFrame = ResultFrame | NextFrame | EndFrame | ErrorFrame | EventFrame | HelloFrame;

export const MAX_CREDIT = 1024;
const MAX_NAME_LENGTH = 100;

type Fields = { readonly [key: string]: unknown };

function fail(what: string): never {
  throw new WorkbenchError("CONTRACT_FRAME", `[contract] bad frame: ${what}`);
}

function fields(value: unknown): Fields {
  if (typeof value !== "object" || value === null || Array.isArray(value) || ArrayBuffer.isView(value))
    fail("expected an object");
  return value as Fields;
}

function requestId(frame: Fields): number {
  const id = frame["id"];
  if (typeof id !== "number" || !Number.isSafeInteger(id) || id < 0) fail("id must be a whole number of at least 0");
  return id;
}

function credits(value: unknown): number {
  if (typeof value !== "number" || !Number.isInteger(value) || value < 0 || value > MAX_CREDIT)
    fail(`credit must be a whole number from 0 to ${MAX_CREDIT}`);
  return value;
}

function text(value: unknown, field: string): string {
  if (typeof value !== "string" || value.length === 0 || value.length > MAX_NAME_LENGTH)
    fail(`${field} must be a string of 1 to ${MAX_NAME_LENGTH} characters`);
  return value;
}

export function parseClientFrame(value: unknown): ClientFrame {
  const frame = fields(value);
  switch (frame["t"]) {
    case "req": {
      const id = requestId(frame);
      if (id === CONNECTION_ID) fail("id 0 belongs to the connection");
      const kind = frame["kind"];
      if (kind !== "call" && kind !== "stream") fail("kind must be call or stream");
      return {
        t: "req",
        id,
        kind,
        method: text(frame["method"], "method"),
        input: frame["input"],
        credit: credits(frame["credit"]),
      };
    }
    case "abort":
      return { t: "abort", id: requestId(frame), drop: frame["drop"] === true };
    case "credit":
      return { t: "credit", id: requestId(frame), n: credits(frame["n"]) };
    default:
      return fail("unknown kind of frame");
  }
}

export function parseServerFrame(value: unknown): ServerFrame {
  const frame = fields(value);
  switch (frame["t"]) {
    case "res":
      return { t: "res", id: requestId(frame), value: frame["value"] };
    case "next":
      return { t: "next", id: requestId(frame), value: frame["value"] };
    case "end":
      return { t: "end", id: requestId(frame) };
    case "err":
      return { t: "err", id: requestId(frame), error: wireError(frame["error"]) };
    case "event":
      return { t: "event", name: text(frame["name"], "name"), payload: frame["payload"] };
    case "hello": {
      const version = frame["version"];
      if (typeof version !== "number") fail("hello without a version");
      return { t: "hello", version };
    }
    default:
      return fail("unknown kind of frame");
  }
}

function wireError(value: unknown): WireError {
  const error = fields(value);
  const { code, message, hint, details } = error;
  if (!isErrorCode(code) || typeof message !== "string") fail("error without a known code and a message");
  return {
    code,
    message,
    ...(typeof hint === "string" ? { hint } : {}),
    ...(typeof details === "object" && details !== null
      ? { details: details as NonNullable<WireError["details"]> }
      : {}),
  };
}
