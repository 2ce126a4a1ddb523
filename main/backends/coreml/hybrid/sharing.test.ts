// What is shared must not show: facts per kind of operator, MIL lowered once for several systems, parts of one graph for all
// targets. On random graphs and models the route is the one that is worked out for itself.
import { describe, expect, it } from "vitest";
import { legalise } from "../../../compiler/legalise.ts";
import type { Graph } from "../../../ir/graph.ts";
import { isLeaf } from "../../../ir/graph.ts";
import { specialize } from "../../../ir/specialize.ts";
import { finish } from "../../../ir/steps.ts";
import { demoGraph } from "../../../models/demo.ts";
import { opOf, opTable } from "../../../ops/index.ts";
import { randomCase } from "../../../testing/randomGraphs.ts";
import { tinyModel } from "../../../testing/tinyModels.ts";
import { oldestEqualOpset } from "../mil/opTable.ts";
import type { PlanTarget } from "../plan/target.ts";
import { CHIPS, systemOf, SYSTEMS, UNITS } from "../plan/target.ts";
import type { EntryOf, LoweredGraph } from "./loweredGraph.ts";
import { lowerGraph, withOpset } from "./loweredGraph.ts";
import type { Route } from "./route.ts";
import { routeGraph, routeLowered } from "./route.ts";

const entries: EntryOf = (op) => opOf(op)?.backends.coreml;
const legal = (graph: Graph): Graph => finish(legalise(graph, "coreml")).graph;
/** How a plan says which of its operators are alike is the one thing that sharing may change. */
const report = (route: Route) => ({
  ...route,
  // Facts are shared by kinds, or each operator has its own.
  functions: null,
  plans: new Map([...route.plans].map(([part, plan]) => [part, { ...plan, distinct: null, which: null }])),
});
const alone = (graph: Graph, target: PlanTarget) =>
  routeGraph(graph, { table: opTable, entries, target, share: false });

/** Every chip, system, units and profile there is, where they go together. */
const TARGETS: readonly PlanTarget[] = (["ane", "gpu", "exact"] as const).flatMap((profile) =>
  SYSTEMS.filter((os) => os.opset !== "CoreML7" || profile === "ane").flatMap((os) =>
    CHIPS.flatMap((chip) =>
      UNITS.map((units): PlanTarget => ({
        chip: chip.id,
        os: os.id,
        units: units.id,
        profile,
        context: 16,
        phase: "decode",
      })),
    ),
  ),
);

/** As the engine keeps it: one lowering for a profile and all systems with the same operators. */
function shared(graph: Graph): (target: PlanTarget) => Route {
  const made = new Map<string, LoweredGraph>();
  return (target) => {
    const { opset } = systemOf(target.os);
    const key = `${target.profile} ${oldestEqualOpset(opset)}`;
    const lowered =
      made.get(key) ??
      finish(lowerGraph(graph, { table: opTable, entries, profile: target.profile, opset: oldestEqualOpset(opset) }));
    made.set(key, lowered);
    return finish(routeLowered(withOpset(lowered, opset), target));
  };
}

const MODELS: readonly (readonly [string, Graph])[] = [
  ["demo graph", demoGraph()],
  ...(["llama", "qwen2", "qwen3"] as const).flatMap((family) =>
    [1, 4].map((tokens): readonly [string, Graph] => [
      `${family}, ${tokens} tokens`,
      finish(specialize(opTable, tinyModel(family, 2), { T: tokens, R: 1 })),
    ]),
  ),
];

