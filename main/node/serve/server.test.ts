import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { request as httpRequest } from "node:http";
import { connect } from "node:net";
import { networkInterfaces, tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import { decodeFrame, encodeFrame, REQUEST_LIMITS } from "../../contract/codec.ts";
import { CLOSE_CODES, SOCKET_PATH, SOCKET_PROTOCOL, TOKEN_PROTOCOL_PREFIX } from "../../contract/transport.ts";
import { allowedNow } from "../../testing/pace.ts";
import { costOf } from "../../testing/processCosts.ts";
import { seededRandom } from "../../testing/random.ts";
import type { Serving } from "./server.ts";
import { startServer } from "./server.ts";
import { fileWithin } from "./staticFiles.ts";

let folder: string;
let server: Serving;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "serve-test-"));
  await writeFile(join(folder, "index.html"), "<!doctype html><title>window</title>");
  server = await startServer({
    port: 0,
    rendererFolder: folder,
    engineEntry: fileURLToPath(new URL("testEngine.ts", import.meta.url)),
    execArgv: ["--import", "tsx"],
  });
});
afterAll(async () => {
  await server.close();
  await rm(folder, { recursive: true });
});

const protocols = (token: string): string[] => [SOCKET_PROTOCOL, TOKEN_PROTOCOL_PREFIX + token];
const origin = (): string => `http://127.0.0.1:${server.port}`;

function open(init: { token?: string; origin?: string; path?: string; host?: string } = {}): WebSocket {
  return new WebSocket(
    `ws://127.0.0.1:${server.port}${init.path ?? SOCKET_PATH}`,
    protocols(init.token ?? server.token),
    {
      origin: init.origin ?? origin(),
      ...(init.host === undefined ? {} : { headers: { host: init.host } }),
    },
  );
}

const refusedWith = (socket: WebSocket): Promise<number | undefined> =>
  new Promise((resolve) => {
    socket.on("unexpected-response", (_request, response) => {
      resolve(response.statusCode);
      socket.terminate();
    });
    socket.on("error", () => undefined);
    socket.on("open", () => resolve(undefined));
  });

/** Opens a socket by hand, sends bytes that `ws` would not, and gives all that came until the server ended it. */
const rawSocket = (bytes: Uint8Array): Promise<string> =>
  new Promise((resolve, reject) => {
    const socket = connect(server.port, "127.0.0.1");
    let answer = "";
    socket.setEncoding("latin1").on("data", (piece: string) => {
      if (answer === "") socket.write(bytes);
      answer += piece;
    });
    socket.on("close", () => resolve(answer)).on("error", reject);
    const lines = [
      `GET ${SOCKET_PATH} HTTP/1.1`,
      `Host: 127.0.0.1:${server.port}`,
      `Origin: ${origin()}`,
      "Upgrade: websocket",
      "Connection: Upgrade",
      "Sec-WebSocket-Version: 13",
      "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
      `Sec-WebSocket-Protocol: ${protocols(server.token).join(", ")}`,
    ];
    socket.write(`${lines.join("\r\n")}\r\n\r\n`);
  });

/** Tokens that are nearly the right one: of its length with another character at every place, in another case, its beginnings. */
function wrongTokens(token: string): readonly string[] {
  const swapped = (at: number): string => {
    const other = token[at] === "A" ? "B" : "A";
    return token.slice(0, at) + other + token.slice(at + 1);
  };
  const near = [
    ...Array.from({ length: token.length }, (_, at) => swapped(at)),
    token.toLowerCase(),
    token.toUpperCase(),
    [...token].reverse().join(""),
    ...[1, 8, token.length - 1].map((length) => token.slice(0, length)),
  ];
  return near.filter((one) => one !== token);
}

const nextFrame = (socket: WebSocket): Promise<unknown> =>
  new Promise((resolve, reject) => {
    socket.once("message", (data: Buffer) => resolve(decodeFrame(data)));
    socket.once("close", (code, reason) => reject(new Error(`closed ${code} ${reason.toString()}`)));
  });

interface Answer {
  readonly t: string;
  readonly id: number;
}

/**
 * What comes of the first of two requests; of the second (id 2) where the first is no request. Either may come first, and both
 * in one read, so that one listener hears them all.
 */
