/** Targets to choose from, and the predicted route of a model for one or several of them. */
import { CHIPS, SYSTEMS, UNITS } from "../../backends/coreml/plan/target.ts";
import type { Route } from "../../backends/coreml/hybrid/route.ts";
import type { EngineHandlers } from "../../contract/contract.ts";
import type { Phase, TargetSpec } from "../../contract/views/common.ts";
import type { RouteComparison, RouteView } from "../../contract/views/route.ts";
import { packageBytes } from "../views/profileView.ts";
import type { GgufFile } from "../../formats/gguf/file.ts";
import { figure } from "../measure/forecast.ts";
import type { RouteCache } from "../services.ts";
import type { ModelStore } from "../models/modelStore.ts";
import { routeOf } from "../models/routes.ts";
import { bytesPerStep, deviceShares, routeView } from "../views/routeView.ts";
import type { TaskKind } from "../models/taskCache.ts";
import { tasksOf } from "../models/taskCache.ts";

/** Columns only: many are kept, so that a target seen before is there at once. */
const ROUTE_VIEW: TaskKind<RouteView> = { name: "route view", keep: 32 };

const choices = (
  list: readonly { readonly id: string; readonly title: string; readonly sentence: string }[],
): { id: string; title: string; sentence: string }[] =>
  list.map(({ id, title, sentence }) => ({ id, title, sentence }));

const PROFILES = [
  { id: "auto", title: "Follows the units", sentence: "f16 for the Neural Engine, packed for the GPU." },
  { id: "gpu", title: "Packed", sentence: "Blocks of 4 to 8 bits, for GPU and CPU." },
  { id: "ane", title: "f16", sentence: "What the Neural Engine reads directly." },
  { id: "exact", title: "Exact", sentence: "f32 weights and arithmetic, for CPU and GPU." },
];

export function routeHandlers(
  store: ModelStore,
  initial: TargetSpec,
  here: TargetSpec | null,
  kept?: RouteCache,
): Pick<EngineHandlers["calls"], "targets.list" | "route.get" | "route.compare"> {
  const view = (model: string, target: TargetSpec, phase: Phase, signal: AbortSignal): Promise<RouteView> => {
    const open = store.get(model);
    return tasksOf(open).get(ROUTE_VIEW, `${JSON.stringify(target)} ${phase}`, signal, (own) => {
      const make = async (): Promise<RouteView> =>
        routeView({ model, route: await routeOf(open, target, phase, own), target, phase });
      return kept === undefined ? make() : kept.get({ model, file: open.file, target, phase }, make);
    });
  };
  return {
    "targets.list": () => ({
      chips: choices(CHIPS),
      oses: choices(SYSTEMS),
      units: choices(UNITS),
      profiles: PROFILES,
      here,
      initial,
    }),
    "route.get": ({ model, target, phase }, { signal }) => view(model, target, phase, signal),
    "route.compare": async ({ model, targets, phase }, { signal }) => {
      const rows: RouteComparison["rows"][number][] = [];
      const open = store.get(model);
      for (const target of targets) rows.push(compared(target, await routeOf(open, target, phase, signal), open.file));
      return { rows };
    },
  };
}

function compared(target: TargetSpec, route: Route, file: GgufFile | undefined): RouteComparison["rows"][number] {
  return {
    target,
    title: route.title,
    truth: "predicted",
    devices: deviceShares(route),
    segments: route.segments.length,
    hops: route.hops.length,
    bytesPerStep: bytesPerStep(route),
    seconds: figure(
      route.costMs / 1000,
      "seconds",
      "predicted",
      "the placement model's own time: for comparing targets, not a promise",
    ),
    packageBytes: file === undefined ? null : packageBytes(file, route.target.profile),
  };
}
