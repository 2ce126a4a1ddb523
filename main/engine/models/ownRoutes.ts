/**
 * The route of a runtime that runs a whole graph on one device: the CPU engine, and MLX. Nothing is placed there, so what
 * is to be said of an op is whether the runtime has it, and how long it takes.
 */
import type { Machine } from "../../compiler/cost/machines.ts";
import type { StepCost } from "../../compiler/cost/stepCost.ts";
import type { DispatchPolicy } from "../../compiler/support.ts";
import type { Device, Phase, TargetSpec } from "../../contract/views/common.ts";
import { deviceCode } from "../../contract/views/common.ts";
import type { OwnBackend } from "../../contract/views/graph.ts";
import { backendTitle } from "../../contract/views/graph.ts";
import { isLeaf } from "../../ir/graph.ts";
import type { Steps } from "../../ir/steps.ts";
import { grouped } from "../measure/forecast.ts";
import type { Placed } from "../views/routeView.ts";
import { engineCost, engineRecord } from "./costs.ts";
import type { OpenModel } from "./openModel.ts";
import { planTarget } from "./routes.ts";
import type { TaskKind } from "./taskCache.ts";
import { inSlices, tasksOf } from "./taskCache.ts";

/** Where it computes, and what is said of an op that it has. */
const RUNTIMES = {
  cpu: { unit: "cpu", has: "The CPU engine has a kernel for it." },
  mlx: { unit: "gpu", has: "MLX has a call for it." },
} as const;

export interface OwnRoute extends Placed {
  readonly backend: OwnBackend;
  readonly device: Extract<Device, "cpu" | "gpu">;
  /** Of one step. */
  readonly cost: StepCost;
  /** Why, per node: an index into `reasons`, the first of which is "". */
  readonly reason: Uint32Array;
  readonly reasons: readonly string[];
  /** Ops that it cannot run. */
  readonly refused: number;
}

export interface OwnAsked {
  readonly backend: OwnBackend;
  readonly target: TargetSpec;
  readonly phase: Phase;
  readonly dispatch: DispatchPolicy;
  /** The machine that the work is reckoned for. */
  readonly machine: Machine;
}

const OWN: TaskKind<OwnRoute> = { name: "route on one device", keep: 4 };

export function ownRouteOf(model: OpenModel, asked: OwnAsked, signal: AbortSignal): Promise<OwnRoute> {
  const { backend, phase, dispatch, machine } = asked;
  const { context } = planTarget(model, asked.target, phase);
  const key = JSON.stringify([backend, phase, context, dispatch, machine]);
  return tasksOf(model).get(OWN, key, signal, async (own) => {
    const record = await engineRecord(model, { backend, phase, context, dispatch }, own);
    const refusals = new Map(record.misses.map(({ node, why }) => [node, why]));
    const route = await inSlices(onOneDevice(record.after, refusals, { backend, machine, phase, context }), own);
    return model.isGraphAlone ? { ...route, title: titleOn(backend, machine) } : route;
  });
}

const titleOn = (backend: OwnBackend, { title }: Machine): string =>
  `${backend === "cpu" ? "the CPU engine" : "MLX"}, ${title}`;

/** `refusals`: nodes that the runtime cannot run, and why. */
export function* onOneDevice(
  graph: OwnRoute["graph"],
  refusals: ReadonlyMap<number, string>,
  { backend, machine, phase, context }: Pick<OwnAsked, "backend" | "machine" | "phase"> & { readonly context: number },
): Steps<OwnRoute> {
  const cost = yield* engineCost(graph, { backend, machine, phase, context });
  const { unit: device, has } = RUNTIMES[backend];
  const reasons = ["", has];
  const reason = new Uint32Array(graph.nodes.length);
  const code = new Uint8Array(graph.nodes.length);
  const nodes: number[] = [];
  for (const node of graph.nodes) {
    if (isLeaf(node)) continue;
    const why = refusals.get(node.id);
    if (why === undefined) {
      code[node.id] = deviceCode(device);
      reason[node.id] = 1;
      nodes.push(node.id);
      continue;
    }
    const text = `${backendTitle(backend)} cannot run it: ${why}`;
    if (!reasons.includes(text)) reasons.push(text);
    reason[node.id] = reasons.indexOf(text);
  }
  return {
    backend,
    device,
    graph,
    title: `${titleOn(backend, machine)}, context ${grouped(context)}`,
    nodes: { device: code },
    cost,
    reason,
    reasons,
    refused: refusals.size,
    segments: nodes.length === 0 ? [] : [{ index: 0, title: "the whole program", nodes }],
  };
}
