/** The engine: everything the contract offers, over one set of models, jobs and devices. Each connection is served the same. */
import type { EngineHandlers } from "../contract/contract.ts";
import { contract } from "../contract/contract.ts";
import type { Contract } from "../contract/contract.ts";
import type { Port } from "../contract/port.ts";
import type { Serving } from "../contract/serve.ts";
import { serve } from "../contract/serve.ts";
import type { TargetSpec } from "../contract/views/common.ts";
import type { CompileObserver } from "../compiler/compile.ts";
import type { CpuAccess } from "../runtime/devices/cpu.ts";
import type { DispatchPolicy } from "../compiler/support.ts";
import type { MlxAccess } from "../runtime/devices/mlx.ts";
import { deviceRegistry } from "../runtime/devices/registry.ts";
import type { ShapeFlexibility } from "../backends/coreml/flexible.ts";
import type { EngineDevice } from "./devices.ts";
import { calibrationAccess } from "./measure/advice.ts";
import { templateView } from "./handlers/chats.ts";
import { machinesFrom } from "./measure/thisMachine.ts";
import type { Connectable } from "./connection.ts";
import { costAccess } from "./models/costs.ts";
import { createDecoders } from "./models/decoders.ts";
import { adviceHandlers } from "./handlers/adviceHandlers.ts";
import { calibrateHandler, deviceHandlers } from "./handlers/deviceHandlers.ts";
import { compareHandler, compareParts, mergeHandler } from "./handlers/compareHandler.ts";
import { costHandlers } from "./handlers/costHandlers.ts";
import { compileHandlers } from "./handlers/compileHandlers.ts";
import { convertHandlers } from "./handlers/convertHandlers.ts";
import { importanceHandler } from "./handlers/importanceHandler.ts";
import { promptCacheHandlers } from "./handlers/promptCacheHandlers.ts";
import { quantizeHandlers } from "./handlers/quantizeHandlers.ts";
import { exportHandlers } from "./handlers/exportHandlers.ts";
import { graphHandlers } from "./handlers/graphHandlers.ts";
import { hybridHandlers } from "./handlers/hybridHandlers.ts";
import { infoHandlers, statusOf } from "./handlers/infoHandlers.ts";
import { inspectHandlers } from "./handlers/inspectHandlers.ts";
import { createJobs } from "./jobs.ts";
import { measureHandlers } from "./handlers/measureHandlers.ts";
import { createModelStore } from "./models/modelStore.ts";
import { createOffers } from "./models/offers.ts";
import { cacheHandlers } from "./handlers/cacheHandlers.ts";
import { expertsHandler } from "./handlers/expertsHandler.ts";
import { embedHandlers } from "./handlers/embedHandlers.ts";
import { qualityHandler } from "./handlers/qualityHandler.ts";
import { encodeHandler, scoreHandler } from "./handlers/scoreHandlers.ts";
import { opsHandlers } from "./handlers/opsHandlers.ts";
import { textHandlers } from "./handlers/textHandlers.ts";
import { trainHandlers } from "./handlers/trainHandlers.ts";
import { verifyHandler } from "./handlers/verifyHandler.ts";
import type { EngineServices } from "./services.ts";
import { reportHandler } from "./handlers/reportHandler.ts";
import { routeHandlers } from "./handlers/routeHandlers.ts";
import { stepsHandlers } from "./handlers/stepsHandlers.ts";
import { placeHandlers } from "./handlers/placeHandlers.ts";
import { recentHandlers } from "./handlers/recentHandlers.ts";
import { sessionHandlers } from "./handlers/sessionHandlers.ts";
import { serverHandlers } from "./handlers/serverHandlers.ts";
import { templateHandler } from "./handlers/templateHandler.ts";
import { tensorHandlers } from "./handlers/tensorHandlers.ts";
import { runHandler } from "./handlers/runHandlers.ts";
import { warmUp } from "./models/warmUp.ts";

export interface Engine extends Connectable {
  /** For a process that waits for its first model: see `warmUp`. */
  warmUp(): Promise<void>;
  /** Cancels all work, waits for it to tidy up, and removes what was sent here. */
  dispose(): Promise<void>;
}