const answerTo = (socket: WebSocket): Promise<Answer> =>
  new Promise((resolve, reject) => {
    socket.on("message", (data: Buffer) => {
      const answer = decodeFrame(data) as Answer;
      if (answer.id === 2) setTimeout(() => resolve(answer), 250);
      else resolve(answer);
    });
    socket.once("close", (code) => reject(new Error(`closed ${code} without an answer`)));
  });

const closed = (socket: WebSocket): Promise<{ code: number; reason: string }> =>
  new Promise((resolve) => socket.once("close", (code, reason) => resolve({ code, reason: reason.toString() })));

const get = (
  path: string,
  headers: Record<string, string> = {},
  method = "GET",
): Promise<{ status: number; headers: NodeJS.Dict<string | string[]> }> =>
  new Promise((resolve, reject) => {
    const request = httpRequest({ host: "127.0.0.1", port: server.port, path, method, headers }, (response) => {
      response.resume();
      response.on("end", () => resolve({ status: response.statusCode ?? 0, headers: response.headers }));
    });
    request.on("error", reject);
    request.end();
  });

describe("files", () => {
  it("come with a strict policy", async () => {
    const { status, headers } = await get("/");
    expect(status).toBe(200);
    expect(headers["content-security-policy"]).toContain("default-src 'none'; script-src 'self';");
    expect(headers["x-content-type-options"]).toBe("nosniff");
  });

  it("stay inside the folder", async () => {
    for (const path of ["/../x", "/%2e%2e/x", "/..%2f..%2fetc/passwd", "/%00", "/a\\..\\b", "/%zz", "//etc/passwd"])
      expect(fileWithin("/srv/window", path)?.startsWith("/srv/window/") ?? true, path).toBe(true);
    expect((await get("/../../etc/passwd")).status).toBe(404);
    expect((await get("/%2e%2e%2f%2e%2e%2fetc%2fpasswd")).status).toBe(404);
  });

  it.skipIf(process.platform !== "linux")(
    "are closed when the reader leaves in the middle (only Linux has /proc)",
    async () => {
      const large = join(folder, "large.js");
      await writeFile(large, new Uint8Array(16 << 20));
      const openNow = (): number =>
        readdirSync("/proc/self/fd").filter((fd) => {
          try {
            return readlinkSync(`/proc/self/fd/${fd}`) === large;
          } catch {
            return false;
          }
        }).length;
      const leave = (): Promise<void> =>
        new Promise((resolve) => {
          const request = httpRequest({ host: "127.0.0.1", port: server.port, path: "/large.js" }, (response) =>
            response.once("data", () => {
              request.destroy();
              resolve();
            }),
          );
          request.on("error", () => undefined).end();
        });
      for (let i = 0; i < 20; i++) await leave();
      await expect.poll(openNow, { timeout: 5000 }).toBe(0);
    },
  );

  it("are not for other hosts or methods", async () => {
    expect((await get("/", { host: "evil.example" })).status).toBe(421);
    expect((await get("/", {}, "POST")).status).toBe(405);
  });
});

const outside = Object.values(networkInterfaces())
  .flatMap((all) => all ?? [])
  .find(({ family, internal }) => family === "IPv4" && !internal)?.address;

const noOutside = outside === undefined ? "(this machine has no address on a network)" : "";

describe("the network", () => {
  it.skipIf(outside === undefined)(`does not reach it: only this machine does ${noOutside}`, async () => {
    const asked = (host: string): Promise<string> =>
      new Promise((resolve) => {
        const socket = connect(server.port, host, () => resolve("connected"));
        socket.on("connect", () => socket.destroy()).on("error", (error) => resolve(error.message));
      });
    expect(await asked("127.0.0.1")).toBe("connected");
    expect(await asked(outside ?? "")).toContain("ECONNREFUSED");
  });
});

describe("a request line that names no path", () => {
  /** By hand, because clients put such lines in order; gives the first line of the answer. */
  const answerTo = (path: string, more: readonly string[] = []): Promise<string> =>
    new Promise((resolve, reject) => {
      const socket = connect(server.port, "127.0.0.1");
      let answer = "";
      socket.setEncoding("latin1").on("data", (piece: string) => (answer += piece));
      socket.on("close", () => resolve(answer.split("\r\n")[0] ?? "")).on("error", reject);
      const lines = [`GET ${path} HTTP/1.1`, `Host: 127.0.0.1:${server.port}`, ...more];
      socket.write(`${lines.join("\r\n")}\r\n\r\n`);
    });

  it.each(["//", "///", "//[", "http://", "//%"])("%s is refused, and the server still answers", async (path) => {
    expect(await answerTo(path, ["Connection: close"])).toMatch(/^HTTP\/1\.1 400 /);
    const upgrade = ["Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Version: 13"];
    expect(await answerTo(path, upgrade)).toMatch(/^HTTP\/1\.1 400 /);
    expect((await get("/")).status).toBe(200);
  });
});

