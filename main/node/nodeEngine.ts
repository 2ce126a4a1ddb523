/** The engine in a Node process: its settings, the devices of this machine in one list, and where its files are kept. */
import { access, constants } from "node:fs/promises";
import { availableParallelism } from "node:os";
import { formatReport } from "../compiler/legalise.ts";
import type { CompileObserver } from "../compiler/compile.ts";
import type { TargetSpec } from "../contract/views/common.ts";
import type { EngineDevice } from "../engine/devices.ts";
import type { Engine } from "../engine/engine.ts";
import { CONTEXT, createEngine } from "../engine/engine.ts";
import type { OpenCpuDecoder } from "../runtime/devices/cpu.ts";
import { cpuAccess } from "../runtime/devices/cpu.ts";
import { mlxAccess } from "../runtime/devices/mlx.ts";
import { BUILD_HASH } from "./buildHash.ts";
import type { DiskStore } from "./cache/diskStore.ts";
import { diskStore } from "./cache/diskStore.ts";
import type { PlanCache } from "./cache/planCache.ts";
import { openCachedDecoder } from "./cache/planCache.ts";
import { coremlAccess } from "./devices/coreml/device.ts";
import { thisMac } from "./devices/coreml/thisMac.ts";
import { everyDevice } from "./devices/list.ts";
import type { EngineServices, Machine } from "../engine/services.ts";
import { calibrationStore } from "./cache/calibrations.ts";
import { cachedRouteView } from "./cache/routeCache.ts";
import { createHistories } from "./files/histories.ts";
import { makeFolder } from "./files/makeFolder.ts";
import { modelFiles } from "./files/modelFiles.ts";
import { packageFiles } from "./files/packageFiles.ts";
import { createPreferences, namedDataFolder } from "./files/preferences.ts";
import { promptCacheFiles } from "./files/promptCacheFiles.ts";
import { createRecents } from "./files/recents.ts";
import { createSessions } from "./files/sessions.ts";
import { createTrainingRuns, trainingFiles } from "./files/trainingFiles.ts";
import { createUploads } from "./files/uploads.ts";
import { createVerdicts } from "./files/verdicts.ts";
import { createFinder } from "./finder/finder.ts";
import { thisMachine } from "./machine/machine.ts";
import { chipTitle } from "./machine/machineInfo.ts";
import { addonAbsent, loadAddon } from "./native/addon.ts";
import { findMlxEngine } from "./native/mlxAddon.ts";
import type { CoremlUnits, Settings } from "./settings.ts";
import { apiHost } from "./api/apiHost.ts";
import { shapeFlexibility, simulatorMemoryOf } from "./settings.ts";

export interface NodeEngineOptions {
  readonly settings: Settings;
  /** Takes what is told of compiles and of the engine's own troubles; standard error without it. */
  readonly log?: (line: string) => void;
  /** Hash of the sources for cache keys: the bundler's, unless a test gives one. */
  readonly build?: string;
  /** Devices after those of the list, for tests. */
  readonly devices?: readonly EngineDevice[];
  /** What is told of this machine in another way, for tests. */
  readonly machine?: Partial<Machine>;
}

const UNITS: Readonly<Record<CoremlUnits, TargetSpec["units"]>> = {
  "cpu-ane": "cpu-ane",
  all: "all",
  gpu: "cpu-gpu",
  "cpu-gpu": "cpu-gpu",
  cpu: "cpu",
};

/** The initial target of predictions. */
const initialTarget = (settings: Settings, here: ReturnType<typeof thisMac>): TargetSpec => ({
  chip: here?.chip ?? "m4",
  os: here?.os ?? "macos15",
  units: UNITS[settings.coremlUnits],
  profile: settings.coremlHostDequant ? "f32" : "auto",
  context: CONTEXT,
});

