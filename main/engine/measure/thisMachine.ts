/** The machine that a target names, with what is known of this one: its memory, what the GPU may hold, and measured bandwidths. */
import type { Here, Machine, MeasuredBandwidth } from "../../compiler/cost/machines.ts";
import { machineFor } from "../../compiler/cost/machines.ts";
import type { TargetSpec } from "../../contract/views/common.ts";
import type { EngineDevices } from "../devices.ts";
import { macOf } from "../devices.ts";
import type { Machine as ThisMachine } from "../services.ts";
import type { CalibrationAccess } from "./advice.ts";

export type MachineOf = (target: Pick<TargetSpec, "chip" | "memoryGiB">) => Promise<Machine>;

export interface ThisMachineParts {
  readonly machine: Pick<ThisMachine, "platform" | "chip" | "cores" | "totalBytes">;
  readonly devices: EngineDevices;
  readonly calibration: Pick<CalibrationAccess, "known">;
}

/** Without measurements. */
export function hereOf({ machine, devices }: Omit<ThisMachineParts, "calibration">): Here {
  const { platform, chip, cores, totalBytes } = machine;
  const mac = macOf(devices);
  // Facts of a simulated Mac are not this one's.
  const gpuBytes = mac?.truth === "measured" && mac.gpuBytes > 0 ? mac.gpuBytes : undefined;
  return { platform, chip, cores, totalBytes, gpuBytes };
}

export const machinesFrom =
  (parts: ThisMachineParts): MachineOf =>
  async (target) => {
    const here = hereOf(parts);
    // Elsewhere a target is another machine, of which nothing was measured here.
    const measured = here.platform === "darwin" ? await measuredHere(parts) : [];
    return machineFor(target, { ...here, measured });
  };

async function measuredHere({ devices, calibration }: ThisMachineParts): Promise<readonly MeasuredBandwidth[]> {
  const known = await calibration.known();
  return known.flatMap(({ device, bandwidth }): MeasuredBandwidth[] => {
    const info = devices.listed.find(({ id }) => id === device);
    return info?.reads === undefined ? [] : [{ unit: info.reads.unit, device: info.title, perSecond: bandwidth }];
  });
}
