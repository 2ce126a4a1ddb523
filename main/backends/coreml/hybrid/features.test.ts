// Which run of a function takes and gives its features: by hand on a program with results before its end, and on random ones.
import { describe, expect, it } from "vitest";
import { finish } from "../../../ir/steps.ts";
import { half, linear, PLAN_TARGET, weight } from "../../../testing/milPrograms.ts";
import { seededRandom } from "../../../testing/random.ts";
import type { FeatureBinding } from "../lowering/lower.ts";
import { MilFunctionBuilder } from "../mil/builder.ts";
import { NameTable } from "../mil/names.ts";
import type { MilOperation, MilValue } from "../mil/types.ts";
import { functionFacts } from "../plan/facts.ts";
import type { PlanRun } from "../plan/predict.ts";
import { planOf } from "../plan/predict.ts";
import { featuresOfRuns } from "./features.ts";

const [ROWS, WIDTH] = [64, 2048];
const binding = (feature: string, kind: FeatureBinding["kind"]): FeatureBinding => ({
  feature,
  kind,
  name: feature,
  dtype: "fp16",
  shape: [ROWS, WIDTH],
});
const builder = (): MilFunctionBuilder => new MilFunctionBuilder("main", "CoreML8", new NameTable());
/** Names by run, inputs before the bar. */
const named = (features: ReturnType<typeof featuresOfRuns>): readonly string[] =>
  features.map(({ inputs, outputs }) =>
    [inputs, outputs].map((each) => each.map(({ feature }) => feature).join(" ")).join(" | "),
  );

const readsOf = ({ inputs }: MilOperation): readonly string[] =>
  inputs.flatMap(([, bindings]) => bindings.flatMap((each) => (each.kind === "name" ? [each.name] : [])));

describe("the features of runs", () => {
  it("are given by the run that makes them, in the middle of a program too, and taken by each that reads them", () => {
    const b = builder();
    const [x, y] = [half(b, [ROWS, WIDTH], "x"), half(b, [ROWS, WIDTH], "y")];
    // No rule lets a tangent on the Neural Engine, and the products are worth the way.
    const first = linear(b, x, weight(b, WIDTH, WIDTH));
    b.output("early", first);
    const tangent = b.op("tan", { x: b.op("add", { x: first, y }) });
    b.output("cache_next", tangent);
    const middle = b.op("tan", { x: tangent });
    b.output("late", linear(b, b.op("add", { x: middle, y }), weight(b, WIDTH, WIDTH, 128)));
    const facts = finish(functionFacts(b.finish()));
    const { runs } = planOf(facts, PLAN_TARGET);
    expect(runs.map(({ device }) => device)).toEqual(["ane", "cpu", "ane"]);
    const features = featuresOfRuns(
      [
        binding("x", "input"),
        binding("y", "stateIn"),
        binding("unread", "input"),
        binding("kept", "state"),
        binding("late", "output"),
        binding("early", "output"),
        binding("cache_next", "stateOut"),
      ],
      facts,
      runs,
    );
    // What nothing reads comes with the call; a state that the program keeps crosses nothing.
    expect(named(features)).toEqual(["x y unread | early", " | cache_next", "y | late"]);
  });

  it("are those of plain loops on random programs, cut anywhere", () => {
    const random = seededRandom(5);
    let early = 0;
    for (let round = 0; round < 200; round++) {
      const b = builder();
      const inputs = Array.from({ length: 1 + random.integer(3) }, (_, i) => half(b, [ROWS, 4], `in${i}`));
      const values: MilValue[] = [...inputs];
      const outputs: string[] = [];
      for (let i = 0; i < 3 + random.integer(8); i++) {
        values.push(b.op("add", { x: random.pick(values), y: random.pick(values) }));
        if (random.integer(3) === 0) outputs.push(b.output(`out${i}`, random.pick(values)));
      }
      const mil = b.finish();
      const facts = finish(functionFacts(mil));
      const runs = cut(facts.operations.length, () => random.integer(3) === 0);
      const bindings = [
        ...inputs.map((_, i) => binding(`in${i}`, "input")),
        ...outputs.map((name) => binding(name, "output")),
      ];
      const expected = runs.map(({ first, last }, r): string => {
        const own = Array.from(facts.operations.subarray(first, last + 1), (at) => mil.operations[at]!);
        const read = bindings.filter(
          ({ kind, feature }) =>
            kind === "input" &&
            (own.some((op) => readsOf(op).includes(feature)) ||
              (r === 0 && !mil.operations.some((op) => readsOf(op).includes(feature)))),
        );
        const made = bindings.filter(({ feature }) =>
          own.some((op) => op.outputs.some(({ name }) => name === feature)),
        );
        if (r < runs.length - 1) early += made.length;
        return [read, made].map((each) => each.map(({ feature }) => feature).join(" ")).join(" | ");
      });
      expect(named(featuresOfRuns(bindings, facts, runs))).toEqual(expected);
    }
    expect(early).toBeGreaterThan(100);
  });
});

/** Runs of which each begins where `isCut` says. */
function cut(count: number, isCut: () => boolean): readonly PlanRun[] {
  const starts = Array.from({ length: count }, (_, i) => i).filter((i) => i === 0 || isCut());
  return starts.map((first, r): PlanRun => ({
    device: "cpu",
    first,
    last: (starts[r + 1] ?? count) - 1,
    inputs: [],
    outputs: [],
    why: "",
  }));
}
