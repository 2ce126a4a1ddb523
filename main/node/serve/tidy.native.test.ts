/** The built `rlx serve` is ended while a model is sent to it and while it writes a package: nothing of either is left. */
import { mkdir, mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { AttachableClient } from "../../contract/client.ts";
import { createClient } from "../../contract/client.ts";
import type { Contract } from "../../contract/contract.ts";
import { contract } from "../../contract/contract.ts";
import type { TargetSpec } from "../../contract/views/common.ts";
import type { Running } from "../../testing/rlxProcess.ts";
import { startRlx } from "../../testing/rlxProcess.ts";
import { writeTinyGguf } from "../../testing/tinyGguf.ts";
import { connectTo } from "./testClient.ts";

const TARGET: TargetSpec = { chip: "m4", os: "macos15", units: "cpu-ane", profile: "auto", context: 4096 };

let folder: string;
let slow: string;
const servers: Running[] = [];
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "rlx-tidy-"));
  for (const name of ["tmp", "exports"]) await mkdir(join(folder, name));
  slow = join(folder, "slow.gguf");
  await writeTinyGguf(slow, { layers: 160 });
});
afterAll(async () => {
  for (const { process: server } of servers) server.kill("SIGKILL");
  await rm(folder, { recursive: true, force: true });
});

/** Uploads, packages and notes of packages that lie about. */
const left = async (): Promise<readonly string[]> =>
  (
    await Promise.all(
      ["tmp", "exports", "home/unfinished"].map((name) => readdir(join(folder, name)).catch((): string[] => [])),
    )
  )
    .flat()
    .filter((name) => !name.startsWith("tsx-"));

interface Served {
  readonly server: Running;
  readonly at: { readonly port: number; readonly token: string };
  readonly client: AttachableClient<Contract>;
}

async function serve(): Promise<Served> {
  const server = startRlx(["serve", "--json"], { home: join(folder, "home"), env: { TMPDIR: join(folder, "tmp") } });
  servers.push(server);
  let line = "";
  server.process.stdout?.on("data", (text: string) => (line += text));
  await server.shows(/\}\n/);
  const at = JSON.parse(line) as Served["at"];
  return { server, at, client: createClient(contract, (await connectTo(at)).port) };
}

/** Half of an upload, and a package that is being written. */
async function workOn({ client }: Served): Promise<void> {
  const { upload } = await client.call("upload.begin", { name: "half.gguf", size: 1 << 20 });
  await client.call("upload.chunk", { upload, offset: 0, bytes: new Uint8Array(1 << 19) });
  const { model } = await client.call("model.open", { source: { kind: "path", path: slow } });
  const path = join(folder, "exports", "slow.mlpackage");
  const items = client.stream("export.start", { model, target: TARGET, path, overwrite: true });
  for (;;) {
    const next = await items.next();
    if (next.done === true) throw new Error("the package was done before the server could be ended");
    if (next.value.kind === "progress") break;
  }
  // The rest is lost, and said to be.
  items.next().catch(() => undefined);
  expect((await left()).filter((name) => name.startsWith("rlx-upload-"))).toHaveLength(1);
  expect((await left()).filter((name) => name.endsWith(".partial"))).toHaveLength(1);
}

it.each([
  ["SIGTERM to the server alone", (server: Running): boolean => process.kill(server.pid(), "SIGTERM")],
  ["SIGTERM to all its processes", (server: Running): boolean => process.kill(-server.pid(), "SIGTERM")],
  ["^C", (server: Running): boolean => process.kill(-server.pid(), "SIGINT")],
  ["SIGHUP to all its processes", (server: Running): boolean => process.kill(-server.pid(), "SIGHUP")],
] as const)("%s leaves nothing", async (_name, end) => {
  const served = await serve();
  await workOn(served);
  end(served.server);
  await served.server.ended;
  expect(await left()).toEqual([]);
});

it("the death of the server leaves nothing either: its engine notices", async () => {
  const served = await serve();
  await workOn(served);
  served.server.process.kill("SIGKILL");
  await expect.poll(left, { timeout: 10_000 }).toEqual([]);
});

it("what a killed engine leaves is gone after the next has started", async () => {
  const served = await serve();
  await workOn(served);
  process.kill(-served.server.pid(), "SIGKILL");
  await served.server.ended;
  expect((await left()).length).toBeGreaterThan(2);
  const next = await serve();
  await expect.poll(left, { timeout: 10_000 }).toEqual([]);
  await next.server.interrupt("SIGTERM");
});
