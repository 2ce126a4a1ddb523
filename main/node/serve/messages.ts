/**
 * Messages between the supervisor and its engine: sockets by number, frames as bytes. The supervisor
 * never reads a frame.
 */
export type ToEngine =
  | { readonly t: "open"; readonly socket: number }
  | { readonly t: "frame"; readonly socket: number; readonly bytes: Uint8Array }
  | { readonly t: "close"; readonly socket: number };

export type FromEngine =
  | { readonly t: "ready" }
  | { readonly t: "frame"; readonly socket: number; readonly bytes: Uint8Array }
  | { readonly t: "close"; readonly socket: number; readonly reason: string };

const hasSocket = (value: object): value is { readonly socket: number } =>
  "socket" in value && typeof value.socket === "number";

export function isToEngine(value: unknown): value is ToEngine {
  if (typeof value !== "object" || value === null || !("t" in value) || !hasSocket(value)) return false;
  return (
    value.t === "open" ||
    value.t === "close" ||
    (value.t === "frame" && "bytes" in value && value.bytes instanceof Uint8Array)
  );
}

export function isFromEngine(value: unknown): value is FromEngine {
  if (typeof value !== "object" || value === null || !("t" in value)) return false;
  if (value.t === "ready") return true;
  if (!hasSocket(value)) return false;
  return value.t === "close" || (value.t === "frame" && "bytes" in value && value.bytes instanceof Uint8Array);
}
