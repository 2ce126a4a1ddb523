/** The hybrid run of a demo graph as the window gets it. */
import type { EngineHandlers } from "../../contract/contract.ts";
import type { HybridView } from "../../contract/views/run.ts";
import { WorkbenchError } from "../../diagnostics/errors.ts";
import type { Route } from "../../backends/coreml/hybrid/route.ts";
import type { HostTensor } from "../../ir/hostTensor.ts";
import type { CpuAccess } from "../../runtime/devices/cpu.ts";
import type { EngineDevice, EngineDevices } from "../devices.ts";
import { figure } from "../measure/forecast.ts";
import type { HybridRun } from "../models/hybrid.ts";
import { runHybrid } from "../models/hybrid.ts";
import type { Jobs } from "../jobs.ts";
import type { PackageFiles } from "../services.ts";
import type { ModelStore } from "../models/modelStore.ts";
import { routeOf } from "../models/routes.ts";

export function hybridHandlers(
  store: ModelStore,
  cpu: CpuAccess,
  jobs: Jobs,
  devices: EngineDevices,
  packages: PackageFiles,
): Pick<EngineHandlers["calls"], "hybrid.run"> {
  return {
    "hybrid.run": async ({ model, device, target, seed }, { signal }): Promise<HybridView> => {
      const open = store.get(model);
      if (open.kind !== "demo-graph")
        throw new WorkbenchError("INPUT_ARGUMENT", "[hybrid] got a model, expected the demo graph", {
          hint: "Run a model in the Run tab.",
        });
      const job = jobs.start("hybrid", "demo graph", model);
      try {
        const route = await routeOf(open, target, "decode", signal);
        const run = await runHybrid(
          route.graph,
          route,
          cpu.engine(),
          seed,
          signal,
          segmentsOf(devices, device)(route, signal),
          packages,
        );
        return hybridView(route, run, target);
      } finally {
        job.end();
      }
    },
  };
}

function segmentsOf(devices: EngineDevices, id: string | null): NonNullable<EngineDevice["segments"]> {
  const device = id === null ? devices.find("segments") : devices.able(id, "segments", "hybrid");
  if (device?.segments === undefined)
    throw new WorkbenchError("ENV_NO_DEVICE", "[hybrid] no device can run segments", {
      hint: "Run the whole model on one device instead.",
    });
  const { segments } = device;
  return (route, signal) => segments(route, signal);
}

export function hybridView(route: Route, run: HybridRun, target: HybridView["target"]): HybridView {
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
    outputs: Object.entries(run.outputs).map(outputView),
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

/** In loops: a tensor has more values than a call can have arguments. */
function outputView([name, tensor]: readonly [string, HostTensor]): HybridView["outputs"][number] {
  const { data } = tensor;
  let [min, max, sum] = [Infinity, -Infinity, 0];
  for (const value of data) {
    min = Math.min(min, value);
    max = Math.max(max, value);
    sum += value;
  }
  return {
    name,
    type: `${tensor.dtype}[${tensor.shape.join(",")}]`,
    min,
    max,
    mean: sum / Math.max(1, data.length),
    values: Float32Array.from(data.slice(0, 4096)),
  };
}
