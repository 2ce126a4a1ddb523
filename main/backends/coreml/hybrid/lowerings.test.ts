// What each op became, against plain loops over the operations of the program, on models, the demo graph and random graphs.
import { finish } from "../../../ir/steps.ts";
import { describe, expect, it } from "vitest";
import type { Graph } from "../../../ir/graph.ts";
import { isLeaf } from "../../../ir/graph.ts";
import { specialize } from "../../../ir/specialize.ts";
import { demoGraph } from "../../../models/demo.ts";
import { opTable } from "../../../ops/index.ts";
import { randomCase } from "../../../testing/randomGraphs.ts";
import { routeFor } from "../../../testing/routes.ts";
import { tinyModel } from "../../../testing/tinyModels.ts";
import { WIDE, wideDecoder } from "../../../testing/wideDecoder.ts";
import type { OpPlan } from "../plan/predict.ts";
import { UNITS } from "../plan/target.ts";
import type { Lowering } from "./lowerings.ts";
import type { Route } from "./route.ts";
import { ROUTE_DEVICES } from "./segments.ts";

interface Operation {
  readonly type: string;
  readonly plan: OpPlan;
}

/** Every operation of the program whose origins name the node. */
function operationsOf(route: Route, node: number): readonly Operation[] {
  const found: Operation[] = [];
  for (const [part, plan] of route.plans) {
    const made = route.lowered?.functions.find(({ mil }) => mil.name === route.functionNames.get(part));
    const { origin } = route.parts[part]!;
    plan.ops.forEach((op, i) => {
      const operation = made!.mil.operations[plan.operations[i]!]!;
      for (const own of operation.origins) if (origin[own] === node) found.push({ type: operation.type, plan: op });
    });
  }
  return found;
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, each) => total + each, 0);
const byName = ([a]: readonly [string, number], [b]: readonly [string, number]): number => a.localeCompare(b);
/** By key, what belongs to it; in order of first appearance. */
function tally<T>(things: readonly T[], key: (thing: T) => string, amount: (thing: T) => number): [string, number][] {
  const totals = new Map<string, number>();
  for (const thing of things) totals.set(key(thing), (totals.get(key(thing)) ?? 0) + amount(thing));
  return [...totals];
}

function check(lowering: Lowering, operations: readonly Operation[], device: string | undefined): void {
  expect(lowering.operations).toBe(operations.length);
  const told = lowering.groups.flatMap((group) => group.operations.map((each) => ({ ...each, group })));
  expect(
    tally(
      told,
      ({ type, group }) => `${type} ${group.device} ${group.rule}`,
      ({ count }) => count,
    ).sort(byName),
  ).toEqual(
    tally(
      operations,
      ({ type, plan }) => `${type} ${plan.preferred} ${plan.rule}`,
      () => 1,
    ).sort(byName),
  );
  const [first] = operations;
  expect(lowering.groups[0]).toMatchObject({ device: first!.plan.preferred, rule: first!.plan.rule });
  const total = sum(operations.map(({ plan }) => plan.costMs));
  const shares = tally(
    lowering.groups,
    (group) => group.device,
    ({ workShare }) => workShare,
  );
  for (const [name, share] of shares) {
    const own = operations.filter(({ plan }) => plan.preferred === name);
    expect(share).toBeCloseTo(total === 0 ? 0 : sum(own.map(({ plan }) => plan.costMs)) / total, 9);
    expect(lowering.follows).toContain(shares.length === 1 ? `All ${own.length} operations` : `${own.length} `);
  }
  // Each reason is said of its operation, by its name or as one of several.
  for (const { type, plan } of operations)
    expect(
      lowering.groups.some(
        (group) =>
          group.operations.some((each) => each.type === type) &&
          group.reason.replace(/(any|each) of them/, type) === plan.reason,
      ),
    ).toBe(true);
  const most = Math.max(...operations.map(({ plan }) => plan.costMs));
  expect(operations.find(({ plan }) => plan.costMs === most)?.plan.preferred).toBe(device);
}

/** How many ops of the route are several operations, and how many of these in more than one place. */
function compare(route: Route): { several: number; apart: number } {
  const seen = { several: 0, apart: 0 };
  route.graph.nodes.forEach((node, id) => {
    const operations = isLeaf(node) ? [] : operationsOf(route, id);
    const lowering = route.lowerings[route.nodes.lowering[id]!]!;
    if (operations.length < 2) {
      expect(lowering.operations).toBe(0);
      return;
    }
    seen.several++;
    if (new Set(operations.map(({ plan }) => plan.preferred)).size > 1) seen.apart++;
    check(lowering, operations, ROUTE_DEVICES[route.nodes.device[id]!]);
  });
  return seen;
}

const CASES: readonly (readonly [string, Graph])[] = [
  ["llama", finish(specialize(opTable, tinyModel("llama"), { T: 1, R: 1 }))],
  ["qwen3, four tokens", finish(specialize(opTable, tinyModel("qwen3"), { T: 4, R: 1 }))],
  ["the demo graph, in several parts", demoGraph()],
];

describe("what ops become", () => {
  it.each(CASES)("is what the program has of them: %s", (_, graph) => {
    for (const { id: units } of UNITS)
      expect(compare(routeFor(graph, { units, profile: "ane", context: 16 })).several).toBeGreaterThan(0);
  });

  it("is what the program has of them: random graphs", () => {
    let several = 0;
    for (let seed = 0; seed < 100; seed++) {
      const { id: units } = UNITS[seed % UNITS.length]!;
      several += compare(routeFor(randomCase(seed).graph, { units, profile: "ane", context: 16 })).several;
    }
    expect(several).toBeGreaterThan(20);
  });

  it("says of each part where it runs, where an op is wide enough to run in several places", () => {
    const route = routeFor(wideDecoder(), { units: "cpu-ane", profile: "ane", context: WIDE.context });
    expect(compare(route).apart).toBe(3);
    const spread = route.graph.nodes.flatMap(({ op }, id) => {
      const { groups } = route.lowerings[route.nodes.lowering[id]!]!;
      return new Set(groups.map(({ device }) => device)).size > 1 ? [{ op, id }] : [];
    });
    expect(spread.map(({ op }) => op)).toEqual(["rms_norm", "attention_cached", "rms_norm"]);
    const { follows, groups } = route.lowerings[route.nodes.lowering[spread[0]!.id]!]!;
    expect(groups.map(({ operations, device, rule, reason }) => [operations.length, device, rule, reason])).toEqual([
      [
        8,
        "cpu",
        "island",
        "The Neural Engine could run each of them, but going there and back would take longer than it saves.",
      ],
      [1, "ane", "ane-eligible", "Nothing keeps mul off the Neural Engine."],
    ]);
    expect(groups[1]?.operations).toEqual([{ type: "mul", count: 2 }]);
    expect(follows).toMatch(
      /^10 of 12 operations are predicted on the CPU, 2 on the Neural Engine\. The op counts for the CPU: its heaviest operation is there, mul, \d\d % of its work\.$/,
    );
  });

  it("is said once for all that are alike", () => {
    const lowerings = (layers: number): readonly Lowering[] => {
      const graph = finish(specialize(opTable, tinyModel("llama", layers), { T: 1, R: 1 }));
      return routeFor(graph, { units: "all", profile: "ane", context: 16 }).lowerings;
    };
    const many = lowerings(9);
    expect(many.length).toBe(lowerings(3).length);
    expect(new Set(many.map((each) => JSON.stringify(each))).size).toBe(many.length);
  });
});
