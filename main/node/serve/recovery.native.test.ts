/** The real engine behind `rlx serve` is killed while it writes: the reader is told, and two seconds later a new one writes. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { AttachableClient } from "../../contract/client.ts";
import { createClient } from "../../contract/client.ts";
import type { Contract, StreamItemOf } from "../../contract/contract.ts";
import { contract } from "../../contract/contract.ts";
import { CLOSE_CODES } from "../../contract/transport.ts";
import { allowedNow } from "../../testing/pace.ts";
import { writeTinyGguf } from "../../testing/tinyGguf.ts";
import type { Serving } from "./server.ts";
import { startServer } from "./server.ts";
import { connectTo } from "./testClient.ts";

const RECOVERY_MS = 2000;

let folder: string;
let model: string;
let server: Serving;
const lost: string[] = [];
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "rlx-recovery-"));
  process.env["RLX_HOME"] = join(folder, "home");
  model = join(folder, "slow.gguf");
  await writeTinyGguf(model, { layers: 48 });
  server = await startServer({
    port: 0,
    rendererFolder: folder,
    engineEntry: fileURLToPath(new URL("../../../out/engine/index.js", import.meta.url)),
    onLost: (reason) => lost.push(reason),
  });
});
afterAll(async () => {
  await server.close();
  delete process.env["RLX_HOME"];
  await rm(folder, { recursive: true, force: true });
});

async function* write(client: AttachableClient<Contract>): AsyncGenerator<StreamItemOf<"run.start">> {
  const opened = await client.call("model.open", { source: { kind: "path", path: model } });
  yield* client.stream("run.start", {
    model: opened.model,
    prompt: { kind: "completion", text: "Once upon a time" },
    sampling: { temperature: 0 },
    maxTokens: 2000,
  });
}

/** Reads to the end; `begun` is called at the first token. Random bytes: a token may be half a letter, and its text empty. */
async function read(items: AsyncIterable<StreamItemOf<"run.start">>, begun: () => void): Promise<void> {
  for await (const item of items) if (item.kind === "token") begun();
}

it("loses the run that was on its way, and writes again within two seconds", { retry: 2 }, async () => {
  const first = await connectTo(server);
  const client = createClient(contract, first.port);
  let lose = Promise.resolve();
  await new Promise<void>((begun, failed) => {
    const running = read(write(client), begun);
    lose = expect(running).rejects.toMatchObject({ code: "ENGINE_LOST" });
    running.catch(failed);
  });
  const killed = server.engine.pid();
  // Nought would be the group of the tests themselves.
  if (killed === undefined) throw new Error("the engine has no process");

  const at = performance.now();
  process.kill(killed, "SIGKILL");
  expect(await first.closed).toBe(CLOSE_CODES.engineLost);
  await lose;
  expect(client.state).toBe("lost");
  expect(lost.at(-1)).toBe("the engine was ended by SIGKILL");

  // As the window does: the same client, a new connection, the same question.
  client.attach((await connectTo(server)).port);
  await new Promise<void>((begun, failed) => {
    read(write(client), begun).catch(failed);
  });
  const after = performance.now() - at;
  const allowed = await allowedNow(RECOVERY_MS);
  console.log(`writes again ${after.toFixed(0)} ms after the engine was killed, ${allowed.sentence}`);
  expect(after, allowed.sentence).toBeLessThan(allowed.ms);
  expect(server.engine.pid()).not.toBe(killed);
  client.close();
});
