/** The native CPU engine as a device: op rules from the op table, weights mapped from their files. */
import { compileCpu } from "../backends/cpu/compile.ts";
import type { CpuEngine, SessionHandle } from "../backends/cpu/engine.ts";
import type { CpuRules, LocateWeight } from "../backends/cpu/lower.ts";
import { WorkbenchError } from "../diagnostics/errors.ts";
import type { Bindings } from "../ir/dim.ts";
import type { Graph } from "../ir/graph.ts";
import { opOf } from "../ops/index.ts";
import type { CompiledGraph, Device, GraphSession, OpenOptions } from "./device.ts";
import { symbolsOf } from "./device.ts";

export const cpuRules: CpuRules = (name) => {
  const rule = opOf(name)?.backends.cpu;
  if (rule === undefined) return "no such op";
  if (rule.kind === "unsupported") return rule.reason;
  if (rule.kind === "decompose") return "it is decomposed on the cpu";
  // Rules of an erased op take any operands: arity was checked when the node was built.
  return { emit: (emitter, inputs, attrs, node) => rule.emit(emitter, inputs, attrs, node) };
};

/** Where the weights of a graph are. */
export interface WeightFiles {
  readonly paths: readonly string[];
  readonly locate: LocateWeight;
}

export interface CpuDeviceOptions {
  readonly threads: number;
  /** Absent for graphs without weights from files. */
  readonly weights?: WeightFiles;
  readonly limits?: Bindings;
  /** false: one instruction per op rule. */
  readonly fuse?: boolean;
}

const noWeights: LocateWeight = (_file, tensor) => {
  throw new WorkbenchError("INPUT_MISSING_TENSOR", `[cpu] no weight files were given: "${tensor}" is needed`);
};

export function cpuDevice(engine: CpuEngine, options: CpuDeviceOptions): Device {
  return {
    id: "cpu",
    title: `CPU engine, ${engine.isa}`,
    compile: (graph) => compileOn(engine, graph, options),
  };
}

function compileOn(engine: CpuEngine, graph: Graph, options: CpuDeviceOptions): CompiledGraph {
  const plan = compileCpu(graph, cpuRules, options.weights?.locate ?? noWeights, {
    ...(options.limits === undefined ? {} : { limits: options.limits }),
    ...(options.fuse === undefined ? {} : { fuse: options.fuse }),
  });
  const weights = options.weights === undefined ? null : engine.openWeights(options.weights.paths);
  try {
    const handle = engine.loadPlan(plan.bytes, weights);
    return {
      graph,
      device: "cpu",
      steps: plan.instructions,
      weightBytes: plan.weightBytes,
      arenaBytes: plan.memory.arenaBytes,
      open: (open: OpenOptions = {}) => {
        const threads = open.threads ?? options.threads;
        return sessionOver(graph, threads, handle.openSession({ threads, symbols: open.symbols ?? {} }));
      },
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

function sessionOver(graph: Graph, threads: number, handle: SessionHandle): GraphSession {
  return {
    threads,
    follows: true,
    // async, so that a bad request is a rejection and never a throw
    run: async (request, signal) => {
      const result = await handle.run({ ...request, symbols: symbolsOf(graph, request) }, signal);
      return result;
    },
    fork: async (positions) => sessionOver(graph, threads, await handle.fork(positions)),
    save: (positions) => handle.save(positions),
    restore: (positions, state) => handle.restore(positions, state),
    reset: () => handle.reset(),
    bytes: (positions) => handle.bytes(positions),
    dispose: () => handle.dispose(),
  };
}
