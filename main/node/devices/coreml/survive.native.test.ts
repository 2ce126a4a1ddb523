// The engine over the double when Core ML does its worst: a process that dies is reported and remembered while everything else goes
// on, a specialisation shows how long it takes and ends when it is cancelled, and systems without plans still tell the structure.
import { existsSync, readFileSync, rmSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { EngineClient, StreamItemOf } from "../../../contract/contract.ts";
import { doubleControls, noDouble } from "../../../testing/coremlDouble.ts";
import type { DoubleEngine } from "../../../testing/coremlEngine.ts";
import { engineOverDouble, madeHome, openOffer } from "../../../testing/coremlEngine.ts";
import { TrialBook } from "./trial.ts";

const TARGET = { chip: "m3", os: "macos15", units: "all", profile: "exact", context: 64 } as const;

describe.skipIf(noDouble)(`engine over a Core ML that fails ${noDouble ?? ""}`, () => {
  const home = madeHome("coreml-survive");
  const book = new TrialBook(home);
  let double: DoubleEngine;
  let client: EngineClient;
  let sample: string;
  beforeAll(async () => {
    double = engineOverDouble(home);
    ({ client } = double);
    sample = await openOffer(client, "sample");
  });
  afterAll(() => double.close());

  const children = (): readonly string[] =>
    readFileSync(`/proc/self/task/${process.pid}/children`, "utf8").split(" ").filter(Boolean);
  type Item = StreamItemOf<"run.start">;
  async function generate(
    device: "cpu" | "coreml",
    { settings = "", signal, onItem }: { settings?: string; signal?: AbortSignal; onItem?: (item: Item) => void } = {},
  ): Promise<number> {
    // The child process plays by these; the engine's own double by nothing special.
    process.env["RLX_COREML_DOUBLE"] = settings;
    const input = {
      model: sample,
      device,
      prompt: { kind: "completion", text: "Once" },
      maxTokens: 3,
      context: 64,
      sampling: { temperature: 0, seed: 1 },
    } as const;
    let tokens = 0;
    for await (const item of client.stream("run.start", input, signal === undefined ? {} : { signal })) {
      onItem?.(item);
      if (item.kind === "token") tokens++;
    }
    return tokens;
  }

  it("can be cancelled while a specialisation hangs, having told how long it takes", { timeout: 60_000 }, async () => {
    const stop = new AbortController();
    const elapsed: number[] = [];
    const run = generate("coreml", {
      settings: "load=hang",
      signal: stop.signal,
      onItem: (item) => {
        if (item.kind !== "phase" || item.name !== "load") return;
        expect(item.sentence).toMatch(
          /^The system specialises the model for its units \(decode, 1 of 2\)\. No earlier load of it/u,
        );
        elapsed.push(item.elapsedSeconds);
        if (elapsed.length === 4) stop.abort();
      },
    });
    await expect(run).rejects.toMatchObject({ code: "CANCELLED" });
    expect((elapsed.at(-1) ?? 0) - (elapsed[0] ?? 0)).toBeGreaterThan(0.4);
    await expect.poll(() => children().length, { timeout: 2000 }).toBe(0);
    // A cancel is no verdict: the next one tries again.
    expect(existsSync(book.path)).toBe(false);
  });

  it("survives kill -9 of the child, reports it, and remembers", { timeout: 60_000 }, async () => {
    const died = generate("coreml", { settings: "predict=kill" });
    await expect(died).rejects.toMatchObject({
      code: "COREML_CRASHED",
      message: "[coreml] killed by signal 9 during first prediction",
    });
    // Everything else goes on, and the model is not tried again although it would pass now.
    expect(await generate("cpu")).toBe(3);
    const refused = generate("coreml");
    await expect(refused).rejects.toMatchObject({
      code: "COREML_UNSAFE",
      message: "[coreml] not loaded: killed by signal 9 during first prediction on Apple M3 Pro, macOS 15.5.0 24F74",
    });
    const verdicts = JSON.parse(readFileSync(book.path, "utf8")) as Record<string, { kind: string }>;
    expect(Object.values(verdicts).map(({ kind }) => kind)).toEqual(["unsafe"]);
    expect(Object.keys(verdicts)[0]).toMatch(/^[0-9a-f]{32}\|15\.5\.0 24F74\|Apple M3 Pro\|all\|decode$/);
  });

  it("tells an error of the system with its code, and no verdict", { timeout: 60_000 }, async () => {
    rmSync(book.path);
    await expect(generate("coreml", { settings: "load=fail" })).rejects.toMatchObject({ code: "COREML_LOAD" });
    await expect(generate("coreml", { settings: "load=throw" })).rejects.toMatchObject({ code: "COREML_EXCEPTION" });
    expect(await generate("coreml")).toBe(3);
  });

  it("tells this Mac, its compiled models and how to clear them", async () => {
    doubleControls().configure("thermal=1 low-power=1");
    try {
      const report = await client.call("doctor.run", {});
      expect(report.mac).toMatchObject({
        chip: "Apple M3 Pro",
        os: "15.5.0",
        ane: true,
        aneCores: 16,
        thermal: "fair",
        lowPower: true,
        truth: "simulated",
      });
      expect(report.mac?.processBytes).toBeGreaterThan(10e6);
      const coreml = report.checks.find(({ id }) => id === "coreml");
      expect(coreml?.details).toEqual([
        "Chip: Apple M3 Pro (Mac15,6), 6 performance and 6 efficiency cores",
        "System: macOS 15.5.0",
        "Neural Engine: 16 cores",
        expect.stringMatching(/^GPU: Apple M3 Pro, up to 19\.3 GB of shared memory$/),
        expect.stringMatching(/^Memory: 25\.8 GB, \d+\.\d GB charged to the engine$/),
        "Thermal state: fair; low power mode: on",
      ]);
      expect(report.checks.find(({ id }) => id === "coreml-models")).toMatchObject({
        sentence: expect.stringMatching(/^1, \d+\.\d of at most 32000 MB, in /),
        hint: expect.stringContaining("rlx doctor --clear-cache"),
      });
      expect(await client.call("cache.clear", {})).toMatchObject({ models: { entries: 1 }, left: 0 });
    } finally {
      doubleControls().configure("");
    }
  });

  it(
    "tells the structure where the system gives no plan, and where it is too old for one",
    { timeout: 120_000 },
    async () => {
      const model = await openOffer(client, "demo-hybrid");
      const planned = () => client.call("route.planned", { model, target: TARGET, phase: "decode" });
      const controls = doubleControls();
      process.env["RLX_COREML_DOUBLE"] = "";
      try {
        const whole = await planned();
        expect(whole.refusal).toBeNull();
        controls?.configure("plan=fail");
        const bare = await planned();
        expect(bare).toMatchObject({
          agreeing: 0,
          refusal: expect.stringContaining("Failed to build the compute plan"),
        });
        expect(bare.joined).toBe(whole.joined);
        controls?.configure("os=14.3");
        process.env["RLX_COREML_DOUBLE"] = "";
        const old = await planned();
        expect(old).toMatchObject({ agreeing: 0, refusal: "compute plans and model structures need macOS 14.4" });
        expect(old.joined).toBe(whole.joined);
        expect(old.sentence).toMatch(
          /^\d+ operators, without devices: compute plans and model structures need macOS 14\.4$/,
        );
        expect(old.shares.every(({ planned: share }) => share === 0)).toBe(true);
      } finally {
        controls?.configure("");
      }
    },
  );
});
