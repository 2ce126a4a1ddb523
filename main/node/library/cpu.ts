/** Graphs on the CPU engine: compiled once, run in sessions with typed arrays. */
import type { Compiled } from "../../compiler/compile.ts";
import { compileNow } from "../../compiler/compile.ts";
import { WorkbenchError } from "../../diagnostics/errors.ts";
import type { Bindings } from "../../ir/dim.ts";
import type { DType } from "../../ir/dtype.ts";
import type { Graph } from "../../ir/graph.ts";
import type { NumberArray } from "../../ir/hostBytes.ts";
import { numbersIn } from "../../ir/hostBytes.ts";
import type { PrecisionPolicy } from "../../ir/precision.ts";
import type { GraphSession, SessionParams } from "../../ir/session.ts";
import type { WeightFiles } from "../../ir/weightPlace.ts";
import type { Numbers } from "../../runtime/numbers.ts";
import { typedInputs } from "../../runtime/numbers.ts";
import type { CompiledGraph, GraphInput, OpenOptions } from "../../runtime/device.ts";
import { inputsOf } from "../../runtime/device.ts";
import { cpuDevice } from "../../runtime/devices/cpu.ts";
import { engines, THREADS } from "./addon.ts";

export interface CpuOptions {
  /** Threads of a run; by default as many as the machine runs at once. */
  readonly threads?: number;
  /** Floats that the graph is computed in: "f32" by default, "mixed" or "f16". */
  readonly precision?: PrecisionPolicy;
  /** Where the weights of a model's graph lie: `model.weights`. */
  readonly weights?: WeightFiles;
  /** Largest size of each symbol, for which memory is planned, where the graph does not say it. */
  readonly limits?: Bindings;
}

/** A tensor that a run gives. Half floats come as the f32 numbers that they are. */
export interface TypedTensor {
  readonly dtype: DType;
  readonly shape: readonly number[];
  readonly data: NumberArray;
}

/** A graph that is compiled for the CPU engine. */
export interface CpuProgram {
  /** What the compiler did: the graph that runs, its passes, and the report of how each operation is run. */
  readonly compiled: Compiled;
  /** Bytes of temporaries; all sessions together need them once a thread. */
  readonly arenaBytes: number;
  open(options?: OpenOptions): CpuSession;
  /** Gives the engine's memory back. */
  dispose(): void;
}

export interface CpuRunOptions {
  /** Outputs to copy out of the engine; all of them by default. */
  readonly fetch?: readonly string[];
  readonly signal?: AbortSignal;
}

/** A session holds parameters and states, and runs one step after the other. */
export interface CpuSession extends SessionParams {
  run(
    inputs: Readonly<Record<string, Numbers>>,
    options?: CpuRunOptions,
  ): Promise<Readonly<Record<string, TypedTensor>>>;
  /** A session of its own with the same parameters and states; of caches the first `positions`. */
  fork(positions?: number): Promise<CpuSession>;
  /** All states as they were before the first run. */
  reset(): Promise<void>;
  dispose(): void;
}

/** Compiles a graph for the CPU engine. Throws UNSUPPORTED_OP where an operation has no rule there. */
export function compileForCpu(graph: Graph, options: CpuOptions = {}): CpuProgram {
  const { threads = THREADS, precision = "f32", weights, limits } = options;
  const compiled = compileNow(graph, { backend: "cpu", precision });
  const program = cpuDevice(engines().cpu.engine(), {
    threads,
    ...(weights === undefined ? {} : { weights }),
    ...(limits === undefined ? {} : { limits }),
  }).compile(compiled.graph);
  return programOver(compiled, program);
}

function programOver(compiled: Compiled, program: CompiledGraph): CpuProgram {
  const inputs = inputsOf(compiled.graph);
  const outputs = compiled.graph.outputs.map(({ name }) => name);
  return {
    compiled,
    arenaBytes: program.arenaBytes,
    open: (options) => sessionOver(inputs, outputs, program.open(options)),
    dispose: () => program.dispose(),
  };
}

function sessionOver(inputs: readonly GraphInput[], outputs: readonly string[], session: GraphSession): CpuSession {
  const params = (): SessionParams => {
    if (session.params !== undefined) return session.params;
    throw new WorkbenchError("INPUT_ARGUMENT", "[params] this graph has no parameters in memory");
  };
  return {
    async run(given, { fetch = outputs, signal } = {}) {
      const result = await session.run({ inputs: typedInputs(inputs, given), fetch }, signal);
      return Object.fromEntries(
        Object.entries(result.outputs).map(([name, { dtype, shape, bytes }]) => [
          name,
          { dtype, shape, data: numbersIn(dtype, bytes) },
        ]),
      );
    },
    setParam: (name, values) => params().setParam(name, values),
    setParamTyped: (name, dtype, values) => params().setParamTyped(name, dtype, values),
    getParam: (name) => params().getParam(name),
    fork: async (positions = 0) => sessionOver(inputs, outputs, await session.fork(positions)),
    reset: () => session.reset(),
    dispose: () => session.dispose(),
  };
}
