/** The graph of a stage, one node of it, overlays over its nodes, the passes that made it, and its text. */
import { heldFor, paletteOf } from "../../backends/coreml/levers.ts";
import type { PlanTarget } from "../../backends/coreml/plan/target.ts";
import { resolveTarget } from "../../backends/coreml/plan/target.ts";
import { heldByMlx } from "../../backends/mlx/weightForms.ts";
import type { EngineHandlers } from "../../contract/contract.ts";
import type { Phase, TargetSpec } from "../../contract/views/common.ts";
import type { Backend, GraphKey, GraphView, OverlayView } from "../../contract/views/graph.ts";
import { backendTitle, BUILT, LEGAL, loweredOf } from "../../contract/views/graph.ts";
import type { DispatchPolicy } from "../../compiler/support.ts";
import { Arithmetic } from "../../compiler/cost/arithmetic.ts";
import { WorkbenchError } from "../../diagnostics/errors.ts";
import type { Bindings } from "../../ir/dim.ts";
import type { Graph } from "../../ir/graph.ts";
import { isLeaf } from "../../ir/graph.ts";
import type { HeldBytes } from "../../ir/heldBytes.ts";
import { heldAsStored } from "../../ir/heldBytes.ts";
import { opOf, opTable } from "../../ops/index.ts";
import { figure } from "../measure/forecast.ts";
import { secondsFigure } from "../measure/costFigures.ts";
import type { CostAccess, SubjectCost } from "../models/costs.ts";
import type { Pipeline, StagedGraph } from "../models/graphs.ts";
import { passRecords, recordNamed, stagedGraph } from "../models/graphs.ts";
import type { ModelStore } from "../models/modelStore.ts";
import type { OpenModel } from "../models/openModel.ts";
import { planLines, planSteps } from "../models/planText.ts";
import type { OwnRoute } from "../models/ownRoutes.ts";
import { ownRouteOf } from "../models/ownRoutes.ts";
import { planTarget, routeOf } from "../models/routes.ts";
import { graphView, stableIds } from "../views/graphView.ts";
import { BYTES_READ, MovedBytes } from "../../compiler/cost/movedBytes.ts";
import { ownPlacement } from "../views/ownRouteView.ts";
import type { Placed } from "../views/routeView.ts";
import { nodeView } from "../views/nodeView.ts";
import type { Line } from "../views/textView.ts";
import { foundIn, irLines, milLines, passDiff, passView, textPage } from "../views/textView.ts";
import type { TaskKind } from "../models/taskCache.ts";
import { inSlices, tasksOf } from "../models/taskCache.ts";

const GRAPH_VIEW: TaskKind<GraphView> = { name: "graph view", keep: 6 };
const TEXT: TaskKind<readonly Line[]> = { name: "text", keep: 4 };

type GraphCalls =
  "graph.get" | "graph.node" | "graph.overlay" | "passes.list" | "passes.diff" | "text.page" | "text.find";

