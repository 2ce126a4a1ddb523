/** The engine: everything the contract offers, over one set of models, jobs and devices. Each connection is served the same. */
import { access, constants } from "node:fs/promises";
import { availableParallelism, homedir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import type { EngineHandlers } from "../contract/contract.ts";
import { contract } from "../contract/contract.ts";
import type { Contract } from "../contract/contract.ts";
import type { Port } from "../contract/port.ts";
import type { Serving } from "../contract/serve.ts";
import { serve } from "../contract/serve.ts";
import type { TargetSpec } from "../contract/views/common.ts";
import { compileNow } from "../compiler/compile.ts";
import { formatReport } from "../compiler/legalise.ts";
import type { CompileObserver } from "../compiler/compile.ts";
import type { Graph } from "../ir/graph.ts";
import { addonAbsent, loadAddon } from "../node/native/addon.ts";
import { BUILD_HASH } from "../node/buildHash.ts";
import type { DiskStore } from "../node/cache/diskStore.ts";
import { cacheFolder, diskStore } from "../node/cache/diskStore.ts";
import type { PlanCache } from "../node/cache/planCache.ts";
import type { CoremlUnits, Settings } from "../node/settings.ts";
import { shapeFlexibility } from "../node/settings.ts";
import { calibrationAccess } from "./measure/advice.ts";
import { templateView } from "./handlers/chats.ts";
import type { Connectable } from "./connection.ts";
import type { Decoders } from "./models/decoders.ts";
import { createDecoders } from "./models/decoders.ts";
import { calibrateHandler, deviceHandlers } from "./handlers/deviceHandlers.ts";
import { cpuAccess } from "./devices.ts";
import { exportHandlers } from "./handlers/exportHandlers.ts";
import { graphHandlers } from "./handlers/graphHandlers.ts";
import { hybridHandlers } from "./handlers/hybridHandlers.ts";
import type { CoremlAccess } from "../node/devices/coreml/device.ts";
import { coremlAccess } from "../node/devices/coreml/device.ts";
import { hereOf } from "../node/devices/coreml/here.ts";
import { plannedHandler } from "../node/devices/coreml/plannedHandler.ts";
import { infoHandlers, statusOf } from "./handlers/infoHandlers.ts";
import { inspectHandlers } from "./handlers/inspectHandlers.ts";
import { createJobs } from "./jobs.ts";
import { measureHandlers } from "./handlers/measureHandlers.ts";
import { mlxAccess } from "./mlxAccess.ts";
import type { ModelStore } from "./models/modelStore.ts";
import { createModelStore } from "./models/modelStore.ts";
import { createOffers } from "../node/files/offers.ts";
import { createRecents } from "../node/files/recents.ts";
import { routeHandlers } from "./handlers/routeHandlers.ts";
import { runHandler } from "./handlers/runHandlers.ts";
import { createUploads } from "../node/files/uploads.ts";
import { warmUp } from "./models/warmUp.ts";
import { noteIn } from "../node/files/leftovers.ts";
import { makeFolder } from "../node/files/makeFolder.ts";

export interface Engine extends Connectable {
  readonly handlers: EngineHandlers;
  readonly store: ModelStore;
  readonly decoders: Decoders;
  /** The compile cache; undefined when it is switched off. */
  readonly plans: DiskStore | undefined;
  readonly coreml: CoremlAccess;
  /** For a process that waits for its first model: see `warmUp`. */
  warmUp(): Promise<void>;
  /** Cancels all work, waits for it to tidy up, and removes what was sent here. */
  dispose(): Promise<void>;
}

export interface EngineOptions {
  readonly settings: Settings;
  /** Hash of the sources, for the keys of the compile cache; the bundler's, unless a test gives one. */
  readonly build?: string;
}

/** What a prediction is for until somebody says otherwise. */
const CONTEXT = 2048;
const UNITS: Readonly<Record<CoremlUnits, TargetSpec["units"]>> = {
  "cpu-ane": "cpu-ane",
  all: "all",
  gpu: "cpu-gpu",
  "cpu-gpu": "cpu-gpu",
  cpu: "cpu",
};
const STATUS_EVERY_MS = 2000;
/** How long the end of an engine waits for its work to notice. */
const ENDING_MS = 1500;
/** Bytes and seconds of the read loop that finds the roof of a profile. */
const ROOF = { bytes: 256 << 20, seconds: 0.5 };

const initialTarget = (settings: Settings, here: ReturnType<typeof hereOf>): TargetSpec => ({
  chip: here?.chip ?? "m4",
  os: here?.os ?? "macos15",
  units: UNITS[settings.coremlUnits],
  profile: settings.coremlHostDequant ? "ane" : "auto",
  context: CONTEXT,
});

export function dataFolder(settings: Settings): string {
  if (settings.home !== null) return settings.home;
  if (process.platform === "darwin") return join(homedir(), "Library", "Application Support", "RLX Workbench");
  return join(process.env["XDG_DATA_HOME"] ?? join(homedir(), ".local", "share"), "rlx-workbench");
}

/** Work that was cancelled ends within a tenth of a second, and removes what it has half done. */
async function allEnded(closed: readonly Serving<Contract>[]): Promise<void> {
  const end = performance.now() + ENDING_MS;
  while (performance.now() < end && closed.some((connection) => connection.open() > 0)) await wait(5);
}

/** Logs compiles to stderr when RLX_VERBOSE or RLX_DISPATCH_REPORT is set. */
function compileObserver(settings: Settings): CompileObserver {
  const onCompiled: CompileObserver["onCompiled"] = ({ what, compiled }) => {
    const say = (text: string): void => void process.stderr.write(`${text}\n`);
    if (settings.verbose || settings.dispatchReport) say(`compile for ${compiled.backend}: ${what}`);
    if (settings.verbose)
      for (const pass of compiled.records)
        say(
          `pass ${pass.name}: ${pass.nodesBefore} -> ${pass.nodesAfter} nodes, ${pass.hits} hits, ${pass.milliseconds.toFixed(1)} ms, verified`,
        );
    if (settings.dispatchReport) say(formatReport(compiled.report));
  };
  return { verify: settings.verbose, onCompiled };
}

/** Passes and legalisation for the CPU engine. */
function prepareForCpu({ dispatch }: Settings, observer: CompileObserver): (graph: Graph) => Graph {
  return (graph) => compileNow(graph, { ...observer, backend: "cpu", dispatch, what: "decoder" }).graph;
}

/** No build hash, no key. Whoever wants to see the passes or the dispatch report wants them to run. */
function planCache(settings: Settings, store: DiskStore | undefined, build: string | undefined): PlanCache | undefined {
  if (store === undefined || build === undefined || settings.verbose || settings.dispatchReport) return undefined;
  return { store, build, dispatch: settings.dispatch };
}

export function createEngine({ settings, build = BUILD_HASH }: EngineOptions): Engine {
  const folder = dataFolder(settings);
  const connections = new Set<Serving<Contract>>();
  /** Whose port has ended before their work: the end of the engine waits for that, too. */
  const leaving = new Set<Serving<Contract>>();
  const tell = (): void => {
    for (const connection of connections) connection.emit("engine.status", statusOf(jobs));
  };
  const jobs = createJobs(tell);
  const cpu = cpuAccess(
    () => loadAddon({ path: settings.addon, weights: settings.cpuWeights }),
    () => addonAbsent(settings.addon),
  );
  const watch = compileObserver(settings);
  const mlx = mlxAccess({ mode: settings.mlxMode, dispatch: settings.dispatch, watch });
  const flexibility = shapeFlexibility(settings);
  const coreml = coremlAccess(folder, settings.coremlAddon, flexibility, build);
  const recents = createRecents(folder);
  const uploads = createUploads();
  const offers = createOffers();
  const store = createModelStore({ offers, recents, uploads, watch });
  const defaultThreads = availableParallelism();
  const place = cacheFolder(settings);
  const plans = place === undefined ? undefined : diskStore(place);
  const kept = planCache(settings, plans, build);
  const decoders = createDecoders({
    cpu,
    mlx,
    prepare: prepareForCpu(settings, watch),
    plans: kept,
    defaultThreads,
    defaultContext: CONTEXT,
  });
  const here = hereOf(coreml);
  const initial = initialTarget(settings, here);
  const roofs = new Map<number, Promise<number>>();
  const roof = (threads: number, signal: AbortSignal): Promise<number> => {
    const known = roofs.get(threads);
    if (known) return known;
    const measured = cpu.engine().readBandwidth(threads, ROOF.bytes, ROOF.seconds, signal);
    roofs.set(threads, measured);
    measured.catch(() => roofs.delete(threads));
    return measured;
  };
  const writable = async (): Promise<string | undefined> => {
    try {
      await makeFolder(folder);
      await access(folder, constants.W_OK);
      return undefined;
    } catch (error) {
      return error instanceof Error ? error.message : String(error);
    }
  };
  const calibration = calibrationAccess({
    cpu,
    mlx,
    mlxMode: settings.mlxMode,
    threads: defaultThreads,
    store: plans,
    build,
  });
  const compared = { store, cpu, mlx, coreml, jobs, initialTarget: initial, calibration };
  const exporting = exportHandlers({ store, cpu, jobs, flexibility, note: noteIn(folder) });
  const inspecting = inspectHandlers({
    store,
    recents,
    uploads,
    initialTarget: initial,
    cpu,
  });
  const warming = new AbortController();

  const handlers: EngineHandlers = {
    calls: {
      ...infoHandlers({ cpu, mlx, coreml, jobs, offers, dataFolder: folder, writable, plans }),
      ...inspecting,
      "model.open": (input, context) => {
        warming.abort();
        return inspecting["model.open"](input, context);
      },
      ...graphHandlers(store, initial),
      ...routeHandlers(store, initial, here === undefined ? null : initial, kept),
      ...hybridHandlers(store, cpu, jobs, coreml),
      ...plannedHandler({ store, coreml, cpu }),
      ...deviceHandlers(compared),
      ...exporting.calls,
      "chat.template": ({ model, messages }) => templateView(store.get(model), messages),
    },
    streams: {
      "run.start": runHandler({ store, decoders, jobs, cpu, coreml, initialTarget: initial }),
      ...measureHandlers({ store, decoders, cpu, mlx, coreml, initialTarget: initial, jobs, defaultThreads, roof }),
      "devices.calibrate": calibrateHandler(compared),
      ...exporting.streams,
    },
  };

  const heartbeat = setInterval(() => {
    if (jobs.list().length > 0) tell();
  }, STATUS_EVERY_MS);
  heartbeat.unref();

  return {
    handlers,
    store,
    decoders,
    plans,
    coreml,
    connect(port: Port) {
      // A port has one listener for its end: the connection's, with our own bookkeeping before it.
      const watched: Port = {
        ...port,
        onClose: (listener) =>
          port.onClose((reason) => {
            connections.delete(connection);
            if (connection.open() > 0) leaving.add(connection);
            listener(reason);
          }),
      };
      const connection: Serving<Contract> = serve(contract, handlers, watched, {
        onUnexpected: (method, error) =>
          process.stderr.write(
            `[${method}] ${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`,
          ),
        onIdle: () => leaving.delete(connection),
      });
      connections.add(connection);
    },
    async warmUp() {
      try {
        await warmUp({ recents, uploads, target: initial }, warming.signal);
      } catch (error) {
        if (!warming.signal.aborted) throw error;
      }
    },
    async dispose() {
      warming.abort();
      clearInterval(heartbeat);
      const closed = [...connections];
      for (const connection of closed) connection.close("the engine ends");
      await allEnded([...closed, ...leaving]);
      await store.dispose();
      await uploads.dispose();
    },
  };
}
