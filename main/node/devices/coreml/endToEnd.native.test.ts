// From a model to Core ML and back, over the double: the sample model and the hybrid demo graph as packages, compiled, tried out
// in a child process, loaded and run through the bridge; the sample gives the CPU engine's tokens.
import { existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { cp, readFile, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, it } from "vitest";
import { bindingsOf } from "../../../backends/coreml/export.ts";
import type { PlanTarget } from "../../../backends/coreml/plan/target.ts";
import { PackageDecoder } from "../../../backends/coreml/package/packageDecoder.ts";
import { INPUTS, LOGITS } from "../../../models/blocks.ts";
import { modelStoreIn } from "../../../testing/modelStore.ts";
import { doubleModule, noDouble } from "../../../testing/coremlDouble.ts";
import { writeTinyGguf } from "../../../testing/tinyGguf.ts";
import { DEMO_OFFER as DEMO } from "../../../contract/views/engine.ts";
import { packageFiles } from "../../files/packageFiles.ts";
import { packageWriter } from "../../files/packageDirectory.ts";
import { exportModel } from "../../../engine/models/exporting.ts";
import { runHybrid } from "../../../engine/models/hybrid.ts";
import { routeOf } from "../../../engine/models/routes.ts";
import { loadAddon } from "../../native/addon.ts";
import { openDecoder } from "../../../runtime/devices/cpu.ts";
import { compiledDecoder } from "./session.ts";
import type { CompileProgress } from "./prepare.ts";
import { prepareModel } from "./prepare.ts";
import { openSimulator } from "./simulatorProvider.ts";
import { coremlAccess, openRunner, unitsOf } from "./device.ts";

const sample = fileURLToPath(new URL("../../../../assets/models/rlx-sample.gguf", import.meta.url));
const missing = noDouble ?? (existsSync(sample) ? undefined : "(the sample model is not here)");
const CONTEXT = 64;
const STEPS = 12;
const best = (row: Float32Array): number => row.reduce((at, x, i) => (x > (row[at] ?? -Infinity) ? i : at), 0);

describe.skipIf(missing)(`coreml device over the double ${missing ?? ""}`, () => {
  const folder = mkdtempSync(join(tmpdir(), "rlx-coreml-device-"));
  const access = coremlAccess(folder, doubleModule());
  const { store, close } = modelStoreIn(folder);
  const engine = loadAddon();
  const signal = new AbortController().signal;
  afterAll(async () => {
    await close();
    rmSync(folder, { recursive: true, force: true });
  });

  it(
    "gives the CPU engine's tokens, with states and with caches that the host keeps",
    { timeout: 300_000 },
    async () => {
      const model = await store.open({ kind: "path", path: sample }, signal);
      const file = model.requireFile("test");
      const decoderModel = openDecoder(engine, file, [sample], { threads: 2, cacheType: "f32" });
      const cpu = decoderModel.open({ context: CONTEXT });
      const prompt = Array.from({ length: 12 }, (_, i) => (i * 131 + 17) % decoderModel.architecture.vocabulary);
      const tokens: number[] = [];
      for (
        let row = await cpu.logits(prompt, [11]);
        tokens.length < STEPS;
        row = await cpu.logits([tokens.at(-1) ?? 0], [0])
      )
        tokens.push(best(row));

      for (const [profile, units] of [
        ["exact", "cpu"],
        ["gpu", "all"],
        ["ane", "cpu-ane"],
      ] as const) {
        const target: PlanTarget = { chip: "m3", os: "macos15", units, profile, context: CONTEXT, phase: "decode" };
        const stages = new Set<string>();
        const request = {
          units: unitsOf(target),
          facts: [file.identity, JSON.stringify(target)],
          write: async (path: string) =>
            void (await exportModel(model, target, { directory: () => packageWriter(path), engine, signal })),
          onProgress: ({ stage }: CompileProgress) => void stages.add(stage),
        };
        const compiled = await prepareModel(access, request);
        expect([...stages]).toEqual(["write", "compile", "load", "first prediction", "warm-up"]);
        // Known now: neither exported nor tried again.
        stages.clear();
        expect(
          await prepareModel(access, { ...request, write: () => Promise.reject(new Error("exported twice")) }),
        ).toEqual(compiled);
        expect(stages.size).toBe(0);
        // Another build writes another package.
        const other = { ...request, write: () => Promise.reject(new Error("exported again")) };
        await expect(prepareModel({ ...access, build: "another" }, other)).rejects.toThrow("exported again");

        const runner = openRunner(access, compiled, unitsOf(target));
        let predictions = 0;
        runner.onPrediction = () => void predictions++;
        const names = { tokens: INPUTS.tokens, past: INPUTS.past, rows: INPUTS.rows, logits: LOGITS };
        const decoder = new PackageDecoder(runner, bindingsOf(compiled.userDefined), names);
        let row = await decoder.step(Int32Array.from(prompt), 0, [11]);
        const made: number[] = [];
        for (let i = 0; i < STEPS; i++) {
          made.push(best(row));
          // The CPU engine's own tokens lead, so that one near tie does not change the rest.
          row = await decoder.step(Int32Array.of(tokens[i] ?? 0), 12 + i, [0]);
        }
        if (profile === "exact") expect(made).toEqual(tokens);
        else expect(made.filter((token, i) => token === tokens[i]).length, profile).toBeGreaterThanOrEqual(STEPS - 1);
        const fork = await decoder.fork();
        const next = Int32Array.of(tokens.at(-1) ?? 0);
        const saved = await decoder.save(12 + STEPS);
        const restored = new PackageDecoder(runner, bindingsOf(compiled.userDefined), names);
        restored.restore(12 + STEPS, saved);
        // Before anything ran, too: no function has made its state yet.
        expect(await restored.save(12 + STEPS)).toEqual(saved);
        const after = await decoder.step(next, 12 + STEPS, [0]);
        expect(await fork.step(next, 12 + STEPS, [0])).toEqual(after);
        expect(await restored.step(next, 12 + STEPS, [0])).toEqual(after);
        expect(await restored.save(12 + STEPS)).toEqual(saved);
        expect(predictions).toBeGreaterThan(STEPS);
        await runner.dispose();
      }
      // Three compiled models, and no package left behind.
      const left = readdirSync(access.models.folder);
      expect(left.filter((name) => name.endsWith(".mlmodelc"))).toHaveLength(3);
      expect(left.filter((name) => name.includes("mlpackage"))).toEqual([]);
      cpu.dispose();
      decoderModel.dispose();
    },
  );

  it("compiles another model for a file of the same size and header whose weights are others", async () => {
    const path = join(folder, "tiny.gguf");
    await writeTinyGguf(path, { layers: 1 });
    await utimes(path, 1_700_000_000, 1_700_000_000);
    const target = { chip: "m3", os: "macos15", units: "cpu", profile: "exact", context: 32, phase: "decode" } as const;
    const contentOf = async (): Promise<string> => {
      const model = await store.open({ kind: "path", path }, signal);
      const { content } = await compiledDecoder(access, { model, target, engine, signal });
      await store.close(model.id);
      return content;
    };
    const first = await contentOf();
    const model = await store.open({ kind: "path", path }, signal);
    const { offset, byteLength } = model.requireFile("test").requireTensor("blk.0.attn_q.weight");
    await store.close(model.id);
    const bytes = new Uint8Array(await readFile(path));
    bytes.copyWithin(offset, offset + 4, offset + byteLength);
    await writeFile(path, bytes, { flag: "r+" });
    await utimes(path, 1_700_000_000, 1_700_000_000);
    expect(await contentOf()).not.toBe(first);
  });

  it("runs the Core ML parts of the hybrid demo graph", { timeout: 120_000 }, async () => {
    const open = await store.open({ kind: "offer", id: DEMO }, signal);
    const target = { chip: "m3", os: "macos15", units: "all", profile: "gpu", context: 1 } as const;
    const route = await routeOf(open, target, "decode", signal);
    const simulated = await runHybrid(
      route.graph,
      route,
      engine,
      7,
      signal,
      openSimulator(2 ** 32),
      packageFiles(folder),
    );
    const run = await runHybrid(
      route.graph,
      route,
      engine,
      7,
      signal,
      async (path) => {
        const write = (to: string): Promise<void> => cp(path, to, { recursive: true });
        const compiled = await prepareModel(access, { units: "all", facts: [path], write });
        const runner = openRunner(access, compiled, "all");
        return { runner, close: () => runner.dispose() };
      },
      packageFiles(folder),
    );
    expect(run.outputs).toEqual(simulated.outputs);
    expect(run.relativeRms).toBeLessThan(1e-2);
    expect(run.timings.filter((timing) => timing.side === "coreml").length).toBeGreaterThan(1);
  });
});
