/** `rlx serve --api` as a process: what it prints, what it logs, how it ends, and that docs/server.md says what is so. */
import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, it } from "vitest";
import { SAMPLE } from "../../testing/commandFolder.ts";
import { repositoryRoot } from "../../testing/oracleProcess.ts";
import { rlx } from "../../testing/rlx.ts";
import { requireCommandLine, startRlx } from "../../testing/rlxProcess.ts";

const run = promisify(execFile);
const page = readFileSync(join(repositoryRoot, "docs/server.md"), "utf8");
let home: string;
beforeAll(() => {
  requireCommandLine();
  home = mkdtempSync(join(tmpdir(), "rlx-serve-api-"));
});
afterAll(() => rmSync(home, { recursive: true, force: true }));

it("answers the curl line of its page, logs it without texts, comes back after its engine died, and ends", async () => {
  const key = "choose-a-key";
  const server = startRlx(["serve", "--api", SAMPLE, "--json"], { home, env: { RLX_API_KEY: key } });
  await server.shows(/\}\n/);
  const start = JSON.parse(server.shown()) as { url: string; port: number; key: string; models: string[] };
  expect(start).toMatchObject({ key, models: ["rlx-sample"], url: `http://127.0.0.1:${start.port}/v1` });
  const line = /^curl http:[^]*?'$/mu.exec(page)?.[0].replace("8080", String(start.port)) ?? "";
  const { stdout } = await run("/bin/sh", ["-c", line], { env: { ...process.env, RLX_API_KEY: key } });
  const answer = JSON.parse(stdout) as { choices: { message: { content: string } }[] };
  expect(answer.choices[0]?.message.content).not.toBe("");
  // A bundler drops what it takes to have no effect.
  const misnamed = await fetch(`${start.url}/models/%E0%A4`, { headers: { authorization: `Bearer ${key}` } });
  expect(misnamed.status).toBe(404);
  await server.shows(/ 200 POST \/v1\/chat\/completions {2}rlx-sample {2}13 prompt tokens/);

  const { stdout: children } = await run("pgrep", ["-P", String(server.pid())]);
  process.kill(Number(children.trim().split("\n")[0]), "SIGKILL");
  await server.shows(/The engine was lost/);
  const again = (): Promise<number> =>
    fetch(`${start.url}/completions`, {
      method: "POST",
      headers: { authorization: `Bearer ${key}` },
      body: JSON.stringify({ prompt: "Once", max_tokens: 2 }),
    }).then(({ status }) => status);
  await expect.poll(again, { timeout: 15_000, interval: 300 }).toBe(200);

  const { code, out, err } = await server.interrupt("SIGTERM");
  expect(code).toBe(0);
  expect(out.trim().split("\n")).toHaveLength(1);
  expect(err).not.toContain("Tell me a story");
}, 40_000);

it.each([
  [["serve", "--api"], "got no model"],
  [["serve", "--host", "0.0.0.0"], "--host: got it without --api"],
  [["serve", "--api", SAMPLE, "--open"], "--open: got it beside --api"],
  [["serve", SAMPLE, "--cache-type", "q8_0"], "--cache-type: got it without --api"],
  [["serve", "--api", SAMPLE, "--cache-type", "q8"], "--cache-type: got q8, expected f16, f32, q8_0, q4_0"],
  [["serve", SAMPLE, SAMPLE], "got 2 files, expected one"],
  [["serve", "--api", SAMPLE, "--api-key", "short"], "key"],
  [["serve", "--api", SAMPLE, "--no-key", "--host", "0.0.0.0"], "because other machines reach this address"],
  [["serve", "--api", "package.json"], "package.json"],
] as const)("%j is refused", async (words, said) => {
  const { code, err } = await rlx(words, { home });
  expect(code).toBeGreaterThan(0);
  expect(err).toContain(said);
});

it("a device that is none ends it as it ends every other command", async () => {
  const { code, out, err } = await rlx(["serve", "--api", SAMPLE, "--device", "gpu"], { home });
  const other = await rlx(["bench", SAMPLE, "--device", "gpu"], { home });
  expect([code, out, err.split("\n")[0]]).toEqual([other.code, "", other.err.split("\n")[0]]);
});
