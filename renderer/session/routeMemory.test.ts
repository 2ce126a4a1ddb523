// A prefetched route never evicts a shown one; the last ones of each are kept.
import { expect, it } from "vitest";
import type { Phase, TargetSpec } from "../../main/contract/views/common.ts";
import { sampleRoute } from "../testing/sample.ts";
import { createRouteMemory } from "./routeMemory.ts";

const TARGET: TargetSpec = { chip: "m4", os: "macos15", units: "all", profile: "auto", context: 512 };
const at = (context: number): TargetSpec => ({ ...TARGET, context });
const of = (context: number, phase: Phase = "decode") => ({ backend: "coreml" as const, target: at(context), phase });
const route = (target: TargetSpec) => ({ ...sampleRoute, target });

it("keeps what was seen, whatever is asked for ahead", () => {
  const memory = createRouteMemory();
  const first = route(at(1));
  memory.show(of(1), first);
  for (let context = 100; context < 200; context++) memory.keepAhead(of(context), first);
  expect(memory.take(of(1))).toBe(first);
  expect(memory.has(of(1, "prefill"))).toBe(false);
  expect(memory.has(of(100))).toBe(false);
  expect(memory.has(of(199))).toBe(true);
});

it("counts as seen what was asked for ahead and then taken", () => {
  const memory = createRouteMemory();
  const [one, other] = [route(at(1)), route(at(2))];
  memory.keepAhead(of(1), one);
  expect(memory.take(of(1))).toBe(one);
  for (let context = 100; context < 200; context++) memory.keepAhead(of(context), other);
  expect(memory.take(of(1))).toBe(one);
});

it("lets go of what was not looked at for longest, and of everything of a closed model", () => {
  const memory = createRouteMemory();
  const made = route(at(1));
  for (let context = 1; context <= 16; context++) memory.show(of(context), made);
  memory.take(of(1));
  memory.show(of(17), made);
  expect([1, 2, 3, 17].map((context) => memory.has(of(context)))).toEqual([true, false, true, true]);
  memory.clear();
  expect(memory.has(of(17))).toBe(false);
});

it("keeps the routes of each runtime apart", () => {
  const memory = createRouteMemory();
  memory.show(of(1), route(at(1)));
  expect([memory.has(of(1)), memory.has({ ...of(1), backend: "cpu" })]).toEqual([true, false]);
});
