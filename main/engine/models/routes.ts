/**
 * Routes of an open model: the legal graph of a phase, its MIL, and where Core ML is predicted to run it. The MIL depends on the
 * profile and the operator set; another chip or other units with the same profile only place its operators again.
 */
import type { LoweredGraph } from "../../backends/coreml/hybrid/loweredGraph.ts";
import { lowerGraph, withOpset } from "../../backends/coreml/hybrid/loweredGraph.ts";
import type { Route } from "../../backends/coreml/hybrid/route.ts";
import { routeLowered } from "../../backends/coreml/hybrid/route.ts";
import { oldestEqualOpset } from "../../backends/coreml/mil/opTable.ts";
import { leversOf, leversText } from "../../backends/coreml/levers.ts";
import type { PlanTarget } from "../../backends/coreml/plan/target.ts";
import { graphTargetTitle, resolveTarget, systemOf } from "../../backends/coreml/plan/target.ts";
import type { Phase, TargetSpec } from "../../contract/views/common.ts";
import type { Graph } from "../../ir/graph.ts";
import { opTable } from "../../ops/index.ts";
import { legalFor } from "./graphs.ts";
import type { OpenModel } from "./openModel.ts";
import { coremlEntry } from "./packageRequest.ts";
import type { TaskKind } from "./taskCache.ts";
import { inSlices, tasksOf } from "./taskCache.ts";

const LOWERED: TaskKind<LoweredGraph> = { name: "lowered", keep: 4 };
const ROUTE: TaskKind<Route> = { name: "route", keep: 4 };

/** A model's own context bounds what a target may ask for. */
export function planTarget(model: OpenModel, target: TargetSpec, phase: Phase): PlanTarget {
  const trained = model.file ? (model.description.context ?? target.context) : target.context;
  return resolveTarget({ ...target, context: Math.min(target.context, trained) }, phase);
}

export async function legalGraph(
  model: OpenModel,
  target: TargetSpec,
  phase: Phase,
  signal: AbortSignal,
): Promise<Graph> {
  return (await legalFor(model, phase, planTarget(model, target, phase).context, signal)).graph;
}

async function loweredFor(model: OpenModel, target: PlanTarget, signal: AbortSignal): Promise<LoweredGraph> {
  const { profile, phase, context } = target;
  const { opset } = systemOf(target.os);
  const oldest = oldestEqualOpset(opset);
  const levers = leversOf(target);
  const key = [profile, oldest, phase, context, leversText(levers)].join(" ");
  const lowered = await tasksOf(model).get(LOWERED, key, signal, async (own) => {
    const { graph } = await legalFor(model, phase, context, own);
    return inSlices(
      lowerGraph(graph, { table: opTable, entries: coremlEntry, profile, opset: oldest, functionName: phase, levers }),
      own,
    );
  });
  return withOpset(lowered, opset);
}

export function routeOf(model: OpenModel, target: TargetSpec, phase: Phase, signal: AbortSignal): Promise<Route> {
  const plan = planTarget(model, target, phase);
  const { chip, os, units, profile, context } = plan;
  const key = [chip, os, units, profile, context, phase, leversText(leversOf(plan))].join(" ");
  return tasksOf(model).get(ROUTE, key, signal, async (own) => {
    const route = await inSlices(routeLowered(await loweredFor(model, plan, own), plan), own);
    return model.isGraphAlone ? { ...route, title: graphTargetTitle(plan) } : route;
  });
}
