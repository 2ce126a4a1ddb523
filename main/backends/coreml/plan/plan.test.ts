// The predicted plan: placement equals brute force, and a plan adds up.
import { describe, expect, it } from "vitest";
import { finish } from "../../../ir/steps.ts";
import { half, ints, linear, packed, PLAN_TARGET as TARGET, weight } from "../../../testing/milPrograms.ts";
import { MilFunctionBuilder } from "../mil/builder.ts";
import { NameTable } from "../mil/names.ts";
import type { MilFunction, MilValue } from "../mil/types.ts";
import { functionFacts } from "./facts.ts";
import type { PlacementProblem } from "./placement.ts";
import { DEVICES, costOf, place } from "./placement.ts";
import { placementProblem, predictPlan } from "./predict.ts";
import type { PlanTarget } from "./target.ts";
import { profileFor, resolveTarget, targetTitle } from "./target.ts";

describe("placement", () => {
  let seed = 1;
  const random = (): number => (seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0) / 2 ** 32;

  /** Every assignment, by counting in base 3. */
  function bruteForce(problem: PlacementProblem): number {
    const { count } = problem;
    const devices = new Uint8Array(count);
    let best = Infinity;
    for (let n = 0; n < 3 ** count; n++) {
      for (let i = 0, rest = n; i < count; i++, rest = Math.floor(rest / 3)) devices[i] = rest % 3;
      best = Math.min(best, costOf(problem, devices));
    }
    return best;
  }

  it("equals brute force on 200 programs", { timeout: 120_000 }, () => {
    for (let round = 0; round < 200; round++) {
      const count = 1 + (round < 190 ? round % 9 : 8 + (round % 4));
      // The last device can run everything, as the CPU can.
      const costs = Float64Array.from({ length: 3 * count }, (_, i) =>
        i % 3 < 2 && random() < 0.25 ? Infinity : random() < 0.2 ? 0 : random() ** 3,
      );
      const problem: PlacementProblem = {
        count,
        costs,
        cutBytes: Float64Array.from({ length: count }, () => random() * 2),
        launch: [random() * 0.3, random() * 0.3, random() * 0.3],
        transfer: [random() * 0.3, random() * 0.3, random() * 0.3],
        bytesPerMs: 10,
      };
      const found = place(problem);
      expect(found.cost).toBeCloseTo(bruteForce(problem), 12);
      expect(costOf(problem, found.devices)).toBeCloseTo(found.cost, 12);
    }
  });

  /** A graph of `count` operators over the values before them: chains, branches that meet again, values read late. */
  function randomFunction(count: number): MilFunction {
    const b = new MilFunctionBuilder("main", "CoreML8", new NameTable());
    const pick = <T>(from: readonly T[]): T => from[Math.floor(random() * from.length)] as T;
    const [rows, width] = [pick([1, 64, 512]), pick([64, 1024, 2048])];
    const values: MilValue[] = [half(b, [rows, width])];
    for (let i = 0; i < count; i++) {
      const x = random() < 0.6 ? (values.at(-1) as MilValue) : pick(values);
      const kind = pick(["linear", "linear", "packed", "add", "silu", "tan", "gather"] as const);
      if (kind === "linear") values.push(linear(b, x, weight(b, width, width, 64 * (i + 1))));
      else if (kind === "packed") values.push(linear(b, x, packed(b, width, width, 2)));
      else if (kind === "add") values.push(b.op("add", { x, y: pick(values) }));
      else if (kind === "silu") values.push(b.op("silu", { x }));
      // The two that no rule lets on the Neural Engine, so that a plan has to leave it.
      else if (kind === "tan") values.push(b.op("tan", { x }));
      else values.push(b.op("gather", { x, indices: Array.from({ length: rows }, (_, n) => n), axis: 0 }));
    }
    b.output("y", values.at(-1) as MilValue);
    return b.finish();
  }

  /** Bytes of what is made before operator `at` and read by it or later: read off the program, not off its facts. */
  function crossing(f: MilFunction, at: number): number {
    const running = f.operations.filter(({ type }) => type !== "const" && !type.startsWith("constexpr_"));
    const read = new Set(
      running
        .slice(at)
        .flatMap(({ inputs }) => inputs.flatMap(([, all]) => all.map((one) => (one.kind === "name" ? one.name : "")))),
    );
    const crosses = running.slice(0, at).flatMap(({ outputs }) => outputs.filter(({ name }) => read.has(name)));
    return crosses.reduce((sum, { type }) => sum + 2 * type.shape.reduce<number>((n, d) => n * (d ?? 1), 1), 0);
  }

  /** The cheapest of all ways to give operators to devices. */
  function cheapest({ count, costs, launch, transfer, bytesPerMs }: PlacementProblem, cut: readonly number[]): number {
    let best = Infinity;
    const from = (i: number, device: number, cost: number): void => {
      if (i === count) best = Math.min(best, cost);
      else
        for (let d = 0; d < 3; d++) {
          const own = costs[3 * i + d] as number;
          if (own === Infinity) continue;
          const begin = d === device ? 0 : (launch[d] ?? 0);
          const move = d === device || i === 0 ? 0 : (transfer[d] ?? 0) + (cut[i] ?? 0) / bytesPerMs;
          from(i + 1, d, cost + own + begin + move);
        }
    };
    from(0, -1, 0);
    return best;
  }

  it("equals brute force on 200 graphs of at most 12 operators", { timeout: 120_000 }, () => {
    let mixed = 0;
    for (let round = 0; round < 200; round++) {
      // The name of the output may be an operator, too.
      const f = randomFunction(round % 12);
      const target: PlanTarget = { ...TARGET, units: (["all", "cpu-ane", "cpu-gpu"] as const)[round % 3] ?? "all" };
      const problem = placementProblem(finish(functionFacts(f)), target);
      const cut = Array.from({ length: problem.count }, (_, i) => crossing(f, i));
      expect(problem.count).toBeLessThanOrEqual(12);
      expect([...problem.cutBytes]).toEqual(cut);
      const plan = predictPlan(f, target);
      expect(plan.costMs).toBeCloseTo(cheapest(problem, cut), 9);
      expect(
        costOf(
          problem,
          plan.ops.map(({ preferred }) => DEVICES.indexOf(preferred)),
        ),
      ).toBeCloseTo(plan.costMs, 9);
      if (plan.runs.length > 1) mixed++;
    }
    // Not all on one device, or there would be nothing to choose.
    expect(mixed).toBeGreaterThan(40);
  });

  it("an empty program costs nothing", () => {
    expect(
      place({
        count: 0,
        costs: new Float64Array(0),
        cutBytes: new Float64Array(0),
        launch: [1, 1, 1],
        transfer: [1, 1, 1],
        bytesPerMs: 1,
      }).cost,
    ).toBe(0);
  });
});

