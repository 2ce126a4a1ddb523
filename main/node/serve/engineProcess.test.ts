// What the supervisor says when its engine ends: of its own, or by the ^C that ends both.
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { createEngineProcess } from "./engineProcess.ts";

let folder: string;
beforeAll(async () => void (folder = await mkdtemp(join(tmpdir(), "rlx-engine-process-"))));
afterAll(() => rm(folder, { recursive: true, force: true }));

it.each([
  ["SIGKILL", ["the engine was ended by SIGKILL"]],
  // As ^C does it to an engine that is still being loaded: the command ends as well, and nothing was lost.
  ["SIGINT", []],
] as const)("%s before the engine is ready announces %j", async (signal, announced) => {
  const entry = join(folder, "engine.mjs");
  await writeFile(entry, "setInterval(() => undefined, 1000);\n");
  const lost: string[] = [];
  const engine = createEngineProcess({ entry, onLost: (reason) => lost.push(reason) });
  const closed = new Promise<boolean>((resolve) => {
    engine.connect({ frame: () => undefined, close: (_, isLost) => resolve(isLost) });
  });
  process.kill(engine.pid()!, signal);
  expect(await closed).toBe(true);
  expect(lost).toEqual(announced);
  await engine.stop();
});

it("starts no engine once it was stopped, and turns sockets away", async () => {
  const entry = join(folder, "engine.mjs");
  await writeFile(entry, "setInterval(() => undefined, 1000);\n");
  const engine = createEngineProcess({ entry });
  engine.start();
  await engine.stop();
  engine.start();
  const closed = new Promise<string>((resolve) => {
    engine.connect({ frame: () => undefined, close: (reason) => resolve(reason) });
  });
  expect(engine.pid()).toBeUndefined();
  expect(await closed).toBe("the server is stopping");
});
