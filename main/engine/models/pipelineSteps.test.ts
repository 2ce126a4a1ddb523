// The last steps of each runtime with their numbers. The halving looks at few steps and names one after which a number is worse than at the first, and not before it.
import { describe, expect, it } from "vitest";
import type { TargetSpec } from "../../contract/views/common.ts";
import { headerFile, shape } from "../../testing/headerFile.ts";
import { machineFor } from "../../compiler/cost/machines.ts";
import { OpenModel } from "./openModel.ts";
import type { StepsAsked } from "./pipelineSteps.ts";
import { halve, isWorse, numbersOf, stepsOf, valueOf } from "./pipelineSteps.ts";
import { routeOf } from "./routes.ts";
import { stepDone } from "./stepDetails.ts";

const TARGET: TargetSpec = { chip: "m4", os: "macos15", units: "cpu-ane", profile: "auto", context: 256 };
const SIGNAL = new AbortController().signal;

/** A decoder of two blocks. */
async function decoder(): Promise<OpenModel> {
  const block = (i: number) => [
    ...["attn_norm", "ffn_norm"].map((name) => shape(`blk.${i}.${name}.weight`, "f32", [256])),
    ...["attn_k", "attn_v"].map((name) => shape(`blk.${i}.${name}.weight`, "q8_0", [256, 128])),
    ...["attn_q", "attn_output"].map((name) => shape(`blk.${i}.${name}.weight`, "q8_0", [256, 256])),
    ...["ffn_gate", "ffn_up"].map((name) => shape(`blk.${i}.${name}.weight`, "q8_0", [256, 512])),
    shape(`blk.${i}.ffn_down.weight`, "q8_0", [512, 256]),
  ];
  const head = ["token_embd", "output"].map((name) => shape(`${name}.weight`, "q8_0", [256, 1000]));
  const more = [shape("output_norm.weight", "f32", [256]), ...head];
  const file = await headerFile("llama", {}, [...block(0), ...block(1), ...more]);
  return opened({ kind: "model", file });
}

const opened = (of: { readonly kind: "model" | "demo-graph"; readonly file: OpenModel["file"] }): OpenModel =>
  new OpenModel("m", { ...of, data: { kind: "none" }, offer: undefined, argument: null, openedInSeconds: 0 });

const asking = (backend: StepsAsked["backend"], target: TargetSpec = TARGET): StepsAsked => ({
  ...{ backend, target, phase: "decode", dispatch: "prefer-native" },
  machine: machineFor(target, { platform: "linux", chip: "", cores: 2, totalBytes: 2 ** 34 }),
});

async function allOf(model: OpenModel, asked: StepsAsked) {
  const steps = await stepsOf(model, asked, SIGNAL);
  return Promise.all(
    steps.map(async (step) => ({
      name: step.name,
      ...(await numbersOf(model, asked, step, SIGNAL)),
      ...(await stepDone(model, asked, step, SIGNAL)),
    })),
  );
}

describe("the steps of a runtime", () => {
  it("end for Core ML with verdicts, parts, segments and MIL, whose numbers are the route's", async () => {
    const model = await decoder();
    const asked = asking("coreml");
    const all = await allOf(model, asked);
    expect(all.slice(-4).map(({ name }) => name)).toEqual(["legalise", "legal", "segment", "mil"]);
    const [verdicts, parts, segments, mil] = all.slice(-4);
    const before = all.at(-5);
    // A verdict changes no op; the parts of others do.
    expect([verdicts?.ops, verdicts?.seconds]).toEqual([before?.ops, before?.seconds]);
    expect(verdicts?.details.reduce((sum, { count }) => sum + count, 0)).toBe(verdicts?.ops);
    expect(verdicts?.details.some(({ what }) => what === "in parts")).toBe(true);
    expect(parts!.ops!).toBeGreaterThan(verdicts!.ops!);
    const route = await routeOf(model, TARGET, "decode", SIGNAL);
    expect(segments?.details.map(({ name, count }) => [name, count])).toEqual(
      route.segments.map(({ title, nodes }) => [title, nodes.length]),
    );
    expect(segments?.says).toContain(`${route.segments.length} segment`);
    expect([mil?.hops, segments?.hops]).toEqual([route.hops.length, route.hops.length]);
    expect(mil?.ops).toBe(mil?.details.reduce((sum, { count }) => sum + count, 0));
    expect(mil!.ops!).toBeGreaterThan(parts!.ops!);
  });

  it("tell what the options of a target bring where they come in: with the MIL", async () => {
    const model = await decoder();
    const options = { splitRows: false, islands: false, states: true, prefillUnits: null, palette: null };
    const plain = await allOf(model, asking("coreml"));
    const kept = await allOf(model, asking("coreml", { ...TARGET, options }));
    expect(kept.slice(0, -1)).toEqual(plain.slice(0, -1));
    expect(kept.at(-1)!.seconds).toBeLessThan(plain.at(-1)!.seconds);
    expect(kept.at(-1)?.says).toMatch(/, with states\.$/);
  });

  it.each([
    ["cpu", "plan"],
    ["mlx", "calls"],
  ] as const)("end for %s with its %s, where one device has no hops", async (backend, last) => {
    const all = await allOf(await decoder(), asking(backend));
    expect(all.slice(-3).map(({ name }) => name)).toEqual(["legalise", "legal", last]);
    const [, legal, end] = all.slice(-3);
    expect([end?.hops, end?.aneShare, end?.seconds]).toEqual([null, null, legal?.seconds]);
    expect(end?.details.reduce((sum, { count }) => sum + count, 0)).toBe(end?.ops);
  });

  it("say what stays on the host, and that a runtime cannot run all of it", async () => {
    const demo = opened({ kind: "demo-graph", file: undefined });
    const [verdicts, , segments] = (await allOf(demo, asking("coreml"))).slice(-4);
    expect(verdicts?.details[0]).toMatchObject({ what: "no rule" });
    expect(verdicts?.says).toMatch(/[1-9]\d* without a rule, which stay on the host\.$/);
    expect(segments?.says).toMatch(/, [1-9] parts? on the host\.$/);
    expect(segments?.details.map(({ what }) => what)).toContain("host");
  });
});

