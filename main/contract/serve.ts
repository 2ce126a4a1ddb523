/**
 * The serving side: reads requests from a port, checks their input against the contract, runs the handlers, and sends back
 * results, stream items (never more than the client gave credit for) and errors with their codes.
 */
import type { z } from "zod";
import type { Json } from "../diagnostics/errors.ts";
import { toWireError, WorkbenchError } from "../diagnostics/errors.ts";
import type { AnyContract, CallContext, EventName, EventPayload, Handlers } from "./define.ts";
import type { AbortFrame, CreditFrame, RequestFrame, ServerFrame } from "./frames.ts";
import { CONNECTION_ID, MAX_CREDIT, parseClientFrame } from "./frames.ts";
import type { Port } from "./port.ts";

export interface ServeOptions {
  /** Requests of one connection that may be open at a time. */
  readonly maxOpen?: number;
  /** Called with what a handler threw that is not a WorkbenchError: a fault of ours, worth a log line. */
  readonly onUnexpected?: (method: string, error: unknown) => void;
  /** Called when the last request that was open has ended, also after the end of the port. */
  readonly onIdle?: () => void;
}

export interface Serving<C extends AnyContract> {
  emit<K extends EventName<C>>(name: K, payload: EventPayload<C, K>): void;
  readonly open: () => number;
  close(reason: string): void;
}

/** One request while it runs. */
interface Running {
  readonly abort: AbortController;
  credit: number;
  dropped: boolean;
  wake: (() => void) | undefined;
}

/** The handlers as the dispatcher calls them: names are looked up at run time, inputs were checked just before. */
type AnyCall = (input: unknown, context: CallContext) => unknown;
type AnyStream = (input: unknown, context: CallContext) => AsyncIterable<unknown>;

