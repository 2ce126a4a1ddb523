// Each rule has a case that fires it and one that does not; predictions are the routes' own.
import { describe, expect, it } from "vitest";
import { routeGraph } from "../../backends/coreml/hybrid/route.ts";
import { NO_OPTIONS } from "../../backends/coreml/levers.ts";
import { resolveTarget, UNITS } from "../../backends/coreml/plan/target.ts";
import { compile } from "../../compiler/compile.ts";
import { coremlCost } from "../../compiler/cost/coremlCost.ts";
import { machineFor } from "../../compiler/cost/machines.ts";
import { SecondsColumns } from "../../compiler/cost/seconds.ts";
import { stepCost } from "../../compiler/cost/stepCost.ts";
import type { Phase, TargetSpec } from "../../contract/views/common.ts";
import type { MachineState } from "../../contract/views/machine.ts";
import { GraphBuilder } from "../../ir/builder.ts";
import type { Graph } from "../../ir/graph.ts";
import { specialize } from "../../ir/specialize.ts";
import { finish } from "../../ir/steps.ts";
import { tensor } from "../../ir/type.ts";
import { opTable, typedBuilder } from "../../ops/index.ts";
import { headerFile, shape } from "../../testing/headerFile.ts";
import { tinyArchitecture, tinyGraph } from "../../testing/tinyModels.ts";
import type { Cell } from "../../runtime/inTurn.ts";
import type { Gate } from "../measure/gate.ts";
import { namedOp } from "../measure/verdict.ts";
import { stepTokens } from "../models/graphs.ts";
import { coremlEntry } from "../models/packageRequest.ts";
import { OpenModel } from "../models/openModel.ts";
import type { ModelInit } from "../models/openModel.ts";
import { adviceView, findAdvice } from "./advise.ts";
import type { Pair } from "./measure.ts";
import { adviceVerdictOf, trialOf } from "./measure.ts";
import { besideSwitches, devicesOf, originText } from "./origin.ts";
import type { Finding, StepForecast, Subject } from "./rule.ts";
import { ADVICE_RULES } from "./rules.ts";

const model = (file?: ModelInit["file"]): OpenModel =>
  new OpenModel("m", {
    ...{ kind: file === undefined ? "demo-graph" : "model", file, data: { kind: "none" } },
    ...{ offer: undefined, argument: null, openedInSeconds: 0 },
  });

const TARGET: TargetSpec = { chip: "m2", os: "macos15", units: "cpu-ane", profile: "auto", context: 4096 };

interface Given extends Partial<Pick<Subject, "backend" | "threads" | "fastCores" | "model">> {
  readonly graph?: (context: number) => Graph;
  readonly target?: Partial<TargetSpec>;
  readonly phase?: Phase;
  /** Milliseconds of a step on each runtime. */
  readonly milliseconds?: Readonly<Record<string, number>>;
  /** Steps of that are mostly starting things. */
  readonly short?: boolean;
}

/** Rules ask for the same routes. */
function memoised<T>(make: (target: TargetSpec) => T): (target: TargetSpec) => T {
  const known = new Map<string, T>();
  return (target) => {
    const key = JSON.stringify(target);
    const made = known.get(key) ?? make(target);
    known.set(key, made);
    return made;
  };
}

function subject({ graph, target, phase = "decode", milliseconds = {}, short = false, ...given }: Given): Subject {
  return {
    model: model(),
    backend: "coreml",
    threads: 4,
    fastCores: 4,
    ...given,
    target: { ...TARGET, ...target },
    phase,
    route: memoised((of: TargetSpec) => {
      if (graph === undefined) throw new Error("no graph in this case");
      const legal = finish(compile(graph(of.context), { backend: "coreml" })).graph;
      const route = routeGraph(legal, { table: opTable, entries: coremlEntry, target: resolveTarget(of, phase) });
      const machine = machineFor(of, { platform: "linux", chip: "", cores: 2, totalBytes: 2 ** 34 });
      return Promise.resolve({ ...route, cost: finish(coremlCost({ route, machine, tokens: stepTokens(phase) })) });
    }),
    paletteError: (bits) => Promise.resolve(bits === 6 ? 0.025 : undefined),
    forecast: (backend): Promise<StepForecast | undefined> => {
      const own = milliseconds[backend];
      if (own === undefined) return Promise.resolve(undefined);
      const seconds = { value: own / 1000, low: own / 1200, high: own / 800 };
      return Promise.resolve({ title: backend, bytes: own * 1e6, seconds, short });
    },
  };
}

