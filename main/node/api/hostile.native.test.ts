/** Requests of strangers: whatever comes is answered with a status, within limits, and the server goes on. */
import { mkdtempSync, rmSync } from "node:fs";
import { copyFile, mkdir, stat } from "node:fs/promises";
import { request as httpRequest } from "node:http";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { writeTinyGguf } from "../../testing/tinyGguf.ts";
import type { Harness } from "../../testing/engineHarness.ts";
import { engineHarness } from "../../testing/engineHarness.ts";
import { keyOf } from "./guard.ts";
import type { TestServer } from "../../testing/openaiServer.ts";
import { testServer } from "../../testing/openaiServer.ts";

const folder = mkdtempSync(join(tmpdir(), "rlx-api-hostile-"));
const tiny = join(folder, "tiny.gguf");
let harness: Harness;
let server: TestServer;
beforeAll(async () => {
  await writeTinyGguf(tiny, { endless: true });
  harness = await engineHarness();
  server = await testServer({ models: [tiny], limits: { seconds: 0.3, bytes: 100_000, headSeconds: 1 } }, harness);
});
afterEach(async () => {
  expect((await server.ask("/health")).status).toBe(200);
});
afterAll(async () => {
  await server.done();
  await harness.done();
  rmSync(folder, { recursive: true, force: true });
});

const CHAT = "/v1/chat/completions";
const valid = { messages: [{ role: "user", content: "Hi" }], max_tokens: 2 };
const post = (body: string | Uint8Array<ArrayBuffer>, path = CHAT): Promise<Response> =>
  server.ask(path, { method: "POST", body });
const codeOf = async (response: Response): Promise<unknown> =>
  ((await response.json()) as { error: { code: unknown } }).error.code;

describe("bodies", () => {
  const deep = (n: number): string => `${"[".repeat(n)}${"]".repeat(n)}`;
  it.each([
    ["nothing", "", 400, "invalid_json"],
    ["half of it", '{"messages": [', 400, "invalid_json"],
    ["a list", "[]", 400, "invalid_json"],
    ["no UTF-8", new Uint8Array([0x7b, 0xff, 0x7d]), 400, "invalid_json"],
    ["a deep tree", `{"messages": ${deep(30_000)}}`, 400, "body_too_deep"],
    ["many values", `{"messages": [${"0,".repeat(49_999)}0]}`, 413, "body_too_large"],
    ["many bytes", `{"messages": "${"x".repeat(100_000)}"}`, 413, "body_too_large"],
    ["no messages", "{}", 400, "invalid_value"],
    ["messages that are none", '{"messages": [1]}', 400, "invalid_value"],
    ["a role that is none", '{"messages": [{"role": "__proto__", "content": ""}]}', 400, "invalid_value"],
    [
      "a name of every object",
      '{"messages": [{"role": "user", "content": ""}], "__proto__": 1, "tools": {}}',
      400,
      "invalid_value",
    ],
    ["a seed that is none", JSON.stringify({ ...valid, seed: 1e300 }), 400, "invalid_value"],
    ["tools of no form", JSON.stringify({ ...valid, tools: [{ type: "web_search" }] }), 400, "invalid_value"],
  ])("%s", async (_name, body, status, code) => {
    const response = await post(body);
    expect([response.status, await codeOf(response)]).toEqual([status, code]);
  });

  it.each(["/v1/completions", "/v1/embeddings", "/v1/responses"])("%s refuses a list of nothing", async (path) => {
    for (const body of [
      '{"prompt": [], "input": []}',
      '{"prompt": {}, "input": {}}',
      '{"prompt": [[]], "input": [[]]}',
    ])
      expect((await post(body, path)).status).toBe(400);
  });

  it("tokens beyond the vocabulary are refused", async () => {
    expect((await post('{"prompt": [2147483647], "max_tokens": 1}', "/v1/completions")).status).toBe(400);
  });

  it("a packed one is refused", async () => {
    const response = await server.ask(CHAT, { method: "POST", body: "x", headers: { "content-encoding": "gzip" } });
    expect(response.status).toBe(415);
  });

  it("one that does not come is not waited for", async () => {
    const { hostname, port } = new URL(server.url);
    const asked = httpRequest({
      ...{ hostname, port, path: CHAT, method: "POST" },
      headers: { authorization: `Bearer ${server.key}`, "content-length": 1000 },
    });
    asked.write("{");
    const status = await new Promise((resolve, reject) =>
      asked.on("response", ({ statusCode }) => resolve(statusCode)).on("error", reject),
    );
    expect(status).toBe(408);
    asked.destroy();
  });

  it("a head that does not come is not waited for", async () => {
    const { hostname, port } = new URL(server.url);
    const socket = connect(Number(port), hostname);
    let got = "";
    socket.on("data", (bytes: Buffer) => (got += bytes.toString("latin1")));
    socket.write("POST /v1/chat/completions HTTP/1.1\r\nHost: ");
    await new Promise((resolve) => socket.on("close", resolve));
    expect(got).toMatch(/^HTTP\/1\.1 408 /);
  }, 10_000);
});

