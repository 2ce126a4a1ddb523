/** Routes for tests: a graph legalised for Core ML and placed on a Mac with a few given facts. */
import { finish } from "../ir/steps.ts";
import type { Route } from "../backends/coreml/hybrid/route.ts";
import { routeGraph } from "../backends/coreml/hybrid/route.ts";
import type { PlanTarget } from "../backends/coreml/plan/target.ts";
import { legalise } from "../compiler/legalise.ts";
import type { Graph } from "../ir/graph.ts";
import { coremlEntry } from "../engine/models/packageRequest.ts";
import { opTable } from "../ops/index.ts";

type Named = Pick<PlanTarget, "units" | "profile" | "context" | "options">;

export const routeFor = (graph: Graph, target: Named): Route =>
  routeGraph(finish(legalise(graph, "coreml")).graph, {
    table: opTable,
    entries: coremlEntry,
    target: { chip: "m4", os: "macos15", phase: "decode", ...target },
  });
