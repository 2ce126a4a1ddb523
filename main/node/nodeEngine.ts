/** The engine in a Node process: its settings, the devices of this machine in one list, and where its files are kept. */
import { join } from "node:path";
import { formatReport } from "../compiler/legalise.ts";
import type { CompileWatch } from "../compiler/prepare.ts";
import type { TargetSpec } from "../contract/views/common.ts";
import type { EngineDevice } from "../engine/devices.ts";
import type { Engine } from "../engine/engine.ts";
import { CONTEXT, createEngine } from "../engine/engine.ts";
import type { OpenCpuDecoder } from "../runtime/devices/cpu.ts";
import { cpuAccess } from "../runtime/devices/cpu.ts";
import { mlxAccess } from "../runtime/devices/mlx.ts";
import { BUILD_HASH } from "./buildHash.ts";
import type { DiskStore } from "./cache/diskStore.ts";
import { cacheFolder, diskStore } from "./cache/diskStore.ts";
import type { PlanCache } from "./cache/planCache.ts";
import { openCachedDecoder } from "./cache/planCache.ts";
import type { CoremlAccess } from "./devices/coreml/device.ts";
import { coremlAccess } from "./devices/coreml/device.ts";
import { hereOf } from "./devices/coreml/here.ts";
import { userHome, xdgFolder } from "./files/folders.ts";
import { everyDevice } from "./devices/list.ts";
import { addonAbsent, loadAddon } from "./native/addon.ts";
import { findMlxEngine } from "./native/mlxAddon.ts";
import type { CoremlUnits, Settings } from "./settings.ts";
import { shapeFlexibility } from "./settings.ts";

export interface NodeEngineOptions {
  readonly settings: Settings;
  /** Hash of the sources, for the keys of the compile cache; the bundler's, unless a test gives one. */
  readonly build?: string;
  /** Further devices, behind those of this list: for tests. */
  readonly devices?: readonly EngineDevice[];
}

export interface NodeEngine extends Engine {
  readonly coreml: CoremlAccess;
}

const UNITS: Readonly<Record<CoremlUnits, TargetSpec["units"]>> = {
  "cpu-ane": "cpu-ane",
  all: "all",
  gpu: "cpu-gpu",
  "cpu-gpu": "cpu-gpu",
  cpu: "cpu",
};

/** What a prediction is for until another target is chosen. */
const initialTarget = (settings: Settings, here: ReturnType<typeof hereOf>): TargetSpec => ({
  chip: here?.chip ?? "m4",
  os: here?.os ?? "macos15",
  units: UNITS[settings.coremlUnits],
  profile: settings.coremlHostDequant ? "ane" : "auto",
  context: CONTEXT,
});

export function dataFolder(settings: Settings): string {
  if (settings.home !== null) return settings.home;
  if (process.platform === "darwin") return join(userHome(), "Library", "Application Support", "RLX Workbench");
  return join(xdgFolder("XDG_DATA_HOME", ".local/share"), "rlx-workbench");
}

/** What a compile did, verified and told on stderr as far as that was asked for. */
function compileWatch(settings: Settings): CompileWatch {
  const tell: CompileWatch["tell"] = ({ backend, what, records, legal }) => {
    const say = (text: string): void => void process.stderr.write(`${text}\n`);
    if (settings.verbose || settings.dispatchReport) say(`compile for ${backend}: ${what}`);
    // `verify` below: what is told of is verified.
    if (settings.verbose)
      for (const pass of records)
        say(
          `pass ${pass.name}: ${pass.nodesBefore} -> ${pass.nodesAfter} nodes, ${pass.hits} hits, ${pass.milliseconds.toFixed(1)} ms, verified`,
        );
    if (settings.dispatchReport) say(formatReport(legal.report));
  };
  return { verify: settings.verbose, tell };
}

/** No build hash, no key. A run that shows the passes or the dispatch report compiles anew. */
function planCache(settings: Settings, store: DiskStore | undefined, build: string | undefined): PlanCache | undefined {
  if (store === undefined || build === undefined || settings.verbose || settings.dispatchReport) return undefined;
  return { store, build, dispatch: settings.dispatch };
}

export function nodeEngine({ settings, build = BUILD_HASH, devices = [] }: NodeEngineOptions): NodeEngine {
  const { dispatch, mlxMode } = settings;
  const folder = dataFolder(settings);
  const place = cacheFolder(settings);
  const plans = place === undefined ? undefined : diskStore(place);
  const kept = planCache(settings, plans, build);
  const watch = compileWatch(settings);
  const flexibility = shapeFlexibility(settings);
  const cpu = cpuAccess(
    () => loadAddon({ path: settings.addon, weights: settings.cpuWeights }),
    () => addonAbsent(settings.addon),
  );
  const mlx = mlxAccess(findMlxEngine, dispatch);
  const coreml = coremlAccess(folder, settings.coremlAddon, flexibility, build);
  const target = initialTarget(settings, hereOf(coreml));
  const openKept: OpenCpuDecoder = async (engine, file, paths, options) =>
    (await openCachedDecoder(engine, file, paths, options, kept)).decoder;
  const engine = createEngine({
    ...{ folder, cpu, mlx, initialTarget: target, flexibility, watch, plans, kept, build },
    devices: [...everyDevice({ cpu, mlx, coreml, target, mlxMode, dispatch, watch, open: openKept }), ...devices],
  });
  return { ...engine, coreml };
}
