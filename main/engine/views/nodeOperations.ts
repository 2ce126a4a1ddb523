/**
 * What the nodes of a route became: the MIL operations of each, and what the plan says of them. Made once for a route: a look
 * at one node of a large graph then walks through the operations of that node, and not through those of all.
 */
import type { Route } from "../../backends/coreml/hybrid/route.ts";
import type { FunctionPlan } from "../../backends/coreml/plan/predict.ts";

type Program = NonNullable<Route["lowered"]>;
type MilOperation = Program["functions"][number]["mil"]["operations"][number];
type PlannedOperation = FunctionPlan["ops"][number];

/** An operation with its place in the program. */
interface Placed {
  readonly place: number;
  readonly operation: MilOperation;
}

interface NodeOperations {
  /** Without constants, in the order of the program. */
  readonly operations: readonly Placed[];
  readonly planned: readonly { readonly plan: PlannedOperation; readonly type: string }[];
}

interface Gathered {
  readonly operations: Placed[];
  readonly planned: { readonly plan: PlannedOperation; readonly type: string }[];
}

const NOTHING: NodeOperations = { operations: [], planned: [] };
const known = new WeakMap<Route, ReadonlyMap<number, NodeOperations>>();

export function operationsOf(route: Route, node: number): NodeOperations {
  const made = known.get(route) ?? gathered(route);
  known.set(route, made);
  return made.get(node) ?? NOTHING;
}

function gathered({ functionNames, lowered, parts, plans }: Route): ReadonlyMap<number, NodeOperations> {
  const nodes = new Map<number, Gathered>();
  const functions = new Map((lowered?.functions ?? []).map(({ mil }) => [mil.name, mil.operations]));
  let place = 0;
  for (const [part, name] of functionNames) {
    const origin = parts[part]?.origin;
    const operations = functions.get(name) ?? [];
    const plan = plans.get(part);
    const planOf = new Map<number, PlannedOperation>();
    plan?.ops.forEach((op, i) => planOf.set(plan.operations[i] ?? -1, op));
    for (const [at, operation] of operations.entries()) {
      place++;
      const planned = planOf.get(at);
      // Several origins of an operation may be one node here.
      for (const node of new Set(operation.origins.map((own) => origin?.[own] ?? -1))) {
        const own = nodes.get(node) ?? { operations: [], planned: [] };
        nodes.set(node, own);
        if (operation.type !== "const") own.operations.push({ place, operation });
        if (planned !== undefined) own.planned.push({ plan: planned, type: operation.type });
      }
    }
  }
  return nodes;
}
