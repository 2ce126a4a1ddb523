// "A device: 1 file + 1 line" (docs/extending.md), by a device that nothing but this test knows of.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { AttachableClient } from "../contract/client.ts";
import { createClient } from "../contract/client.ts";
import type { Contract, StreamItemOf } from "../contract/contract.ts";
import { contract } from "../contract/contract.ts";
import { createPortPair } from "../contract/port.ts";
import { GraphBuilder } from "../ir/builder.ts";
import { tensor } from "../ir/type.ts";
import { opTable, typedBuilder } from "../ops/index.ts";
import { toyDevice } from "../testing/toyDevice.ts";
import type { Engine } from "../engine/engine.ts";
import { deviceRegistry } from "../runtime/devices/registry.ts";
import { nodeEngine } from "./nodeEngine.ts";
import { readSettings } from "./settings.ts";

describe("a device of one file and one line", () => {
  const home = mkdtempSync(join(tmpdir(), "rlx-toy-"));
  let engine: Engine;
  let client: AttachableClient<Contract>;
  let model: string;
  beforeAll(async () => {
    // Without the native engine: its place is then taken by the reference, which the toy is compared with.
    const settings = readSettings({ RLX_HOME: home, RLX_ADDON: "off", RLX_CACHE: "off" });
    engine = nodeEngine({ settings, devices: [toyDevice] });
    const [near, far] = createPortPair();
    engine.connect(far);
    client = createClient(contract, near, { checkOutputs: true });
    model = (await client.call("model.open", { source: { kind: "offer", id: "sample" } })).model;
  });
  afterAll(async () => {
    client.close();
    await engine.dispose();
    rmSync(home, { recursive: true, force: true });
  });

  const answer = async (device: string): Promise<StreamItemOf<"run.start">[]> => {
    const items: StreamItemOf<"run.start">[] = [];
    const prompt = { kind: "completion", text: "Once upon a time" } as const;
    const input = { model, device, prompt, maxTokens: 4, context: 32, sampling: { temperature: 0 } };
    for await (const item of client.stream("run.start", input)) items.push(item);
    return items;
  };
  const tokens = (items: readonly StreamItemOf<"run.start">[]): string[] =>
    items.flatMap((item) => (item.kind === "token" ? [item.token.text] : []));

  test("is in the engine's list with what it can and cannot do", async () => {
    const { devices } = await client.call("engine.info", {});
    const { capabilities, title } = toyDevice;
    const none = { backend: null, instead: null };
    const row = { id: "toy", title, available: true, sentence: "For playing.", ...none, capabilities };
    expect(devices.at(-1)).toEqual(row);
    const advice = await client.call("devices.advise", {});
    expect(advice.devices.at(-1)).toMatchObject({ device: "toy", sentence: "Not measured yet." });
    expect(advice.canCalibrate).toBe(true);
  });

  test("runs a graph", async () => {
    const builder = new GraphBuilder(opTable, "sum");
    const x = builder.input("x", tensor("f32", ["T"]));
    builder.output("y", typedBuilder(builder).add([x, x]));
    const session = deviceRegistry([toyDevice]).able("toy", "graphs", "test").device!({ threads: 1 })
      .compile(builder.finish())
      .open();
    const { outputs } = await session.run({ inputs: { x: Float32Array.of(1, 2.5) }, fetch: ["y"] });
    expect([...new Float32Array(outputs["y"]!.bytes.buffer)]).toEqual([2, 5]);
    session.dispose();
  });

  test("writes what another device writes, and says how its times came about", { timeout: 60_000 }, async () => {
    const own = await answer("toy");
    expect(own.find(({ kind }) => kind === "start")).toMatchObject({
      device: "toy",
      truth: "simulated",
      reference: null,
    });
    expect(tokens(own)).toHaveLength(4);
    expect(tokens(own)).toEqual(tokens(await answer("cpu")));
  });

  test.each(["bench.run", "profile.run"] as const)("%s refuses it in its own words", async (method) => {
    const first = client.stream(method, { model, device: "toy" })[Symbol.asyncIterator]().next();
    const why = method === "bench.run" ? "A toy has no speed." : "A toy has no instructions.";
    await expect(first).rejects.toMatchObject({ code: "ENV_NO_DEVICE", message: expect.stringContaining(why) });
  });

  test.each(["tpu", "webgpu"])("%s, which is in no list, is refused by that name", async (device) => {
    await expect(answer(device)).rejects.toMatchObject({
      code: "ENV_NO_DEVICE",
      message: `[run] device: got ${device}, expected one of cpu, coreml-sim, coreml, mlx, toy`,
    });
  });
});
