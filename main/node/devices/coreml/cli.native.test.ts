// The command line over the double: the doctor tells this Mac, its verification answers every open question in a line and keeps
// the plans, generation and profile run on the device, and clearing the cache removes what was compiled.
import { readdirSync, readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { doubleModule, noDouble } from "../../../testing/coremlDouble.ts";
import { rlx } from "../../../testing/rlx.ts";
import { requireCommandLine } from "../../../testing/rlxProcess.ts";
import { EXPERIMENTS } from "./experiments.ts";

describe.skipIf(noDouble)(`command line over the double ${noDouble ?? ""}`, () => {
  let home: string;
  beforeAll(async () => {
    requireCommandLine();
    home = await mkdtemp(join(tmpdir(), "rlx-coreml-cli-"));
  });
  afterAll(() => rm(home, { recursive: true, force: true }));
  const command = (...parameters: readonly string[]) =>
    rlx(parameters, { home, env: { RLX_COREML_ADDON: doubleModule() } });
  const models = (): readonly string[] =>
    readdirSync(join(home, "coreml")).filter((name) => name.endsWith(".mlmodelc"));

  it("runs a prompt and a profile on the device", { timeout: 120_000 }, async () => {
    const run = await command("run", "--sample", "-p", "Once", "-n", "4", "--device", "coreml", "--temperature", "0");
    expect(run.code, run.err).toBe(0);
    expect(run.out.length).toBeGreaterThan(5);
    expect(models()).toHaveLength(1);
    const profile = await command("profile", "--sample", "--device", "coreml", "--pp", "4", "--tg", "2");
    expect(profile.code, profile.err).toBe(0);
    expect(profile.out).toContain("shared out by the cost weights of Core ML's plan, not measured");
  });

  it("tells this Mac in the doctor's JSON", { timeout: 60_000 }, async () => {
    const { code, out, err } = await command("doctor", "--json");
    expect(code, err).toBe(0);
    const said = z.object({
      mac: z.object({ chip: z.string(), ane: z.boolean(), thermal: z.string(), lowPower: z.boolean() }),
    });
    expect(said.parse(JSON.parse(out)).mac).toEqual({
      chip: "Apple M3 Pro",
      ane: true,
      thermal: "nominal",
      lowPower: false,
    });
    expect((await command("doctor")).out).toContain("Thermal state: nominal; low power mode: off");
  });

  it("verifies: an answer for each open question, plans and predictions in files", { timeout: 240_000 }, async () => {
    const folder = join(home, "verification");
    const { code, out, err } = await command("doctor", "--verify", "-o", folder);
    expect(code, err).toBe(0);
    for (const { question, until } of EXPERIMENTS) {
      const lines = out.split("\n");
      const at = lines.indexOf(question);
      expect(at, question).toBeGreaterThanOrEqual(0);
      expect(lines[at + 1]).toMatch(/^ {2}(?:YES|NO|DEPENDS ON THE UNITS)\. Until now: /);
      expect(lines[at + 1]).toContain(until);
    }
    expect(readdirSync(folder).sort()).toEqual([
      "answers.json",
      "sample-all.json",
      "sample-cpu-ane.json",
      "sample-cpu-gpu.json",
      "sample-cpu.json",
    ]);
    const plan = z.object({
      truth: z.literal("simulated"),
      joined: z.number().min(100),
      nodes: z.object({ predicted: z.array(z.number()).min(100), planned: z.array(z.number()).min(100) }),
    });
    plan.parse(JSON.parse(readFileSync(join(folder, "sample-all.json"), "utf8")));
    const answers = z.object({ answers: z.array(z.object({ id: z.string(), answer: z.string() })) });
    const told = answers.parse(JSON.parse(readFileSync(join(folder, "answers.json"), "utf8")));
    expect(told.answers.map(({ id }) => id)).toEqual(EXPERIMENTS.map(({ id }) => id));
  });

  it(
    "lays the plan beside the prediction, and ends with 1 where the Neural Engine has too little",
    { timeout: 120_000 },
    async () => {
      const plan = await command("route", "--sample", "--planned", "--units", "cpu-ane");
      expect(plan.code, plan.err).toBe(0);
      expect(plan.out).toMatch(
        /^On Apple M3 Pro, macOS 15\.5\.0: \d+ of \d+ operators as predicted\. First: .* \(simulated\)$/m,
      );
      expect(plan.out).toMatch(/^ANE +\d+\.\d % +9\d\.\d %$/m);
      // The double places all but gathers on the Neural Engine where it may, and nothing where only the CPU is allowed.
      const held = await command("assert-residency", "--sample", "--min-ane", "0.9", "--units", "cpu-ane");
      expect(held.code, held.err).toBe(0);
      expect(held.out).toMatch(/9\d\.\d % on the Neural Engine, at least 90\.0 % wanted/);
      const missed = await command("assert-residency", "--sample", "--min-ane", "0.9", "--units", "cpu");
      expect(missed.code).toBe(1);
      expect(missed.out).toContain("0.0 % on the Neural Engine");
    },
  );

  it("clears what was compiled", { timeout: 60_000 }, async () => {
    const before = models().length;
    expect(before).toBeGreaterThan(0);
    const { code, out, err } = await command("doctor", "--clear-cache", "--json");
    expect(code, err).toBe(0);
    const said = z.object({
      left: z.literal(0),
      coreml: z.object({ removed: z.literal(before), bytes: z.number().min(1e6) }),
    });
    said.parse(JSON.parse(out));
    expect(models()).toEqual([]);
  });
});
