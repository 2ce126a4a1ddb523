// `rlx run --demo` through the built command line: parts on the simulator and on the host, which agree with the reference.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { z } from "zod";
import { rlx } from "../../testing/rlx.ts";
import { requireCommandLine } from "../../testing/rlxProcess.ts";

const answer = z.object({
  truth: z.string(),
  target: z.record(z.string(), z.unknown()),
  segments: z.array(z.object({ device: z.string() })),
  outputs: z.array(z.object({ name: z.string(), values: z.array(z.number()) })),
  agreement: z.object({ relativeRms: z.object({ value: z.number() }) }),
});

let home: string;
beforeAll(async () => {
  requireCommandLine();
  home = await mkdtemp(join(tmpdir(), "rlx-demo-"));
});
afterAll(() => rm(home, { recursive: true, force: true }));

it("runs the demo graph in parts", async () => {
  const { code, out, err } = await rlx(["run", "--demo", "--json"], { home });
  expect(code, err).toBe(0);
  const view = answer.parse(JSON.parse(out));
  expect(view.truth).toBe("simulated");
  expect(view.segments.filter(({ device }) => device === "host")).toHaveLength(3);
  expect(view.agreement.relativeRms.value).toBeLessThan(2e-3);
  expect(view.outputs.map(({ name }) => name)).toEqual(["probabilities", "reconstruction"]);
  const [probabilities] = view.outputs;
  expect(probabilities?.values.reduce((sum, p) => sum + p, 0)).toBeCloseTo(1, 2);
});

it("runs it as the target would have it", async () => {
  const run = async (line: string): Promise<z.infer<typeof answer>> => {
    const { code, out, err } = await rlx(["run", "--demo", "--json", ...line.split(" ")], { home });
    expect(code, err).toBe(0);
    return answer.parse(JSON.parse(out));
  };
  const onCpu = await run("--units cpu --chip m1 --os macos26");
  expect(onCpu.target).toMatchObject({ units: "cpu", chip: "m1", os: "macos26", profile: "auto" });
  expect(new Set(onCpu.segments.map(({ device }) => device))).toEqual(new Set(["cpu", "host"]));
  expect(onCpu.agreement.relativeRms.value).toBeGreaterThan(1e-5);
  expect((await run("--profile exact")).agreement.relativeRms.value).toBeLessThan(1e-5);
});

it("says it for people, too: what is simulated has its ~", async () => {
  const { code, out } = await rlx(["run", "--demo", "--seed", "7"], { home });
  expect(code).toBe(0);
  expect(out).toMatch(/^7 parts: 4 simulated, 3 on the host\./);
  expect(out).toMatch(/ ane +encoder +~/);
});

it("refuses what it would not heed", async () => {
  const lines: readonly (readonly [line: string, says: RegExp])[] = [
    ["-p x", /'--demo' cannot be used with option '-p, --prompt <text>'/],
    ["--temperature 0", /'--demo' cannot be used with option '--temperature <n>'/],
    ["--device mlx", /--device with --demo: got mlx, expected coreml-sim or coreml/],
    ["--device nonsense", /--device with --demo: got nonsense, expected coreml-sim or coreml/],
    ["--chip m9", /--chip: got m9, expected one of m1, /],
  ];
  for (const [line, says] of lines) {
    const { code, out, err } = await rlx(["run", "--demo", ...line.split(" ")], { home });
    expect([line, code, out]).toEqual([line, 2, ""]);
    expect(err).toMatch(says);
  }
});

it("alone knows a target: elsewhere a device is named", async () => {
  for (const line of ["--chip m4", "--os macos15", "--units all", "--profile gpu"]) {
    const { code, err } = await rlx(["run", "-p", "x", ...line.split(" ")], { home });
    expect([line, code]).toEqual([line, 2]);
    expect(err).toMatch(/\[rlx run\] --\w+: got it without --demo, expected it with --demo/);
  }
});

it("is one thing to run, not two", async () => {
  expect((await rlx(["run", "--demo", "--sample"], { home })).code).toBe(2);
  expect((await rlx(["run", "--demo", "--seed", "x"], { home })).code).toBe(2);
});
