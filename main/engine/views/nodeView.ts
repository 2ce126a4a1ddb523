/** One node for the inspector: why it is where it is, its types and cost, its weights, its MIL, and where it came from. */
import type { Route } from "../../backends/coreml/hybrid/route.ts";
import { ROUTE_DEVICES } from "../../backends/coreml/hybrid/segments.ts";
import { operationText } from "../../backends/coreml/mil/print.ts";
import type { PlacedDevice } from "../../backends/coreml/plan/placement.ts";
import { paletteOf } from "../../backends/coreml/levers.ts";
import { bitsPerWeight, formText, storedForm } from "../../backends/coreml/weights/forms.ts";
import type { TargetSpec } from "../../contract/views/common.ts";
import type { GraphKey, NodeView, OriginStep, Placement } from "../../contract/views/graph.ts";
import { invariant } from "../../diagnostics/errors.ts";
import type { GgufFile } from "../../formats/gguf/file.ts";
import type { Bindings } from "../../ir/dim.ts";
import type { Graph, Node } from "../../ir/graph.ts";
import type { HeldBytes } from "../../ir/heldBytes.ts";
import { isLeaf } from "../../ir/graph.ts";
import { nodeName, scopeOf } from "../../ir/nodePlace.ts";
import { printGraph } from "../../ir/text/print.ts";
import { bindType, elementCount, formatType } from "../../ir/type.ts";
import { opOf } from "../../ops/index.ts";
import { figure } from "../measure/forecast.ts";
import { loweringView, ruleHit } from "./loweringView.ts";
import { inputLabels, outputLabel } from "../../ops/operandNames.ts";
import { stableIds } from "./graphView.ts";
import { operationsOf } from "./nodeOperations.ts";
import { sumOf } from "../../compiler/cost/seconds.ts";
import { secondsFigure, shareOf } from "../measure/costFigures.ts";
import type { SubjectCost } from "../models/costs.ts";
import { MovedBytes, valueBytes } from "../../compiler/cost/movedBytes.ts";

export interface NodeViewInput {
  readonly key: GraphKey;
  readonly graph: Graph;
  readonly id: number;
  readonly bindings: Bindings;
  readonly held: HeldBytes;
  readonly file: GgufFile | undefined;
  /** Of the legal graph; placement is known for its nodes. */
  readonly route: Route | undefined;
  readonly target: TargetSpec | null;
  /** Node of the route's graph that stands for this one. */
  readonly routed: number | undefined;
  /** Nodes of the route's graph that this one became: several where it was decomposed. */
  readonly became: readonly number[];
  /** Predicted, and the nodes of its graph that stand for this one; undefined where no time is predicted. */
  readonly time: { readonly cost: Pick<SubjectCost, "cost">; readonly nodes: readonly number[] } | undefined;
}

/** MIL lines of one node that are worth a card. */
const MIL_LINES = 40;

export function nodeView(input: NodeViewInput): NodeView {
  const { graph, id, bindings } = input;
  const node = graph.nodes[id];
  invariant(node, `node ${id} of ${graph.name}`);
  const mil = milOf(input);
  const labels = inputLabels(node);
  return {
    key: input.key,
    node: id,
    id: stableIds(graph)[id] ?? 0,
    op: node.op,
    name: nodeName(node),
    path: scopeOf(node).join(" · "),
    summary: opOf(node.op)?.summary ?? leafSummary(node.op),
    placement: placementOf(input),
    inputs: node.inputs.map((value, i) => {
      const from = graph.nodes[value.node];
      const type = from?.outputs[value.output];
      return {
        label: labels[i] ?? "",
        type: type ? formatType(bindType(type, bindings)) : "",
        from: value.node,
        fromName: from ? nodeName(from) : "",
      };
    }),
    outputs: node.outputs.map((type, i) => ({
      label: outputLabel(node.op, i, node.outputs.length),
      type: formatType(bindType(type, bindings)),
      from: null,
      fromName: "",
    })),
    attributes: Object.entries(node.attrs).map(([label, value]) => ({
      label,
      value: typeof value === "string" ? value : JSON.stringify(value),
    })),
    cost: costOf(input, node),
    weights: weightsOf(input, node),
    subgraphs: node.regions.map((region, i) => subgraphOf(node, region, i)),
    origin: originOf(input, node, mil),
    routed: input.routed ?? input.became[0] ?? null,
    mil:
      mil.length === 0
        ? null
        : {
            text:
              mil
                .slice(0, MIL_LINES)
                .map(({ text }) => text)
                .join("\n") + (mil.length > MIL_LINES ? `\n// … ${mil.length - MIL_LINES} more` : ""),
            operations: mil.map(({ type }) => type),
          },
  };
}

/** Lines of a sub-graph that are shown. */
const SUBGRAPH_LINES = 200;

