/** The device that runs for a subject: the runtime's own where it is here, else the first that can, said plainly. */
import { DEFAULT_DEVICE } from "../../main/contract/views/engine.ts";
import type { DeviceInfo, RunDevice } from "../../main/contract/views/engine.ts";
import type { Backend } from "../../main/contract/views/graph.ts";

/** A simulator runs nothing by itself: its times say nothing of the device. */
const canRun = ({ available, capabilities }: DeviceInfo): boolean =>
  available && capabilities.tokens === true && capabilities.measure === true;

export function runnerOf(backend: Backend, devices: readonly DeviceInfo[]): RunDevice {
  const own = devices.find((device) => device.backend === backend && canRun(device));
  return (own ?? devices.find(canRun))?.id ?? DEFAULT_DEVICE;
}

/** The runtime of a device; null where it has none of the subject's. */
export const backendOf = (devices: readonly DeviceInfo[], id: RunDevice): Backend | null =>
  devices.find((device) => device.id === id)?.backend ?? null;

/** Where a Mac's models run first: on the device that was measured as the fastest, else on MLX, else as they are. */
export function firstBackend(devices: readonly DeviceInfo[], best: RunDevice | null): Backend | null {
  const fastest = best === null ? null : backendOf(devices, best);
  return fastest ?? devices.find((device) => device.backend === "mlx" && canRun(device))?.backend ?? null;
}
