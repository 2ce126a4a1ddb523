// The window's end of a port and the engine's, as Electron joins them: over a real channel, whose frames are structured clones.
import { afterEach, describe, expect, it } from "vitest";
import { z } from "zod";
import type { AttachableClient } from "../../main/contract/client.ts";
import { createClient } from "../../main/contract/client.ts";
import type { ConnectionState, Handlers } from "../../main/contract/define.ts";
import { call, stream } from "../../main/contract/define.ts";
import type { Port } from "../../main/contract/port.ts";
import { serve } from "../../main/contract/serve.ts";
import { f32 } from "../../main/contract/views/common.ts";
import { serveParentPort } from "../../main/node/serve/parentPort.ts";
import { until } from "../../main/testing/until.ts";
import { messagePortPort } from "./messagePort.ts";

const small = {
  version: 3,
  calls: {
    info: call(z.object({}), z.object({ name: z.string(), values: f32 })),
    wait: call(z.object({}), z.object({})),
  },
  streams: { count: stream(z.object({ to: z.number() }), z.object({ i: z.number() })) },
  events: {},
};

/** A utility process: the shell sends it ports, as Electron wraps them. */
class Utility {
  /** The life of the engine's process. */
  readonly log = { made: 0, stopped: 0, closed: [] as string[] };
  readonly posted: unknown[] = [];
  readonly ports: Port[] = [];
  #listener: ((event: object) => void) | undefined;

