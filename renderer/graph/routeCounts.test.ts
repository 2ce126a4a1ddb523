/** The ops that a route names in words: with those on devices they are all ops of the legal graph. */
import { expect, it } from "vitest";
import { answerTo } from "../engine/recorded/replay.ts";
import { sampleId, sampleRoute, sampleTarget } from "../testing/sample.ts";
import { opsWithoutOperation } from "../../main/contract/routeCounts.ts";

it("adds up to the ops of the graph that the pipeline counts", () => {
  const onDevices = sampleRoute.devices.reduce((sum, { ops }) => sum + ops, 0);
  expect(opsWithoutOperation(sampleRoute)).toBeGreaterThan(0);
  const passes = answerTo("passes.list", {
    ...{ model: sampleId, backend: "coreml", target: sampleTarget, phase: "decode" },
  });
  expect(onDevices + opsWithoutOperation(sampleRoute)).toBe(passes.passes.at(-1)?.opsAfter);
});

it("are none on a runtime that has an operation for each", () => {
  expect(opsWithoutOperation({ nodes: sampleRoute.nodes, strings: [] })).toBe(0);
});
