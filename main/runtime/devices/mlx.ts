/** MLX as a device: op rules from the op table, weights mapped from their files and held in MLX's own forms. */
import { compileMlx } from "../../backends/mlx/compile.ts";
import type { MlxRules } from "../../backends/mlx/emitter.ts";
import type { MlxEngine, MlxMode, MlxPlanHandle, MlxSessionHandle } from "../../backends/mlx/engine.ts";
import { WorkbenchError } from "../../diagnostics/errors.ts";
import type { GgufFile } from "../../formats/gguf/file.ts";
import type { Bindings } from "../../ir/dim.ts";
import type { Graph } from "../../ir/graph.ts";
import type { GraphRun, RunResult, TokenResult, TokenRun, TokenSession } from "../../ir/session.ts";
import type { LocateWeight, WeightFiles } from "../../ir/weightPlace.ts";
import { opOf } from "../../ops/index.ts";
import type { DecoderModel, DecoderPlanOptions } from "../decoderModel.ts";
import { decoderGraph, decoderOver, locateIn, requireData } from "../decoderModel.ts";
import type { CompiledGraph, Device, GraphInput, OpenOptions } from "../device.ts";
import { inputsOf, symbolReader } from "../device.ts";
import { stepsOf } from "../planSteps.ts";

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
  return { id: "mlx", title: mlxTitle(engine), compile: (graph) => compileOn(engine, graph, options) };
}

function compileOn(engine: MlxEngine, graph: Graph, options: MlxDeviceOptions): MlxCompiled {
  const plan = compileMlx(graph, mlxRules, options.weights?.locate ?? noWeights, {
    ...(options.limits === undefined ? {} : { limits: options.limits }),
    fastRope: options.fastRope ?? engine.device === "gpu",
  });
  const inputs = inputsOf(graph);
  const weights = options.weights === undefined ? null : engine.openWeights(options.weights.paths);
  try {
    const handle = engine.loadPlan(plan.bytes, weights);
    return {
      device: "mlx",
      steps: stepsOf(graph, plan.steps),
      weightBytes: plan.weightBytes,
      // MLX plans its own memory.
      arenaBytes: 0,
      open: (open: OpenOptions = {}) =>
        sessionOver(inputs, handle.openSession({ mode: options.mode, symbols: open.symbols ?? {} })),
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
    tokens: { follows: handle.tokens.follows, series: handle.tokens.series, run },
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
    reset: () => handle.reset(),
    bytes: (positions) => handle.bytes(positions),
    dispose: () => handle.dispose(),
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
    weights: { paths, locate: locateIn(file) },
    ...(options.fastRope === undefined ? {} : { fastRope: options.fastRope }),
  });
  const compiled = device.compile(graph);
  return { ...decoderOver(file, options, compiled), compiled };
}
