/** Targets to choose from, and the predicted route of a model for one or several of them. */
import { CHIPS, SYSTEMS, UNITS } from "../../backends/coreml/plan/target.ts";
import type { Route } from "../../backends/coreml/hybrid/route.ts";
import type { EngineHandlers } from "../../contract/contract.ts";
import type { Phase, TargetSpec } from "../../contract/views/common.ts";
import type { Backend } from "../../contract/views/graph.ts";
import type { RouteComparison, RouteView } from "../../contract/views/route.ts";
import { packageBytes } from "../views/profileView.ts";
import type { GgufFile } from "../../formats/gguf/file.ts";
import { MACHINES } from "../../compiler/cost/machines.ts";
import type { StepCost } from "../../compiler/cost/stepCost.ts";
import { secondsFigure } from "../measure/costFigures.ts";
import type { CostAccess } from "../models/costs.ts";
import { costOfRoute } from "../models/costs.ts";
import type { Recents, RouteCache } from "../services.ts";
import type { ModelStore } from "../models/modelStore.ts";
import { ownRouteOf } from "../models/ownRoutes.ts";
import { planTarget, routeOf } from "../models/routes.ts";
import { ownRouteView } from "../views/ownRouteView.ts";
import { bytesPerStep, deviceShares, routeView } from "../views/routeView.ts";
import type { TaskKind } from "../models/taskCache.ts";
import { tasksOf } from "../models/taskCache.ts";

/** Columns only: many are kept, so that a target seen before is there at once. */
const ROUTE_VIEW: TaskKind<RouteView> = { name: "route view", keep: 32 };

const choices = (
  list: readonly { readonly id: string; readonly title: string; readonly sentence: string }[],
): { id: string; title: string; sentence: string }[] =>
  list.map(({ id, title, sentence }) => ({ id, title, sentence }));

/** Pro, Max and Ultra: their families are in the list already. */
const variants = MACHINES.filter(({ id }) => id.includes("-"));

const PROFILES = [
  { id: "auto", title: "Follows the units", sentence: "f16 for the Neural Engine, packed for the GPU." },
  { id: "gpu", title: "Packed", sentence: "Blocks of 4 to 8 bits, for GPU and CPU." },
  { id: "ane", title: "f16", sentence: "What the Neural Engine reads directly." },
  { id: "exact", title: "Exact", sentence: "f32 weights and arithmetic, for CPU and GPU." },
  { id: "f32", title: "f32", sentence: "f32 weights and arithmetic with nothing left to unpack: large." },
];

export interface RouteParts {
  readonly store: ModelStore;
  readonly initial: TargetSpec;
  readonly here: TargetSpec | null;
  readonly costs: Pick<CostAccess, "machineOf" | "dispatch">;
  readonly kept?: RouteCache | undefined;
  readonly recents?: Pick<Recents, "note"> | undefined;
}

export function routeHandlers({
  store,
  initial,
  here,
  costs: { machineOf, dispatch },
  kept,
  recents,
}: RouteParts): Pick<EngineHandlers["calls"], "targets.list" | "route.get" | "route.compare"> {
  const view = async (
    model: string,
    backend: Backend,
    asked: TargetSpec,
    phase: Phase,
    signal: AbortSignal,
  ): Promise<RouteView> => {
    const open = store.get(model);
    const target = backend === "coreml" ? asked : { ...asked, context: planTarget(open, asked, phase).context };
    const machine = await machineOf(target);
    return tasksOf(open).get(ROUTE_VIEW, JSON.stringify([backend, target, phase, machine]), signal, async (own) => {
      if (backend !== "coreml") {
        const route = await ownRouteOf(open, { backend, target, phase, dispatch, machine }, own);
        return ownRouteView({ model, route, machine, target, phase });
      }
      const make = async (): Promise<RouteView> => {
        const route = await routeOf(open, target, phase, own);
        const cost = await costOfRoute({ model: open, phase, machine }, route, own);
        return routeView({ model, route, cost, machine, target, phase });
      };
      const made = await (kept === undefined
        ? make()
        : kept.get({ model, file: open.file, target, phase, machine }, make));
      if (phase === "decode" && open.path !== null) await recents?.note(open.path, { aneShare: aneShareOf(made) });
      return made;
    });
  };
  return {
    "targets.list": () => ({
      chips: choices([...CHIPS, ...variants]),
      oses: choices(SYSTEMS),
      units: choices(UNITS),
      profiles: PROFILES,
      here,
      initial,
    }),
    "route.get": ({ model, backend, target, phase }, { signal }) => view(model, backend, target, phase, signal),
    "route.compare": async ({ model, targets, phase }, { signal }) => {
      const rows: RouteComparison["rows"][number][] = [];
      const open = store.get(model);
      for (const target of targets) {
        const machine = await machineOf(target);
        const route = await routeOf(open, target, phase, signal);
        const cost = await costOfRoute({ model: open, phase, machine }, route, signal);
        rows.push(compared(target, route, cost, open.file));
      }
      return { rows };
    },
  };
}

/** For the list of files that were opened. */
const aneShareOf = ({ devices, target }: RouteView): { readonly share: number; readonly target: string } => ({
  share: devices.find(({ device }) => device === "ane")?.workShare ?? 0,
  target: [CHIPS, variants, UNITS]
    .flatMap((list) => list.find(({ id }) => id === target.chip || id === target.units)?.title ?? [])
    .join(", "),
});

function compared(
  target: TargetSpec,
  route: Route,
  cost: StepCost,
  file: GgufFile | undefined,
): RouteComparison["rows"][number] {
  return {
    target,
    title: route.title,
    truth: "predicted",
    devices: deviceShares(route, cost),
    segments: route.segments.length,
    hops: route.hops.length,
    bytesPerStep: bytesPerStep(route),
    seconds: secondsFigure(cost.step, "segments, hops, and caches that are copied"),
    packageBytes: file === undefined ? null : packageBytes(file, route.target),
  };
}