function subgraphOf(node: Node, region: Graph, index: number): NodeView["subgraphs"][number] {
  const ops = region.nodes.filter((inner) => !isLeaf(inner));
  const lines = printGraph(region).split("\n");
  const more = lines.length - SUBGRAPH_LINES;
  const text = lines.slice(0, SUBGRAPH_LINES).join("\n");
  const shown = [...new Set(ops.map(({ op }) => op))].slice(0, 6).join(", ");
  return {
    name: opOf(node.op)?.regionNames[index] ?? region.name,
    summary: ops.length === 0 ? "hands its inputs through" : `${ops.length} ops: ${shown}`,
    text: more > 0 ? `${text}\n// … ${more} more` : text,
  };
}

function leafSummary(op: string): string {
  switch (op) {
    case "input":
      return "A value given at each step.";
    case "param":
      return "A weight, read in place from its file or held in memory.";
    case "constant":
      return "Numbers that are part of the graph.";
    case "state":
      return "A value kept from step to step.";
    default:
      return "";
  }
}

function placementOf({ route, routed, target }: NodeViewInput): Placement | null {
  if (!route || routed === undefined || target === null) return null;
  const code = route.nodes.device[routed] ?? 0;
  if (code === 0) return null;
  const device = ROUTE_DEVICES[code] ?? "none";
  const { rule, reason } = route.verdicts[route.nodes.verdict[routed] ?? 0] ?? { rule: "", reason: "" };
  const findings = findingsOf(route, routed, rule);
  const segment = route.segments.find((s) => s.nodes.includes(routed));
  const lowering = route.lowerings[route.nodes.lowering[routed] ?? 0];
  return {
    device,
    truth: "predicted",
    target,
    supported: device === "host" ? ["host"] : [...findings.supported],
    sentence: reason,
    rules: findings.rules.map(({ id, sentence }) => ruleHit(id, sentence)),
    lowering: lowering === undefined || lowering.operations === 0 ? null : loweringView(lowering),
    fix: fixFor(rule),
    segment: segment?.index ?? null,
  };
}

type Found = {
  /** Where every one of them can run. */
  readonly supported: ReadonlySet<PlacedDevice>;
  readonly rules: readonly { readonly id: string; readonly sentence: string }[];
};

/**
 * The plan's findings for a node's MIL operations. Of cost findings, keep only the one that
 * decided. Skip the Neural Engine's refusals if the target excludes it.
 */
function findingsOf(route: Route, routed: number, decided: string): Found {
  const { units } = route.target;
  const hasEngine = units === "all" || units === "cpu-ane";
  const found: { id: string; sentence: string }[] = [];
  let supported: ReadonlySet<PlacedDevice> | undefined;
  const seen = new Set<string>();
  /** A node is several MIL operations: which of them a rule speaks of. */
  const parts = new Map<string, Set<string>>();
  for (const { plan, type } of operationsOf(route, routed).planned) {
    supported = new Set(plan.supported.filter((device) => supported?.has(device) ?? true));
    for (const finding of plan.findings) {
      if (!hasEngine) continue;
      const types = parts.get(finding.rule) ?? new Set();
      parts.set(finding.rule, types.add(type));
      if (seen.has(finding.rule)) continue;
      seen.add(finding.rule);
      found.push({ id: finding.rule, sentence: finding.reason });
    }
    if (plan.rule === decided && !seen.has(plan.rule)) {
      seen.add(plan.rule);
      found.push({ id: plan.rule, sentence: plan.reason });
    }
  }
  const rules = found.map((rule) => ({ ...rule, sentence: namingParts(rule.sentence, parts.get(rule.id)) }));
  return { supported: supported ?? new Set(), rules };
}

/** "… (of floor_div, cast)." behind a reason that names none of them. */
function namingParts(sentence: string, types: ReadonlySet<string> | undefined): string {
  const named = [...(types ?? [])];
  if (named.length === 0 || named.some((type) => new RegExp(`\\b${type}\\b`, "u").test(sentence))) return sentence;
  return `${sentence.replace(/\.$/, "")} (of ${named.join(", ")}).`;
}

/** What would change the placement, where we know it. */
function fixFor(rule: string): string | null {
  if (rule.includes("block")) return "Set Weights to f16: such weights stay on the Neural Engine.";
  if (rule.includes("fp32")) return "Set Weights to f16 or Packed: both compute in f16.";
  if (rule.includes("state")) return "Set Weights to f16: caches become inputs and outputs.";
  return rule === "units" ? "Allow more compute units." : null;
}

