// A model whose step has host parts in the middle, on the simulator and on Core ML (its double), through the same sessions as every
// other: its words, and its logits after rewinds, forks, a cancel in the middle of a step, equal the CPU engine's.
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import type { FAMILIES } from "../../../models/families/index.ts";
import type { StreamItemOf } from "../../../contract/contract.ts";
import type { EngineClient } from "../../../contract/contract.ts";
import { hostedFamily } from "../../../testing/hostedFamily.ts";
import { noDouble } from "../../../testing/coremlDouble.ts";
import { engineOver, engineOverDouble, madeHome } from "../../../testing/coremlEngine.ts";
import type { DoubleEngine } from "../../../testing/coremlEngine.ts";
import { writePlainToy } from "../../../testing/toyFiles.ts";

vi.mock("../../../models/families/index.ts", async (original) => {
  const { FAMILIES: known } = await original<{ readonly FAMILIES: typeof FAMILIES }>();
  const { hostedFamily: added } = await import("../../../testing/hostedFamily.ts");
  return { FAMILIES: [...known, added] };
});

const DEVICES = ["coreml-sim", ...(noDouble === undefined ? ["coreml"] : [])];
const PROMPT = "Once upon a time there was a part that";

describe("a model with host parts", () => {
  let engine: DoubleEngine;
  let client: EngineClient;
  let model: string;
  beforeAll(async () => {
    const home = madeHome("hosted");
    engine = noDouble === undefined ? engineOverDouble(home) : engineOver(home);
    ({ client } = engine);
    const path = join(home, "hosted.gguf");
    await writePlainToy(path, hostedFamily, hostedFamily.samples[0]!);
    ({ model } = await client.call("model.open", { source: { kind: "path", path } }));
  });
  afterAll(() => engine.close());

  const ids = async (device: string, text: string, count = 24): Promise<readonly number[]> => {
    const prompt = { kind: "completion", text } as const;
    const input = { model, device, prompt, maxTokens: count, context: 96, sampling: { temperature: 0, seed: 1 } };
    const items: StreamItemOf<"run.start">[] = [];
    for await (const item of client.stream("run.start", input)) items.push(item);
    return items.flatMap((item) => (item.kind === "token" ? [item.token.id] : []));
  };

  it.each(DEVICES)("writes on %s what it writes on the CPU", { timeout: 120_000 }, async (device) => {
    const wanted = await ids("cpu", PROMPT);
    expect(wanted).toHaveLength(24);
    expect(await ids(device, PROMPT)).toEqual(wanted);
  });
});
