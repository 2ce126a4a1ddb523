/** The hybrid run of a demo graph as the window gets it. */
import type { EngineHandlers } from "../../contract/contract.ts";
import type { HybridView } from "../../contract/views/run.ts";
import { cp } from "node:fs/promises";
import { WorkbenchError } from "../../diagnostics/errors.ts";
import type { CoremlAccess } from "../../node/devices/coreml/device.ts";
import { contentOf } from "../../node/devices/coreml/compiledModels.ts";
import { openRunner, prepareModel, unitsOf } from "../../node/devices/coreml/device.ts";
import type { RunnerOpener } from "../models/hybrid.ts";
import type { Route } from "../../backends/coreml/hybrid/route.ts";
import type { CpuAccess } from "../devices.ts";
import { figure } from "../measure/forecast.ts";
import type { HybridRun } from "../models/hybrid.ts";
import { runHybrid } from "../models/hybrid.ts";
import type { Jobs } from "../jobs.ts";
import type { ModelStore } from "../models/modelStore.ts";
import { routeOf } from "../models/routes.ts";

export function hybridHandlers(
  store: ModelStore,
  cpu: CpuAccess,
  jobs: Jobs,
  coreml: CoremlAccess,
): Pick<EngineHandlers["calls"], "hybrid.run"> {
  return {
    "hybrid.run": async ({ model, device, target, seed }, { signal }): Promise<HybridView> => {
      const open = store.get(model);
      if (open.kind !== "demo-graph")
        throw new WorkbenchError("INPUT_ARGUMENT", "[hybrid] only the demo graph runs part by part", {
          hint: "Run a model in the Run tab.",
        });
      const job = jobs.start("hybrid", "demo graph");
      try {
        const route = await routeOf(open, target, "decode", signal);
        const run = await runHybrid(
          route.graph,
          route,
          cpu.engine(),
          seed,
          signal,
          device === "coreml" ? onCoreml(coreml, route, signal) : undefined,
        );
        return hybridView(route, run, target);
      } finally {
        job.end();
      }
    },
  };
}

/** The parts' package on Core ML: copied to where compiled models live, because the one given here is temporary. */
function onCoreml(coreml: CoremlAccess, route: Route, signal: AbortSignal): RunnerOpener {
  const units = unitsOf(route.target);
  return async (path) => {
    const write = (to: string): Promise<void> => cp(path, to, { recursive: true });
    const facts = [await contentOf(path, signal)];
    const compiled = await prepareModel(coreml, { units, facts, write, signal });
    const runner = openRunner(coreml, compiled, units);
    return { runner, close: () => runner.dispose() };
  };
}

function hybridView(route: Route, run: HybridRun, target: HybridView["target"]): HybridView {
  return {
    truth: run.truth,
    target,
    sentence: `${run.timings.length} parts: ${run.timings.filter((part) => part.side === "coreml").length} ${run.truth === "measured" ? "on Core ML" : "simulated"}, ${run.timings.filter((part) => part.side === "host").length} on the host.`,
    segments: run.timings.map((timing) => {
      const segments = route.segments.filter((segment) => segment.part === timing.part);
      return {
        index: timing.part,
        device: timing.side === "host" ? "host" : (segments[0]?.device ?? "cpu"),
        title: segments.map((segment) => segment.title).join(", "),
        seconds: figure(
          timing.seconds,
          "seconds",
          timing.side === "host" ? "measured" : run.truth,
          timing.side === "host" || run.truth === "measured"
            ? "on this machine"
            : "the simulator's own time, not the device's",
        ),
        bytesIn: timing.bytesIn,
        bytesOut: timing.bytesOut,
      };
    }),
    outputs: Object.entries(run.outputs).map(([name, tensor]) => {
      const values = [...tensor.data];
      return {
        name,
        type: `${tensor.dtype}[${tensor.shape.join(",")}]`,
        min: Math.min(...values),
        max: Math.max(...values),
        mean: values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length),
        values: Float32Array.from(values.slice(0, 4096)),
      };
    }),
    agreement: {
      against: "the float64 reference",
      relativeRms: figure(
        run.relativeRms,
        "share",
        "measured",
        "root mean square of the difference over that of the reference",
      ),
      sentence: `The parts together differ from the reference by ${(run.relativeRms * 100).toPrecision(2)} % (f16 arithmetic in the Core ML parts).`,
    },
  };
}
