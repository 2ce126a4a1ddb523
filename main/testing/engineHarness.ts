/** For tests: an engine in this process. Every answer is checked against its schema. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createClient } from "../contract/client.ts";
import { decodeFrame, encodeFrame } from "../contract/codec.ts";
import type { Contract, EngineClient, StreamInputOf, StreamItemOf } from "../contract/contract.ts";
import { contract } from "../contract/contract.ts";
import type { RequestOptions, StreamName } from "../contract/define.ts";
import { createPortPair } from "../contract/port.ts";
import { readSettings } from "../node/settings.ts";
import type { Engine } from "../engine/engine.ts";
import type { Machine } from "../engine/services.ts";
import { nodeEngine } from "../node/nodeEngine.ts";

export interface Harness {
  readonly client: EngineClient;
  readonly engine: Engine;
  readonly folder: string;
  /** Every item of a stream. */
  all<K extends StreamName<Contract>>(
    method: K,
    input: StreamInputOf<K>,
    options?: RequestOptions,
  ): Promise<StreamItemOf<K>[]>;
  done(): Promise<void>;
}

/** `environment`: variables besides those of this process. `machine`: what is told of it in another way. */
export async function engineHarness(
  environment: Readonly<Record<string, string>> = {},
  machine: Partial<Machine> = {},
): Promise<Harness> {
  const folder = await mkdtemp(join(tmpdir(), "rlx-engine-"));
  const engine = nodeEngine({
    machine,
    settings: readSettings({ ...process.env, RLX_HOME: join(folder, "home"), RLX_FIND_MODELS: "off", ...environment }),
  });
  // Encoded as over a socket, to find values that do not survive it.
  const [window, served] = createPortPair((frame) => decodeFrame(encodeFrame(frame)));
  const client = createClient(contract, window, { checkOutputs: true });
  engine.connect(served);
  return {
    client,
    engine,
    folder,
    async all(method, input, options) {
      const items: StreamItemOf<typeof method>[] = [];
      for await (const item of client.stream(method, input, options)) items.push(item);
      return items;
    },
    async done() {
      client.close();
      await engine.dispose();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
