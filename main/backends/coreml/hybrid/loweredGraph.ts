/**
 * A graph cut into parts and lowered to MIL: all of a route that depends on the weight profile and the operator set, and not
 * on the chip or the units. A route for another chip starts here.
 */
import type { AttrRecord } from "../../../ir/attributes.ts";
import type { Graph, Node } from "../../../ir/graph.ts";
import { isLeaf } from "../../../ir/graph.ts";
import type { NodeInfo } from "../../../ir/nodeInfo.ts";
import { NodeKinds } from "../../../ir/nodeKinds.ts";
import type { OpTable } from "../../../ir/opTable.ts";
import type { Steps } from "../../../ir/steps.ts";
import type { TensorType } from "../../../ir/type.ts";
import { invariant } from "../../../diagnostics/errors.ts";
import type { CoremlRule, MilValue } from "../emitter.ts";
import type { LoweringLevers } from "../levers.ts";
import type { FeatureBinding, LoweredProgram } from "../lowering/lower.ts";
import type { RuleOf } from "../lowering/source.ts";
import { lowerProgram } from "../lowering/lower.ts";
import type { MilFunction, MilOpset } from "../mil/types.ts";
import type { FunctionFacts } from "../plan/facts.ts";
import { functionFacts } from "../plan/facts.ts";
import type { WeightProfile } from "../weights/forms.ts";
import type { SmallParts } from "../weights/plan.ts";
import type { Part, Support } from "./partition.ts";
import { isWhole, partition } from "./partition.ts";

/** The Core ML entry of an op: the part of `Lowering` that this folder needs. */
export type CoremlEntry =
  | CoremlRule<readonly MilValue[], AttrRecord>
  | { readonly kind: "decompose"; readonly when?: (node: NodeInfo<AttrRecord>) => true | string }
  | { readonly kind: "unsupported"; readonly reason: string };
export type EntryOf = (op: string) => CoremlEntry | undefined;

export interface LoweringRequest {
  readonly table: OpTable;
  readonly entries: EntryOf;
  readonly profile: WeightProfile;
  readonly opset: MilOpset;
  /** Name of the function when the whole graph is one: "decode", "prefill". */
  readonly functionName?: string;
  readonly folds?: ReadonlyMap<string, number>;
  readonly small?: SmallParts;
  /** false: nodes, operators and their facts each on their own. The route is the same (a test holds it to that). */
  readonly share?: boolean;
  readonly levers?: LoweringLevers;
}

/** A Core ML part with its function. */
export interface LoweredPart {
  readonly part: Part;
  readonly mil: MilFunction;
  readonly bindings: readonly FeatureBinding[];
  readonly facts: FunctionFacts;
  /** Nodes of the whole graph that operator i (as counted in `facts`) computes: nodes[nodeStart[i]] … */
  readonly nodeStart: Uint32Array;
  readonly nodes: Uint32Array;
}

export interface LoweredGraph {
  readonly graph: Graph;
  readonly parts: readonly Part[];
  /** MIL of the Core ML parts, one function each, in order; undefined when there is none. */
  readonly lowered: LoweredProgram | undefined;
  /** By part index; host parts are not in it. */
  readonly functions: ReadonlyMap<number, LoweredPart>;
  /** MIL function of a Core ML part by part index. */
  readonly functionNames: ReadonlyMap<number, string>;
}

/** Native rule of an op, for the lowering. */
export const rulesFrom =
  (entries: EntryOf): RuleOf =>
  (op) => {
    const entry = entries(op);
    return entry?.kind === "native" ? entry : undefined;
  };

/** Whether Core ML can run a node, from its entry and its `when`. Of nodes that are alike, the first is asked about. */
export function supportFrom(entries: EntryOf): Support {
  const kinds = new NodeKinds();
  const known = new Map<number, true | string>();
  return (node, graph) => {
    if (node.regions.length > 0) return supportOf(entries, node, graph);
    const kind = kinds.of(graph, node);
    const verdict = known.get(kind) ?? supportOf(entries, node, graph);
    known.set(kind, verdict);
    return verdict;
  };
}