export function graphHandlers(
  store: Pick<ModelStore, "get">,
  initial: TargetSpec,
  chosen: DispatchPolicy,
  costs: CostAccess,
): Pick<EngineHandlers["calls"], GraphCalls> {
  const dispatchFor = (backend: Backend): DispatchPolicy => (backend === "coreml" ? "prefer-native" : chosen);
  const pipelineOf = (model: OpenModel, { stage, phase }: GraphKey): Pipeline => ({
    backend: stage.backend,
    phase,
    context: planTarget(model, targetAt(stage, initial), phase).context,
    precision: stage.backend === "cpu" ? (stage.precision ?? "f32") : "f32",
    dispatch: dispatchFor(stage.backend),
  });
  /** Of a stage of a runtime with one device. */
  const ownRoute = async (
    model: OpenModel,
    { stage: { backend }, phase }: GraphKey,
    target: TargetSpec,
    signal: AbortSignal,
  ): Promise<OwnRoute | undefined> => {
    if (backend === "coreml") return undefined;
    const machine = await costs.machineOf(target);
    return ownRouteOf(model, { backend, target, phase, dispatch: chosen, machine }, signal);
  };
  const staged = (model: OpenModel, key: GraphKey, signal: AbortSignal): Promise<StagedGraph> =>
    stagedGraph(model, key.stage.step, pipelineOf(model, key), signal);
  /** Targets of one context share a graph. */
  const shared = (model: OpenModel, key: GraphKey): string => JSON.stringify([key.stage.step, pipelineOf(model, key)]);
  const view = async (asked: GraphKey, signal: AbortSignal): Promise<GraphView> => {
    const model = store.get(asked.model);
    const key = withinContext(model, asked);
    const made = await tasksOf(model).get(
      GRAPH_VIEW,
      `${shared(model, key)} ${weightsText(key)}`,
      signal,
      async (own) => {
        const { graph, bindings } = await staged(model, key, own);
        return inSlices(graphView({ key, graph, table: opTable, bindings, held: heldAt(key) }), own);
      },
    );
    return { ...made, key };
  };
  /** Core ML's for the target, the others' with their route. */
  const timeAt = async (
    model: OpenModel,
    { target, phase, own }: { readonly target: TargetSpec; readonly phase: Phase; readonly own: OwnRoute | undefined },
    signal: AbortSignal,
  ): Promise<Pick<SubjectCost, "graph" | "cost">> =>
    own ?? costs.of(model, { backend: "coreml", target }, phase, signal);
  const listed = (
    id: string,
    { target, ...pipeline }: Omit<Pipeline, "context" | "dispatch"> & { readonly target: TargetSpec },
  ): [OpenModel, Pipeline] => {
    const model = store.get(id);
    const { context } = planTarget(model, target, pipeline.phase);
    return [model, { ...pipeline, context, dispatch: dispatchFor(pipeline.backend) }];
  };
  /** A program as text, whole. */
  const textOf = async (
    { key, language, target }: Pick<Parameters<EngineHandlers["calls"]["text.page"]>[0], "key" | "language" | "target">,
    signal: AbortSignal,
  ): Promise<{ readonly title: string; readonly lines: readonly Line[] }> => {
    const model = store.get(key.model);
    if (language === "mil") {
      const name = `mil ${JSON.stringify([target, key.phase])}`;
      const route = await routeOf(model, target, key.phase, signal);
      const lines = await tasksOf(model).get(TEXT, name, signal, () => Promise.resolve(milLines(route)));
      return { title: `MIL for ${route.title}`, lines };
    }
    if (language === "plan") {
      const { backend } = key.stage;
      if (backend === "coreml")
        throw new WorkbenchError("INPUT_ARGUMENT", "[text] language: got plan, expected mil or rlx-ir", {
          hint: "Core ML is given MIL.",
        });
      const at = { ...key, stage: { ...key.stage, step: LEGAL } };
      const { graph } = await staged(model, at, signal);
      const lines = planLines(await planSteps(model, { backend, graph, key: key.phase }, signal));
      return { title: `${loweredOf(backend).title} for ${backendTitle(backend)}`, lines };
    }
    const lines = await tasksOf(model).get(TEXT, shared(model, key), signal, async (own) =>
      irLines((await staged(model, key, own)).graph),
    );
    return { title: stageTitle(key), lines };
  };
  return {
    "graph.get": (key, { signal }) => view(key, signal),
    "graph.node": async ({ key, node, target }, { signal }) => {
      const model = store.get(key.model);
      const { graph, bindings } = await staged(model, key, signal);
      if (node >= graph.nodes.length)
        throw new WorkbenchError("INPUT_ARGUMENT", `[graph] node ${node}: expected 0 to ${graph.nodes.length - 1}`);
      // The graph of a key serves every target of its context: the one that is named counts.
      const asked = key.stage.backend === "coreml" ? (target ?? key.stage.target) : null;
      const ownTarget = target ?? targetAt(key.stage, initial);
      const own = await ownRoute(model, key, ownTarget, signal);
      const ownNode = own === undefined ? undefined : sameNode(graph, node, own.graph);
      const placement = own === undefined || ownNode === undefined ? null : ownPlacement(own, ownNode, ownTarget);
      const route = asked === null ? undefined : await routeOf(model, asked, key.phase, signal);
      const held = asked === null ? heldAt(key) : heldFor(planTarget(model, asked, key.phase));
      const routed = route === undefined ? undefined : sameNode(graph, node, route.graph);
      const became = route === undefined ? [] : whatBecameOf(graph, node, route.graph);
      const time = await timeAt(model, { ...key, target: ownTarget, own }, signal);
      const counted = own === undefined ? became : [ownNode ?? -1];
      const view = nodeView({
        ...{ key, graph, id: node, bindings, held, file: model.file, route, target: asked },
        ...{ routed, became, time: { cost: time, nodes: counted } },
      });
      return own === undefined ? view : { ...view, placement, routed: ownNode ?? null };
    },
    "graph.overlay": async ({ key, kind, target }, { signal }) => {
      const model = store.get(key.model);
      const { graph, bindings } = await staged(model, key, signal);
      const own = await ownRoute(model, key, target, signal);
      if (kind === "time") return timeOverlay(key, graph, await timeAt(model, { ...key, target, own }, signal));
      const route = isPredicted(kind) ? (own ?? (await routeOf(model, target, key.phase, signal))) : undefined;
      return overlay({ key, kind, route, graph, bindings });
    },
    "passes.list": async ({ model, backend, phase, target, precision }, { signal }) => {
      const { records } = await passRecords(...listed(model, { backend, phase, target, precision }), signal);
      const total = records.reduce((sum, record) => sum + record.milliseconds, 0) / 1000;
      return {
        model,
        backend,
        phase,
        passes: records.map(passView),
        total: figure(total, "seconds", "measured", "this run of the pipeline, once"),
      };
    },
    "passes.diff": async ({ model, backend, phase, target, precision, pass, full }, { signal }) => {
      const passed = await passRecords(...listed(model, { backend, phase, target, precision }), signal);
      const { record, previous } = recordNamed(passed, pass);
      return passDiff(record, { mark: record.mark, previous }, full);
    },
    "text.page": async ({ key, language, target, firstLine, around, lines: count }, { signal }) => {
      const { title, lines } = await textOf({ key, language, target }, signal);
      return textPage(language, title, lines, { firstLine, around }, count);
    },
    "text.find": async ({ query, ...asked }, { signal }) => foundIn((await textOf(asked, signal)).lines, query),
  };
}