const NUMBERS = { ops: 7, hops: 2, aneShare: 0.5, seconds: 0.01, devices: Uint8Array.of(0, 1, 3) };

async function lost(values: readonly number[], watched: "ane" | "hops" | "seconds" = "hops") {
  const asked: number[] = [];
  const { lostAt } = await halve(values.length, watched, (step) => {
    asked.push(step);
    return Promise.resolve(values[step] ?? 0);
  });
  return { lostAt, asked };
}

describe("halving", () => {
  it("finds the one step that made it worse, with the logarithm of the steps", async () => {
    for (let at = 1; at < 32; at++) {
      const values = Array.from({ length: 32 }, (_, step) => (step < at ? 2 : 5));
      const { lostAt, asked } = await lost(values);
      expect(lostAt).toBe(at);
      // The two ends and five halvings of 31 gaps.
      expect(asked.length).toBeLessThanOrEqual(7);
      expect(new Set(asked).size).toBe(asked.length);
    }
  });

  it("finds a worse step behind one that is not, where there are several", async () => {
    const values = [0.8, 0.5, 0.9, 0.9, 0.4, 0.6];
    const { lostAt } = await lost(values, "ane");
    expect(values[(lostAt ?? 0) - 1]).toBeGreaterThanOrEqual(0.8);
    expect(values[lostAt ?? 0]).toBeLessThan(0.8);
  });

  it("says that nothing was lost where the end is as good as the beginning, and looks at both only", async () => {
    expect(await lost([3, 9, 9, 3])).toEqual({ lostAt: undefined, asked: [0, 3] });
    expect(await lost([3])).toEqual({ lostAt: undefined, asked: [0] });
  });
});

describe("what is looked at", () => {
  it("is a number, or the device of an operation by the id of any of its nodes", () => {
    expect([valueOf("ane", NUMBERS), valueOf("hops", NUMBERS), valueOf("ops", NUMBERS)]).toEqual([0.5, 2, 7]);
    expect([
      valueOf({ op: 64 }, NUMBERS),
      valueOf({ op: 2 * 64 + 5 }, NUMBERS),
      valueOf({ op: 64 * 9 }, NUMBERS),
    ]).toEqual([1, 3, 0]);
    expect(valueOf("ane", { ...NUMBERS, aneShare: null })).toBeNull();
  });

  it("is worse by less ANE, by more of anything else, by any other device, and not by rounding", () => {
    expect([isWorse("ane", 0.5, 0.4), isWorse("ane", 0.5, 0.6), isWorse("ane", 0.5, 0.4999)]).toEqual([
      true,
      false,
      false,
    ]);
    expect([isWorse("seconds", 1, 1.1), isWorse("seconds", 1, 0.9), isWorse("seconds", 1, 1.0005)]).toEqual([
      true,
      false,
      false,
    ]);
    expect([isWorse({ op: 1 }, 1, 3), isWorse({ op: 1 }, 3, 1), isWorse({ op: 1 }, 3, 3)]).toEqual([true, true, false]);
  });
});