/** What the engine gets from where it is hosted. */
export interface EngineParts {
  /** Files, the machine, what is kept: see main/node/nodeEngine.ts. */
  readonly services: EngineServices;
  /** The devices, the default one first. */
  readonly devices: readonly EngineDevice[];
  /** The CPU engine as a tool: it unpacks weights, measures memory, runs host segments. */
  readonly cpu: CpuAccess;
  /** For what MLX would do with a model. */
  readonly mlx: MlxAccess;
  /** As graphs for the CPU and MLX are compiled. */
  readonly dispatch: DispatchPolicy;
  /** Layers that see only the newest positions keep no others there. */
  readonly rings: boolean;
  readonly initialTarget: TargetSpec;
  readonly flexibility: ShapeFlexibility;
  readonly watch: CompileObserver;
  /** RLX_ALLOW_THROTTLE. */
  readonly allowThrottle: boolean;
}

/** Positions of a session when nothing else was asked for. */
export const CONTEXT = 2048;
const STATUS_EVERY_MS = 2000;
/** How long the end of an engine waits for its work to notice. */
const ENDING_MS = 1500;
/** Bytes and seconds of the read loop that finds the peak bandwidth of a profile. */
const READ_LOOP = { bytes: 256 << 20, seconds: 0.5 };

/** Work that was cancelled ends within a tenth of a second, and removes what it has half done. */
async function allEnded(closed: readonly Serving<Contract>[]): Promise<void> {
  const end = performance.now() + ENDING_MS;
  while (performance.now() < end && closed.some((connection) => connection.open() > 0))
    await new Promise<void>((resolve) => setTimeout(resolve, 5));
}