/** The key of the graph that there is: a model's own context bounds the one that was asked for. */
function withinContext(model: OpenModel, key: GraphKey): GraphKey {
  const { stage } = key;
  if (stage.backend !== "coreml") return key;
  const { context } = planTarget(model, stage.target, key.phase);
  return { ...key, stage: { ...stage, target: { ...stage.target, context } } };
}

/** What a stage is counted for: its own target, or its context with what targets begin with. */
const targetAt = (stage: GraphKey["stage"], initial: TargetSpec): TargetSpec =>
  stage.backend === "coreml" ? stage.target : { ...initial, context: stage.context ?? initial.context };

const packageAt = ({ stage, phase }: GraphKey): PlanTarget | undefined =>
  stage.backend === "coreml" ? resolveTarget(stage.target, phase) : undefined;

/** Equal for keys whose nodes read the same bytes. */
function weightsText(key: GraphKey): string {
  const target = packageAt(key);
  return target === undefined ? "" : JSON.stringify([target.profile, paletteOf(target)]);
}

/** How the backend of a stage holds weights. */
function heldAt(key: GraphKey): HeldBytes {
  const target = packageAt(key);
  if (target !== undefined) return heldFor(target);
  return key.stage.backend === "mlx" ? heldByMlx : heldAsStored;
}

function stageTitle({ stage, phase }: GraphKey): string {
  const title = backendTitle(stage.backend);
  const { precision = "f32" } = stage.backend === "cpu" ? stage : {};
  const floats = precision === "f32" ? "" : `, ${precision} precision`;
  const at = stage.step === BUILT ? "as built" : stage.step === LEGAL ? "legal" : `after ${stage.step}`;
  return `IR ${at} for ${title}, ${phase}${floats}`;
}