async function found(rule: string, given: Given): Promise<Finding | undefined> {
  const known = ADVICE_RULES.find(({ name }) => name === rule);
  if (known === undefined) throw new Error(`no rule ${rule}`);
  return known.find(subject(given));
}

/** x · matrices, each of `rows` × 2048; the second takes one row of what the first made where `picks` is set. */
function products(
  options: { steps?: number; rows?: number; type?: "f16" | "q8_0"; picks?: boolean } = {},
): () => Graph {
  const { steps = 1, rows = 2048, type = "f16", picks = false } = options;
  return () => {
    const builder = new GraphBuilder(opTable, "products");
    const g = typedBuilder(builder);
    const weight = (name: string, count: number) =>
      builder.param(name, tensor(type, [count, 2048]), { file: "", tensor: name });
    let x = g.linear([builder.input("x", tensor("f32", [steps, 2048])), weight("a", 2048)]);
    if (picks) x = g.gather([x, builder.input("rows", tensor("i32", [1]))], { axis: 0 });
    builder.output("y", g.linear([x, weight("b", rows)]));
    return builder.finish();
  };
}

/** Keys of 64, so that a state has no padding. */
const ROPE = { dims: 64, base: 1e4, pairing: "halves", scaling: { kind: "none" }, attentionFactor: 1 } as const;
const WIDE = tinyArchitecture("llama", {
  ...{ headDim: 64, width: 256, rope: { ...ROPE, factorsTensor: undefined } },
});
const decoder = (context: number): Graph =>
  finish(
    specialize(opTable, tinyGraph(WIDE, { capacity: context, cacheType: "f16", largestStep: 8, largestRows: 8 }), {
      T: 1,
      R: 1,
    }),
  );

/** A file with one matrix of a type, beside what an architecture needs. */
const fileOf = async (type: string): Promise<OpenModel> =>
  model(await headerFile("llama", {}, [shape("blk.0.ffn_up.weight", type, [1024, 4096])]));
const [halves, packed] = [await fileOf("f16"), await fileOf("q4_k")];

