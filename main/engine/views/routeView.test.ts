// The words and sums of a route: what moves for a step is told apart into values between segments and caches of the call.
import { finish } from "../../ir/steps.ts";
import { describe, expect, it } from "vitest";
import type { Route } from "../../backends/coreml/hybrid/route.ts";
import { specialize } from "../../ir/specialize.ts";
import { opTable } from "../../ops/index.ts";
import { routeFor } from "../../testing/routes.ts";
import { tinyModel } from "../../testing/tinyModels.ts";
import { bytesPerStep, sentenceOf } from "./routeView.ts";

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
    expect(sentenceOf(passing)).toMatch(
      /^Everything runs in one segment on the CPU, 2\.\d+ KB of caches in and out per step\.$/,
    );
  });

  it("has the values between segments beside them", () => {
    const hop = { from: 0, to: 1, values: 1, bytes: 3000 };
    const two: Route = { ...passing, segments: [...passing.segments, ...passing.segments], hops: [hop] };
    expect(bytesPerStep(two).value).toBe(both + 3000);
    expect(sentenceOf(two)).toMatch(
      /2 segments, 1 hop, 3(\.0+)? KB between them and 2\.\d+ KB of caches in and out per step\.$/,
    );
    const alone: Route = { ...two, cacheBytes: 0 };
    expect(bytesPerStep(alone)).toMatchObject({
      value: 3000,
      basis: "values that one segment makes and another takes",
    });
    expect(sentenceOf(alone)).toMatch(/1 hop, 3(\.0+)? KB between them per step\.$/);
  });

  it("has none where the program keeps states", () => {
    const keeping = routeFor(oneToken, { units: "cpu", profile: "gpu", context: 16 });
    expect(bytesPerStep(keeping).value).toBe(0);
    expect(sentenceOf(keeping)).toBe("Everything runs in one segment on the CPU.");
  });
});
