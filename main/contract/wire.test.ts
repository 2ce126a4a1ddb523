import { describe, expect, it } from "vitest";
import { z } from "zod";
import { WorkbenchError } from "../diagnostics/errors.ts";
import { createClient } from "./client.ts";
import { decodeFrame, encodeFrame } from "./codec.ts";
import type { Handlers } from "./define.ts";
import { call, event, stream } from "./define.ts";
import { CONNECTION_ID } from "./frames.ts";
import type { Port } from "./port.ts";
import { createBacklog, createPortPair } from "./port.ts";
import { serve } from "./serve.ts";
import { f32 } from "./views/common.ts";

const small = {
  version: 7,
  calls: {
    double: call(z.object({ n: z.number(), by: z.number().default(2) }), z.object({ n: z.number() })),
    column: call(z.object({ length: z.number().int() }), z.object({ values: f32 })),
    fail: call(z.object({ how: z.enum(["known", "unknown"]) }), z.object({})),
    wait: call(z.object({}), z.object({})),
    liar: call(z.object({}), z.object({ n: z.number() })),
  },
  streams: {
    count: stream(z.object({ to: z.number() }), z.object({ i: z.number() })),
    untilStopped: stream(z.object({}), z.object({ kind: z.enum(["tick", "report"]) })),
  },
  events: { tick: event(z.object({ n: z.number() })) },
};

function setUp(transform?: (frame: unknown) => unknown, checkOutputs = false) {
  const log = { produced: 0, aborted: 0, finished: 0, unexpected: [] as string[] };
  const handlers: Handlers<typeof small> = {
    calls: {
      double: ({ n, by }) => ({ n: n * by }),
      column: ({ length }) => ({ values: Float32Array.from({ length }, (_, i) => i / 2) }),
      fail: ({ how }) => {
        if (how === "known")
          throw new WorkbenchError("INPUT_NOT_GGUF", "[gguf] magic: got PK, expected GGUF", {
            hint: "Choose another file.",
            details: { offset: 0 },
          });
        throw new TypeError("boom");
      },
      wait: (_input, { signal }) =>
        new Promise((_resolve, reject) =>
          signal.addEventListener("abort", () => {
            log.aborted += 1;
            reject(new WorkbenchError("CANCELLED", "stopped"));
          }),
        ),
      liar: () => ({ n: "seven" }) as unknown as { n: number },
    },
    streams: {
      async *count({ to }) {
        try {
          for (let i = 0; i < to; i++) {
            log.produced += 1;
            yield { i };
          }
        } finally {
          log.finished += 1;
        }
      },
      async *untilStopped(_input, { signal }) {
        while (!signal.aborted) {
          yield { kind: "tick" as const };
          await new Promise((resolve) => setTimeout(resolve, 1));
        }
        log.aborted += 1;
        yield { kind: "report" as const };
      },
    },
  };
  const [near, far] = createPortPair(transform);
  const serving = serve(small, handlers, far, { onUnexpected: (method) => log.unexpected.push(method) });
  const client = createClient(small, near, { checkOutputs });
  return { client, serving, near, far, log, handlers };
}

const settle = (ms = 5): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** What each transport does to a frame. */
const wires: readonly (readonly [string, (frame: unknown) => unknown])[] = [
  ["structured clone", (frame) => structuredClone(frame)],
  ["binary codec", (frame) => decodeFrame(encodeFrame(frame))],
];

describe.each(wires)("calls over %s", (_name, transform) => {
  it("answers, fills in defaults, and carries typed arrays natively", async () => {
    const { client } = setUp(transform, true);
    expect(await client.call("double", { n: 4 })).toEqual({ n: 8 });
    expect(await client.call("double", { n: 4, by: 3 })).toEqual({ n: 12 });
    const { values } = await client.call("column", { length: 3 });
    expect(values).toBeInstanceOf(Float32Array);
    expect([...values]).toEqual([0, 0.5, 1]);
    expect(client.state).toBe("connected");
  });

  it("keeps code, message, hint and details of an error", async () => {
    const { client, log } = setUp(transform);
    await expect(client.call("fail", { how: "known" })).rejects.toMatchObject({
      code: "INPUT_NOT_GGUF",
      message: "[gguf] magic: got PK, expected GGUF",
      hint: "Choose another file.",
      details: { offset: 0 },
    });
    expect(log.unexpected).toEqual([]);
    await expect(client.call("fail", { how: "unknown" })).rejects.toMatchObject({
      code: "BUG_UNEXPECTED",
      message: "boom",
    });
    expect(log.unexpected).toEqual(["fail"]);
  });

  it("streams in order and ends", async () => {
    const { client } = setUp(transform);
    const seen: number[] = [];
    for await (const { i } of client.stream("count", { to: 1000 })) seen.push(i);
    expect(seen).toEqual(Array.from({ length: 1000 }, (_, i) => i));
  });
});

