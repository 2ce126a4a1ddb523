/**
 * The client side: typed calls, streams with back-pressure, cancel, events. One client outlives its connections: when the
 * port ends, everything pending is rejected with ENGINE_LOST and `attach` gives it the next port.
 */
import { fromWireError, WorkbenchError } from "../diagnostics/errors.ts";
import type { AnyContract, ConnectionState, EngineClient, RequestOptions } from "./define.ts";
import type { ClientFrame, ServerFrame } from "./frames.ts";
import { CONNECTION_ID, parseServerFrame } from "./frames.ts";
import type { Port } from "./port.ts";

/** Items a stream may be ahead of its reader. */
const WINDOW = 64;

export interface AttachableClient<C extends AnyContract> extends EngineClient<C> {
  /** Gives the client a (new) connection. What was pending on an older one is lost. */
  attach(port: Port): void;
  /** Ends for good. */
  close(): void;
}

export interface ClientOptions {
  /** Checks what the engine sends against the contract: for tests, too slow for graphs in the product. */
  readonly checkOutputs?: boolean;
}

interface Pending {
  readonly method: string;
  readonly value: (value: unknown) => void;
  readonly end: () => void;
  readonly fail: (error: WorkbenchError) => void;
}

export function createClient<C extends AnyContract>(
  contract: C,
  port?: Port,
  options: ClientOptions = {},
): AttachableClient<C> {
  let current: Port | undefined;
  let state: ConnectionState = "connecting";
  let otherVersion: number | null = null;
  let nextId = CONNECTION_ID + 1;
  const pending = new Map<number, Pending>();
  const stateListeners = new Set<(state: ConnectionState) => void>();
  const eventListeners = new Map<string, Set<(payload: unknown) => void>>();

  const setState = (next: ConnectionState): void => {
    if (state === next) return;
    state = next;
    for (const listener of [...stateListeners]) listener(next);
  };

  const send = (frame: ClientFrame): void => current?.send(frame);

  const lose = (reason: string): void => {
    const lost = [...pending.values()];
    pending.clear();
    for (const entry of lost) entry.fail(engineLost(entry.method, reason));
  };

  const receive = (value: unknown): void => {
    const frame = parseServerFrame(value);
    if (frame.t === "hello") greet(frame.version);
    else if (frame.t === "event")
      for (const listener of [...(eventListeners.get(frame.name) ?? [])]) listener(frame.payload);
    else if (frame.id === CONNECTION_ID) {
      if (frame.t === "err") current?.close(frame.error.message);
    } else deliver(frame);
  };

  const greet = (version: number): void => {
    otherVersion = version === contract.version ? null : version;
    if (otherVersion === null) setState("connected");
    else current?.close(`the engine speaks version ${version} of the contract, this window ${contract.version}`);
  };

  const deliver = (frame: Exclude<ServerFrame, { t: "hello" | "event" }>): void => {
    const entry = pending.get(frame.id);
    // An answer that is no longer waited for: the call was cancelled or the stream left.
    if (entry === undefined) return;
    if (frame.t === "next") {
      entry.value(frame.value);
      return;
    }
    pending.delete(frame.id);
    if (frame.t === "res") entry.value(frame.value);
    else if (frame.t === "end") entry.end();
    else entry.fail(fromWireError(frame.error));
  };

  const attach = (next: Port): void => {
    if (state === "closed") {
      next.close("the client is closed");
      return;
    }
    const old = current;
    current = next;
    old?.close("replaced by a new connection");
    lose("replaced by a new connection");
    setState("connecting");
    next.onClose((reason) => {
      if (current !== next) return;
      current = undefined;
      if (state !== "closed") setState("lost");
      lose(reason);
    });
    next.onMessage((value) => {
      if (current !== next) return;
      try {
        receive(value);
      } catch (error) {
        next.close(error instanceof Error ? error.message : "bad frame");
      }
    });
  };

  const begin = (method: string): number => {
    if (current === undefined) throw engineLost(method, "no connection");
    const id = nextId;
    nextId += 1;
    return id;
  };

  const call = (method: string, input: unknown, { signal }: RequestOptions = {}): Promise<unknown> =>
    new Promise((resolve, reject) => {
      if (signal?.aborted === true) throw cancelled(method);
      const id = begin(method);
      const onAbort = (): void => {
        pending.delete(id);
        send({ t: "abort", id, drop: true });
        reject(cancelled(method));
      };
      const settle = (): void => signal?.removeEventListener("abort", onAbort);
      pending.set(id, {
        method,
        value: (value) => {
          settle();
          try {
            resolve(options.checkOutputs === true ? check(contract.calls[method]?.output, value, method) : value);
          } catch (error) {
            // `check` throws nothing else.
            reject(error instanceof Error ? error : new WorkbenchError("BUG_UNEXPECTED", String(error)));
          }
        },
        end: () => undefined,
        fail: (error) => {
          settle();
          reject(error);
        },
      });
      signal?.addEventListener("abort", onAbort);
      send({ t: "req", id, kind: "call", method, input, credit: 0 });
    });

  const stream = (method: string, input: unknown, { signal }: RequestOptions = {}): AsyncIterableIterator<unknown> => {
    const queue: unknown[] = [];
    let finished: { readonly error: WorkbenchError | undefined } | undefined;
    let waiting: { readonly resolve: () => void } | undefined;
    let taken = 0;
    let id: number | undefined;

    const wake = (): void => {
      const waiter = waiting;
      waiting = undefined;
      waiter?.resolve();
    };
    const finish = (error: WorkbenchError | undefined): void => {
      finished ??= { error };
      signal?.removeEventListener("abort", onAbort);
      wake();
    };
    const onAbort = (): void => {
      if (id !== undefined) send({ t: "abort", id, drop: false });
    };
    const open = (): void => {
      if (id !== undefined || finished !== undefined) return;
      if (signal?.aborted === true) return finish(cancelled(method));
      try {
        id = begin(method);
      } catch (error) {
        return finish(error as WorkbenchError);
      }
      pending.set(id, {
        method,
        value: (value) => {
          queue.push(value);
          wake();
        },
        end: () => finish(undefined),
        fail: finish,
      });
      signal?.addEventListener("abort", onAbort);
      send({ t: "req", id, kind: "stream", method, input, credit: WINDOW });
    };
    const take = (): IteratorResult<unknown> => {
      taken += 1;
      if (taken >= WINDOW / 2 && id !== undefined && finished === undefined) {
        send({ t: "credit", id, n: taken });
        taken = 0;
      }
      const value = queue.shift();
      return {
        done: false,
        value: options.checkOutputs === true ? check(contract.streams[method]?.item, value, method) : value,
      };
    };

    return {
      async next() {
        open();
        while (queue.length === 0 && finished === undefined)
          await new Promise<void>((resolve) => (waiting = { resolve }));
        if (queue.length > 0) return take();
        const error = finished?.error;
        finished = { error: undefined };
        if (error !== undefined) throw error;
        return { done: true, value: undefined };
      },
      async return() {
        if (id !== undefined && finished === undefined) {
          pending.delete(id);
          send({ t: "abort", id, drop: true });
        }
        queue.length = 0;
        finish(undefined);
        return { done: true, value: undefined };
      },
      [Symbol.asyncIterator]() {
        return this;
      },
    };
  };

  const on = (name: string, listener: (payload: unknown) => void): (() => void) => {
    const listeners = eventListeners.get(name) ?? new Set();
    eventListeners.set(name, listeners);
    listeners.add(listener);
    return () => listeners.delete(listener);
  };

  if (port !== undefined) attach(port);

  // The names and payloads were typed by the interface; inside, everything is looked up by name.
  return {
    call: call as EngineClient<C>["call"],
    stream: stream as EngineClient<C>["stream"],
    on: on as EngineClient<C>["on"],
    get otherVersion() {
      return otherVersion;
    },
    get state() {
      return state;
    },
    onState(listener) {
      stateListeners.add(listener);
      return () => stateListeners.delete(listener);
    },
    attach,
    close() {
      setState("closed");
      current?.close("the window is closed");
      current = undefined;
      lose("the window is closed");
    },
  };
}

function engineLost(method: string, reason: string): WorkbenchError {
  return new WorkbenchError("ENGINE_LOST", `[${method}] the engine is not there: ${reason}`, {
    hint: "The engine is restarted by itself. What was running is lost; start it again.",
    details: { method, reason },
  });
}

function cancelled(method: string): WorkbenchError {
  return new WorkbenchError("CANCELLED", `[${method}] cancelled`);
}

interface Checker {
  safeParse(value: unknown): { readonly success: boolean; readonly error?: { readonly message: string } };
}

function check(schema: Checker | undefined, value: unknown, method: string): unknown {
  const result = schema?.safeParse(value);
  if (result === undefined || result.success) return value;
  throw new WorkbenchError(
    "CONTRACT_FRAME",
    `[${method}] the engine's answer is not what the contract says: ${result.error?.message ?? ""}`,
  );
}