export function createEngine(parts: EngineParts): Engine {
  const { services, cpu, mlx, dispatch, rings, initialTarget: initial, flexibility, watch, allowThrottle } = parts;
  const { files, packages, recents, uploads, machine, plans } = services;
  const connections = new Set<Serving<Contract>>();
  /** Sessions whose port closed before their work ended. The end of the engine waits for them. */
  const leaving = new Set<Serving<Contract>>();
  let heartbeat: ReturnType<typeof setInterval> | undefined;
  /** When something changed; and while a job runs, again and again. */
  const emitStatus = (): void => {
    for (const connection of connections) connection.emit("engine.status", statusOf(jobs, machine, store.held()));
    const isBusy = jobs.list().length > 0;
    if (isBusy) heartbeat ??= setInterval(emitStatus, STATUS_EVERY_MS);
    else stopHeartbeat();
  };
  const stopHeartbeat = (): void => {
    if (heartbeat !== undefined) clearInterval(heartbeat);
    heartbeat = undefined;
  };
  const jobs = createJobs(emitStatus);
  const devices = deviceRegistry(parts.devices);
  const offers = createOffers(files);
  const store = createModelStore({ files, offers, recents, uploads, watch, rings, changed: emitStatus });
  const defaultThreads = machine.threads;
  let memoryLimit: number | null = null;
  services.preferences.get().then(
    (view) => (memoryLimit = view.preferences.memoryLimit),
    () => undefined,
  );
  const heldBytes = (): number => store.held().reduce((sum, { bytes }) => sum + bytes, 0);
  const decoders = createDecoders({
    ...{ devices, defaultThreads },
    defaultContext: CONTEXT,
    freeBytes: () =>
      memoryLimit === null ? machine.freeBytes() : Math.min(machine.freeBytes(), memoryLimit - heldBytes()),
  });
  const here = devices.listed.map((device) => device.here?.()).find((each) => each !== undefined);
  const peaks = new Map<number, Promise<number>>();
  const peakBandwidth = (threads: number, signal: AbortSignal): Promise<number> => {
    const known = peaks.get(threads);
    if (known) return known;
    const measured = cpu.engine().readBandwidth(threads, READ_LOOP.bytes, READ_LOOP.seconds, signal);
    peaks.set(threads, measured);
    measured.catch(() => peaks.delete(threads));
    return measured;
  };
  const calibration = calibrationAccess({ devices, threads: defaultThreads, store: services.calibrations });
  const costs = costAccess({ dispatch, machineOf: machinesFrom({ machine, devices, calibration }) });
  const compared = { store, devices, mlx, dispatch, jobs, machine, initialTarget: initial, calibration };
  const exporting = exportHandlers({ store, cpu, devices, jobs, flexibility, packages });
  const compiling = compileHandlers({ store, devices, cpu, jobs, packages });
  const converting = convertHandlers({ store, files, packages, jobs });
  const quantizing = quantizeHandlers({ store, cpu, files, packages, jobs, threads: defaultThreads });
  const inspecting = inspectHandlers({
    store,
    uploads,
    initialTarget: initial,
    devices,
    machine,
  });
  const training = trainHandlers({ ...services, store, devices, jobs, threads: defaultThreads });
  const looking = tensorHandlers({ store, cpu, files, jobs, threads: defaultThreads });
  const { verdicts } = services;
  const advising = adviceHandlers({
    store,
    devices,
    costs,
    machine,
    decoders,
    jobs,
    verdicts,
    allowThrottle,
    threads: defaultThreads,
  });
  const steps = stepsHandlers({ store, costs });
  const serving = serverHandlers(services.api, () => engine);
  const routing = routeHandlers({
    ...{ store, initial, costs, recents },
    here: here === undefined ? null : initial,
    kept: services.routes,
  });
  const info = infoHandlers({
    cpu,
    devices,
    jobs,
    offers,
    machine,
    data: services.data,
    plans,
    models: () => store.held(),
  });
  const predicting = { ...inspecting, ...routing, ...costHandlers({ store, devices, costs }) };
  const comparing = compareParts({ store, costs, calls: predicting });
  const places = placeHandlers(services);
  const warming = new AbortController();

  const handlers: EngineHandlers = {
    calls: {
      ...info,
      ...sessionHandlers(services),
      ...recentHandlers(services),
      ...places.calls,
      ...predicting,
      "compare.graph": mergeHandler(comparing),
      "report.make": reportHandler({ compare: comparing, calls: { ...info, ...predicting, ...advising.calls } }),
      "model.open": (input, context) => {
        warming.abort();
        return inspecting["model.open"](input, context);
      },
      ...graphHandlers(store, initial, dispatch, costs),
      ...hybridHandlers(store, cpu, jobs, devices, packages),
      ...deviceHandlers(compared),
      ...compiling.calls,
      ...exporting.calls,
      ...converting.calls,
      ...quantizing.calls,
      ...looking.calls,
      ...training.calls,
      ...advising.calls,
      ...steps.calls,
      ...serving.calls,
      ...cacheHandlers({ devices, plans }),
      ...opsHandlers(),
      ...textHandlers({
        ...services,
        ...{ store, devices, cpu, packages, jobs },
        threads: defaultThreads,
        initialTarget: initial,
      }),
      ...promptCacheHandlers({ store, decoders, devices, jobs, files: services.promptCaches }),
      "tokens.encode": encodeHandler(store),
      "template.inspect": templateHandler(store),
      "chat.template": ({ model, ...asked }) => templateView(store.get(model), asked),
    },
    streams: {
      "compare.run": compareHandler(comparing),
      ...places.streams,
      "run.start": runHandler({ store, decoders, jobs }),
      ...measureHandlers({
        ...{ store, decoders, devices, jobs, machine, defaultThreads, allowThrottle, peakBandwidth },
        histories: services.histories,
      }),
      "devices.calibrate": calibrateHandler(compared),
      ...compiling.streams,
      ...exporting.streams,
      ...converting.streams,
      ...quantizing.streams,
      ...looking.streams,
      ...training.streams,
      ...advising.streams,
      ...steps.streams,
      ...serving.streams,
      "quantize.importance": importanceHandler({ store, cpu, files, jobs, threads: defaultThreads }),
      "score.run": scoreHandler({ store, decoders, devices, jobs, defaultThreads }),
      "quality.run": qualityHandler({ store, decoders, devices, jobs, defaultThreads }),
      "experts.run": expertsHandler({ store, decoders, devices, jobs, defaultThreads }),
      ...embedHandlers({ store, devices, jobs, defaultThreads }),
      "doctor.verify": verifyHandler(devices, jobs),
    },
  };

  const stopPreferences = services.preferences.onChange((view) => {
    memoryLimit = view.preferences.memoryLimit;
    for (const connection of connections) connection.emit("preferences.changed", view);
  });
  const engine: Engine = {
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
          services.log(`[${method}] ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`),
        onIdle: () => leaving.delete(connection),
      });
      connections.add(connection);
    },
    async warmUp() {
      try {
        await warmUp({ files, recents, uploads, target: initial, devices, machine }, warming.signal);
      } catch (error) {
        if (!warming.signal.aborted) throw error;
      }
    },
    async dispose() {
      warming.abort();
      stopPreferences();
      stopHeartbeat();
      await serving.dispose();
      const closed = [...connections];
      for (const connection of closed) connection.close("the engine ends");
      await allEnded([...closed, ...leaving]);
      await store.dispose();
      await uploads.dispose();
    },
  };
  return engine;
}
