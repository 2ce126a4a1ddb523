/** Devices that train, by their ids: `new TrainingSession(…, { device: trainingDevice("cpu") })`. */
import { openPackage } from "../../backends/coreml/package.ts";
import { Simulator } from "../../backends/coreml/simulator/simulator.ts";
import { WorkbenchError } from "../../diagnostics/errors.ts";
import type { TrainingDevice } from "../../training/trainingDevice.ts";
import { trainingOn } from "../../training/trainingDevice.ts";
import { packageReader } from "../files/packageDirectory.ts";
import { readSettings, simulatorMemoryOf } from "../settings.ts";
import { engines, THREADS } from "./addon.ts";
import type { Model } from "./model.ts";
import { packageTraining } from "./packageTraining.ts";

export interface TrainingDeviceOptions {
  /** Of the CPU engine; by default as many as the machine runs at once. */
  readonly threads?: number;
  /** Whose weights the graph names, where it is that of a model: they are read where they lie. */
  readonly model?: Model;
}

/**
 * A device of `devices()` for training, the first one without an id. Throws what is missing where it is not here. For Core ML's
 * programs see `simulatedTraining`.
 */
export function trainingDevice(id?: string, { threads = THREADS, model }: TrainingDeviceOptions = {}): TrainingDevice {
  const { registry } = engines();
  const provider = registry.able(id ?? registry.first.id, "graphs", "training");
  const device = provider.device?.({ threads, ...(model === undefined ? {} : { weights: model.weights }) });
  if (device === undefined) throw new WorkbenchError("BUG_INVARIANT", `[training] ${provider.id} compiles no graphs`);
  return trainingOn(device, provider.backend);
}

/** Gradients as a Core ML program, run by the simulator: right, and slow. */
export function simulatedTraining({ model }: Pick<TrainingDeviceOptions, "model"> = {}): TrainingDevice {
  const memory = simulatorMemoryOf(readSettings(process.env));
  return packageTraining({
    id: "simulator",
    title: "Core ML, simulated",
    units: "all",
    async open(path) {
      const reader = packageReader(path);
      try {
        return { runner: new Simulator(await openPackage(reader), memory), close: () => reader.close() };
      } catch (error) {
        await reader.close();
        throw error;
      }
    },
    ...(model === undefined ? {} : { weights: model.file }),
  });
}
