/** This machine as the engine is given it. */
import { availableParallelism, cpus } from "node:os";
import type { Machine } from "../../engine/services.ts";
import { chipTitle, freeBytes, osTitle, platformName, totalBytes } from "./machineInfo.ts";
import { machineReadings } from "./machineState.ts";

export const thisMachine = (): Machine => ({
  platform: platformName(),
  osTitle: osTitle(),
  chip: chipTitle(),
  cores: cpus().length,
  threads: availableParallelism(),
  totalBytes: totalBytes(),
  freeBytes,
  engineBytes: () => process.memoryUsage.rss(),
  readings: (mac) => machineReadings(mac),
});
