// The device mlx behind the contract: the list, the doctor, runs, benchmarks and profiles; and its absence in one sentence.
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { findMlxEngine } from "../node/native/mlxAddon.ts";
import { mlxAccess, mlxProvider } from "../runtime/devices/mlx.ts";
import { deviceRegistry } from "../runtime/devices/registry.ts";
import type { EngineDevice } from "./devices.ts";
import { deviceList } from "./devices.ts";
import type { Harness } from "../testing/engineHarness.ts";
import { engineHarness } from "../testing/engineHarness.ts";
import { reasonNotFound } from "../testing/skipping.ts";

const found = findMlxEngine();
const missing = reasonNotFound(found);

describe("without MLX", () => {
  const access = mlxAccess(() => "MLX is not here.");

  test("the list says so, and a call for it is told what to do", () => {
    const device = mlxProvider({ access, mode: "lazy", dispatch: "prefer-native" });
    const [entry] = deviceList(deviceRegistry<EngineDevice>([device]));
    expect(entry).toMatchObject({ id: "mlx", title: "MLX", available: false, sentence: "MLX is not here." });
    expect(() => access.engine()).toThrow(expect.objectContaining({ code: "ENV_NO_DEVICE" }));
  });
});

describe.skipIf(missing !== undefined)(`with MLX ${missing ?? ""}`, () => {
  let harness: Harness;
  let model: string;
  beforeAll(async () => {
    harness = await engineHarness();
    model = (await harness.client.call("model.open", { source: { kind: "offer", id: "sample" } })).model;
  });
  afterAll(() => harness.done());

  test("it is in the list and the doctor finds it", async () => {
    const info = await harness.client.call("engine.info", {});
    expect(info.devices.find(({ id }) => id === "mlx")).toMatchObject({ available: true });
    const doctor = await harness.client.call("doctor.run", {});
    expect(doctor.checks.find(({ id }) => id === "mlx")).toMatchObject({ state: "ok" });
  });

  test("a run writes what the CPU writes, twice, the second time over the kept cache", async () => {
    const textOn = async (device: "cpu" | "mlx"): Promise<{ text: string; reused: number }> => {
      const items = await harness.all("run.start", {
        model,
        device,
        prompt: { kind: "chat", messages: [{ role: "user", content: "What is two plus three?" }] },
        maxTokens: 24,
        sampling: { temperature: 0 },
      });
      const text = items.map((item) => (item.kind === "token" ? item.token.text : "")).join("");
      const done = items.find((item) => item.kind === "done");
      return { text, reused: done?.kind === "done" ? done.stats.reusedTokens : -1 };
    };
    const wanted = await textOn("cpu");
    expect(wanted.text.length).toBeGreaterThan(2);
    expect((await textOn("mlx")).text).toBe(wanted.text);
    const again = await textOn("mlx");
    expect(again.text).toBe(wanted.text);
    expect(again.reused).toBeGreaterThan(0);
  });

  test("a benchmark names MLX, and a profile says that calls were timed one by one", async () => {
    const bench = await harness.all("bench.run", {
      model,
      device: "mlx",
      promptTokens: 8,
      generateTokens: 4,
      repeats: 2,
    });
    const result = bench.at(-1);
    expect(result).toMatchObject({ kind: "done", device: "mlx", truth: "measured" });
    expect(result?.kind === "done" && result.kernels).toMatch(/^MLX \d/);
    const rows = JSON.parse(result?.kind === "done" ? result.json : "[]") as readonly object[];
    // Not what the CPU engine would say: another backend, and a cache of another type.
    const said = { backends: "MLX", type_k: "f32", use_mmap: false };
    expect(rows).toMatchObject([said, said]);
    const profile = await harness.all("profile.run", { model, device: "mlx", promptTokens: 4, generateTokens: 2 });
    const last = profile.at(-1);
    if (last?.kind !== "done") throw new Error("the profile did not end");
    expect(last.profile.device).toBe("mlx");
    expect(last.profile.sentence).toContain("MLX evaluated each call on its own");
    expect(last.profile.decode.rows.reduce((sum, row) => sum + row.share, 0)).toBeCloseTo(1, 3);
    expect(last.profile.decode.rows.some((row) => row.op.includes("attention"))).toBe(true);
  });

  test("a run that is stopped ends, and the next one starts", async () => {
    const controller = new AbortController();
    const input = {
      model,
      device: "mlx",
      prompt: { kind: "completion", text: "One, two, three" },
      maxTokens: 400,
      sampling: { temperature: 0 },
    } as const;
    const seen: string[] = [];
    const reason = await (async () => {
      try {
        for await (const item of harness.client.stream("run.start", input, { signal: controller.signal })) {
          seen.push(item.kind);
          if (item.kind === "token") controller.abort();
        }
        return "ended";
      } catch (error) {
        return (error as { code?: unknown }).code;
      }
    })();
    expect(["ended", "CANCELLED"]).toContain(reason);
    expect(seen.filter((kind) => kind === "token").length).toBeLessThan(100);
    const next = await harness.all("run.start", { ...input, maxTokens: 2 });
    expect(next.filter((item) => item.kind === "token").length).toBeGreaterThan(0);
  });
});