describe("a rule fires, and does not", () => {
  const CASES: readonly (readonly [rule: string, fires: Given, not: Given])[] = [
    [
      "split-rows",
      { graph: products({ rows: 40_000 }) },
      { graph: products({ rows: 40_000 }), target: { chip: "m4" } },
    ],
    [
      "islands",
      { graph: products({ steps: 8, rows: 16_384, picks: true }) },
      { graph: products({ steps: 8, rows: 16_384, picks: true }), target: { units: "cpu" } },
    ],
    [
      "states",
      { graph: decoder, target: { units: "cpu-gpu", profile: "ane" } },
      { graph: decoder, target: { units: "cpu-gpu", profile: "auto" } },
    ],
    [
      "palette",
      { graph: products({ rows: 16_384 }) },
      // The CPU unpacks a palette when it loads the program.
      { graph: products({ rows: 16_384 }), target: { units: "cpu" } },
    ],
    ["units", { graph: products(), target: { units: "cpu" } }, { graph: products(), target: { units: "all" } }],
    [
      "prefill-units",
      { graph: products({ steps: 64 }), target: { units: "cpu", profile: "ane" }, phase: "prefill" },
      { graph: products(), target: { units: "cpu", profile: "ane" } },
    ],
    ["context", { graph: decoder }, { graph: decoder, target: { context: 512 } }],
    ["half-floats", { graph: products(), target: { profile: "exact" } }, { graph: products() }],
    [
      "block-scales",
      { graph: products({ steps: 64, type: "q8_0" }), target: { profile: "gpu" }, phase: "prefill" },
      { graph: products({ type: "q8_0" }), target: { profile: "gpu" } },
    ],
    ["runtime", { milliseconds: { coreml: 10, mlx: 5 } }, { milliseconds: { coreml: 10, mlx: 9 } }],
    [
      "threads",
      { backend: "cpu", threads: 8, milliseconds: { cpu: 10 } },
      { backend: "cpu", threads: 4, milliseconds: { cpu: 10 } },
    ],
    [
      "quantisation",
      { backend: "cpu", milliseconds: { cpu: 10 }, model: halves },
      { backend: "cpu", milliseconds: { cpu: 10 }, model: packed },
    ],
  ];

  it("there is a case for every rule", () => {
    expect(CASES.map(([rule]) => rule).sort()).toEqual(ADVICE_RULES.map(({ name }) => name).sort());
  });

  it.each(CASES)("%s", async (rule, fires, not) => {
    const finding = await found(rule, fires);
    expect(finding?.claim).toMatch(/\d/);
    expect(finding?.after.value).toBeLessThan(finding?.before.value ?? NaN);
    expect(await found(rule, not)).toBeUndefined();
  });

  it("the seconds before and after are those of the two routes, and the ops those that move", async () => {
    const given: Given = { graph: products({ rows: 40_000 }) };
    const finding = await found("split-rows", given);
    const { route, target } = subject(given);
    if (finding?.change.kind !== "target") throw new Error("the change is of the target");
    const [before, after] = [await route(target), await route(finding.change.target)];
    expect([finding.before.value, finding.after.value]).toEqual([before.cost.step.value, after.cost.step.value]);
    expect(finding.ops.map((node) => before.graph.nodes[node]?.op)).toEqual(["linear"]);
    // The matrix is 164 MB of f16: 3.12 ms at 52.5 % of the M2's 100 GB/s on the CPU, 2.34 ms at 70 % on the Neural Engine.
    expect(finding.before.value - finding.after.value).toBeGreaterThan(0.00076);
    expect(finding.before.value - finding.after.value).toBeLessThan(0.00079);
  });
});

describe("a palette", () => {
  it("gains what its bytes do, says what it loses, and is about the products that read it", async () => {
    const given: Given = { graph: products({ rows: 16_384 }) };
    const finding = await found("palette", given);
    const { route, target } = subject(given);
    if (finding?.change.kind !== "target") throw new Error("the change is of the target");
    const after = await route(finding.change.target);
    // 18 432 rows of 2048 are 75.5 MB of f16; of six bits, and 64 halves for 16 rows, 28.5 MB.
    expect(finding.claim).toContain("75.5 MB of f16 weights");
    expect(finding.claim).toContain("they are 28.5 MB");
    expect(finding.after.value).toBe(after.cost.step.value);
    const weights = after.cost.segments.reduce((sum, { weightBytes }) => sum + weightBytes, 0);
    // Beside them the zeros that the products add, two bytes a row.
    expect(weights).toBe(18_432 * (2048 * 0.75 + (64 * 2) / 16 + 2));
    expect(finding.risk).toContain("by 2.5 % of the weights' size");
    expect(finding.ops).toHaveLength(2);
    expect(target.options).toBeUndefined();
  });

  it.each([
    ["weights that are packed", { graph: products({ type: "q8_0" }), target: { units: "cpu-gpu" } }],
    ["exact weights", { graph: products(), target: { profile: "exact", units: "cpu" } }],
    ["sums that decide, not weights", { graph: products({ steps: 512 }), phase: "prefill" }],
    ["a palette that there is", { graph: products(), target: { options: { ...NO_OPTIONS, palette: 8 } } }],
  ] as const)("is not advised for %s", async (_, given) => {
    expect(await found("palette", given)).toBeUndefined();
  });
});

