/** Routes of an open model: the legal graph of a target and phase, its MIL, and where CoreML is predicted to run it. */
import type { CoremlEntry } from "../../backends/coreml/hybrid/loweredGraph.ts";
import type { Route } from "../../backends/coreml/hybrid/route.ts";
import { routeGraph } from "../../backends/coreml/hybrid/route.ts";
import type { PlanTarget } from "../../backends/coreml/plan/target.ts";
import { resolveTarget } from "../../backends/coreml/plan/target.ts";
import type { Legalised } from "../../compiler/legalise.ts";
import { legalise } from "../../compiler/legalise.ts";
import type { Phase, TargetSpec } from "../../contract/views/common.ts";
import type { Graph } from "../../ir/graph.ts";
import { opOf, opTable } from "../../ops/index.ts";
import { optimizedGraph } from "./graphs.ts";
import type { OpenModel } from "./openModel.ts";

export const coremlEntry = (op: string): CoremlEntry | undefined => opOf(op)?.backends.coreml;

/** A model's own context bounds what a target may ask for. */
export function planTarget(model: OpenModel, target: TargetSpec, phase: Phase): PlanTarget {
  const trained = model.file ? (model.description.context ?? target.context) : target.context;
  return resolveTarget({ ...target, context: Math.min(target.context, trained) }, phase);
}

const keyOf = (target: PlanTarget): string =>
  [target.chip, target.os, target.units, target.profile, target.context, target.phase].join(" ");

export function legalisedFor(model: OpenModel, target: PlanTarget): Legalised {
  return model.cached(`legal ${target.phase} ${target.context}`, () =>
    legalise(optimizedGraph(model, target.phase, target.context), "coreml"),
  );
}

export function legalGraph(model: OpenModel, target: TargetSpec, phase: Phase): Graph {
  return legalisedFor(model, planTarget(model, target, phase)).graph;
}

export function routeOf(model: OpenModel, target: TargetSpec, phase: Phase): Route {
  const plan = planTarget(model, target, phase);
  return model.cached(`route ${keyOf(plan)}`, () =>
    routeGraph(legalisedFor(model, plan).graph, {
      table: opTable,
      entries: coremlEntry,
      target: plan,
      functionName: phase,
    }),
  );
}
