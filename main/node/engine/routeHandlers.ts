/** Targets to choose from, and the predicted route of a model for one or several of them. */
import { CHIPS, SYSTEMS, UNITS } from "../../backends/coreml/plan/target.ts";
import type { EngineHandlers } from "../../contract/contract.ts";
import type { TargetSpec } from "../../contract/views/common.ts";
import type { RouteView } from "../../contract/views/route.ts";
import { figure } from "./forecast.ts";
import type { ModelStore } from "./modelStore.ts";
import { routeOf } from "./routes.ts";
import { deviceShares, routeView } from "./views/routeView.ts";

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
): Pick<EngineHandlers["calls"], "targets.list" | "route.get" | "route.compare"> {
  const view = (model: string, target: TargetSpec, phase: "prefill" | "decode"): RouteView => {
    const open = store.get(model);
    return open.cached(`route view ${JSON.stringify(target)} ${phase}`, () =>
      routeView({ model, route: routeOf(open, target, phase), target, phase }),
    );
  };
  return {
    "targets.list": () => ({
      chips: choices(CHIPS),
      oses: choices(SYSTEMS),
      units: choices(UNITS),
      profiles: PROFILES,
      here: null,
      initial,
    }),
    "route.get": ({ model, target, phase }) => view(model, target, phase),
    "route.compare": ({ model, targets, phase }) => ({
      rows: targets.map((target) => {
        const route = routeOf(store.get(model), target, phase);
        const bytes = route.hops.reduce((sum, hop) => sum + hop.bytes, 0);
        return {
          target,
          title: route.title,
          truth: "predicted" as const,
          devices: deviceShares(route),
          segments: route.segments.length,
          hops: route.hops.length,
          bytesPerStep: figure(bytes, "bytes", "predicted", "values that one segment makes and another takes"),
          seconds: figure(
            route.costMs / 1000,
            "seconds",
            "predicted",
            "the placement model's own time: for comparing targets, not a promise",
          ),
          packageBytes: null,
        };
      }),
    }),
  };
}