describe("routes from shared parts", () => {
  // Twenty targets each, other ones for every model: together all of them.
  for (const [m, [name, graph]] of MODELS.entries())
    it(`${name}: equal to routes worked out alone`, () => {
      const whole = legal(graph);
      const route = shared(whole);
      const some = TARGETS.filter((_, i) => i % MODELS.length === m);
      expect(some).toHaveLength(20);
      for (const target of some) expect(report(route(target))).toEqual(report(alone(whole, target)));
    });

  // Ten tests of twenty graphs, half a second of work each, so that no busy machine brings one near the limit of a test.
  for (let first = 0; first < 200; first += 20)
    it(`random graphs ${first} to ${first + 19}: equal for targets in any order`, () => {
      for (let seed = first; seed < first + 20; seed++) {
        const whole = legal(randomCase(seed).graph);
        const route = shared(whole);
        for (let i = 0; i < 2; i++) {
          const target = TARGETS[(seed * 31 + i * 47) % TARGETS.length] ?? TARGETS[0];
          if (target !== undefined) expect(report(route(target))).toEqual(report(alone(whole, target)));
        }
      }
    });

  it("every op has a reason, also one that Core ML needs no operation for", () => {
    const whole = legal(finish(specialize(opTable, tinyModel("qwen3", 3), { T: 1, R: 1 })));
    const { graph, nodes, verdicts } = alone(whole, TARGETS[0]!);
    const reasonOf = (id: number): string => verdicts[nodes.verdict[id] ?? 0]?.reason ?? "";
    const working = graph.nodes.filter((node) => !isLeaf(node));
    expect(working.filter(({ id }) => reasonOf(id).length < 10).map(({ op }) => op)).toEqual([]);
    // The angles that every block reads are brought into shape once.
    const without = working.filter(({ id }) => nodes.device[id] === 0);
    expect(without.map(({ op }) => op)).toContain("reshape");
    for (const { id } of without) expect(reasonOf(id)).toContain("an equal operation before it");
  });

  it("a model of 12 blocks, node by node or by kinds: one program", () => {
    const graph = legal(finish(specialize(opTable, tinyModel("llama", 12), { T: 1, R: 1 })));
    for (const profile of ["ane", "gpu"] as const) {
      const lower = (share: boolean) =>
        finish(lowerGraph(graph, { table: opTable, entries, profile, opset: "CoreML8", share }));
      const [byKinds, byNode] = [lower(true), lower(false)];
      expect(byKinds.lowered?.program).toEqual(byNode.lowered?.program);
      expect(byKinds.lowered?.functions).toEqual(byNode.lowered?.functions);
    }
  });

  it("repeated blocks are few kinds", () => {
    const kinds = (layers: number): number => {
      const graph = legal(finish(specialize(opTable, tinyModel("llama", layers), { T: 1, R: 1 })));
      const made = finish(lowerGraph(graph, { table: opTable, entries, profile: "ane", opset: "CoreML8" }));
      return made.functions.get(0)?.facts.kinds.length ?? 0;
    };
    expect(kinds(3)).toBeGreaterThan(10);
    expect(kinds(24)).toBe(kinds(3));
  });
});

describe("systems with the same operators", () => {
  it("macOS 26 has those of macOS 15, macOS 14 its own", () => {
    expect(oldestEqualOpset("CoreML9")).toBe("CoreML8");
    expect(oldestEqualOpset("CoreML8")).toBe("CoreML8");
    expect(oldestEqualOpset("CoreML7")).toBe("CoreML7");
  });

  it("a program for one differs from a program for the other in the name of the set only", () => {
    for (const [, graph] of MODELS)
      for (const profile of ["ane", "gpu", "exact"] as const) {
        const whole = legal(graph);
        const lower = (opset: "CoreML8" | "CoreML9") =>
          finish(lowerGraph(whole, { table: opTable, entries, profile, opset }));
        const [older, newer] = [lower("CoreML8"), lower("CoreML9")];
        const renamed = withOpset(older, "CoreML9");
        expect(renamed.lowered?.opset).toBe("CoreML9");
        expect(renamed.lowered?.program).toEqual(newer.lowered?.program);
        expect(renamed.lowered?.functions).toEqual(newer.lowered?.functions);
        expect(renamed.functions).toEqual(newer.functions);
        // The one that is shared stays what it was.
        expect(older.lowered?.program.functions.every((f) => f.opset === "CoreML8")).toBe(true);
      }
  });
});