describe("the token", () => {
  const post = (path: string, body: string, headers: Record<string, string> = {}): Promise<Response> =>
    fetch(`${origin()}${path}`, { method: "POST", body, headers });
  const ticketOf = (url: string): string => new URLSearchParams(new URL(url).hash.slice(1)).get("ticket") ?? "";
  const ours = (): Record<string, string> => ({ origin: origin() });

  it("stands in no address: an address has a ticket that gives it once", async () => {
    const url = server.url("/models/a b.gguf");
    expect(url).not.toContain(server.token);
    expect(new URLSearchParams(new URL(url).hash.slice(1)).get("open")).toBe("/models/a b.gguf");
    const first = await post("/session", ticketOf(url), ours());
    expect([first.status, first.headers.get("cache-control"), await first.text()]).toEqual([
      200,
      "no-store",
      server.token,
    ]);
    expect((await post("/session", ticketOf(url), ours())).status).toBe(401);
  });

  it("is for our own page only, and a refusal uses no ticket up", async () => {
    const ticket = ticketOf(server.url());
    expect((await post("/session", ticket)).status).toBe(403);
    expect((await post("/session", ticket, { origin: "http://evil.example" })).status).toBe(403);
    expect((await post("/session", `${ticket}x`, ours())).status).toBe(401);
    await expect(post("/session", "x".repeat(100_000), ours())).rejects.toThrow();
    expect((await post("/other", ticket, ours())).status).toBe(405);
    expect((await post("/session", ticket, ours())).status).toBe(200);
  });

  it("gets a program another address", async () => {
    expect((await post("/address", "")).status).toBe(401);
    expect((await post("/address", "", { authorization: "Bearer wrong" })).status).toBe(401);
    const answer = await post("/address", "", { authorization: `Bearer ${server.token}` });
    const ticket = ticketOf(await answer.text());
    expect((await post("/session", ticket, ours())).status).toBe(200);
  });
});

