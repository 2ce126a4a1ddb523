// The words and sums of a route: what moves for a step is told apart into values between segments and caches of the call.
import { finish } from "../../ir/steps.ts";
import { describe, expect, it } from "vitest";
import type { Route } from "../../backends/coreml/hybrid/route.ts";
import { specialize } from "../../ir/specialize.ts";
import { opTable } from "../../ops/index.ts";
import { routeFor } from "../../testing/routes.ts";
import { tinyModel } from "../../testing/tinyModels.ts";
import { coremlCost } from "../../compiler/cost/coremlCost.ts";
import { machineFor } from "../../compiler/cost/machines.ts";
import { bytesPerStep, routeView, sentenceOf } from "./routeView.ts";

const machine = machineFor({ chip: "m4" }, { platform: "linux", chip: "", cores: 1, totalBytes: 0 });
const costOf = (route: Route) => finish(coremlCost({ route, machine, tokens: 1 }));

const oneToken = finish(specialize(opTable, tinyModel("llama", 2), { T: 1, R: 1 }));
/** Keys and values of two layers, two heads of eight halves, for some positions. */
const caches = (positions: number): number => 2 * 2 * 2 * 8 * positions * 2;

describe("what moves for a step", () => {
  const passing = routeFor(oneToken, { units: "cpu", profile: "ane", context: 16 });
  const both = caches(16) + caches(1);

  it("has the caches that a call passes, and says so", () => {
    expect(bytesPerStep(passing)).toMatchObject({
      value: both,
      basis: expect.stringMatching(/and 2\.\d+ KB of caches, which every call passes in and out$/) as string,
    });
    expect(sentenceOf(passing, costOf(passing))).toMatch(
      /^Everything runs in one segment on the CPU, 2\.\d+ KB of caches in and out per step\.$/,
    );
  });

  it("has the values between segments beside them", () => {
    const hop = { from: 0, to: 1, values: 1, bytes: 3000 };
    const two: Route = { ...passing, segments: [...passing.segments, ...passing.segments], hops: [hop] };
    expect(bytesPerStep(two).value).toBe(both + 3000);
    expect(sentenceOf(two, costOf(passing))).toMatch(
      /2 segments, 1 hop, 3(\.0+)? KB between them and 2\.\d+ KB of caches in and out per step\.$/,
    );
    const alone: Route = { ...two, cacheBytes: 0 };
    expect(bytesPerStep(alone)).toMatchObject({
      value: 3000,
      basis: "values that one segment makes and another takes",
    });
    expect(sentenceOf(alone, costOf(passing))).toMatch(/1 hop, 3(\.0+)? KB between them per step\.$/);
  });

  it("has none where the program keeps states", () => {
    const keeping = routeFor(oneToken, { units: "cpu", profile: "gpu", context: 16 });
    expect(bytesPerStep(keeping).value).toBe(0);
    expect(sentenceOf(keeping, costOf(keeping))).toBe("Everything runs in one segment on the CPU.");
  });
});

describe("seconds", () => {
  const route = routeFor(oneToken, { units: "cpu-ane", profile: "ane", context: 16 });
  const target = { chip: "m4-pro", os: "macos15", units: "cpu-ane", profile: "ane", context: 16 } as const;
  const cost = costOf(route);
  const view = routeView({ model: "m1", route, cost, machine, target, phase: "decode" });
  const sum = (values: Iterable<number>): number => [...values].reduce((all, value) => all + value, 0);

  it("of the parts are the whole's, and shares are of it", () => {
    const whole = view.step.value;
    const parts = [...view.segments, ...view.hops].map(({ seconds }) => seconds.value);
    expect(sum(parts) + view.cacheSeconds.value).toBeCloseTo(whole, 12);
    expect(sum(view.runs.seconds)).toBeCloseTo(sum(view.segments.map(({ seconds }) => seconds.value)), 9);
    expect(sum(view.devices.map(({ seconds }) => seconds.value))).toBeCloseTo(
      sum(view.segments.map(({ seconds }) => seconds.value)),
      12,
    );
    for (const { seconds, workShare } of [...view.segments, ...view.devices])
      expect(workShare).toBeCloseTo(seconds.value / whole, 9);
    view.nodes.seconds.forEach((seconds, node) => expect(view.nodes.work[node]).toBeCloseTo(seconds / whole, 6));
  });

  it("say the heaviest op of a segment", () => {
    for (const { heaviest, firstNode, lastNode } of view.segments) {
      expect(heaviest).toBeGreaterThanOrEqual(firstNode);
      expect(heaviest).toBeLessThanOrEqual(lastNode);
      const most = Math.max(...view.nodes.seconds.subarray(firstNode, lastNode + 1));
      if (view.segments.length === 1) expect(view.nodes.seconds[heaviest]).toBe(most);
    }
  });

  it("are for the machine that was asked for, not the family that places", () => {
    expect(view.target.chip).toBe("m4-pro");
    expect(route.target.chip).toBe("m4");
  });
});