  start(): boolean {
    const parentPort = {
      on: (_event: "message", listener: (event: object) => void) => (this.#listener = listener),
      postMessage: (message: unknown) => this.posted.push(message),
    };
    const connect = (port: Port): void => {
      this.ports.push(port);
      const onClose: Port["onClose"] = (listener) =>
        port.onClose((reason) => {
          this.log.closed.push(reason);
          listener(reason);
        });
      serve(small, this.#handlers(), { ...port, onClose });
    };
    return serveParentPort({ connect }, { parentPort });
  }

  #handlers(): Handlers<typeof small> {
    const { log } = this;
    return {
      calls: {
        info: () => ({ name: "small", values: Float32Array.of(0, 0.5, 1) }),
        wait: (_input, { signal }): Promise<never> =>
          new Promise((_, reject) =>
            signal.addEventListener("abort", () => {
              log.stopped += 1;
              reject(new Error("stopped"));
            }),
          ),
      },
      streams: {
        async *count({ to }) {
          try {
            for (let i = 0; i < to; i++) {
              log.made += 1;
              yield await Promise.resolve({ i });
            }
          } finally {
            log.stopped += 1;
          }
        },
      },
    };
  }

  /** Electron hands over events with the data in them. */
  take(port: MessagePort): void {
    const wrapped = {
      on: (event: "message" | "close", listener: (message: object) => void) => port.addEventListener(event, listener),
      postMessage: (message: unknown) => port.postMessage(message),
      start: () => port.start(),
      close: () => port.close(),
    };
    this.#listener?.({ data: { t: "window" }, ports: [wrapped] });
  }
}

interface Window {
  readonly client: AttachableClient<typeof small>;
  readonly states: ConnectionState[];
  /** The end of the channel that Electron's preload would have handed to the page. */
  readonly port: MessagePort;
  /** Says that the engine's process is gone, as the shell does. */
  readonly lose: () => void;
  readonly listeners: ReadonlySet<() => void>;
}

const windows: Window[] = [];
function openWindow(utility: Utility): Window {
  const { port1, port2 } = new MessageChannel();
  utility.take(port1);
  const listeners = new Set<() => void>();
  const client = createClient(small, undefined, { checkOutputs: true });
  const states: ConnectionState[] = [];
  client.onState((state) => states.push(state));
  client.attach(
    messagePortPort(port2, (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    }),
  );
  const window = { client, states, port: port2, lose: () => [...listeners].forEach((one) => one()), listeners };
  windows.push(window);
  return window;
}

function setUp(): { readonly utility: Utility; readonly window: Window; readonly log: Utility["log"] } {
  const utility = new Utility();
  expect(utility.start()).toBe(true);
  return { utility, window: openWindow(utility), log: utility.log };
}

afterEach(() => {
  for (const { client } of windows.splice(0)) client.close();
});

const lost = { code: "ENGINE_LOST" };

describe("a window and its engine over a channel", () => {
  it("greet, call and answer with typed arrays", async () => {
    const { utility, window } = setUp();
    const info = await window.client.call("info", {});
    expect(info).toEqual({ name: "small", values: Float32Array.of(0, 0.5, 1) });
    expect(info.values).toBeInstanceOf(Float32Array);
    expect(window.states).toEqual(["connected"]);
    expect(utility.posted).toEqual([{ t: "ready" }]);
  });

  it("stream more items than fit into one window of credit, in order", async () => {
    const { window, log } = setUp();
    const taken: number[] = [];
    for await (const { i } of window.client.stream("count", { to: 300 })) taken.push(i);
    expect(taken).toEqual(Array.from({ length: 300 }, (_, i) => i));
    expect(log).toMatchObject({ made: 300, stopped: 1 });
  });

  it("stop what the window leaves: a stream in its midst, and a call", async () => {
    const { window, log } = setUp();
    for await (const { i } of window.client.stream("count", { to: 1e9 })) if (i === 5) break;
    await until(() => log.stopped === 1);
    expect(log.made).toBeLessThan(200);
    const abort = new AbortController();
    const waiting = window.client.call("wait", {}, { signal: abort.signal });
    abort.abort();
    await expect(waiting).rejects.toMatchObject({ code: "CANCELLED" });
    await until(() => log.stopped === 2);
    expect(window.client.state).toBe("connected");
  });

  it("are lost to each other when the engine closes its end, and what waits is told", async () => {
    const { utility, window, log } = setUp();
    await window.client.call("info", {});
    const waiting = window.client.call("wait", {});
    utility.ports[0]!.close("done");
    await expect(waiting).rejects.toMatchObject(lost);
    expect(window.states).toEqual(["connected", "lost"]);
    expect(window.listeners.size).toBe(0);
    await expect(window.client.call("info", {})).rejects.toMatchObject(lost);
    expect(log.closed).toEqual(["done"]);
    // A message after the end is dropped without an error.
    utility.ports[0]!.send({ t: "hello", version: 3 });
  });

  it("are lost when the process ends without a word on the channel", async () => {
    const { window } = setUp();
    await window.client.call("info", {});
    const waiting = window.client.call("wait", {});
    window.lose();
    await expect(waiting).rejects.toMatchObject({ ...lost, message: expect.stringContaining("ended") as string });
    expect(window.states).toEqual(["connected", "lost"]);
    expect(window.listeners.size).toBe(0);
  });

  it("end the work of a window that closes, and leave that of another", async () => {
    const { utility, window, log } = setUp();
    const other = openWindow(utility);
    await Promise.all([window.client.call("info", {}), other.client.call("info", {})]);
    const [gone, kept] = [window.client.call("wait", {}), other.client.stream("count", { to: 100 })];
    gone.catch(() => undefined);
    await kept.next();
    window.client.close();
    await until(() => log.closed.length === 1 && log.stopped === 1);
    expect(log.closed).toEqual(["the window closed the connection"]);
    await expect(gone).rejects.toMatchObject(lost);
    let more = 0;
    for await (const _ of kept) more++;
    expect(more).toBe(99);
    expect(other.client.state).toBe("connected");
  });

  it("part when the window sends what is no frame", async () => {
    const { window, log } = setUp();
    await window.client.call("info", {});
    window.port.postMessage("nonsense");
    await until(() => window.client.state === "lost");
    expect(log.closed).toHaveLength(1);
  });
});

it("is not served outside of a utility process", () => {
  expect(serveParentPort({ connect: () => undefined }, {})).toBe(false);
  expect(serveParentPort({ connect: () => undefined }, { parentPort: null })).toBe(false);
});
