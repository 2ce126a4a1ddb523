/**
 * The route of a graph for a target: parts (Core ML functions and host code), the MIL of the Core ML parts with their predicted
 * plans, and from these the ordered segments with the hops between them. The runner, the exporter and every view read this
 * value. What two targets have in common (`lowerGraph`) is made once.
 */
import type { Graph } from "../../../ir/graph.ts";
import type { OpTable } from "../../../ir/opTable.ts";
import { finish } from "../../../ir/steps.ts";
import type { Steps } from "../../../ir/steps.ts";
import type { LoweredProgram } from "../lowering/lower.ts";
import { leversOf } from "../levers.ts";
import type { FunctionPlan } from "../plan/predict.ts";
import { planOf } from "../plan/predict.ts";
import type { PlanTarget } from "../plan/target.ts";
import { systemOf, targetTitle } from "../plan/target.ts";
import type { SmallParts } from "../weights/plan.ts";
import type { EntryOf, LoweredGraph } from "./loweredGraph.ts";
import { lowerGraph } from "./loweredGraph.ts";
import type { Part } from "./partition.ts";
import type { RouteColumns } from "./segments.ts";
import { routeColumns } from "./segments.ts";

export interface RouteOptions {
  readonly table: OpTable;
  readonly entries: EntryOf;
  readonly target: PlanTarget;
  /** Name of the function when the whole graph is one: "decode", "prefill". */
  readonly functionName?: string;
  readonly folds?: ReadonlyMap<string, number>;
  readonly small?: SmallParts;
  readonly share?: boolean;
}

export interface Route extends RouteColumns {
  readonly truth: "predicted";
  readonly target: PlanTarget;
  readonly title: string;
  readonly graph: Graph;
  readonly parts: readonly Part[];
  /** MIL of the Core ML parts, one function each, in order; undefined when there is none. */
  readonly lowered: LoweredProgram | undefined;
  /** Plan of each Core ML part by part index. */
  readonly plans: ReadonlyMap<number, FunctionPlan>;
  /** MIL function of a Core ML part by part index. */
  readonly functionNames: ReadonlyMap<number, string>;
  /** Of each Core ML part: its operators with their facts, and the nodes that they compute. */
  readonly functions: LoweredGraph["functions"];
}

export function routeGraph(graph: Graph, { target, ...options }: RouteOptions): Route {
  const levers = leversOf(target);
  const made = lowerGraph(graph, { ...options, profile: target.profile, opset: systemOf(target.os).opset, levers });
  return finish(routeLowered(finish(made), target));
}

/** The route of a lowered graph; its profile and operator set must be the target's. */
export function* routeLowered(made: LoweredGraph, target: PlanTarget): Steps<Route> {
  const { graph, parts, lowered, functionNames } = made;
  const plans = new Map<number, FunctionPlan>();
  for (const [index, { facts }] of made.functions) {
    yield;
    plans.set(index, planOf(facts, target));
  }
  yield;
  const columns = yield* routeColumns(made, plans);
  return {
    truth: "predicted",
    target,
    title: targetTitle(target),
    graph,
    parts,
    lowered,
    plans,
    functionNames,
    functions: made.functions,
    ...columns,
  };
}