describe("a gain", () => {
  it("says where it comes from, and what then runs where", async () => {
    const { claim = "" } = (await found("context", { graph: decoder, target: { chip: "m4" } })) ?? {};
    expect(claim).toMatch(/of caches less go in and out\. It saves \d.* of (starting|copying|the work)/);
    const cost = (device: "ane" | "cpu", starting: number, caches: number) => {
      const of = (value: number) => ({ value, low: value, high: value });
      const segment = { device, work: of(0.001), starting: of(starting), weightBytes: 0, valueBytes: 0, flops: 0 };
      return {
        cost: stepCost({
          ...{ tokens: 1, nodes: new SecondsColumns(0), hops: [], cacheBytes: 0 },
          ...{ segments: [segment], caches: of(caches) },
        }),
      };
    };
    expect(originText(cost("ane", 0.003, 0.001), cost("cpu", 0.001, 0.0005))).toBe(
      "It saves 2 ms of starting and handing over, 500 µs of copying caches. Then everything runs on the CPU.",
    );
  });

  it("is that of no plain switch of units onto devices that it needs anyway", async () => {
    const { signal } = new AbortController();
    let [kept, withheld] = [0, 0];
    const GIVEN: readonly Given[] = [
      { graph: decoder, target: { chip: "m4", context: 1024 } },
      { graph: products({ rows: 40_000 }), target: { chip: "m1" } },
      { graph: products({ rows: 40_000 }), target: { chip: "m1", units: "all", profile: "ane" } },
      { graph: products({ steps: 8, rows: 16_384, picks: true }) },
      { graph: products({ steps: 8, rows: 64, picks: true }) },
    ];
    for (const given of GIVEN) {
      const asked = subject(given);
      const listed = await findAdvice(asked, ADVICE_RULES, signal);
      const { graph, cost: now, nodes, verdicts } = await asked.route(asked.target);
      const named = namedOp({ graph, cost: now, placement: { ...nodes, verdicts } });
      for (const { name, find } of ADVICE_RULES.filter(({ backends }) => backends.includes("coreml")))
        if ((await find(asked)) !== undefined && !listed.some(({ rule }) => rule.name === name)) withheld++;
      for (const { rule, finding } of listed) {
        if (finding.change.kind !== "target" || rule.name === "units") continue;
        kept++;
        const needed = devicesOf((await asked.route(finding.change.target)).cost);
        for (const { id: units } of UNITS) {
          if (units === asked.target.units) continue;
          const { cost } = await asked.route({ ...asked.target, units });
          if (cost.step.value > finding.after.value) continue;
          // What mends the op that the verdict names is listed all the same.
          if (named === undefined || !finding.ops.includes(named))
            expect(devicesOf(cost).every((device) => needed.includes(device))).toBe(false);
          expect(finding.claim).toContain("is predicted faster still");
        }
      }
    }
    expect(kept).toBeGreaterThan(0);
    expect(withheld).toBeGreaterThan(0);
  });
});

describe("what mends the part that the verdict names", () => {
  it("is listed beside a plain switch that is faster, and others are not", async () => {
    const { signal } = new AbortController();
    // The CPU reads packed blocks, so "CPU only" is faster than f16 on the Neural Engine.
    const asked = subject({ graph: products({ rows: 40_000, type: "q8_0" }), target: { chip: "m1" } });
    const finding = await ADVICE_RULES.find(({ name }) => name === "split-rows")?.find(asked);
    if (finding === undefined) throw new Error("nothing was found");
    expect(await besideSwitches(asked, finding, false)).toBeUndefined();
    const listed = await findAdvice(asked, ADVICE_RULES, signal);
    const own = listed.find(({ rule }) => rule.name === "split-rows")?.finding;
    expect(own?.claim).toContain("is predicted faster still");
    expect([own?.before, own?.after]).toEqual([finding.before, finding.after]);
  });
});

describe("another runtime", () => {
  it("is advised for short steps too, with what is not known of them", async () => {
    const finding = await found("runtime", { milliseconds: { coreml: 0.164, cpu: 0.101 }, short: true });
    expect(finding?.claim).toBe(
      "cpu is predicted to take 101 µs for a run where coreml takes 164 µs. Such short steps are mostly starting things, which no forecast knows well: measure both.",
    );
    // A graph alone writes no tokens.
    expect(finding?.risk).toBe("Another program with other roundings.");
    expect(await found("threads", { backend: "cpu", threads: 8, milliseconds: { cpu: 0.1 }, short: true })).toBe(
      undefined,
    );
  });
});