/** Time first, then its share, then what it moves: of the backend that the graph is for. */
function costOf({ graph, bindings, held, time }: NodeViewInput, node: Node): NodeView["cost"] {
  if (isLeaf(node)) return [];
  const { weights, caches, states, activations, written } = new MovedBytes(graph, bindings, held).parts(node);
  const bytes = (label: string, value: number, basis: string): NodeView["cost"] =>
    value === 0 ? [] : [{ label, value: figure(value, "bytes", "exact", basis) }];
  return [
    ...timeRows(time),
    ...bytes("weights read", weights, "as this backend holds them"),
    ...bytes("caches read", caches + states, "for every position that there is room for"),
    ...bytes("activations read", activations, "types of its operands"),
    ...bytes("bytes written", written, "types of its results"),
  ];
}

function timeRows(time: NodeViewInput["time"]): NodeView["cost"] {
  if (time === undefined) return [];
  const { nodes, step } = time.cost.cost;
  const seconds = sumOf(time.nodes.map((id) => nodes.at(id)));
  if (seconds.value === 0) return [];
  return [
    { label: "time", value: secondsFigure(seconds, "what it moves and computes, against the rates of the machine") },
    {
      label: "share of the step",
      value: figure(shareOf(seconds, { step }), "share", "predicted", "of the whole step"),
    },
  ];
}

function weightsOf({ graph, file, route, target }: NodeViewInput, node: Node): NodeView["weights"] {
  const params =
    node.op === "param"
      ? [node]
      : node.inputs.flatMap((value) => graph.nodes[value.node] ?? []).filter((from) => from.op === "param");
  return params.map((param) => {
    const [type] = param.outputs;
    invariant(type, "a param has a type");
    const name = String(param.attrs["tensor"] ?? param.attrs["name"]);
    const plan = target ? route?.target : undefined;
    let lowered: string | null = null;
    if (plan !== undefined && Number(elementCount(type)) > 64) {
      const weight = { type: type.dtype, shape: type.shape.map(Number) };
      const form = storedForm(weight, plan.profile, paletteOf(plan));
      lowered = `${formText(form)}, ${Number(bitsPerWeight(form).toFixed(3))} bits`;
    }
    return {
      tensor: name,
      type: type.dtype.toUpperCase(),
      shape: type.shape.map(Number),
      bytes: file?.tensor(name)?.byteLength ?? valueBytes(type, {}),
      lowered,
    };
  });
}

interface MilLine {
  readonly type: string;
  readonly text: string;
}

/** The MIL operations of everything that the node became. */
function milOf({ route, became }: NodeViewInput): readonly MilLine[] {
  if (!route?.lowered || became.length === 0) return [];
  const found = new Map(
    became.flatMap((node) => operationsOf(route, node).operations.map(({ place, operation }) => [place, operation])),
  );
  return [...found]
    .sort(([a], [b]) => a - b)
    .map(([, operation]) => ({ type: operation.type, text: operationText(operation) }));
}

const MOST_NAMES = 6;

/** "matmul, softmax, matmul": repeats of one after the other are counted, and a long list is cut. */
export function operationNames(types: readonly string[]): string {
  const runs: { readonly type: string; count: number }[] = [];
  for (const type of types) {
    const last = runs.at(-1);
    if (last?.type === type) last.count++;
    else runs.push({ type, count: 1 });
  }
  const names = runs.map(({ type, count }) => (count === 1 ? type : `${type} ×${count}`));
  const rest = runs.slice(MOST_NAMES).reduce((sum, { count }) => sum + count, 0);
  return names.slice(0, MOST_NAMES).join(", ") + (rest === 0 ? "" : ` and ${rest} more`);
}

/** GGUF tensor → operation as built → each pass → this node → MIL → segment. */
function originOf(input: NodeViewInput, node: Node, mil: readonly MilLine[]): OriginStep[] {
  const steps: OriginStep[] = weightsOf(input, node).map((weight) => ({
    kind: "tensor",
    text: `${weight.tensor} ${weight.type}`,
    ref: null,
  }));
  for (const origin of node.origins)
    steps.push({
      kind: "source",
      text: `${origin.label}${origin.scope === "" ? "" : ` in ${origin.scope}`}`,
      ref: origin.source,
    });
  node.passes.forEach((pass, i) => steps.push({ kind: "pass", text: pass, ref: i }));
  steps.push({ kind: "node", text: `${node.op} %${node.id}`, ref: node.id });
  if (mil.length > 0)
    steps.push({
      kind: "mil",
      text: `MIL ${operationNames(mil.map(({ type }) => type))}`,
      ref: input.routed ?? input.became[0] ?? null,
    });
  const { routed, route } = input;
  const segment = routed === undefined ? undefined : route?.segments.find((s) => s.nodes.includes(routed));
  if (segment)
    steps.push({ kind: "segment", text: `segment ${segment.index + 1}: ${segment.title}`, ref: segment.index });
  return steps;
}
