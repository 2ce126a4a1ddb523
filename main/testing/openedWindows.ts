/** Windows of a server that open a model, let it write, and go without a word; and what the engine holds afterwards. */
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createClient } from "../contract/client.ts";
import type { EngineClient } from "../contract/contract.ts";
import { contract } from "../contract/contract.ts";
import { startServer } from "../node/serve/server.ts";
import { connectTo } from "../node/serve/testClient.ts";
import { writeTinyGguf } from "./tinyGguf.ts";

/** Words of the prompt: they fill caches of some 20 MB, so that a model which stays is seen. */
const WORDS = 200;
const FREED_WITHIN_MS = 10_000;

export interface OpenedWindows {
  /** One window after the other: each opens, writes and closes. */
  turns(count: number): Promise<void>;
  /** Windows that stay open with what they wrote; gives how many bytes the engine takes with them. */
  bytesWith(count: number): Promise<number>;
  /** Bytes of the engine's process once every model is freed; throws where one stays. */
  bytesAfter(): Promise<number>;
  done(): Promise<void>;
}

export async function openedWindows(folder: string): Promise<OpenedWindows> {
  const path = join(folder, "window.gguf");
  await writeTinyGguf(path, { layers: 48, endless: true });
  process.env["RLX_HOME"] = join(folder, "home");
  const server = await startServer({
    port: 0,
    rendererFolder: folder,
    engineEntry: fileURLToPath(new URL("../../out/engine/index.js", import.meta.url)),
  });
  const connect = async () => createClient(contract, (await connectTo(server)).port);
  const watcher: EngineClient = await connect();
  /** The page is there until it is closed in the midst of the answer, as a tab is. */
  const openWindow = async (): Promise<{ close(): void }> => {
    const window = await connect();
    const { model } = await window.call("model.open", { source: { kind: "path", path } });
    const prompt = { kind: "completion", text: "the ".repeat(WORDS) } as const;
    const items = window.stream("run.start", { model, prompt, maxTokens: 1000 });
    for await (const item of items) if (item.kind === "token") break;
    return window;
  };
  return {
    async turns(count) {
      for (let i = 0; i < count; i++) (await openWindow()).close();
    },
    async bytesWith(count) {
      const open: { close(): void }[] = [];
      for (let i = 0; i < count; i++) open.push(await openWindow());
      const { engineBytes, models } = await watcher.call("engine.status", {});
      if (models.length !== count) throw new Error(`got ${models.length} open models, expected ${count}`);
      for (const window of open) window.close();
      return engineBytes;
    },
    async bytesAfter() {
      const end = performance.now() + FREED_WITHIN_MS;
      for (;;) {
        const { models, jobs, engineBytes } = await watcher.call("engine.status", {});
        if (models.length === 0 && jobs.length === 0) return engineBytes;
        if (performance.now() > end) throw new Error(`${models.length} models and ${jobs.length} jobs stay`);
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
    },
    async done() {
      await server.close();
      delete process.env["RLX_HOME"];
    },
  };
}
