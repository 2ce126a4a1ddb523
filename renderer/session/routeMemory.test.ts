// A prefetched route never evicts a shown one; the last ones of each are kept.
import { expect, it } from "vitest";
import type { TargetSpec } from "../../main/contract/views/common.ts";
import { sampleRoute } from "../testing/sample.ts";
import { createRouteMemory } from "./routeMemory.ts";

const TARGET: TargetSpec = { chip: "m4", os: "macos15", units: "all", profile: "auto", context: 512 };
const at = (context: number): TargetSpec => ({ ...TARGET, context });
const route = (target: TargetSpec) => ({ ...sampleRoute, target });

it("keeps what was seen, whatever is asked for ahead", () => {
  const memory = createRouteMemory();
  const first = route(at(1));
  memory.show(at(1), "decode", first);
  for (let context = 100; context < 200; context++) memory.keepAhead(at(context), "decode", first);
  expect(memory.take(at(1), "decode")).toBe(first);
  expect(memory.has(at(1), "prefill")).toBe(false);
  expect(memory.has(at(100), "decode")).toBe(false);
  expect(memory.has(at(199), "decode")).toBe(true);
});

it("counts as seen what was asked for ahead and then taken", () => {
  const memory = createRouteMemory();
  const [one, other] = [route(at(1)), route(at(2))];
  memory.keepAhead(at(1), "decode", one);
  expect(memory.take(at(1), "decode")).toBe(one);
  for (let context = 100; context < 200; context++) memory.keepAhead(at(context), "decode", other);
  expect(memory.take(at(1), "decode")).toBe(one);
});

it("lets go of what was not looked at for longest, and of everything of a closed model", () => {
  const memory = createRouteMemory();
  const made = route(at(1));
  for (let context = 1; context <= 16; context++) memory.show(at(context), "decode", made);
  memory.take(at(1), "decode");
  memory.show(at(17), "decode", made);
  expect([1, 2, 3, 17].map((context) => memory.has(at(context), "decode"))).toEqual([true, false, true, true]);
  memory.clear();
  expect(memory.has(at(17), "decode")).toBe(false);
});