describe("checks", () => {
  it("refuses an input that the contract does not allow, and says which field", async () => {
    const { client } = setUp();
    await expect(client.call("double", { n: "4" } as unknown as { n: number })).rejects.toMatchObject({
      code: "CONTRACT_INPUT",
      details: { method: "double", issues: [{ path: "n" }] },
    });
  });

  it("refuses methods that are not the contract's own", async () => {
    const { client } = setUp();
    const loose = client as unknown as { call(method: string, input: unknown): Promise<unknown> };
    for (const method of ["nope", "constructor", "__proto__", "toString"])
      await expect(loose.call(method, {})).rejects.toMatchObject({ code: "CONTRACT_UNKNOWN_METHOD" });
  });

  it("in tests finds an engine that does not keep the contract", async () => {
    const { client } = setUp(undefined, true);
    await expect(client.call("liar", {})).rejects.toMatchObject({ code: "CONTRACT_FRAME" });
  });

  it("does not compile when a handler is missing or has the wrong shape", () => {
    const { handlers } = setUp();
    const { double: _double, ...withoutDouble } = handlers.calls;
    // @ts-expect-error double is missing
    const missing: Handlers<typeof small> = { ...handlers, calls: withoutDouble };
    // @ts-expect-error double must return a number
    const wrong: Handlers<typeof small> = { ...handlers, calls: { ...handlers.calls, double: () => ({ n: "8" }) } };
    expect([missing, wrong]).toHaveLength(2);
  });
});

describe("cancel and back-pressure", () => {
  it("rejects a cancelled call at once and tells the handler", async () => {
    const { client, serving, log } = setUp();
    const control = new AbortController();
    const answer = client.call("wait", {}, { signal: control.signal });
    await settle();
    expect(serving.open()).toBe(1);
    control.abort();
    await expect(answer).rejects.toMatchObject({ code: "CANCELLED" });
    await settle();
    expect(log.aborted).toBe(1);
    expect(serving.open()).toBe(0);
  });

  it("does not even send a call whose signal has fired", async () => {
    const { client, serving } = setUp();
    await expect(client.call("wait", {}, { signal: AbortSignal.abort() })).rejects.toMatchObject({ code: "CANCELLED" });
    await settle();
    expect(serving.open()).toBe(0);
  });

  it("produces no more than the credit that the reader gave", async () => {
    const { client, log } = setUp();
    const items = client.stream("count", { to: 100_000 });
    await items.next();
    await settle();
    // 64 items of credit, and one that waits for more.
    expect(log.produced).toBeLessThanOrEqual(65);
    for (let i = 0; i < 40; i++) await items.next();
    await settle();
    expect(log.produced).toBeGreaterThan(65);
    expect(log.produced).toBeLessThanOrEqual(41 + 65);
    await items.return?.();
  });

  it("stops the producer when the reader leaves the loop", async () => {
    const { client, serving, log } = setUp();
    for await (const { i } of client.stream("count", { to: 1_000_000 })) if (i === 10) break;
    await settle();
    expect(log.finished).toBe(1);
    expect(log.produced).toBeLessThanOrEqual(11 + 65);
    expect(serving.open()).toBe(0);
  });

  it("delivers the last report of a stream that was stopped by its signal", async () => {
    const { client, log } = setUp();
    const control = new AbortController();
    const kinds: string[] = [];
    for await (const item of client.stream("untilStopped", {}, { signal: control.signal })) {
      kinds.push(item.kind);
      if (kinds.length === 3) control.abort();
    }
    expect(kinds.at(-1)).toBe("report");
    expect(log.aborted).toBe(1);
  });
});