describe("sockets", () => {
  it("refuse a wrong token, origin, host or path", async () => {
    expect(await refusedWith(open({ token: "wrong" }))).toBe(401);
    expect(await refusedWith(open({ token: "" }))).toBe(401);
    expect(await refusedWith(open({ token: `${server.token}x` }))).toBe(401);
    expect(await refusedWith(open({ token: server.token.slice(1) }))).toBe(401);
    for (const wrong of wrongTokens(server.token)) expect(await refusedWith(open({ token: wrong })), wrong).toBe(401);
    // A token in the address does not count: addresses are kept in histories and logs.
    expect(await refusedWith(open({ token: "wrong", path: `${SOCKET_PATH}?token=${server.token}` }))).toBe(401);
    expect(await refusedWith(open({ origin: "http://evil.example" }))).toBe(403);
    expect(await refusedWith(open({ origin: `http://127.0.0.1:${server.port + 1}` }))).toBe(403);
    for (const foreign of ["null", origin().replace("http", "https"), `${origin()}.evil.example`, `${origin()}/`])
      expect(await refusedWith(open({ origin: foreign })), foreign).toBe(403);
    // No page at all: another program on this machine, which has to say what a page would.
    expect(await refusedWith(open({ origin: "" }))).toBe(403);
    expect(await refusedWith(open({ path: "/other" }))).toBe(404);
    expect(await refusedWith(open({ host: "evil.example" }))).toBe(421);
  });

  it("carry the contract", async () => {
    const socket = open();
    expect(await nextFrame(socket)).toEqual({ t: "hello", version: 1 });
    socket.send(encodeFrame({ t: "req", id: 1, kind: "call", method: "echo", input: { text: "hi" }, credit: 0 }));
    expect(await nextFrame(socket)).toEqual({ t: "res", id: 1, value: { text: "hi" } });
    socket.terminate();
  });

  it("end when a frame is not one", async () => {
    for (const bad of [new Uint8Array([1, 2]), new Uint8Array(64).fill(255), encodeFrame({ t: "nonsense" }), "text"]) {
      const socket = open();
      await nextFrame(socket);
      socket.send(bad);
      expect((await closed(socket)).code).toBe(CLOSE_CODES.badFrame);
    }
    const socket = open();
    await nextFrame(socket);
    socket.send(new Uint8Array(17 << 20));
    expect((await closed(socket)).code).toBe(1009);
  });

  it.skipIf(process.platform !== "linux")(
    "of a window that does not read keep the engine's memory bounded (only Linux has /proc)",
    async () => {
      const resident = (): number =>
        Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${server.engine.pid() ?? 0}/status`, "utf8"))?.[1]) / 1024;
      const socket = open();
      await nextFrame(socket);
      const before = resident();
      socket.pause();
      let most = 0;
      for (let id = 1; id <= 250; id++) {
        socket.send(encodeFrame({ t: "req", id, kind: "call", method: "blob", input: { length: 4 << 20 }, credit: 0 }));
        if (id % 25 === 0) await new Promise((resolve) => setTimeout(resolve, 100));
        most = Math.max(most, resident());
      }
      expect(most - before).toBeLessThan(400);
      socket.terminate();
      // It would go on with the gigabyte although its reader left, and the next tests would wait for it.
      const busy = server.engine.pid();
      if (busy !== undefined) process.kill(busy, "SIGKILL");
      await expect.poll(() => server.engine.pid()).not.toBe(busy);
    },
  );

  it("end when bytes are not WebSocket's, and leave the engine and the others alone", async () => {
    const bystander = open();
    await nextFrame(bystander);
    const { pid } = server.engine;
    const before = pid();
    const cases: readonly (readonly [string, readonly number[]])[] = [
      ["a frame without a mask", [0x82, 0x01, 0x00]],
      ["reserved bits", [0xf2, 0x80, 0, 0, 0, 0]],
      ["an unknown opcode", [0x83, 0x80, 0, 0, 0, 0]],
      ["2^63 bytes", [0x82, 0xff, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]],
      ["a continuation of nothing", [0x80, 0x80, 0, 0, 0, 0]],
      ["a long ping", [0x89, 0xfe, 0x01, 0x00, 0, 0, 0, 0]],
    ];
    // All at once: each waits until the server has waited long enough for a farewell.
    await Promise.all(
      cases.map(async ([name, bytes]) =>
        expect(await rawSocket(Uint8Array.from(bytes)), name).toMatch(/^HTTP\/1\.1 101 /),
      ),
    );
    expect(pid()).toBe(before);
    bystander.send(encodeFrame({ t: "req", id: 1, kind: "call", method: "echo", input: { text: "still" }, credit: 0 }));
    expect(await nextFrame(bystander)).toEqual({ t: "res", id: 1, value: { text: "still" } });
    bystander.terminate();
  });

  it("answer or end at any damage to a good frame, and the engine lives", async () => {
    const good = encodeFrame({ t: "req", id: 1, kind: "call", method: "echo", input: { text: "hi" }, credit: 0 });
    const random = seededRandom(11);
    // The first request starts the engine, where this test runs alone.
    const first = open();
    await nextFrame(first);
    first.send(good);
    await answerTo(first);
    first.terminate();
    const before = server.engine.pid();
    const damaged = Array.from({ length: 120 }, () => {
      const bytes = good.slice(0, random.integer(3) === 0 ? random.integer(good.length) : good.length);
      // A wrong letter often leaves a frame, of which the engine finds the fault; any bytes hardly ever do.
      const letter = random.integer(2) === 0;
      for (let n = letter ? 1 : 1 + random.integer(3); n > 0 && bytes.length > 0; n--)
        bytes[random.integer(bytes.length)] = letter ? 97 + random.integer(26) : random.integer(256);
      return bytes;
    });
    const ends = new Set<string>();
    const send = async (bytes: Uint8Array): Promise<void> => {
      const socket = open();
      await nextFrame(socket);
      const end = closed(socket);
      const answer = answerTo(socket);
      socket.send(bytes);
      // What is no request at all, but a frame, is not answered; a good one after it is.
      socket.send(encodeFrame({ t: "req", id: 2, kind: "call", method: "echo", input: { text: "" }, credit: 0 }));
      const { t, id } = await answer;
      if (id !== 2) ends.add(id === 0 ? `${t} of all` : t);
      if (id === 0) expect((await end).code).toBe(CLOSE_CODES.badFrame);
      socket.terminate();
    };
    // Twelve at once: their waits for a second answer go by together.
    for (let i = 0; i < damaged.length; i += 12) await Promise.all(damaged.slice(i, i + 12).map(send));
    expect(server.engine.pid()).toBe(before);
    // Some damage leaves a good frame, some one with a fault, some none, and the connection is told so before it ends.
    expect([...ends].sort()).toEqual(["err", "err of all", "res"]);
  });

  describe.skipIf(process.platform !== "linux")("cost little, whatever one frame holds (only Linux has /proc):", () => {
    const MAX_SECONDS = 1;
    const MAX_GROWTH_MIB = 256;
    const many = (text: string): string => text.repeat(Math.floor((REQUEST_LIMITS.maxJsonBytes - 300) / text.length));
    const keys = (): string => Array.from({ length: 1_000_000 }, (_, i) => `"${i.toString(36)}":1`).join();
    const request = (input: string): string =>
      `{"f":{"t":"req","id":1,"kind":"call","method":"echo","input":${input},"credit":0},"b":[]}`;
    const cases: readonly (readonly [string, () => string, string])[] = [
      ["objects", () => `{"f":[${many("{},")}0],"b":[]}`, "err"],
      ["objects where text belongs", () => request(`{"text":[${many("{},")}0]}`), "err"],
      ["lists", () => `{"f":[${many("[],")}0],"b":[]}`, "err"],
      ["numbers", () => `{"f":[${many("0,")}0],"b":[]}`, "err"],
      [
        "keys",
        () =>
          `{"f":{${keys()
            .slice(0, REQUEST_LIMITS.maxJsonBytes - 300)
            .replace(/,[^,]*$/, "")}},"b":[]}`,
        "err",
      ],
      ["references", () => `{"f":0,"b":[${many('["u8",0],')}0]}`, "err"],
      ["depth", () => `{"f":${many("[")}`, "err"],
      ["text that looks like a tree", () => request(`{"text":"${many('{,[\\",')}"}`), "res"],
      ["as many values as may be", () => request(`{"text":[${"{},".repeat(60_000)}0]}`), "err"],
    ];

    it.each(cases)("%s", async (_name, json, answer) => {
      const socket = open();
      const bystander = open();
      await Promise.all([nextFrame(socket), nextFrame(bystander)]);
      const text = new TextEncoder().encode(json());
      const bytes = new Uint8Array(4 + text.length);
      new DataView(bytes.buffer).setUint32(0, text.length, true);
      bytes.set(text, 4);
      const pid = server.engine.pid();
      const ask = async (): Promise<unknown> => {
        socket.send(bytes);
        const answered = nextFrame(socket);
        bystander.send(encodeFrame({ t: "req", id: 1, kind: "call", method: "echo", input: { text: "" }, credit: 0 }));
        await nextFrame(bystander);
        return answered;
      };
      // The server, which takes the bytes first, is this process.
      const ofEngine = await costOf(pid ?? 0, () => costOf(process.pid, ask));
      const ofServer = ofEngine.value;
      expect(ofServer.value).toMatchObject(
        answer === "err" ? { t: "err", error: { code: expect.stringMatching(/^CONTRACT_/) as string } } : { t: answer },
      );
      expect(server.engine.pid()).toBe(pid);
      expect(ofEngine.seconds).toBeLessThan(MAX_SECONDS);
      expect(ofEngine.grownMiB).toBeLessThan(MAX_GROWTH_MIB);
      expect(ofServer.grownMiB).toBeLessThan(MAX_GROWTH_MIB);
      for (const each of [socket, bystander]) each.terminate();
    });
  });

  it("are told when the engine is lost, and get a new one within two seconds", { retry: 2 }, async () => {
    const socket = open();
    await nextFrame(socket);
    const before = server.engine.pid();
    const end = closed(socket);
    socket.send(encodeFrame({ t: "req", id: 1, kind: "call", method: "die", input: {}, credit: 0 }));
    expect(await end).toEqual({ code: CLOSE_CODES.engineLost, reason: "the engine ended with code 7" });
    const again = open();
    const started = performance.now();
    expect(await nextFrame(again)).toEqual({ t: "hello", version: 1 });
    const after = performance.now() - started;
    const allowed = await allowedNow(2000);
    expect(after, allowed.sentence).toBeLessThan(allowed.ms);
    expect(server.engine.pid()).not.toBe(before);
    again.terminate();
  });
});
