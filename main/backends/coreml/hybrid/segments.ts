/** From the plans of the parts to what a route shows: columns over nodes, ordered segments, and the hops between them. */
import type { Graph } from "../../../ir/graph.ts";
import type { Steps } from "../../../ir/steps.ts";
import type { CrossingValue, FunctionPlan } from "../plan/predict.ts";
import type { RuleId } from "../plan/rules.ts";
import { elementCount, packedByteLength } from "../mil/types.ts";
import type { FeatureBinding } from "../lowering/lower.ts";
import { featuresOfRuns } from "./features.ts";
import type { LoweredGraph, LoweredPart } from "./loweredGraph.ts";
import type { Lowering } from "./lowerings.ts";
import { Lowerings } from "./lowerings.ts";
import type { Part } from "./partition.ts";

/** Codes of the device columns; 0 = no work (weights, constants). */
export const ROUTE_DEVICES = ["none", "ane", "gpu", "cpu", "host"] as const;
export type RouteDevice = (typeof ROUTE_DEVICES)[number];

/** A stretch of the program on one device. */
export interface RouteSegment {
  readonly index: number;
  readonly device: Exclude<RouteDevice, "none">;
  /** Which part it belongs to: several segments share one Core ML function. */
  readonly part: number;
  /** "blk.0 … blk.27", or the op for a host part. */
  readonly title: string;
  /** Ids in the whole graph. */
  readonly nodes: readonly number[];
  /** What crosses its borders: values of other segments, those of the call, and caches that a call passes. */
  readonly inputs: readonly string[];
  readonly outputs: readonly string[];
  readonly bytesIn: number;
  readonly bytesOut: number;
  readonly workShare: number;
  readonly why: string;
}

/** Data that crosses from one segment to a later one. */
export interface RouteHop {
  readonly from: number;
  readonly to: number;
  readonly values: number;
  readonly bytes: number;
}

/** Of a node that stands in the graph and not in the program: equal operations are made once, constants are worked out before. */
const NO_OPERATION: Verdict = {
  rule: "no-operation",
  reason:
    "Core ML needs no operation for it: what it gives is a constant, or an equal operation before it gives it already.",
};

/** Why a node is where it is: many nodes have the same. The first one is that of nodes without work. */
export interface Verdict {
  readonly rule: RuleId | "";
  readonly reason: string;
}

export interface RouteColumns {
  readonly segments: readonly RouteSegment[];
  readonly hops: readonly RouteHop[];
  /** Bytes of caches that every call passes in and out, where the program keeps no state. */
  readonly cacheBytes: number;
  /** Columns by node id of the graph; `verdict` and `lowering` are places in the lists below. */
  readonly nodes: {
    readonly device: Uint8Array;
    readonly work: Float32Array;
    readonly verdict: Uint32Array;
    readonly lowering: Uint32Array;
  };
  readonly verdicts: readonly Verdict[];
  /** The first is that of nodes that are one operation at most. */
  readonly lowerings: readonly Lowering[];
  /** Cost of the whole program in the placement model's own milliseconds: for comparing targets. */
  readonly costMs: number;
}

/** CPU rates of the placement model, for host code. */
const HOST_BYTES_PER_MS = 10e6;

/** A segment before shares and names are known. Values are keyed so that MIL names of different parts never meet. */
interface Draft {
  readonly device: Exclude<RouteDevice, "none">;
  readonly part: number;
  readonly nodes: readonly number[];
  /** Nodes that its operators belong to, whatever device these count for; absent where they are its own. */
  readonly about?: readonly number[];
  readonly cost: number;
  readonly inputs: ReadonlyMap<string, CrossingValue>;
  readonly outputs: ReadonlyMap<string, CrossingValue>;
  /** Of these, bytes of caches that a call passes. */
  readonly cacheBytes: number;
  readonly why: string;
}

/** What is known of each node while the parts are walked. */
class NodeColumns {
  readonly device: Uint8Array;
  readonly work: Float32Array;
  readonly verdict: Uint32Array;
  readonly verdicts: Verdict[] = [{ rule: "", reason: "" }];
  readonly lowerings: Lowerings;
  readonly #numbers = new Map<string, number>();
  readonly #heaviest: Float64Array;