describe("the connection", () => {
  it("delivers events to listeners, until they stop", async () => {
    const { client, serving } = setUp();
    const seen: number[] = [];
    const stop = client.on("tick", ({ n }) => seen.push(n));
    serving.emit("tick", { n: 1 });
    await settle();
    stop();
    serving.emit("tick", { n: 2 });
    await settle();
    expect(seen).toEqual([1]);
  });

  it("rejects everything pending with ENGINE_LOST when the engine goes, and works again on the next port", async () => {
    const { client, near, handlers, log } = setUp();
    const states: string[] = [];
    client.onState((state) => states.push(state));
    await client.call("double", { n: 1 });
    const waiting = client.call("wait", {});
    const reading = (async () => {
      for await (const _ of client.stream("untilStopped", {})) void _;
    })();
    await settle();
    near.close("exit code 9");
    await expect(waiting).rejects.toMatchObject({
      code: "ENGINE_LOST",
      details: { method: "wait", reason: "exit code 9" },
    });
    await expect(reading).rejects.toMatchObject({ code: "ENGINE_LOST" });
    await expect(client.call("double", { n: 1 })).rejects.toMatchObject({ code: "ENGINE_LOST" });
    await settle();
    // The serving side stopped the work of the lost connection.
    expect(log.aborted).toBe(2);

    const [again, far] = createPortPair();
    serve(small, handlers, far);
    client.attach(again);
    expect(await client.call("double", { n: 21 })).toEqual({ n: 42 });
    expect(states).toEqual(["connected", "lost", "connecting", "connected"]);
  });

  it("does not talk to an engine of another contract version", async () => {
    const { handlers } = setUp();
    const [near, far] = createPortPair();
    serve({ ...small, version: 8 }, handlers, far);
    const client = createClient(small, near);
    await settle();
    expect([client.state, client.otherVersion]).toEqual(["lost", 8]);
    const [again, right] = createPortPair();
    serve(small, handlers, right);
    client.attach(again);
    await settle();
    expect([client.state, client.otherVersion]).toEqual(["connected", null]);
  });

  it("is closed for good by close()", async () => {
    const { client } = setUp();
    const waiting = client.call("wait", {});
    client.close();
    await expect(waiting).rejects.toMatchObject({ code: "ENGINE_LOST" });
    const [near, far] = createPortPair();
    client.attach(near);
    let reason = "";
    far.onClose((why) => (reason = why));
    await settle();
    expect(reason).toBe("the client is closed");
  });
});

describe("a peer that does not keep the rules", () => {
  const bad: readonly (readonly [string, unknown])[] = [
    ["null", null],
    ["text", "req"],
    ["an array", []],
    ["bytes", new Uint8Array(4)],
    ["no kind of frame", { id: 1 }],
    ["a server's frame", { t: "res", id: 1, value: 1 }],
    ["id 0", { t: "req", id: 0, kind: "call", method: "double", input: {}, credit: 0 }],
    ["a fractional id", { t: "req", id: 1.5, kind: "call", method: "double", input: {}, credit: 0 }],
    ["a huge id", { t: "abort", id: 2 ** 60 }],
    ["a method that is no text", { t: "req", id: 1, kind: "call", method: 5, input: {}, credit: 0 }],
    ["a method that is a novel", { t: "req", id: 1, kind: "call", method: "x".repeat(101), input: {}, credit: 0 }],
    ["an unknown kind of request", { t: "req", id: 1, kind: "event", method: "double", input: {}, credit: 0 }],
    ["endless credit", { t: "req", id: 1, kind: "stream", method: "count", input: {}, credit: Infinity }],
    ["negative credit", { t: "credit", id: 1, n: -1 }],
  ];
  it.each(bad)("is told CONTRACT_FRAME and left: %s", async (_name, frame) => {
    const { handlers } = setUp();
    const [near, far] = createPortPair();
    serve(small, handlers, far);
    const received: unknown[] = [];
    let closed = false;
    near.onMessage((value) => received.push(value));
    near.onClose(() => (closed = true));
    near.send(frame);
    await settle();
    expect(closed).toBe(true);
    expect(received).toEqual([
      { t: "hello", version: 7 },
      { t: "err", id: CONNECTION_ID, error: expect.objectContaining({ code: "CONTRACT_FRAME" }) as unknown },
    ]);
  });

  it("cannot open requests without end", async () => {
    const { handlers } = setUp();
    const [near, far] = createPortPair();
    const serving = serve(small, handlers, far, { maxOpen: 4 });
    const errors: unknown[] = [];
    near.onMessage((value) => (value as { t: string }).t === "err" && errors.push(value));
    for (let id = 1; id <= 10; id++) near.send({ t: "req", id, kind: "call", method: "wait", input: {}, credit: 0 });
    await settle();
    expect(serving.open()).toBe(4);
    expect(errors).toHaveLength(6);
  });

  it("ends the connection when it uses an id twice", async () => {
    const { handlers } = setUp();
    const [near, far] = createPortPair();
    serve(small, handlers, far);
    let reason = "";
    near.onClose((why) => (reason = why));
    near.onMessage(() => undefined);
    for (let i = 0; i < 2; i++) near.send({ t: "req", id: 1, kind: "call", method: "wait", input: {}, credit: 0 });
    await settle();
    expect(reason).toContain("id 1 is in use");
  });

  it("as an engine is left by the client", async () => {
    const [near, far] = createPortPair();
    const client = createClient(small, near);
    const answer = client.call("wait", {});
    far.send({ t: "err", id: 1, error: { code: "NO_SUCH_CODE", message: "?" } });
    await expect(answer).rejects.toMatchObject({ code: "ENGINE_LOST" });
    expect(client.state).toBe("lost");
  });

  it("may answer what was not asked: it is ignored", async () => {
    const [near, far] = createPortPair();
    const client = createClient(small, near);
    far.send({ t: "hello", version: 7 });
    far.send({ t: "res", id: 99, value: {} });
    await settle();
    expect(client.state).toBe("connected");
  });
});

