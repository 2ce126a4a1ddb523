/** MLX as a device: op rules from the op table, weights mapped from their files and held in MLX's own forms. */
import { compileMlx } from "../../backends/mlx/compile.ts";
import type { MlxRules } from "../../backends/mlx/emitter.ts";
import type { MlxEngine, MlxMode, MlxPlanHandle, MlxSessionHandle } from "../../backends/mlx/engine.ts";
import { heldByMlx } from "../../backends/mlx/weightForms.ts";
import { WorkbenchError } from "../../diagnostics/errors.ts";
import type { GgufFile } from "../../formats/gguf/file.ts";
import type { Bindings } from "../../ir/dim.ts";
import type { ElementType } from "../../ir/dtype.ts";
import { PACKED_TYPES } from "../../ir/dtype.ts";
import type { Graph } from "../../ir/graph.ts";
import { graphRewind, graphRing } from "../../ir/rewind.ts";
import type { GraphRun, RunResult, TokenResult, TokenRun, TokenSession } from "../../ir/session.ts";
import type { LocateWeight, WeightFiles } from "../../ir/weightPlace.ts";
import { opOf } from "../../ops/index.ts";
import type { DecoderModel, DecoderPlanOptions } from "../decoderModel.ts";
import { decoderGraph, decoderOver, locateIn, mappedFiles, requireData } from "../decoderModel.ts";
import type { CompiledGraph, Device, GraphInput, OpenOptions } from "../device.ts";
import { inputsOf, symbolReader } from "../device.ts";
import { openEmbedder } from "../embedderModel.ts";
import { holdsMemory, memoryOf, SessionMemory, withMemory } from "../memoryLeaves.ts";
import { stepsOf } from "../planSteps.ts";
import type { DecoderCompile, DeviceProvider, MemoryFigure } from "./provider.ts";
import { compiledDecoder, prepareDecoder } from "./provider.ts";

/** As the registry knows it. */
export const MLX = "mlx";

/** What a session on MLX can do beside what every session can. */
export interface MlxSession extends TokenSession {
  fork(positions: number): Promise<MlxSession>;
  /** Runs and fills the caller's own arrays with outputs: nothing is allocated for them from run to run. The answer has the rest. */
  runSlots(request: GraphRun, slots: Readonly<Record<string, Uint8Array>>, signal?: AbortSignal): Promise<RunResult>;
  /** Hands a run to the device without waiting for its end; it may fetch and score, but not draw. */
  commitNoWait(request: TokenRun, signal?: AbortSignal): Promise<void>;
  /** Waits for all that was handed over; answers what the last of it fetched. */
  syncPending(signal?: AbortSignal): Promise<TokenResult>;
}

export const mlxRules: MlxRules = (name) => {
  const rule = opOf(name)?.backends.mlx;
  if (rule === undefined) return "no such op";
  if (rule.kind === "unsupported") return rule.reason;
  if (rule.kind === "decompose") return "it is decomposed on mlx";
  // Rules of an erased op take any operands: arity was checked when the node was built.
  return { emit: (emitter, inputs, attrs, node) => rule.emit(emitter, inputs, attrs, node) };
};

export interface MlxDeviceOptions {
  readonly mode: MlxMode;
  /** Absent for graphs without weights from files. */
  readonly weights?: WeightFiles;
  readonly limits?: Bindings;
  /** By default on a GPU only. */
  readonly fastRope?: boolean;
}

export interface MlxDevice extends Device {
  readonly compile: (graph: Graph) => MlxCompiled;
}

export interface MlxCompiled extends CompiledGraph {
  readonly open: (options?: OpenOptions) => MlxSession;
  readonly facts: MlxPlanHandle["facts"];
  readonly weights: MlxPlanHandle["weights"];
}

const noWeights: LocateWeight = (_file, tensor) => {
  throw new WorkbenchError("INPUT_MISSING_TENSOR", `[mlx] no weight files were given: "${tensor}" is needed`);
};

export const mlxTitle = (engine: MlxEngine): string =>
  `MLX ${engine.version}, ${engine.device === "gpu" ? "Metal" : "its CPU build"}`;

export function mlxDevice(engine: MlxEngine, options: MlxDeviceOptions): MlxDevice {
  return { id: MLX, title: mlxTitle(engine), compile: (graph) => compileOn(engine, graph, options) };
}