  constructor(count: number) {
    this.device = new Uint8Array(count);
    this.work = new Float32Array(count);
    this.verdict = new Uint32Array(count);
    this.lowerings = new Lowerings(count);
    this.#heaviest = new Float64Array(count).fill(-1);
  }

  number({ rule, reason }: Verdict): number {
    const text = `${rule}: ${reason}`;
    const known = this.#numbers.get(text);
    if (known !== undefined) return known;
    this.#numbers.set(text, this.verdicts.length);
    return this.verdicts.push({ rule, reason }) - 1;
  }

  /** A node is where its heaviest operation is. */
  add(id: number, device: number, cost: number, verdict: number): void {
    this.work[id] = (this.work[id] as number) + cost;
    if (cost <= (this.#heaviest[id] as number)) return;
    this.#heaviest[id] = cost;
    this.device[id] = device;
    this.verdict[id] = verdict;
  }
}

const codeOf = (device: RouteDevice): number => ROUTE_DEVICES.indexOf(device);
const valuesByKey = (prefix: string, values: readonly CrossingValue[]): ReadonlyMap<string, CrossingValue> =>
  new Map(values.map((v) => [`${prefix}:${v.name}`, v]));

export function* routeColumns(made: LoweredGraph, plans: ReadonlyMap<number, FunctionPlan>): Steps<RouteColumns> {
  const { graph } = made;
  const columns = new NodeColumns(graph.nodes.length);
  const drafts: Draft[] = [];
  let costMs = 0;
  for (const part of made.parts) {
    const plan = plans.get(part.index);
    const lowered = made.functions.get(part.index);
    if (part.side === "host") drafts.push(hostDraft(part, columns));
    else if (plan !== undefined && lowered !== undefined) {
      costMs += plan.costMs;
      drafts.push(...(yield* coremlDrafts(lowered, plan, columns)));
    }
  }
  costMs += drafts.reduce((sum, d) => sum + (d.device === "host" ? d.cost : 0), 0);
  yield;
  const total = drafts.reduce((sum, d) => sum + d.cost, 0);
  const { device, verdict, verdicts, lowerings } = columns;
  const work = total === 0 ? columns.work : columns.work.map((w) => w / total);
  return {
    segments: drafts.map((d, i) => segmentOf(graph, d, i, total)),
    hops: hopsOf(drafts),
    cacheBytes: drafts.reduce((sum, d) => sum + d.cacheBytes, 0),
    nodes: { device, work, verdict, lowering: lowerings.column },
    verdicts,
    lowerings: lowerings.list,
    costMs,
  };
}

function hostDraft(part: Part, columns: NodeColumns): Draft {
  const cost = (part.bytesIn + part.bytesOut) / HOST_BYTES_PER_MS;
  const verdict = columns.number({ rule: "host", reason: part.why });
  for (const id of part.nodes) columns.add(id, codeOf("host"), cost / part.nodes.length, verdict);
  return {
    device: "host",
    part: part.index,
    nodes: part.nodes,
    cost,
    inputs: valuesByKey("part", part.inputs),
    outputs: valuesByKey("part", part.outputs),
    cacheBytes: 0,
    why: part.why,
  };
}

/** One draft per run of the plan: each takes and gives what its operations read and make. */
function* coremlDrafts(lowered: LoweredPart, plan: FunctionPlan, columns: NodeColumns): Steps<readonly Draft[]> {
  const { part, bindings, facts, nodeStart, nodes } = lowered;
  const { distinct, which } = plan;
  const verdicts = Uint32Array.from(distinct, (op) => columns.number(op));
  const costs = Float64Array.from(distinct, (op) => op.costMs);
  const devices = Uint8Array.from(distinct, (op) => codeOf(op.preferred));
  for (let i = 0; i < which.length; i++) {
    const op = which[i] as number;
    for (let n = nodeStart[i] as number; n < (nodeStart[i + 1] as number); n++)
      columns.add(nodes[n] as number, devices[op] as number, costs[op] as number, verdicts[op] as number);
  }
  for (const id of part.nodes) if (columns.device[id] === 0) columns.verdict[id] = columns.number(NO_OPERATION);
  yield;
  columns.lowerings.add(lowered, plan);
  yield;
  const [key, call] = [`mil${part.index}`, `call${part.index}`];
  const features = featuresOfRuns(bindings, facts, plan.runs);
  yield;
  /** The run that listed a node last. */
  const listed = new Int32Array(columns.device.length).fill(-1);
  return plan.runs.map((run, r): Draft => {
    const code = codeOf(run.device);
    const own: number[] = [];
    const about = new Set<number>();
    let cost = 0;
    for (let i = run.first; i <= run.last; i++) {
      cost += costs[which[i] as number] as number;
      for (let n = nodeStart[i] as number; n < (nodeStart[i + 1] as number); n++) {
        const id = nodes[n] as number;
        about.add(id);
        if (columns.device[id] !== code || listed[id] === r) continue;
        listed[id] = r;
        own.push(id);
      }
    }
    const { inputs = [], outputs = [] } = features[r] ?? {};
    const [passedIn, passedOut] = [cachesOf(inputs), cachesOf(outputs)];
    return {
      device: run.device,
      part: part.index,
      nodes: own.sort((a, b) => a - b),
      ...(own.length === 0 && { about: [...about] }),
      cost,
      inputs: new Map([
        ...valuesByKey("part", boundTo(part.inputs, inputs, "input")),
        ...valuesByKey(key, run.inputs),
        ...valuesByKey(call, passedIn),
      ]),
      outputs: new Map([
        ...valuesByKey("part", boundTo(part.outputs, outputs, "output")),
        ...valuesByKey(key, run.outputs),
        ...valuesByKey(call, passedOut),
      ]),
      cacheBytes: [...passedIn, ...passedOut].reduce((sum, v) => sum + v.bytes, 0),
      why: r === 0 ? part.why : run.why,
    };
  });
}

/** Values of the part that these features stand for. */
function boundTo<V extends CrossingValue>(
  values: readonly V[],
  features: readonly FeatureBinding[],
  kind: "input" | "output",
): readonly V[] {
  const names = new Set(features.filter((feature) => feature.kind === kind).map(({ name }) => name));
  return values.filter(({ name }) => names.has(name));
}

const cachesOf = (features: readonly FeatureBinding[]): readonly CrossingValue[] =>
  features
    .filter(({ kind }) => kind !== "input" && kind !== "output")
    .map(({ feature, dtype, shape }) => ({ name: feature, bytes: packedByteLength(dtype, elementCount(shape)) }));

function segmentOf(graph: Graph, draft: Draft, index: number, total: number): RouteSegment {
  const bytes = (values: ReadonlyMap<string, CrossingValue>): number =>
    [...values.values()].reduce((sum, v) => sum + v.bytes, 0);
  return {
    index,
    device: draft.device,
    part: draft.part,
    title: titleOf(graph, draft.about ?? draft.nodes),
    nodes: draft.nodes,
    inputs: [...draft.inputs.values()].map((v) => v.name),
    outputs: [...draft.outputs.values()].map((v) => v.name),
    bytesIn: bytes(draft.inputs),
    bytesOut: bytes(draft.outputs),
    workShare: total === 0 ? 0 : draft.cost / total,
    why: draft.why,
  };
}

/** For each pair of segments the values that one makes and the other takes. */
function hopsOf(drafts: readonly Draft[]): readonly RouteHop[] {
  const producer = new Map<string, number>();
  const hops = new Map<string, RouteHop>();
  drafts.forEach((draft, to) => {
    for (const [key, value] of draft.inputs) {
      const from = producer.get(key);
      if (from === undefined) continue;
      const known = hops.get(`${from}-${to}`);
      hops.set(`${from}-${to}`, {
        from,
        to,
        values: (known?.values ?? 0) + 1,
        bytes: (known?.bytes ?? 0) + value.bytes,
      });
    }
    for (const key of draft.outputs.keys()) producer.set(key, to);
  });
  return [...hops.values()].sort((a, b) => a.to - b.to || a.from - b.from);
}

/** "blk.0 … blk.27" over the scopes of the nodes. */
function titleOf(graph: Graph, nodes: readonly number[]): string {
  const scope = (id: number | undefined): string => {
    const node = id === undefined ? undefined : graph.nodes[id];
    const [origin] = node?.origins ?? [];
    return origin === undefined || origin.scope === ""
      ? (origin?.label ?? node?.op ?? "")
      : (origin.scope.split("/")[0] ?? origin.scope);
  };
  const [first, last] = [scope(nodes[0]), scope(nodes.at(-1))];
  return first === last || last === "" ? first : `${first} … ${last}`;
}
