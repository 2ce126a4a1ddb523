// The bridge on a Mac, against Core ML itself: numbers on every choice of units, states, a plan, errors with codes. Skipped where
// there is no Core ML, unless REQUIRE_COREML=1; RLX_COREML_ADDON runs the same over the double.
import { mkdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { writeTinyPackage } from "../../../testing/tinyPackage.ts";
import { coremlAccess, openRunner } from "./device.ts";
import { prepareModel } from "./prepare.ts";
import type { CoremlBridge, CoremlUnit } from "./native.ts";

const addon = process.env["RLX_COREML_ADDON"] ?? null;
const wanted = process.platform === "darwin" || addon !== null || process.env["REQUIRE_COREML"] === "1";
const title = wanted ? "" : "(Core ML exists on Macs only)";
const UNITS: readonly CoremlUnit[] = ["cpu", "cpu-gpu", "cpu-ane", "all"];

describe.skipIf(!wanted)(`Core ML ${title}`, () => {
  const folder = join(tmpdir(), `rlx-mac-${process.pid}`);
  const access = coremlAccess(folder, addon);
  const packagePath = join(folder, "tiny.mlpackage");
  let bridge: CoremlBridge;
  let stateful = false;
  beforeAll(async () => {
    mkdirSync(folder, { recursive: true });
    // Not found means failed: that is what REQUIRE_COREML asks for.
    bridge = access.bridge();
    stateful = bridge.machine().osMajor >= 15;
    await writeTinyPackage(packagePath);
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it("knows the machine", () => {
    const machine = bridge.machine();
    expect(machine.osMajor).toBeGreaterThanOrEqual(13);
    expect(machine.chip).toMatch(/Apple|Intel|VirtualApple/);
    expect(machine.memoryBytes).toBeGreaterThan(1e9);
    expect(machine.processBytes).toBeGreaterThan(1e7);
    expect(machine.processBytes).toBeLessThan(machine.memoryBytes);
    expect(["nominal", "fair", "serious", "critical"]).toContain(machine.thermal);
  });

  it.for(UNITS)("predicts on %s after a child's trial (macOS 15 on)", { timeout: 300_000 }, async (units, { skip }) => {
    skip(!stateful, "the package has a state, which macOS reads from 15 on");
    const write = async (path: string): Promise<void> => writeTinyPackage(path);
    const compiled = await prepareModel(access, { units, facts: ["tiny"], write });
    const model = await bridge.load(compiled.path, { units });
    const state = model.newState();
    const x = Float32Array.from({ length: 400 }, (_, i) => (i % 31) - 15);
    for (const blocking of [false, true]) {
      const { outputs } = await model.predict([{ name: "x", data: x }], { state, blocking });
      const y = outputs[0]?.data ?? new Float32Array(0);
      expect(y).toHaveLength(400);
      y.forEach((value, i) => expect(value).toBeCloseTo((x[i] ?? NaN) + 1, 1));
    }
    const total = (await state.read("total")).data;
    total.forEach((value, i) => expect(value).toBeCloseTo(2 * (x[i] ?? NaN), 1));
    const copy = await state.copy();
    expect((await copy.read("total")).data).toEqual(total);
    state.dispose();
    copy.dispose();
    model.dispose();
    const runner = openRunner(access, compiled, units);
    await runner.load("main");
    await runner.dispose();
  });

  it("has a plan with devices (macOS 15 on)", { timeout: 120_000 }, async ({ skip }) => {
    skip(!stateful, "the package has a state, which macOS reads from 15 on");
    const write = async (path: string): Promise<void> => writeTinyPackage(path);
    const compiled = await prepareModel(access, { units: "all", facts: ["tiny"], write });
    const plan = await bridge.plan(compiled.path, { units: "all" });
    const add = plan.ops.find((op) => op.output === "y");
    expect(add?.op).toBe("add");
    expect(["cpu", "gpu", "ane"]).toContain(add?.preferred);
  });

  it("gives errors their codes", async () => {
    const missing = bridge.load(join(folder, "none.mlmodelc"), { units: "cpu" });
    await expect(missing).rejects.toMatchObject({ code: "INPUT_NOT_FOUND" });
    const nothing = bridge.compile(join(folder, "none.mlpackage"), join(folder, "none.mlmodelc"));
    await expect(nothing).rejects.toMatchObject({ code: "INPUT_NOT_FOUND" });
  });
});
