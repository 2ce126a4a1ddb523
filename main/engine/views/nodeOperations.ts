/**
 * What a node of a route became: its MIL operations, and what the plan says of them. The lists are made once for a program, which
 * targets share: a look at one node of a large graph then walks through the operations of that node, and not through those of all.
 */
import type { LoweredPart } from "../../backends/coreml/hybrid/loweredGraph.ts";
import type { Route } from "../../backends/coreml/hybrid/route.ts";
import type { FunctionPlan } from "../../backends/coreml/plan/predict.ts";

type MilOperation = LoweredPart["mil"]["operations"][number];
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

export function operationsOf(route: Route, node: number): NodeOperations {
  const operations: Placed[] = [];
  const planned: { readonly plan: PlannedOperation; readonly type: string }[] = [];
  let before = 0;
  for (const [index, part] of route.functions) {
    const plan = route.plans.get(index);
    for (const at of operationsIn(part, node)) {
      const operation = part.mil.operations[at];
      if (operation === undefined) continue;
      if (operation.type !== "const") operations.push({ place: before + at, operation });
      const own = plan?.ops[placeOf(plan.operations, at)];
      if (own !== undefined) planned.push({ plan: own, type: operation.type });
    }
    before += part.mil.operations.length;
  }
  return { operations, planned };
}

/** Places of the operations of one node of the whole graph, rising. */
function operationsIn({ part, mil }: LoweredPart, node: number): readonly number[] {
  const { start, operations } = byNode(mil.operations, part.graph.nodes.length);
  const found = new Set<number>();
  // Several nodes of a part may be one of the whole graph.
  for (let own = part.origin.indexOf(node); own >= 0; own = part.origin.indexOf(node, own + 1))
    for (let i = start[own] ?? 0; i < (start[own + 1] ?? 0); i++) found.add(operations[i] ?? 0);
  return [...found].sort((a, b) => a - b);
}

/** For each node of a part, its operations: operations[start[node]] … */
interface ByNode {
  readonly start: Uint32Array;
  readonly operations: Uint32Array;
}

/** Copies of a program for other operator sets have the same list. */
const known = new WeakMap<readonly MilOperation[], ByNode>();

function byNode(list: readonly MilOperation[], nodes: number): ByNode {
  const made = known.get(list) ?? listed(list, nodes);
  known.set(list, made);
  return made;
}

function listed(list: readonly MilOperation[], nodes: number): ByNode {
  const start = new Uint32Array(nodes + 1);
  for (const { origins } of list) for (const own of origins) start[own + 1] = (start[own + 1] ?? 0) + 1;
  for (let own = 0; own < nodes; own++) start[own + 1] = (start[own + 1] ?? 0) + (start[own] ?? 0);
  const operations = new Uint32Array(start[nodes] ?? 0);
  const filled = start.slice();
  for (let at = 0; at < list.length; at++)
    for (const own of list[at]?.origins ?? []) {
      const place = filled[own] ?? 0;
      operations[place] = at;
      filled[own] = place + 1;
    }
  return { start, operations };
}

/** Where a number stands in a rising list, or -1. */
function placeOf(list: Uint32Array, wanted: number): number {
  let [low, high] = [0, list.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((list[middle] ?? 0) < wanted) low = middle + 1;
    else high = middle;
  }
  return list[low] === wanted ? low : -1;
}
