/** The engines of a process that uses the library: the CPU addon of the package, and MLX where that is. */
import { availableParallelism } from "node:os";
import type { CpuEngine } from "../../backends/cpu/engine.ts";
import { WorkbenchError } from "../../diagnostics/errors.ts";
import type { CpuAccess } from "../../runtime/devices/cpu.ts";
import { cpuAccess, cpuProvider } from "../../runtime/devices/cpu.ts";
import { mlxAccess, mlxProvider } from "../../runtime/devices/mlx.ts";
import type { DeviceProvider } from "../../runtime/devices/provider.ts";
import type { DeviceRegistry } from "../../runtime/devices/registry.ts";
import { deviceRegistry } from "../../runtime/devices/registry.ts";
import { addonAbsent, loadAddon } from "../native/addon.ts";
import { findMlxEngine } from "../native/mlxAddon.ts";
import { readSettings } from "../settings.ts";

export const THREADS = availableParallelism();

interface Engines {
  readonly cpu: CpuAccess;
  readonly registry: DeviceRegistry<DeviceProvider>;
}

const noEngine = (): WorkbenchError =>
  new WorkbenchError("ENV_NO_ADDON", `[addon] this package has no engine for ${process.platform}-${process.arch}`, {
    hint: "Build it in a clone of the repository (npm run build:native) and name its rlx.node in RLX_ADDON. Without it, evaluate runs graphs.",
  });

function findEngines(): Engines {
  const { addon, cpuWeights, dispatch, mlxMode: mode } = readSettings(process.env);
  const load = (): CpuEngine => {
    if (addon === null && addonAbsent(null)) throw noEngine();
    return loadAddon({ path: addon, weights: cpuWeights });
  };
  const cpu = cpuAccess(load, () => addonAbsent(addon));
  const mlx = mlxAccess(findMlxEngine);
  return {
    cpu,
    registry: deviceRegistry([cpuProvider({ access: cpu, dispatch }), mlxProvider({ access: mlx, mode, dispatch })]),
  };
}

let found: Engines | undefined;
/** Looked for at the first use; the environment is read then. */
export const engines = (): Engines => (found ??= findEngines());

/** A device of this machine that runs models. */
export interface DeviceFact {
  /** What `openSession` takes as `device`. */
  readonly id: string;
  readonly title: string;
  readonly available: boolean;
  /** What it is, or what is missing. */
  readonly sentence: string;
}

/** The devices that models run on; the first is taken when none is named. */
export const devices = (): readonly DeviceFact[] =>
  engines().registry.listed.map((device) => {
    const { ok, sentence } = device.probe();
    return { id: device.id, title: device.title, available: ok, sentence };
  });