function compileOn(engine: MlxEngine, graph: Graph, options: MlxDeviceOptions): MlxCompiled {
  const plan = compileMlx(graph, mlxRules, options.weights?.locate ?? noWeights, {
    ...(options.limits === undefined ? {} : { limits: options.limits }),
    fastRope: options.fastRope ?? engine.device === "gpu",
  });
  const inputs = inputsOf(graph);
  const memory = memoryOf(graph);
  const weights = options.weights === undefined ? null : engine.openWeights(options.weights);
  try {
    const handle = engine.loadPlan(plan.bytes, weights);
    return {
      device: MLX,
      steps: stepsOf(graph, plan.steps),
      weightBytes: plan.weightBytes,
      // MLX plans its own memory.
      arenaBytes: 0,
      rewind: graphRewind(graph),
      ring: graphRing(graph),
      open: (open: OpenOptions = {}) => {
        const opened = handle.openSession({ mode: options.mode, symbols: open.symbols ?? {} });
        const session = sessionOver(inputs, opened);
        return holdsMemory(memory) ? mlxWithMemory(session, new SessionMemory(memory, session)) : session;
      },
      facts: () => handle.facts(),
      weights: (signal) => handle.weights(signal),
      dispose: () => {
        handle.dispose();
        weights?.dispose();
      },
    };
  } catch (error) {
    weights?.dispose();
    throw error;
  }
}

function sessionOver(inputs: readonly GraphInput[], handle: MlxSessionHandle): MlxSession {
  const symbolsOf = symbolReader(inputs);
  const bound = <R extends TokenRun>(request: R): R => ({ ...request, symbols: symbolsOf(request) });
  // async, so that a bad request is a rejection and never a throw
  const run: MlxSession["tokens"]["run"] = async (request, signal) => {
    const result = await handle.tokens.run(bound(request), signal);
    return result;
  };
  return {
    threads: handle.threads,
    tokens: { ...handle.tokens, run },
    run,
    runSlots: async (request, slots, signal) => {
      const result = await handle.runSlots({ ...bound(request), fetch: Object.keys(slots) }, signal);
      for (const [name, slot] of Object.entries(slots)) handle.readSlot(name, slot);
      return result;
    },
    commitNoWait: async (request, signal) => {
      await handle.commit(bound(request), signal);
    },
    syncPending: (signal) => handle.sync(signal),
    fork: async (positions) => sessionOver(inputs, await handle.fork(positions)),
    save: (positions) => handle.save(positions),
    restore: (positions, state) => handle.restore(positions, state),
    // Of no positions, the engine copies what does not count them, and leaves caches as they are.
    checkpoints: { take: () => handle.save(0), putBack: (states) => handle.restore(0, states) },
    reset: () => handle.reset(),
    bytes: (positions) => handle.bytes(positions),
    dispose: () => handle.dispose(),
  };
}

/** `withMemory` for all that a session on MLX can do. */
function mlxWithMemory(session: MlxSession, memory: SessionMemory): MlxSession {
  return {
    ...withMemory(session, memory),
    runSlots: async (request, slots, signal) => session.runSlots(await memory.ready(request), slots, signal),
    commitNoWait: async (request, signal) => session.commitNoWait(await memory.ready(request), signal),
    syncPending: (signal) => session.syncPending(signal),
    fork: async (positions) => {
      await memory.start();
      const fork = await session.fork(positions);
      return mlxWithMemory(fork, memory.fork(fork));
    },
  };
}

// --------------------------------------------------------------------------------------- decoders

export interface MlxDecoderOptions extends DecoderPlanOptions {
  readonly mode: MlxMode;
  readonly fastRope?: boolean;
}

export interface MlxDecoderModel extends DecoderModel {
  readonly compiled: MlxCompiled;
}

export function openMlxDecoder(
  engine: MlxEngine,
  file: GgufFile,
  paths: readonly string[],
  options: MlxDecoderOptions,
): MlxDecoderModel {
  const graph = decoderGraph(requireData(file), options);
  const device = mlxDevice(engine, {
    mode: options.mode,
    weights: { ...mappedFiles(file, paths), locate: locateIn(file) },
    ...(options.fastRope === undefined ? {} : { fastRope: options.fastRope }),
  });
  const compiled = device.compile(graph);
  return { ...decoderOver(file, options, compiled, device.compile), compiled };
}

// --------------------------------------------------------------------------------------- provider

/** The MLX engine of this process, looked for once. */
export interface MlxAccess {
  /** Of its provider. */
  readonly id: string;
  /** A sentence when it is missing. */
  readonly missing: () => string | undefined;
  /** What it is here, or what is missing. */
  readonly sentence: () => string;
  /** "MLX 0.32.4, its CPU build". */
  readonly title: () => string;
  /** Throws ENV_NO_DEVICE. */
  readonly engine: () => MlxEngine;
}