/** Logs compile steps when RLX_VERBOSE or RLX_DISPATCH_REPORT is set, and verifies graphs after each pass with the first. */
function compileObserver(settings: Settings, log: (line: string) => void): CompileObserver {
  const onCompiled: CompileObserver["onCompiled"] = ({ what, compiled }) => {
    if (settings.verbose || settings.dispatchReport) log(`compile for ${compiled.backend}: ${what}`);
    if (settings.verbose)
      for (const pass of compiled.records)
        log(
          `pass ${pass.name}: ${pass.nodesBefore} -> ${pass.nodesAfter} nodes, ${pass.hits} hits, ${pass.milliseconds.toFixed(1)} ms, verified`,
        );
    if (settings.dispatchReport) log(formatReport(compiled.report));
  };
  return { verify: settings.verbose, onCompiled };
}

/** Undefined without a build hash, and for runs that show passes or the dispatch report. */
function planCache(settings: Settings, store: DiskStore | undefined, build: string | undefined): PlanCache | undefined {
  if (store === undefined || build === undefined || settings.verbose || settings.dispatchReport) return undefined;
  return { store, build, dispatch: settings.dispatch };
}

export function nodeEngine({
  settings,
  log = toStandardError,
  build = BUILD_HASH,
  devices = [],
  machine = {},
}: NodeEngineOptions): Engine {
  const { dispatch, mlxMode } = settings;
  const { cacheFolder } = settings;
  const rings = settings.rings === "on";
  const named = settings.home === null ? namedDataFolder(settings.dataFolder) : null;
  const folder = named ?? settings.dataFolder;
  const dataFolderBy = settings.home !== null ? "RLX_HOME" : named === null ? "usual" : "settings";
  const plans = cacheFolder === undefined ? undefined : diskStore(cacheFolder);
  const kept = planCache(settings, plans, build);
  const watch = compileObserver(settings, log);
  const flexibility = shapeFlexibility(settings);
  const cpu = cpuAccess(
    () => loadAddon({ path: settings.addon, weights: settings.cpuWeights }),
    () => addonAbsent(settings.addon),
  );
  const mlx = mlxAccess(findMlxEngine);
  const coreml = coremlAccess(folder, settings.coremlAddon, flexibility, build);
  const target = initialTarget(settings, thisMac(coreml));
  const openKept: OpenCpuDecoder = async (engine, file, paths, options) =>
    (await openCachedDecoder(engine, file, paths, options, kept)).decoder;
  const calibrations = { machine: `${chipTitle()} ${availableParallelism()}`, store: plans, build };
  const services: EngineServices = {
    files: modelFiles,
    packages: packageFiles(folder),
    recents: createRecents(folder),
    preferences: createPreferences({ folder: settings.dataFolder, dataFolder: folder, dataFolderBy }),
    finder: createFinder({ usual: settings.modelPlaces }),
    sessions: createSessions(folder),
    histories: createHistories(folder),
    trainingRuns: createTrainingRuns(folder),
    trainingFiles,
    uploads: createUploads(),
    promptCaches: promptCacheFiles,
    machine: { ...thisMachine(), ...machine },
    data: { folder, problem: () => writeProblem(folder) },
    plans,
    routes: { get: (request, make) => cachedRouteView(kept, request, make) },
    calibrations: calibrationStore(calibrations),
    verdicts: createVerdicts(folder),
    api: apiHost,
    log,
  };
  const simulatorMemory = simulatorMemoryOf(settings);
  return createEngine({
    ...{ services, cpu, mlx, dispatch, rings, initialTarget: target, flexibility, watch },
    allowThrottle: settings.allowThrottle,
    devices: [
      ...everyDevice({ cpu, mlx, coreml, simulatorMemory, target, mlxMode, dispatch, rings, watch, open: openKept }),
      ...devices,
    ],
  });
}

const toStandardError = (line: string): void => void process.stderr.write(`${line}\n`);

/** The reason why a folder is not writable. */
async function writeProblem(folder: string): Promise<string | undefined> {
  try {
    await makeFolder(folder);
    await access(folder, constants.W_OK);
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
