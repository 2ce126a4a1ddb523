/** An engine over the Core ML double, as a window has one: with a home of its own that is removed at the end. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createClient } from "../contract/client.ts";
import type { EngineClient } from "../contract/contract.ts";
import { contract } from "../contract/contract.ts";
import { createPortPair } from "../contract/port.ts";
import { nodeEngine } from "../node/nodeEngine.ts";
import { readSettings } from "../node/settings.ts";
import { doubleControls, doubleModule } from "./coremlDouble.ts";

export interface DoubleEngine {
  readonly client: EngineClient;
  readonly close: () => Promise<void>;
}

export const madeHome = (name: string): string => mkdtempSync(join(tmpdir(), `rlx-${name}-`));

export const engineOverDouble = (home: string): DoubleEngine =>
  engineOver(home, { RLX_COREML_ADDON: doubleModule(), RLX_COREML_UNITS: "all" });

export function engineOver(home: string, environment: Readonly<Record<string, string>> = {}): DoubleEngine {
  const engine = nodeEngine({ settings: readSettings({ RLX_HOME: home, ...environment }) });
  const [window, served] = createPortPair();
  const client = createClient(contract, window, { checkOutputs: true });
  engine.connect(served);
  return {
    client,
    async close() {
      delete process.env["RLX_COREML_DOUBLE"];
      await engine.dispose();
      rmSync(home, { recursive: true, force: true });
    },
  };
}

/** What the double does from now on: trials in child processes and the loads of this process play by the same settings. */
export function playDouble(settings: string): void {
  process.env["RLX_COREML_DOUBLE"] = settings;
  doubleControls().configure(settings);
}

export const openOffer = async (client: EngineClient, id: string): Promise<string> =>
  (await client.call("model.open", { source: { kind: "offer", id } })).model;
