/** The engines of a process that uses the library: the CPU addon of the package, and MLX where that is. */
import { availableParallelism } from "node:os";
import { WorkbenchError } from "../../diagnostics/errors.ts";
import { cpuAccess, cpuProvider } from "../../runtime/devices/cpu.ts";
import { mlxAccess, mlxProvider } from "../../runtime/devices/mlx.ts";
import { deviceRegistry } from "../../runtime/devices/registry.ts";
import { addonAbsent, loadAddon } from "../native/addon.ts";
import { findMlxEngine } from "../native/mlxAddon.ts";
import { readSettings } from "../settings.ts";

const settings = readSettings(process.env);

export const THREADS = availableParallelism();

const noEngine = (): WorkbenchError =>
  new WorkbenchError("ENV_NO_ADDON", `[addon] this package has no engine for ${process.platform}-${process.arch}`, {
    hint: "Build it in a clone of the repository (npm run build:native) and name its rlx.node in RLX_ADDON. Without it, evaluate runs graphs.",
  });

export const cpu = cpuAccess(
  () => {
    if (settings.addon === null && addonAbsent(null)) throw noEngine();
    return loadAddon({ path: settings.addon, weights: settings.cpuWeights });
  },
  () => addonAbsent(settings.addon),
);

const { dispatch, mlxMode: mode } = settings;
export const registry = deviceRegistry([
  cpuProvider({ access: cpu, dispatch }),
  mlxProvider({ access: mlxAccess(findMlxEngine, dispatch), mode, dispatch }),
]);

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
  registry.listed.map((device) => {
    const { ok, sentence } = device.probe();
    return { id: device.id, title: device.title, available: ok, sentence };
  });