describe("plans", () => {
  /** Products large enough to be worth the Neural Engine, with a gather before them. */
  const chain = (layers: number): MilFunction => {
    const b = new MilFunctionBuilder("main", "CoreML8", new NameTable());
    let x = b.op("gather", { x: weight(b, 1000, 1024), indices: ints(b, [64]), axis: 0 });
    for (let i = 0; i < layers; i++) x = b.op("silu", { x: linear(b, x, weight(b, 1024, 1024, 64 * (i + 2))) });
    b.output("y", x);
    return b.finish();
  };

  it("places a block-wise model off the Neural Engine and an fp16 one on it", () => {
    const plan = predictPlan(chain(12), TARGET);
    expect(plan.ops[0]).toMatchObject({ preferred: "cpu", rule: "ane-gather", supported: ["cpu"] });
    expect(plan.ops.slice(1).every((op) => op.preferred === "ane")).toBe(true);
    expect(plan.runs.map((r) => r.device)).toEqual(["cpu", "ane"]);
    expect(plan.runs[1]).toMatchObject({ inputs: [{ name: "gather", bytes: 64 * 1024 * 2 }] });
    expect(plan.ops.reduce((sum, op) => sum + op.costShare, 0)).toBeCloseTo(1, 9);
    const b = new MilFunctionBuilder("main", "CoreML8", new NameTable());
    b.output("y", linear(b, half(b, [64, 1024]), packed(b, 1024, 1024, 32)));
    expect(predictPlan(b.finish(), TARGET).ops[0]).toMatchObject({ preferred: "cpu", rule: "ane-block-weights" });
    expect(predictPlan(b.finish(), { ...TARGET, units: "all" }).ops[0]).toMatchObject({
      preferred: "gpu",
      supported: ["gpu", "cpu"],
    });
  });

  it("explains a run by its heaviest operator, and says with which it begins", () => {
    const b = new MilFunctionBuilder("main", "CoreML8", new NameTable());
    let x = half(b, [64, 1024]);
    for (let i = 0; i < 12; i++) x = linear(b, x, weight(b, 1024, 1024, 64 * (i + 2)));
    const row = b.op("gather", { x, indices: ints(b, [1]), axis: 0 });
    b.output("y", linear(b, row, weight(b, 151_936, 1024)));
    const runs = predictPlan(b.finish(), { ...TARGET, chip: "m4" }).runs;
    expect(runs.map(({ device }) => device)).toEqual(["ane", "cpu"]);
    // The gather, which comes first, has next to no part in it.
    expect(runs[1]?.why).toMatch(
      /^Neural Engine → CPU: A dimension of 151936 exceeds the 65536 .* 100 % of the work there is one linear\./,
    );
    expect(runs[1]?.why).toContain("It begins with gather: Published compute plans");
  });

  it("leaves a tiny program on one unit, and says which operator is not worth the way", () => {
    const b = new MilFunctionBuilder("main", "CoreML8", new NameTable());
    b.output("y", linear(b, half(b, [1, 64]), weight(b, 64, 64)));
    const plan = predictPlan(b.finish(), TARGET);
    expect(plan.runs).toHaveLength(1);
    expect(plan.ops[0]).toMatchObject({
      preferred: "cpu",
      supported: ["ane", "cpu"],
      rule: "island",
      reason: expect.stringMatching(/^The Neural Engine could run linear, but/) as string,
    });
  });

  it("keeps to the units of the target", () => {
    for (const units of ["cpu", "cpu-gpu"] as const)
      for (const op of predictPlan(chain(3), { ...TARGET, units }).ops) expect(op.supported).not.toContain("ane");
    expect(predictPlan(chain(3), { ...TARGET, units: "cpu" }).ops.every((op) => op.preferred === "cpu")).toBe(true);
  });
});

describe("targets", () => {
  it("lets the profile follow the units and the system", () => {
    expect(profileFor("cpu-ane", "macos15")).toBe("ane");
    expect(profileFor("all", "macos15")).toBe("gpu");
    expect(profileFor("all", "macos14")).toBe("ane");
    const stated = { chip: "m3", os: "macos15", units: "all", profile: "auto", context: 4096 } as const;
    expect(targetTitle(resolveTarget(stated, "decode"))).toBe(
      "M3 family · macOS 15 · All units · packed weights · 4096 tokens · decode",
    );
    expect(() => resolveTarget({ ...stated, chip: "m9" }, "decode")).toThrow(
      expect.objectContaining({ code: "INPUT_ARGUMENT" }),
    );
    // Plain f32 needs no operator of macOS 15.
    expect(resolveTarget({ ...stated, os: "macos14", profile: "f32" }, "decode").profile).toBe("f32");
    expect(() => resolveTarget({ ...stated, os: "macos14", profile: "gpu" }, "decode")).toThrow(
      expect.objectContaining({ code: "UNSUPPORTED_TARGET" }),
    );
  });
});