describe("who asks", () => {
  const status = (path: string, headers: Record<string, string>, method = "GET"): Promise<number> =>
    new Promise((resolve, reject) => {
      const url = new URL(path, server.url);
      httpRequest(url, { method, headers: { authorization: `Bearer ${server.key}`, ...headers } }, (response) => {
        response.resume();
        resolve(response.statusCode ?? 0);
      })
        .on("error", reject)
        .end();
    });

  it("a program with the key, by the server's own names", async () => {
    const at = new URL(server.url).port;
    expect(await status("/v1/models", {})).toBe(200);
    expect(await status("/v1/models", { host: `localhost:${at}` })).toBe(200);
    expect(await status("/v1/models", { origin: new URL(server.url).origin })).toBe(200);
  });

  it.each([
    ["no key", { authorization: "" }, 401],
    ["another key", { authorization: "Bearer 12345678" }, 401],
    ["the key in another form", { authorization: "Basic 12345678" }, 401],
    ["a foreign page", { origin: "https://example.com" }, 403],
    ["a page of another port", { origin: "http://127.0.0.1:1" }, 403],
    ["a page of a file", { origin: "null" }, 403],
    ["a foreign name", { host: "example.com" }, 421],
    ["another port", { host: "127.0.0.1:1" }, 421],
  ])("%s is refused", async (_name, headers, expected) => {
    expect(await status("/v1/models", headers)).toBe(expected);
  });

  it("answers in OpenAI's form wherever it refuses", async () => {
    const bare = await fetch(new URL("/v1/models", server.url));
    expect(await bare.json()).toMatchObject({ error: { type: "authentication_error", code: "invalid_api_key" } });
    expect(bare.headers.get("www-authenticate")).toBe("Bearer");
  });

  it.each([
    ["GET", CHAT, 405],
    ["DELETE", "/v1/models", 405],
    ["OPTIONS", CHAT, 405],
    ["GET", "/v1/nothing", 404],
    ["GET", "/v1/models/%E0%A4%A", 404],
    ["GET", "/v1/%E0%A4", 404],
    ["GET", "/v1/models/constructor", 404],
    ["POST", "/constructor", 404],
  ])("%s %s is %i", async (method, path, expected) => {
    expect(await status(path, {}, method)).toBe(expected);
  });

  it("a name that is not encoded well is no model", async () => {
    expect(await codeOf(await server.ask("/v1/models/%E0%A4"))).toBe("model_not_found");
  });

  it("a key is made, and has to be given beyond loopback", () => {
    expect(keyOf({ host: "127.0.0.1", key: "made" })).toMatch(/^[\w-]{32}$/);
    expect(keyOf({ host: "localhost", key: "none" })).toBeNull();
    expect(keyOf({ host: "0.0.0.0", key: { given: "chosen-key" } })).toBe("chosen-key");
    for (const key of ["made", "none"] as const)
      expect(() => keyOf({ host: "192.168.0.2", key })).toThrow(/expected one, because other machines/);
  });
});

describe("many at once", () => {
  it("waits in line, and tells the one that is too many when to come again", async () => {
    const small = await testServer({ models: [tiny], mostWaiting: 1, atOnce: 1 }, harness);
    const leaving = new AbortController();
    const long = (): Promise<Response> =>
      small.ask(CHAT, {
        ...{ method: "POST", signal: leaving.signal },
        body: JSON.stringify({ ...valid, max_tokens: 100_000, stream: true }),
      });
    const first = await long();
    const second = long().catch(() => undefined);
    await expect.poll(() => small.serving.status().running?.waiting).toBe(1);
    const third = await long();
    expect([third.status, await codeOf(third)]).toEqual([429, "too_many_requests"]);
    expect(Number(third.headers.get("retry-after"))).toBeGreaterThanOrEqual(1);
    leaving.abort();
    await second;
    await first.body?.cancel().catch(() => undefined);
    await expect.poll(() => small.serving.status().running).toMatchObject({ answering: 0, waiting: 0 });
    // The line is empty again, and the answers of one request are no strangers to each other.
    const last = await small.ask(CHAT, { method: "POST", body: JSON.stringify({ ...valid, n: 4 }) });
    expect(last.status).toBe(200);
    await small.done();
  });

  it("ends what runs when the server ends", async () => {
    const ending = await testServer({ models: [tiny] }, harness);
    const body = JSON.stringify({ ...valid, max_tokens: 100_000, stream: true });
    const response = await ending.ask(CHAT, { method: "POST", body });
    await ending.done();
    expect(await response.text()).toContain('"code":"CANCELLED"');
  });
});

describe("models", () => {
  it("one is opened when it is named, and the longest unused is closed where memory is short", async () => {
    const paths = ["a", "b", "c"].map((name) => join(folder, "models", `${name}.gguf`));
    await mkdir(join(folder, "models"));
    for (const path of paths) await copyFile(tiny, path);
    const memoryBytes = 2 * (await stat(tiny)).size;
    const several = await testServer({ models: [join(folder, "models")], memoryBytes }, harness);
    const open = (): string[] =>
      (several.serving.status().running?.models ?? []).flatMap(({ id, state }) => (state === "open" ? [id] : []));
    expect(open()).toEqual([]);
    for (const model of ["a", "b", "a", "c"])
      expect((await several.ask(CHAT, { method: "POST", body: JSON.stringify({ ...valid, model }) })).status).toBe(200);
    expect(open()).toEqual(["a", "c"]);
    const nameless = await several.ask(CHAT, { method: "POST", body: JSON.stringify(valid) });
    expect([nameless.status, await codeOf(nameless)]).toEqual([400, "missing_required_parameter"]);
    await several.done();
  });

  it("keeps no texts unless it was chosen", async () => {
    const kept = await testServer({ models: [tiny], keepTexts: true }, harness);
    for (const each of [server, kept]) await each.ask(CHAT, { method: "POST", body: JSON.stringify(valid) });
    expect(server.serving.log.last().at(-1)).toMatchObject({
      prompt: null,
      answer: null,
      status: 200,
      generatedTokens: 2,
    });
    expect(kept.serving.log.last().at(-1)?.prompt).toContain('"Hi"');
    expect(kept.serving.log.last().at(-1)?.answer).not.toBe("");
    await kept.done();
  });
});