it("keeps a port's frames until there is a listener, and tells a late listener that it ended", async () => {
  const [near, far]: readonly [Port, Port] = createPortPair();
  near.send(1);
  near.send(2);
  await settle();
  const seen: unknown[] = [];
  far.onMessage((frame) => seen.push(frame));
  expect(seen).toEqual([1, 2]);
  near.send(3);
  near.close("done");
  near.send(4);
  await settle();
  let reason = "";
  far.onClose((why) => (reason = why));
  expect(reason).toBe("done");
  // What was sent before the end arrives, nothing after it does.
  expect(seen).toEqual([1, 2, 3]);
});

describe("the end of a connection", () => {
  const contractOf = {
    version: 1,
    calls: { hold: call(z.object({}), z.object({})), wait: call(z.object({}), z.object({})) },
    streams: {},
    events: {},
  };

  it("frees what the caller holds, once its requests have ended", async () => {
    const log: string[] = [];
    let finish: () => void = () => undefined;
    const [near, far] = createPortPair();
    serve(
      contractOf,
      {
        calls: {
          hold: (_input, { onLeave }) => {
            onLeave(() => void log.push("freed"));
            return {};
          },
          wait: () => new Promise((resolve) => (finish = () => (log.push("finished"), resolve({})))),
        },
        streams: {},
      },
      far,
    );
    const client = createClient(contractOf, near);
    await client.call("hold", {});
    client.call("wait", {}).catch(() => undefined);
    await settle();
    client.close();
    await settle();
    expect(log).toEqual([]);
    finish();
    await settle();
    expect(log).toEqual(["finished", "freed"]);
  });
});

describe("answers that are not read", () => {
  it("hold up the work that would make more of them", async () => {
    const backlog = createBacklog(1000);
    const left: (() => void)[] = [];
    let made = 0;
    const [near, far] = createPortPair();
    const slow: Port = {
      ...far,
      send: (frame) => {
        if ((frame as { readonly t: string }).t === "res") left.push(backlog.add(400));
        far.send(frame);
      },
      room: backlog.room,
    };
    const big = { version: 1, calls: { make: call(z.object({}), z.object({})) }, streams: {}, events: {} };
    serve(big, { calls: { make: () => (made++, {}) }, streams: {} }, slow);
    const client = createClient(big, near);
    const answers = Array.from({ length: 10 }, () => client.call("make", {}));
    await settle();
    expect([made, left.length]).toEqual([3, 3]);
    while (left.length > 0) {
      for (const leaves of left.splice(0)) leaves();
      await settle();
    }
    expect(await Promise.all(answers)).toHaveLength(10);
    expect(made).toBe(10);
  });
});
