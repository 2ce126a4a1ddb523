// What a node became is found by lists that are made once: the same as a walk through the whole program.
import { describe, expect, it } from "vitest";
import type { Route } from "../../backends/coreml/hybrid/route.ts";
import { specialize } from "../../ir/specialize.ts";
import { finish } from "../../ir/steps.ts";
import { opTable } from "../../ops/index.ts";
import { routeFor } from "../../testing/routes.ts";
import { tinyModel } from "../../testing/tinyModels.ts";
import { operationsOf } from "./nodeOperations.ts";

/** Every operation of the program whose origins name the node, with its place. */
function walked(route: Route, node: number): readonly { readonly place: number; readonly type: string }[] {
  const found: { place: number; type: string }[] = [];
  let place = 0;
  for (const { part, mil } of route.functions.values())
    for (const { origins, type } of mil.operations) {
      if (origins.some((own) => part.origin[own] === node)) found.push({ place, type });
      place++;
    }
  return found;
}

describe("operations of a node", () => {
  const graph = finish(specialize(opTable, tinyModel("llama", 2), { T: 1, R: 1 }));
  it.each(["ane", "gpu"] as const)("are those of a walk through a program for the %s profile", (profile) => {
    const route = routeFor(graph, { units: "all", profile, context: 16 });
    let planned = 0;
    for (const { id } of route.graph.nodes) {
      const all = walked(route, id);
      const found = operationsOf(route, id);
      const shown = all.filter(({ type }) => type !== "const");
      expect(found.operations.map(({ place, operation }) => ({ place, type: operation.type }))).toEqual(shown);
      const runs = shown.filter(({ type }) => !type.startsWith("constexpr_"));
      expect(found.planned.map(({ type }) => type)).toEqual(runs.map(({ type }) => type));
      planned += found.planned.length;
    }
    expect(planned).toBeGreaterThan(route.graph.nodes.length / 2);
  });
});
