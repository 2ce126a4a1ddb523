/**
 * MLX as the alternative to Core ML: MLX's own passes over the model's graph, what its rules say of each op there, laid over the
 * graph that the routing view shows by the operations of the model that both came from. Needs no MLX, only its rules.
 */
import { mlxFormText, mlxHeldBytes, mlxWeightForm } from "../../backends/mlx/weightForms.ts";
import type { MlxWeightForm } from "../../backends/mlx/weightForms.ts";
import { compile } from "../../compiler/compile.ts";
import type { DispatchEntry, DispatchReport } from "../../compiler/legalise.ts";
import { dispatchReport } from "../../compiler/legalise.ts";
import type { DispatchPolicy } from "../../compiler/support.ts";
import type { Phase, TargetSpec } from "../../contract/views/common.ts";
import { ROUTED, routedStage } from "../../contract/views/graph.ts";
import type { MlxOpRow, MlxRoute, MlxState, MlxWeightRow } from "../../contract/views/mlx.ts";
import { MLX_STATES } from "../../contract/views/mlx.ts";
import { f16ToF32, f32ToF16 } from "../../quant/half.ts";
import type { Bindings } from "../../ir/dim.ts";
import type { ElementType } from "../../ir/dtype.ts";
import type { Graph, Node } from "../../ir/graph.ts";
import { isLeaf } from "../../ir/graph.ts";
import type { Steps } from "../../ir/steps.ts";
import { figure } from "../measure/forecast.ts";
import { bindingsFor, mlxTemplateOf } from "./graphs.ts";
import type { OpenModel } from "./openModel.ts";
import { legalGraph } from "./routes.ts";
import { StringTable } from "../views/strings.ts";
import type { Sample } from "./weightErrors.ts";
import { relativeOf, SAMPLED_BASIS, samples } from "./weightErrors.ts";
import type { TaskKind } from "./taskCache.ts";
import { inSlices, tasksOf } from "./taskCache.ts";

/** What follows from the model alone; times and availability are the machine's. */
export type MlxMapping = Pick<
  MlxRoute,
  "key" | "phase" | "strings" | "nodes" | "counts" | "ops" | "weights" | "heldBytes"
>;

const MAPPING: TaskKind<MlxMapping> = { name: "route on MLX", keep: 4 };
const WEIGHTS: TaskKind<readonly MlxWeightRow[]> = { name: "weights on MLX", keep: 1 };

interface Dispatched {
  readonly graph: Graph;
  readonly report: DispatchReport;
}

function* dispatched(template: Graph, bindings: Bindings, dispatch: DispatchPolicy): Steps<Dispatched> {
  const { optimised } = yield* compile(template, { backend: "mlx", bindings, dispatch, blocked: "keep" });
  return { graph: optimised, report: yield* dispatchReport(optimised, "mlx", dispatch) };
}

export async function mlxMapping(
  model: OpenModel,
  asked: { readonly target: TargetSpec; readonly phase: Phase; readonly dispatch: DispatchPolicy },
  signal: AbortSignal,
): Promise<MlxMapping> {
  const { target, phase, dispatch } = asked;
  const shown = await legalGraph(model, target, phase, signal);
  return tasksOf(model).get(MAPPING, `${phase} ${target.context} ${dispatch}`, signal, async (own) => {
    const template = await mlxTemplateOf(model, own);
    const onMlx = await inSlices(dispatched(template, bindingsFor(template, phase, target.context), dispatch), own);
    const weights = await weightRows(model, own);
    return {
      key: { model: model.id, stage: routedStage(ROUTED.backend, target), phase },
      phase,
      ...columnsOf(shown, onMlx),
      weights: [...weights],
      heldBytes:
        weights.length === 0
          ? null
          : figure(
              weights.reduce((sum, row) => sum + row.heldBytes.value, 0),
              "bytes",
              "exact",
              "the forms of the table, counted",
            ),
    };
  });
}

const stateOf = ({ state }: DispatchEntry): MlxState => (state === "undeclared" ? "unsupported" : state);
const codeOf = (state: MlxState): number => MLX_STATES.indexOf(state);
const sourcesOf = (node: Node | undefined): readonly number[] => (node?.origins ?? []).map(({ source }) => source);

/** The shown graph's columns, and the totals of the graph that MLX would run. */
function columnsOf(
  shown: Graph,
  { graph, report }: Dispatched,
): Pick<MlxMapping, "strings" | "nodes" | "counts" | "ops"> {
  const bySource = new Map<number, DispatchEntry[]>();
  for (const entry of report.entries)
    for (const source of new Set(sourcesOf(graph.nodes[entry.node]))) {
      const known = bySource.get(source);
      if (known === undefined) bySource.set(source, [entry]);
      else known.push(entry);
    }
  const strings = new StringTable();
  const state = new Uint8Array(shown.nodes.length);
  const reason = new Uint32Array(shown.nodes.length);
  const firstNode = new Map<string, number>();
  for (const node of shown.nodes) {
    if (isLeaf(node)) continue;
    const entry = fateFor(node, bySource);
    if (entry === undefined) {
      reason[node.id] = strings.add("MLX's own passes leave nothing of it.");
      continue;
    }
    state[node.id] = codeOf(stateOf(entry));
    reason[node.id] = strings.add(reasonText(entry));
    const key = rowKey(entry);
    if (!firstNode.has(key)) firstNode.set(key, node.id);
  }
  const { native, decomposed, unsupported, undeclared } = report.counts;
  return {
    strings: strings.strings,
    nodes: { state, reason },
    counts: { native, decomposed, unsupported: unsupported + undeclared },
    ops: opRows(report, firstNode),
  };
}

