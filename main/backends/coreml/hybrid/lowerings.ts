/**
 * What an op of the graph becomes in the program: most become one operation, a normalisation a dozen. Each operation is placed by
 * itself, so an op may run in several places; it counts for one device, that of its heaviest operation. Ops whose operations agree
 * in kind and device share one description: blocks repeat, so there are few.
 */
import { Sequences } from "../../../ir/numbering.ts";
import { DEVICE_NAMES } from "../plan/placement.ts";
import type { PlacedDevice } from "../plan/placement.ts";
import type { FunctionPlan, OpPlan } from "../plan/predict.ts";
import type { RuleId } from "../plan/rules.ts";
import type { LoweredPart } from "./loweredGraph.ts";

/** Operations of one op that run on one device for one reason. */
export interface OperationGroup {
  readonly operations: readonly { readonly type: string; readonly count: number }[];
  readonly device: PlacedDevice;
  readonly rule: RuleId;
  readonly reason: string;
  /** Of the estimated work of the op, 0..1. */
  readonly workShare: number;
}

export interface Lowering {
  readonly operations: number;
  readonly groups: readonly OperationGroup[];
  /** How the op's own device follows from theirs. */
  readonly follows: string;
}

/** Of an op that is one operation or none: its own verdict says it all. */
export const NOT_SEVERAL: Lowering = { operations: 0, groups: [], follows: "" };

/** An operation as far as it matters here. */
interface Placed {
  readonly type: string;
  readonly plan: OpPlan;
}

/** Of all nodes of a graph, filled part by part. */
export class Lowerings {
  /** The first is that of nodes that are one operation at most. */
  readonly list: Lowering[] = [NOT_SEVERAL];
  /** By node, its place in the list. */
  readonly column: Uint32Array;
  /** By node, its operations so far: a node belongs to one part, which numbers its own lists. */
  readonly #made: Uint32Array;
  /** Different kinds of operations may be described alike. */
  readonly #places = new Map<string, number>();

  constructor(nodes: number) {
    this.column = new Uint32Array(nodes);
    this.#made = new Uint32Array(nodes);
  }

  add({ part, facts, nodeStart, nodes }: LoweredPart, { distinct, which }: FunctionPlan): void {
    const types: string[] = [];
    for (let i = 0; i < which.length; i++)
      types[which[i] as number] ??= facts.kinds[facts.kindOf[i] as number]?.type ?? "";
    const prefixes = new Prefixes();
    for (let i = 0; i < which.length; i++)
      for (let n = nodeStart[i] as number; n < (nodeStart[i + 1] as number); n++) {
        const node = nodes[n] as number;
        this.#made[node] = prefixes.add(this.#made[node] as number, which[i] as number);
      }
    const places = new Map<number, number>();
    for (const node of part.nodes) {
      const prefix = this.#made[node] as number;
      const place = places.get(prefix) ?? this.#placeOf(placed(prefixes.list(prefix), types, distinct));
      places.set(prefix, place);
      this.column[node] = place;
    }
  }

  #placeOf(operations: readonly Placed[]): number {
    if (operations.length < 2) return 0;
    const lowering = loweringOf(operations);
    const text = JSON.stringify(lowering);
    const place = this.#places.get(text) ?? this.list.push(lowering) - 1;
    this.#places.set(text, place);
    return place;
  }
}

const placed = (ops: readonly number[], types: readonly string[], plans: readonly OpPlan[]): readonly Placed[] =>
  ops.flatMap((op): Placed[] => {
    const plan = plans[op];
    return plan === undefined ? [] : [{ type: types[op] ?? "", plan }];
  });

/** Lists that grow at their end: equal ones are one number, 0 is the empty one. */
class Prefixes {
  readonly #sequences = new Sequences();
  readonly #before: number[] = [0];
  readonly #last: number[] = [-1];
  /** What a list was made longer with last: most are made longer with nothing else, and need not be looked up. */
  readonly #grown: number[] = [];

  add(prefix: number, item: number): number {
    const known = this.#grown[prefix];
    if (known !== undefined && this.#last[known] === item) return known;
    const longer = this.#sequences.step(prefix, item);
    this.#before[longer] = prefix;
    this.#last[longer] = item;
    this.#grown[prefix] = longer;
    return longer;
  }

  list(prefix: number): readonly number[] {
    const items: number[] = [];
    for (let at = prefix; at > 0; at = this.#before[at] as number) items.push(this.#last[at] as number);
    return items.reverse();
  }
}

function loweringOf(operations: readonly Placed[]): Lowering {
  const total = operations.reduce((sum, { plan }) => sum + plan.costMs, 0);
  const alike = groupBy(operations, ({ type, plan }) => `${plan.preferred} ${plan.rule} ${saidOf(type, plan)}`);
  const groups = [...alike.values()].map((group): OperationGroup => {
    const byType = groupBy(group, ({ type }) => type);
    const { type, plan } = group[0] as Placed;
    return {
      operations: [...byType].map(([name, same]) => ({ type: name, count: same.length })),
      device: plan.preferred,
      rule: plan.rule,
      reason: byType.size === 1 ? plan.reason : saidOf(type, plan),
      workShare: total === 0 ? 0 : group.reduce((sum, each) => sum + each.plan.costMs, 0) / total,
    };
  });
  return { operations: operations.length, groups, follows: followsFrom(operations, total) };
}

/** How a reason that names its operation speaks of several. */
const SEVERAL: { readonly [R in RuleId]?: string } = { "ane-eligible": "any of them", island: "each of them" };

function saidOf(type: string, { rule, reason }: OpPlan): string {
  const several = SEVERAL[rule];
  return several === undefined ? reason : reason.replace(new RegExp(`\\b${type}\\b`, "u"), several);
}

/** The same choice that makes the column of devices: the heaviest operation, of equal ones the first. */
function followsFrom(operations: readonly Placed[], total: number): string {
  const byDevice = groupBy(operations, ({ plan }) => plan.preferred);
  const heaviest = operations.reduce((best, each) => (each.plan.costMs > best.plan.costMs ? each : best));
  const own = DEVICE_NAMES[heaviest.plan.preferred];
  if (byDevice.size === 1) return `All ${operations.length} operations are predicted on the ${own}, and so is the op.`;
  const places = [...byDevice].map(([device, on], i) =>
    i === 0
      ? `${on.length} of ${operations.length} operations are predicted on the ${DEVICE_NAMES[device]}`
      : `${on.length} on the ${DEVICE_NAMES[device]}`,
  );
  const why =
    total === 0
      ? `none is estimated to be any work, so the first one decides, ${heaviest.type}`
      : `its heaviest operation is there, ${heaviest.type}, ${percent(heaviest.plan.costMs / total)} of its work`;
  return `${places.join(", ")}. The op counts for the ${own}: ${why}.`;
}

function groupBy<T, K>(things: readonly T[], keyOf: (thing: T) => K): ReadonlyMap<K, readonly T[]> {
  const groups = new Map<K, T[]>();
  for (const thing of things) {
    const key = keyOf(thing);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [thing]);
    else group.push(thing);
  }
  return groups;
}

const percent = (share: number): string => `${Math.round(share * 100)} %`;