function supportOf(entries: EntryOf, node: Node, graph: Graph): true | string {
  const entry = entries(node.op);
  if (entry === undefined) return `${node.op} has no Core ML entry`;
  if (entry.kind === "unsupported") return entry.reason;
  const own =
    entry.when?.({
      inputs: inputTypes(graph, node),
      outputs: node.outputs,
      attrs: node.attrs,
      regions: node.regions,
    }) ?? true;
  if (own !== true) return own;
  return entry.kind === "decompose" ? `${node.op} was not decomposed` : regionSupport(entries, node);
}

/** A node with sub-graphs runs on Core ML only where all that they hold does. */
function regionSupport(entries: EntryOf, node: Node): true | string {
  for (const region of node.regions)
    for (const inner of region.nodes) {
      const verdict = isLeaf(inner) || supportOf(entries, inner, region);
      if (verdict !== true) return `its sub-graph ${region.name} holds ${inner.op}: ${verdict}`;
    }
  return true;
}

const inputTypes = (graph: Graph, node: Node): readonly TensorType[] =>
  node.inputs.map((v) => {
    const type = graph.nodes[v.node]?.outputs[v.output];
    invariant(type, `no value ${v.node}.${v.output}`);
    return type;
  });

export function* lowerGraph(graph: Graph, request: LoweringRequest): Steps<LoweredGraph> {
  const parts = partition(request.table, graph, supportFrom(request.entries));
  yield;
  const coreml = parts.filter((p) => p.side === "coreml");
  const functionNames = new Map(
    coreml.map((p) => [p.index, coreml.length === 1 ? (request.functionName ?? "main") : `segment_${p.index}`]),
  );
  const { profile, opset, folds, small, share = true, levers } = request;
  const lowered =
    coreml.length === 0
      ? undefined
      : yield* lowerProgram(
          coreml.map((p) => ({
            name: functionNames.get(p.index) ?? "main",
            graph: p.graph,
            isPart: !isWhole(graph, parts),
          })),
          {
            rules: rulesFrom(request.entries),
            profile,
            opset,
            share,
            ...(folds === undefined ? {} : { folds }),
            ...(small === undefined ? {} : { small }),
            ...(levers === undefined ? {} : { levers }),
          },
        );
  const functions = new Map<number, LoweredPart>();
  for (const [i, part] of coreml.entries()) {
    const made = lowered?.functions[i];
    invariant(made, `part ${part.index} was not lowered`);
    const { mil, bindings } = made;
    const facts = yield* functionFacts(mil, { share });
    functions.set(part.index, { part, mil, bindings, facts, ...nodesOf(graph, part, mil, facts.operations) });
    yield;
  }
  return { graph, parts, lowered, functions, functionNames };
}

/** Leaves are no work and belong to no part. */
function nodesOf(
  graph: Graph,
  part: Part,
  mil: MilFunction,
  operations: Uint32Array,
): Pick<LoweredPart, "nodeStart" | "nodes"> {
  const nodeStart = new Uint32Array(operations.length + 1);
  const nodes: number[] = [];
  operations.forEach((operation, i) => {
    for (const own of mil.operations[operation]?.origins ?? []) {
      const id = part.origin[own] ?? -1;
      const node = graph.nodes[id];
      if (node !== undefined && !isLeaf(node)) nodes.push(id);
    }
    nodeStart[i + 1] = nodes.length;
  });
  return { nodeStart, nodes: Uint32Array.from(nodes) };
}

/** The same program for an operator set with the same operators: only its name in it changes. */
export function withOpset(lowered: LoweredGraph, opset: MilOpset): LoweredGraph {
  const { lowered: program } = lowered;
  if (program === undefined || program.opset === opset) return lowered;
  const functions = program.functions.map((f) => ({ ...f, mil: { ...f.mil, opset } }));
  const milByName = new Map(functions.map(({ mil }) => [mil.name, mil]));
  return {
    ...lowered,
    lowered: { ...program, opset, functions, program: { ...program.program, functions: [...milByName.values()] } },
    functions: new Map(
      [...lowered.functions].map(([index, made]): [number, LoweredPart] => {
        const mil = milByName.get(made.mil.name) ?? made.mil;
        return [index, { ...made, mil, facts: { ...made.facts, function: mil } }];
      }),
    ),
  };
}