export function mlxAccess(find: () => MlxEngine | string): MlxAccess {
  let known: MlxEngine | string | undefined;
  const get = (): MlxEngine | string => (known ??= find());
  const engine = (): MlxEngine => {
    const found = get();
    if (typeof found === "string")
      throw new WorkbenchError("ENV_NO_DEVICE", found, { hint: "Choose cpu, or build the MLX engine." });
    return found;
  };
  const missing = (): string | undefined => {
    const found = get();
    return typeof found === "string" ? found : undefined;
  };
  const purpose = (): string =>
    engine().device === "gpu" ? "runs on this Mac's GPU." : "for checking; MLX is fast on a Mac's GPU.";
  const title = (): string => mlxTitle(engine());
  return { id: MLX, engine, missing, title, sentence: () => missing() ?? `${title()}: ${purpose()}` };
}

export interface MlxProviderOptions extends DecoderCompile {
  readonly access: MlxAccess;
  readonly mode: MlxMode;
}

/** A run is cancelled between evaluations: where MLX is slow, prompts are cut smaller. */
const CPU_CHUNK = 64;
/** Every type comes into one of MLX's own forms (main/backends/mlx/weightForms.ts). */
/** Weights, and tables of whole numbers. */
const WEIGHTS: readonly ElementType[] = ["f32", "f16", "bf16", ...PACKED_TYPES, "i32"];

export function mlxProvider({ access, mode, ...how }: MlxProviderOptions): DeviceProvider {
  // MLX's attention wants one element type: a cache of another would be widened in every step.
  const cacheType = "f32";
  const id = MLX;
  const { rings = true } = how;
  return {
    id,
    title: "MLX",
    backend: "mlx",
    capabilities: {
      tokens: true,
      measure: true,
      profile: true,
      rewind: true,
      train: true,
      plan: "MLX runs every operation itself: there is no plan of the system.",
      graphs: true,
      segments: "Runs no Core ML program; the overview says what it would do with this graph.",
    },
    weightTypes: WEIGHTS,
    reads: { unit: "gpu", held: heldByMlx, form: "in MLX's own groups, else f16" },
    kept: { cacheType, rings },
    probe() {
      const sentence = access.sentence();
      return access.missing() === undefined
        ? { ok: true, sentence }
        : { ok: false, code: "ENV_NO_DEVICE", sentence, hint: null };
    },
    facts: () => ({
      truth: "measured",
      backend: "MLX",
      kernels: access.title(),
      mapped: false,
      lane: { title: access.title(), device: access.engine().device },
      profileNote: "MLX evaluated each call on its own to time it: a plain run joins them and is faster.",
    }),
    device: ({ weights }) => mlxDevice(access.engine(), { mode, ...(weights === undefined ? {} : { weights }) }),
    openDecoder({ file, paths, chunk, ...request }) {
      const engine = access.engine();
      const own = request.cacheType ?? cacheType;
      const part = chunk ?? (engine.device === "cpu" ? CPU_CHUNK : undefined);
      const model = openMlxDecoder(engine, file, paths, {
        cacheType: own,
        rings,
        mode,
        ...(request.precision === undefined ? {} : { precision: request.precision }),
        prepare: prepareDecoder("mlx", how, "decoder", request.precision),
        ...(part === undefined ? {} : { chunk: part }),
        ...(request.countsExperts === true && { countsExperts: true }),
      });
      return Promise.resolve(compiledDecoder(model, own));
    },
    openEmbedder({ file, paths, pooling }) {
      const weights = { ...mappedFiles(file, paths), locate: locateIn(file) };
      const device = mlxDevice(access.engine(), { mode, weights });
      return Promise.resolve(openEmbedder(file, device, { pooling, prepare: prepareDecoder("mlx", how, "embedder") }));
    },
    memory() {
      if (access.missing() !== undefined) return [];
      const { active, peak, cache, limit } = access.engine().memory();
      const figure = (name: string, title: string, bytes: number, source: string): MemoryFigure => ({
        id: `${id}-${name}`,
        title,
        bytes,
        source,
      });
      return [
        figure("memory", "in use", active, "mlx::core::get_active_memory"),
        figure("peak", "most so far", peak, "mlx::core::get_peak_memory"),
        figure("cache", "kept for reuse", cache, "mlx::core::get_cache_memory"),
        figure("limit", "limit", limit, "mlx::core::get_memory_limit"),
      ];
    },
    checks: () =>
      Promise.resolve([
        {
          id,
          title: "MLX",
          state: access.missing() === undefined ? "ok" : "info",
          sentence: access.sentence(),
          hint: null,
        },
      ]),
  };
}