/** The node of another stage that stands for the same operation of the model. */
function sameNode(graph: Graph, node: number, other: Graph): number | undefined {
  if (other === graph) return node;
  const id = stableIds(graph)[node];
  if (id === undefined) return undefined;
  const found = stableIds(other).indexOf(id);
  return found < 0 ? undefined : found;
}

const isPredicted = (kind: OverlayView["kind"]): boolean => kind === "device" || kind === "segment";

/** Nodes of another stage that stand for an operation that this one stands for, too. */
function whatBecameOf(graph: Graph, node: number, other: Graph): readonly number[] {
  if (other === graph) return [node];
  const sources = new Set(graph.nodes[node]?.origins.map(({ source }) => source));
  return other.nodes.flatMap((each) =>
    !isLeaf(each) && each.origins.some(({ source }) => sources.has(source)) ? [each.id] : [],
  );
}

/** Shares of the step's time; `whole` is that time. */
function timeOverlay(key: GraphKey, graph: Graph, made: Pick<SubjectCost, "graph" | "cost">): OverlayView {
  const values = new Float32Array(graph.nodes.length);
  const view = { key, kind: "time", truth: "predicted", values } as const;
  const { nodes, step } = made.cost;
  routedIds(graph, made.graph).forEach((routed, node) => {
    if (routed >= 0 && step.value > 0) values[node] = (nodes.value[routed] ?? 0) / step.value;
  });
  return {
    ...view,
    legend: [],
    basis: "what each op moves and computes, against the rates of the machine",
    whole: secondsFigure(step, "the whole step"),
  };
}

interface OverlayInput {
  readonly key: GraphKey;
  readonly kind: Exclude<OverlayView["kind"], "time">;
  readonly route: Placed | undefined;
  readonly graph: Graph;
  readonly bindings: Bindings;
}

function overlay({ key, kind, route, graph, bindings }: OverlayInput): OverlayView {
  const values = new Float32Array(graph.nodes.length);
  const moved = new MovedBytes(graph, bindings, heldAt(key));
  const done = (truth: OverlayView["truth"], basis: string, legend: readonly string[] = []): OverlayView => ({
    key,
    kind,
    truth,
    basis,
    values,
    legend: [...legend],
  });
  switch (kind) {
    case "bytes":
      for (const node of graph.nodes) values[node.id] = moved.read(node);
      return done("exact", BYTES_READ);
    case "flops": {
      const arithmetic = new Arithmetic(graph, bindings);
      // What only picks rows of a table computes nothing.
      for (const node of graph.nodes) values[node.id] = opOf(node.op)?.moves === "picks" ? 0 : arithmetic.of(node);
      return done("exact", "a multiplication and an addition are two");
    }
    case "type": {
      const legend: string[] = [];
      for (const node of graph.nodes) {
        const dtype = node.outputs[0]?.dtype ?? "";
        if (!legend.includes(dtype)) legend.push(dtype);
        values[node.id] = legend.indexOf(dtype);
      }
      return done("exact", "type of its first result", legend);
    }
    case "device":
    case "segment": {
      if (route === undefined) return done("predicted", "no route");
      const at = routedIds(graph, route.graph);
      const segments = new Int32Array(route.graph.nodes.length).fill(-1);
      for (const segment of route.segments) for (const id of segment.nodes) segments[id] = segment.index;
      for (const node of graph.nodes) {
        const routed = at[node.id] ?? -1;
        if (kind === "segment") values[node.id] = routed < 0 || isLeaf(node) ? -1 : (segments[routed] ?? -1);
        else if (routed >= 0) values[node.id] = route.nodes.device[routed] ?? 0;
      }
      return done(
        "predicted",
        `our rules for ${route.title}`,
        kind === "segment" ? route.segments.map((s) => s.title) : [],
      );
    }
  }
}

/** For each node its counterpart in the route's graph, or -1. The legal graph of another context may have other nodes. */
function routedIds(graph: Graph, routed: Graph): Int32Array {
  if (routed === graph) return Int32Array.from(graph.nodes, (node) => node.id);
  const byId = new Map<number, number>();
  stableIds(routed).forEach((id, node) => byId.set(id, node));
  return Int32Array.from(stableIds(graph), (id) => byId.get(id) ?? -1);
}
