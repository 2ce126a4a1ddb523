/**
 * The route of a graph for a target, computed once: parts (CoreML functions and host code), the MIL of the CoreML parts with
 * their predicted plans, and from these the ordered segments with the hops between them. The runner, the exporter and every
 * view read this value.
 */
import { invariant } from "../../../diagnostics/errors.ts";
import type { AttrRecord } from "../../../ir/attributes.ts";
import type { Graph, Node } from "../../../ir/graph.ts";
import { isLeaf } from "../../../ir/graph.ts";
import type { OpTable } from "../../../ir/opTable.ts";
import type { TensorType } from "../../../ir/type.ts";
import type { CoremlRule, MilValue } from "../emitter.ts";
import type { LoweredProgram, RuleOf } from "../lowering/lower.ts";
import { lowerProgram } from "../lowering/lower.ts";
import type { MilFunction } from "../mil/types.ts";
import type { CrossingValue, FunctionPlan } from "../plan/predict.ts";
import { predictPlan } from "../plan/predict.ts";
import type { PlanTarget } from "../plan/target.ts";
import { systemOf, targetTitle } from "../plan/target.ts";
import type { SmallParts } from "../weights/plan.ts";
import type { Part, Support } from "./partition.ts";
import { partition } from "./partition.ts";

/** Codes of the device columns; 0 = no work (weights, constants). */
export const ROUTE_DEVICES = ["none", "ane", "gpu", "cpu", "host"] as const;
export type RouteDevice = (typeof ROUTE_DEVICES)[number];

/** The CoreML entry of an op: the part of `Lowering` that this folder needs. */
export type CoremlEntry =
  | CoremlRule<readonly MilValue[], AttrRecord>
  | { readonly kind: "decompose" }
  | { readonly kind: "unsupported"; readonly reason: string };
export type EntryOf = (op: string) => CoremlEntry | undefined;

export interface RouteOptions {
  readonly table: OpTable;
  readonly entries: EntryOf;
  readonly target: PlanTarget;
  /** Name of the function when the whole graph is one: "decode", "prefill". */
  readonly functionName?: string;
  readonly folds?: ReadonlyMap<string, number>;
  readonly small?: SmallParts;
}

/** A stretch of the program on one device. */
export interface RouteSegment {
  readonly index: number;
  readonly device: Exclude<RouteDevice, "none">;
  /** Which part it belongs to: several segments share one CoreML function. */
  readonly part: number;
  /** "blk.0 … blk.27", or the op for a host part. */
  readonly title: string;
  /** Ids in the whole graph. */
  readonly nodes: readonly number[];
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

export interface Route {
  readonly truth: "predicted";
  readonly target: PlanTarget;
  readonly title: string;
  readonly graph: Graph;
  readonly parts: readonly Part[];
  /** MIL of the CoreML parts, one function each, in order; undefined when there is none. */
  readonly lowered: LoweredProgram | undefined;
  /** Plan of each CoreML part by part index. */
  readonly plans: ReadonlyMap<number, FunctionPlan>;
  /** MIL function of a CoreML part by part index. */
  readonly functionNames: ReadonlyMap<number, string>;
  readonly segments: readonly RouteSegment[];
  readonly hops: readonly RouteHop[];
  /** Columns by node id of the graph. */
  readonly nodes: {
    readonly device: Uint8Array;
    readonly work: Float32Array;
    readonly rule: readonly string[];
    readonly reason: readonly string[];
  };
  /** Cost of the whole program in the placement model's own milliseconds: for comparing targets. */
  readonly costMs: number;
}

/** Native rule of an op, for the lowering. */
export const rulesFrom =
  (entries: EntryOf): RuleOf =>
  (op) => {
    const entry = entries(op);
    return entry?.kind === "native" ? entry : undefined;
  };

/** Whether CoreML can run a node, from its entry and its `when`. */
export const supportFrom =
  (entries: EntryOf): Support =>
  (node, graph) => {
    const entry = entries(node.op);
    if (entry === undefined) return `${node.op} has no CoreML entry`;
    if (entry.kind === "unsupported") return entry.reason;
    if (entry.kind === "decompose") return `${node.op} was not decomposed`;
    return entry.when?.({ inputs: inputTypes(graph, node), outputs: node.outputs, attrs: node.attrs }) ?? true;
  };

const inputTypes = (graph: Graph, node: Node): readonly TensorType[] =>
  node.inputs.map((v) => {
    const type = graph.nodes[v.node]?.outputs[v.output];
    invariant(type, `no value ${v.node}.${v.output}`);
    return type;
  });

/** CPU rates of the placement model, for host code. */
const HOST_BYTES_PER_MS = 10e6;

export function routeGraph(graph: Graph, options: RouteOptions): Route {
  const { target } = options;
  const parts = partition(options.table, graph, supportFrom(options.entries));
  const coreml = parts.filter((p) => p.side === "coreml");
  const functionNames = new Map(
    coreml.map((p) => [p.index, coreml.length === 1 ? (options.functionName ?? "main") : `segment_${p.index}`]),
  );
  const lowered =
    coreml.length === 0
      ? undefined
      : lowerProgram(
          coreml.map((p) => ({ name: functionNames.get(p.index) ?? "main", graph: p.graph })),
          {
            rules: rulesFrom(options.entries),
            profile: target.profile,
            opset: systemOf(target.os).opset,
            ...(options.folds === undefined ? {} : { folds: options.folds }),
            ...(options.small === undefined ? {} : { small: options.small }),
          },
        );
  const plans = new Map<number, FunctionPlan>();
  coreml.forEach((p, i) => {
    const mil = lowered?.functions[i]?.mil;
    if (mil !== undefined) plans.set(p.index, predictPlan(mil, target));
  });
  return {
    truth: "predicted",
    target,
    title: targetTitle(target),
    graph,
    parts,
    lowered,
    plans,
    functionNames,
    ...columnsAndSegments(graph, parts, plans, lowered),
  };
}

/** A segment before shares and names are known. Values are keyed so that MIL names of different parts never meet. */
interface Draft {
  readonly device: Exclude<RouteDevice, "none">;
  readonly part: number;
  readonly nodes: readonly number[];
  readonly cost: number;
  readonly inputs: ReadonlyMap<string, CrossingValue>;
  readonly outputs: ReadonlyMap<string, CrossingValue>;
  readonly why: string;
}

/** What is known of each node while the parts are walked. */
class NodeColumns {
  readonly device: Uint8Array;
  readonly work: Float32Array;
  readonly rule: string[];
  readonly reason: string[];
  readonly #heaviest: Float64Array;

