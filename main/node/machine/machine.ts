/** This machine as the engine is given it. */
import { availableParallelism, cpus } from "node:os";
import type { Machine } from "../../engine/services.ts";
import { chipTitle, freeBytes, osTitle, platformName, totalBytes } from "./machineInfo.ts";
import { energyCounter } from "./energy.ts";
import { machineReadings, thisMachine as system } from "./machineState.ts";
import { coreKinds, processorTimes } from "./processors.ts";

export const thisMachine = (): Machine => ({
  platform: platformName(),
  osTitle: osTitle(),
  chip: chipTitle(),
  cores: cpus().length,
  threads: availableParallelism(),
  totalBytes: totalBytes(),
  freeBytes,
  engineBytes: () => process.memoryUsage.rss(),
  coreKinds: () => coreKinds(system),
  processorTimes,
  energy: () => energyCounter(system),
  readings: (mac) => machineReadings(mac),
});
