/**
 * Apple's compute plan laid over our route: operators are joined by the name of their first output, which our MIL and the plan
 * share. Says what was joined, where prediction and plan agree, and where they differ first.
 */
import type { Route } from "../../../backends/coreml/hybrid/route.ts";
import type { CoremlPlan, CoremlPlannedOp } from "./native.ts";

export type PlacedOn = "ane" | "gpu" | "cpu";

export interface JoinedOp {
  /** Node of the legal graph that the operator computes; the first of several; -1: none (a cast). */
  readonly node: number;
  readonly op: string;
  readonly output: string;
  readonly predicted: PlacedOn;
  /** Undefined where the system says nothing. */
  readonly planned: PlacedOn | undefined;
  readonly supported: readonly PlacedOn[];
  /** Share of the whole; 0 when the system does not say. */
  readonly cost: number;
  readonly rule: string;
  readonly reason: string;
}

export interface JoinedPlan {
  readonly ops: readonly JoinedOp[];
  /** Our operators that the plan lacks: folded away or renamed. */
  readonly missing: readonly string[];
  readonly agreeing: number;
  readonly firstDifference: JoinedOp | undefined;
  /** By the plan's costs, or by operator counts where it gives none. */
  readonly shares: Readonly<Record<PlacedOn, number>>;
}

const keyOf = (functionName: string, output: string): string => `${functionName}\n${output}`;

export function joinPlan(route: Route, plan: CoremlPlan): JoinedPlan {
  const planned = new Map<string, CoremlPlannedOp>();
  for (const op of plan.ops) planned.set(keyOf(op.function, op.output), op);
  const functions = new Set(plan.ops.map((op) => op.function));
  // A package with one function calls it main.
  const only = functions.size === 1 ? [...functions][0] : undefined;
  const ops: JoinedOp[] = [];
  const missing: string[] = [];
  for (const [i, part] of route.parts.filter((one) => one.side === "coreml").entries()) {
    const mil = route.lowered?.functions[i]?.mil;
    const predicted = route.plans.get(part.index);
    if (mil === undefined || predicted === undefined) continue;
    predicted.ops.forEach((own, k) => {
      const operation = mil.operations[predicted.operations[k] ?? -1];
      const output = operation?.outputs[0]?.name;
      if (operation === undefined || output === undefined) return;
      const found = planned.get(keyOf(only ?? mil.name, output));
      if (found === undefined) return void missing.push(output);
      ops.push({
        node: part.origin[operation.origins[0] ?? -1] ?? -1,
        op: operation.type,
        output,
        predicted: own.preferred,
        planned: found.preferred === "" ? undefined : found.preferred,
        supported: found.supported,
        cost: Math.max(0, found.cost),
        rule: own.rule,
        reason: own.reason,
      });
    });
  }
  const told = ops.filter((op) => op.planned !== undefined);
  const hasCosts = told.some((op) => op.cost > 0);
  const weightOf = (op: JoinedOp): number => (hasCosts ? op.cost : 1);
  const total = told.reduce((sum, op) => sum + weightOf(op), 0);
  const share = (device: PlacedOn): number =>
    total === 0 ? 0 : told.filter((op) => op.planned === device).reduce((sum, op) => sum + weightOf(op), 0) / total;
  return {
    ops,
    missing,
    agreeing: told.filter((op) => op.planned === op.predicted).length,
    firstDifference: told.find((op) => op.planned !== op.predicted),
    shares: { ane: share("ane"), gpu: share("gpu"), cpu: share("cpu") },
  };
}