  constructor(count: number) {
    this.device = new Uint8Array(count);
    this.work = new Float32Array(count);
    this.rule = new Array<string>(count).fill("");
    this.reason = new Array<string>(count).fill("");
    this.#heaviest = new Float64Array(count).fill(-1);
  }

  /** A node is where most of its work is. */
  add(id: number, device: RouteDevice, cost: number, rule: string, reason: string): void {
    this.work[id] = (this.work[id] ?? 0) + cost;
    if (cost <= (this.#heaviest[id] ?? -1)) return;
    this.#heaviest[id] = cost;
    this.device[id] = ROUTE_DEVICES.indexOf(device);
    this.rule[id] = rule;
    this.reason[id] = reason;
  }
}

const valuesByKey = (prefix: string, values: readonly CrossingValue[]): ReadonlyMap<string, CrossingValue> =>
  new Map(values.map((v) => [`${prefix}:${v.name}`, v]));

function columnsAndSegments(
  graph: Graph,
  parts: readonly Part[],
  plans: ReadonlyMap<number, FunctionPlan>,
  lowered: LoweredProgram | undefined,
): Pick<Route, "segments" | "hops" | "nodes" | "costMs"> {
  const columns = new NodeColumns(graph.nodes.length);
  const drafts: Draft[] = [];
  let functionIndex = 0;
  let costMs = 0;
  for (const part of parts) {
    const plan = plans.get(part.index);
    if (part.side === "host") drafts.push(hostDraft(part, columns));
    else if (plan !== undefined) {
      const mil = lowered?.functions[functionIndex++]?.mil;
      costMs += plan.costMs;
      if (mil !== undefined) drafts.push(...coremlDrafts(graph, part, plan, mil, columns));
    }
  }
  costMs += drafts.reduce((sum, d) => sum + (d.device === "host" ? d.cost : 0), 0);
  const total = drafts.reduce((sum, d) => sum + d.cost, 0);
  const { device, rule, reason } = columns;
  const work = total === 0 ? columns.work : columns.work.map((w) => w / total);
  return {
    segments: drafts.map((d, i) => segmentOf(graph, d, i, total)),
    hops: hopsOf(drafts),
    nodes: { device, work, rule, reason },
    costMs,
  };
}

function hostDraft(part: Part, columns: NodeColumns): Draft {
  const cost = (part.bytesIn + part.bytesOut) / HOST_BYTES_PER_MS;
  for (const id of part.nodes) columns.add(id, "host", cost / part.nodes.length, "host", part.why);
  return {
    device: "host",
    part: part.index,
    nodes: part.nodes,
    cost,
    inputs: valuesByKey("part", part.inputs),
    outputs: valuesByKey("part", part.outputs),
    why: part.why,
  };
}

/** One draft per run of the plan; the first takes the part's inputs, the last gives its outputs. */
function coremlDrafts(
  graph: Graph,
  part: Part,
  plan: FunctionPlan,
  mil: MilFunction,
  columns: NodeColumns,
): readonly Draft[] {
  /** Nodes of the whole graph that an operator computes. */
  const nodesOf = (operation: number): readonly number[] =>
    (mil.operations[operation]?.origins ?? [])
      .map((own): number => part.origin[own] ?? -1)
      .filter((id) => {
        const node = graph.nodes[id];
        return node !== undefined && !isLeaf(node);
      });
  for (const op of plan.ops)
    for (const id of nodesOf(op.index)) columns.add(id, op.preferred, op.costMs, op.rule, op.reason);
  const key = `mil${part.index}`;
  return plan.runs.map((run, r): Draft => {
    const ops = plan.ops.slice(run.first, run.last + 1);
    const code = ROUTE_DEVICES.indexOf(run.device);
    const nodes = new Set(ops.flatMap((op) => nodesOf(op.index)).filter((id) => columns.device[id] === code));
    const [first, last] = [r === 0, r === plan.runs.length - 1];
    return {
      device: run.device,
      part: part.index,
      nodes: [...nodes].sort((a, b) => a - b),
      cost: ops.reduce((sum, op) => sum + op.costMs, 0),
      inputs: new Map([...(first ? valuesByKey("part", part.inputs) : []), ...valuesByKey(key, run.inputs)]),
      outputs: new Map([...(last ? valuesByKey("part", part.outputs) : []), ...valuesByKey(key, run.outputs)]),
      why: first ? part.why : run.why,
    };
  });
}

function segmentOf(graph: Graph, draft: Draft, index: number, total: number): RouteSegment {
  const bytes = (values: ReadonlyMap<string, CrossingValue>): number =>
    [...values.values()].reduce((sum, v) => sum + v.bytes, 0);
  return {
    index,
    device: draft.device,
    part: draft.part,
    title: titleOf(graph, draft.nodes),
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