/** The worst of what became of a node's operations; an op of the same name speaks for itself. */
function fateFor(node: Node, bySource: ReadonlyMap<number, readonly DispatchEntry[]>): DispatchEntry | undefined {
  const all = sourcesOf(node).flatMap((source) => bySource.get(source) ?? []);
  const same = all.filter((entry) => entry.op === node.op);
  return (same.length > 0 ? same : all).reduce<DispatchEntry | undefined>(
    (worst, entry) => (worst === undefined || codeOf(stateOf(entry)) > codeOf(stateOf(worst)) ? entry : worst),
    undefined,
  );
}

/** Its reason in words for people: the compiler calls a backend by its id. */
const reasonOf = ({ reason }: DispatchEntry): string => reason.replaceAll(/\bmlx\b/g, "MLX");
const sentence = (text: string): string => `${text.charAt(0).toUpperCase()}${text.slice(1)}`;

function reasonText(entry: DispatchEntry): string {
  const parts = stateOf(entry) === "decomposed" ? `, as ${partsText(entry.parts)}` : "";
  return `${entry.op}: ${reasonOf(entry)}${parts}.`;
}

/** "mul ×2, add" */
function partsText(parts: readonly string[]): string {
  const counts = new Map<string, number>();
  for (const part of parts) counts.set(part, (counts.get(part) ?? 0) + 1);
  return [...counts].map(([op, count]) => (count === 1 ? op : `${op} ×${count}`)).join(", ");
}

const rowKey = (entry: DispatchEntry): string => `${entry.op}\n${entry.state}\n${entry.reason}`;

/** One row per op, state and reason: what cannot run first, then what is taken apart. */
function opRows(report: DispatchReport, firstNode: ReadonlyMap<string, number>): MlxOpRow[] {
  const rows = new Map<string, MlxOpRow>();
  for (const entry of report.entries) {
    const key = rowKey(entry);
    const known = rows.get(key);
    const { op } = entry;
    rows.set(
      key,
      known === undefined
        ? {
            op,
            state: stateOf(entry),
            count: 1,
            reason: `${sentence(reasonOf(entry))}.`,
            parts: [...entry.parts],
            node: firstNode.get(key) ?? -1,
          }
        : { ...known, count: known.count + 1 },
    );
  }
  return [...rows.values()].sort((a, b) => codeOf(b.state) - codeOf(a.state) || b.count - a.count);
}

interface Group {
  readonly type: ElementType;
  readonly form: MlxWeightForm;
  tensors: number;
  elements: number;
  fileBytes: number;
  heldBytes: number;
}

/** Per type of the file how MLX holds it and what that costs; nothing for a demo graph, which has no file. */
async function weightRows(model: OpenModel, signal: AbortSignal): Promise<readonly MlxWeightRow[]> {
  const { file } = model;
  if (file === undefined) return [];
  return tasksOf(model).get(WEIGHTS, "", signal, async (own) => {
    const groups = new Map<string, Group>();
    for (const tensor of file.tensors) {
      const type = tensor.type.element;
      if (type === undefined) continue;
      const form = mlxWeightForm(type, tensor.shape.length);
      const key = `${type} ${form.kind}`;
      const group = groups.get(key) ?? { type, form, tensors: 0, elements: 0, fileBytes: 0, heldBytes: 0 };
      group.tensors++;
      group.elements += tensor.elements;
      group.fileBytes += tensor.byteLength;
      group.heldBytes += mlxHeldBytes(form, tensor.elements, tensor.byteLength);
      groups.set(key, group);
    }
    const found = file.hasData ? await samples(file, own) : undefined;
    return [...groups.values()].sort((a, b) => b.fileBytes - a.fileBytes).map((group) => weightRow(group, found));
  });
}

function weightRow(group: Group, found: readonly Sample[] | undefined): MlxWeightRow {
  const { type, form, tensors, elements, fileBytes, heldBytes } = group;
  return {
    type,
    tensors,
    form: mlxFormText(form),
    kind: form.kind,
    fileBytes,
    heldBytes: figure(heldBytes, "bytes", "exact", "codes, scales and biases, counted"),
    bitsPerWeight: (heldBytes * 8) / elements,
    error: errorOf(
      form,
      found?.find((sample) => sample.type === type),
    ),
  };
}

function errorOf(form: MlxWeightForm, sample: Sample | undefined): MlxWeightRow["error"] {
  if (form.kind === "exact")
    return figure(0, "ratio", "exact", "scale and bias in f32 give every value of the block to the last bit");
  if (form.kind === "same") return figure(0, "ratio", "exact", "the same numbers");
  if (sample === undefined || sample.rows.length === 0) return null;
  let [error, energy] = [0, 0];
  for (const { exact } of sample.rows)
    for (const value of exact) {
      error += (f16ToF32(f32ToF16(value)) - value) ** 2;
      energy += value * value;
    }
  return figure(relativeOf(error, energy), "ratio", "measured", SAMPLED_BASIS);
}