describe("the list", () => {
  it("is sorted by what is gained, and says how to apply each", async () => {
    const signal = new AbortController().signal;
    const asked = subject({ graph: products({ rows: 40_000 }), milliseconds: { coreml: 10, mlx: 5 } });
    const all = await findAdvice(asked, ADVICE_RULES, signal);
    const context = {
      canMeasure: () => ({ ok: true }) as const,
      verdict: null,
      route: await asked.route(asked.target),
    };
    const views = all.map((one) => adviceView(asked, one, context));
    const gains = views.map(({ gain }) => gain.value);
    expect(gains).toEqual([...gains].sort((a, b) => b - a));
    expect(Object.fromEntries(views.map(({ rule, flags }) => [rule, flags]))).toMatchObject({
      "split-rows": "--options split-rows",
      runtime: "--device mlx",
    });
    expect(views.find(({ rule }) => rule === "split-rows")?.ids).toHaveLength(1);
  });
});

describe("a measurement", () => {
  const state = { readings: [] } as unknown as MachineState;
  const gateOf = (red: readonly string[] = []): Gate => ({
    begin: () => Promise.resolve(state),
    afterRound: () => Promise.resolve("go on"),
    end: () => Promise.resolve(state),
    red: () => red,
    stopped: () => null,
  });
  const trial = async (before: readonly number[], after: readonly number[], gate = gateOf()) => {
    const order: string[] = [];
    const side = (name: string, times: number[]): Cell<{ seconds: number }> => ({
      weight: 1,
      once: () => {
        order.push(name);
        return Promise.resolve({ seconds: times.shift() ?? NaN });
      },
    });
    const seen: (readonly [number, Pair])[] = [];
    const { signal } = new AbortController();
    const done = await trialOf(
      { before: side("A", [9, ...before]), after: side("B", [9, ...after]) },
      { pairs: before.length, signal, gate, onPair: (index, pair) => void seen.push([index, pair]) },
    );
    return { order: order.join(""), seen, verdict: adviceVerdictOf(done, { machine: "here", at: 0, notes: [] }) };
  };

  it("takes turns behind a warm-up, and tells each pair", async () => {
    const { order, seen } = await trial([1, 2], [3, 4]);
    expect(order).toBe("ABABAB");
    expect(seen).toEqual([
      [0, { before: 1, after: 3 }],
      [1, { before: 2, after: 4 }],
    ]);
  });

  it("says faster and slower where the whole interval does", async () => {
    const [slow, fast] = [
      [2, 2.1, 2, 1.9, 2, 2],
      [1, 1, 1, 1, 1, 1],
    ];
    const { verdict } = await trial(slow, fast);
    expect(verdict.outcome).toBe("faster");
    expect(verdict.ratio?.value).toBeCloseTo(2, 10);
    expect(verdict.sentence).toBe(
      "Faster on this machine: +100.0 % tokens per second (95 % interval +90.0 % … +110.0 %, 6 pairs).",
    );
    expect((await trial(fast, slow)).verdict.outcome).toBe("slower");
  });

  it("marks noise as no significant difference on this machine", async () => {
    const { verdict } = await trial([1, 1.1, 0.9, 1, 1.2, 0.8], [1, 1, 1, 1, 1, 1]);
    expect(verdict.outcome).toBe("no-difference");
    expect(verdict.sentence).toContain("No significant difference on this machine");
  });

  it("says nothing of few pairs", async () => {
    const { verdict } = await trial([2, 2, 2], [1, 1, 1]);
    expect(verdict).toMatchObject({ outcome: "no-difference", notes: [expect.stringContaining("measure at least 6")] });
  });

  it("has no verdict where something disturbed it", async () => {
    const six = [1, 1, 1, 1, 1, 1];
    const { verdict } = await trial([2, 2, 2, 2, 2, 2], six, gateOf(["Load 9.8 on 2 processors"]));
    expect(verdict).toMatchObject({ outcome: "not-comparable", ratio: null });
    expect(verdict.sentence).toBe("Not comparable because of the conditions: Load 9.8 on 2 processors.");
  });
});