export function serve<C extends AnyContract>(
  contract: C,
  handlers: Handlers<C>,
  port: Port,
  options: ServeOptions = {},
): Serving<C> {
  const running = new Map<number, Running>();
  const held: (() => void | Promise<void>)[] = [];
  let ended = false;
  const maxOpen = options.maxOpen ?? 256;
  const callHandlers = handlers.calls as { readonly [name: string]: AnyCall };
  const streamHandlers = handlers.streams as { readonly [name: string]: AnyStream };

  const send = (frame: ServerFrame): void => port.send(frame);

  /** Answers that the other side does not read must not pile up: work waits until there is room for more. */
  const room = async (): Promise<void> => {
    for (let wait = port.room?.(); wait !== undefined && !ended; wait = port.room?.())
      await Promise.race([wait, closed]);
  };
  let announceEnd: () => void = () => undefined;
  const closed = new Promise<void>((resolve) => (announceEnd = resolve));

  const onLeave: CallContext["onLeave"] = (free) => void held.push(free);
  const leaveWhenIdle = (): void => {
    if (!ended || running.size > 0) return;
    const freeAll = async (): Promise<void> => {
      for (const free of held.splice(0)) await free();
    };
    freeAll().catch((error: unknown) => options.onUnexpected?.("the end of a connection", error));
  };

  const fail = (id: number, method: string, error: unknown): void => {
    const wire = toWireError(error);
    if (wire.code === "BUG_UNEXPECTED") options.onUnexpected?.(method, error);
    send({ t: "err", id, error: wire });
  };

  const start = async (frame: RequestFrame): Promise<void> => {
    if (running.has(frame.id))
      throw new WorkbenchError("CONTRACT_FRAME", `[contract] request id ${frame.id} is in use`);
    if (running.size >= maxOpen) {
      send({
        t: "err",
        id: frame.id,
        error: { code: "CONTRACT_FRAME", message: `[contract] ${frame.method}: ${maxOpen} requests are open already` },
      });
      return;
    }
    const self: Running = { abort: new AbortController(), credit: frame.credit, dropped: false, wake: undefined };
    running.set(frame.id, self);
    try {
      if (port.room?.() !== undefined) await room();
      if (frame.kind === "call") await runCall(frame, self);
      else await runStream(frame, self);
    } catch (error) {
      fail(frame.id, frame.method, error);
    } finally {
      running.delete(frame.id);
      leaveWhenIdle();
      if (running.size === 0) options.onIdle?.();
    }
  };

  const runCall = async (frame: RequestFrame, self: Running): Promise<void> => {
    const definition = lookUp(contract.calls, frame.method);
    const handler = callHandlers[frame.method];
    if (definition === undefined || handler === undefined) throw unknownMethod(frame);
    const input = checkInput(frame.method, definition.input, frame.input);
    const made = handler(input, { signal: self.abort.signal, onLeave });
    // An answer that is there at once is sent at once, so that it counts before the next request starts.
    const value: unknown = made instanceof Promise ? await made : made;
    if (port.room?.() !== undefined) await room();
    send({ t: "res", id: frame.id, value });
  };

  const runStream = async (frame: RequestFrame, self: Running): Promise<void> => {
    const definition = lookUp(contract.streams, frame.method);
    const handler = streamHandlers[frame.method];
    if (definition === undefined || handler === undefined) throw unknownMethod(frame);
    const input = checkInput(frame.method, definition.input, frame.input);
    for await (const value of handler(input, { signal: self.abort.signal, onLeave })) {
      while (self.credit === 0 && !self.dropped) await new Promise<void>((resolve) => (self.wake = resolve));
      if (port.room?.() !== undefined) await room();
      if (self.dropped) break;
      self.credit -= 1;
      send({ t: "next", id: frame.id, value });
    }
    send({ t: "end", id: frame.id });
  };

  const abort = (frame: AbortFrame): void => {
    const self = running.get(frame.id);
    if (self === undefined) return;
    if (frame.drop) self.dropped = true;
    self.abort.abort();
    wake(self);
  };

  const giveCredit = (frame: CreditFrame): void => {
    const self = running.get(frame.id);
    if (self === undefined) return;
    self.credit = Math.min(self.credit + frame.n, MAX_CREDIT);
    wake(self);
  };

  const stopAll = (): void => {
    ended = true;
    announceEnd();
    for (const self of running.values()) {
      self.dropped = true;
      self.abort.abort();
      wake(self);
    }
    leaveWhenIdle();
  };

  /** A peer that sends what is not a frame is not one of ours: say so once and leave. */
  const endConnection = (error: unknown): void => {
    const wire = toWireError(error);
    send({ t: "err", id: CONNECTION_ID, error: wire });
    stopAll();
    port.close(wire.message);
  };

  // The greeting goes first: registering the listener may deliver requests that are waiting already.
  send({ t: "hello", version: contract.version });
  port.onClose(stopAll);
  port.onMessage((value) => {
    try {
      const frame = parseClientFrame(value);
      if (frame.t === "abort") abort(frame);
      else if (frame.t === "credit") giveCredit(frame);
      else start(frame).catch((error: unknown) => endConnection(error));
    } catch (error) {
      endConnection(error);
    }
  });

  return {
    emit: (name, payload) => send({ t: "event", name, payload }),
    open: () => running.size,
    close: (reason) => {
      stopAll();
      port.close(reason);
    },
  };
}

function wake(self: Running): void {
  const resolve = self.wake;
  self.wake = undefined;
  resolve?.();
}

/** Own properties only: "constructor" is not a method of the contract. */
function lookUp<T>(table: { readonly [name: string]: T }, name: string): T | undefined {
  return Object.hasOwn(table, name) ? table[name] : undefined;
}

function unknownMethod(frame: RequestFrame): WorkbenchError {
  return new WorkbenchError(
    "CONTRACT_UNKNOWN_METHOD",
    `[contract] there is no ${frame.kind} ${JSON.stringify(frame.method)}`,
    {
      hint: "The window and the engine are of different versions. Reload the window.",
    },
  );
}

function checkInput(method: string, schema: z.ZodType, input: unknown): unknown {
  const result = schema.safeParse(input);
  if (result.success) return result.data;
  const issues: Json = result.error.issues
    .slice(0, 20)
    .map((issue) => ({ path: issue.path.map((part) => String(part)).join("."), message: issue.message }));
  const first = result.error.issues[0];
  const where =
    first === undefined || first.path.length === 0 ? "input" : first.path.map((part) => String(part)).join(".");
  throw new WorkbenchError(
    "CONTRACT_INPUT",
    `[${method}] ${where}: ${first?.message ?? "not what the contract says"}`,
    {
      details: { method, issues },
    },
  );
}
