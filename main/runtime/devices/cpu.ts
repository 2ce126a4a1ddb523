/**
 * The native CPU engine as a device: op rules from the op table, weights mapped from their files. Plans can be kept without
 * their graph, and decoders open over kept plans.
 */
import { compileCpu } from "../../backends/cpu/compile.ts";
import type { CpuEngine } from "../../backends/cpu/engine.ts";
import type { CpuRules } from "../../backends/cpu/lower.ts";
import { compileNow } from "../../compiler/compile.ts";
import { toWireError, WorkbenchError } from "../../diagnostics/errors.ts";
import { otherTypes, typeShares } from "../../formats/gguf/describe.ts";
import type { GgufFile } from "../../formats/gguf/file.ts";
import type { Bindings } from "../../ir/dim.ts";
import type { Graph } from "../../ir/graph.ts";
import { heldAsStored } from "../../ir/heldBytes.ts";
import type { Rewind, Ring } from "../../ir/rewind.ts";
import { graphRewind, graphRing } from "../../ir/rewind.ts";
import type { TokenSession } from "../../ir/session.ts";
import type { LocateWeight, MappedFiles, WeightFiles } from "../../ir/weightPlace.ts";
import type { ElementType } from "../../ir/dtype.ts";
import { WEIGHTS } from "../../backends/cpu/rules.ts";
import { opOf } from "../../ops/index.ts";
import type { DecoderModel, DecoderPlanOptions } from "../decoderModel.ts";
import { decoderGraph, decoderOver, locateIn, mappedFiles, requireData } from "../decoderModel.ts";
import type { CompiledGraph, Device, GraphInput, OpenOptions, PlanStep } from "../device.ts";
import { inputsOf, symbolReader } from "../device.ts";
import { openEmbedder } from "../embedderModel.ts";
import type { MemoryFacts } from "../memoryLeaves.ts";
import { memoryOf, openWithMemory } from "../memoryLeaves.ts";
import { stepsOf } from "../planSteps.ts";
import type { DecoderCompile, DeviceProvider } from "./provider.ts";
import { compiledDecoder, prepareDecoder } from "./provider.ts";
import { REFERENCE } from "./reference.ts";

/** As the registry knows it. */
export const CPU = "cpu";

export const cpuRules: CpuRules = (name) => {
  const rule = opOf(name)?.backends.cpu;
  if (rule === undefined) return "no such op";
  if (rule.kind === "unsupported") return rule.reason;
  if (rule.kind === "decompose") return "it is decomposed on the cpu";
  // Rules of an erased op take any operands: arity was checked when the node was built.
  return { emit: (emitter, inputs, attrs, node) => rule.emit(emitter, inputs, attrs, node) };
};

export interface CpuDeviceOptions {
  readonly threads: number;
  /** Absent for graphs without weights from files. */
  readonly weights?: WeightFiles;
  readonly limits?: Bindings;
  /** Add and round as ggml does. */
  readonly asGgml?: boolean;
}

const noWeights: LocateWeight = (_file, tensor) => {
  throw new WorkbenchError("INPUT_MISSING_TENSOR", `[cpu] no weight files were given: "${tensor}" is needed`);
};

export function cpuDevice(engine: CpuEngine, options: CpuDeviceOptions): Device {
  return {
    id: CPU,
    title: `CPU engine, ${engine.isa}`,
    compile: (graph) =>
      loadArtifact(engine, compileArtifact(graph, options), {
        threads: options.threads,
        files: options.weights,
      }),
  };
}

/** Compiles a graph that is no decoder's, with all that the compiler does for the CPU. */
export const compileGraph = (engine: CpuEngine, graph: Graph, options: CpuDeviceOptions): CompiledGraph =>
  cpuDevice(engine, options).compile(compileNow(graph, { backend: CPU, precision: "f32" }).graph);

/**
 * A compiled graph without the graph: the plan's bytes and what is said of them. It can be kept and loaded again over the
 * same weight files (cpuArtifact.ts has its form in bytes).
 */
export interface CpuArtifact {
  readonly plan: Uint8Array;
  readonly steps: readonly PlanStep[];
  readonly inputs: readonly GraphInput[];
  readonly weightBytes: number;
  readonly arenaBytes: number;
  readonly rewind: Rewind;
  readonly ring: Ring | undefined;
  readonly memory: MemoryFacts;
}

export function compileArtifact(graph: Graph, options: Omit<CpuDeviceOptions, "threads">): CpuArtifact {
  const plan = compileCpu(graph, cpuRules, options.weights?.locate ?? noWeights, {
    ...(options.limits === undefined ? {} : { limits: options.limits }),
    ...(options.asGgml === undefined ? {} : { asGgml: options.asGgml }),
  });
  return {
    plan: plan.bytes,
    steps: stepsOf(graph, plan.instructions),
    inputs: inputsOf(graph),
    weightBytes: plan.weightBytes,
    arenaBytes: plan.memory.arenaBytes,
    rewind: graphRewind(graph),
    ring: graphRing(graph),
    memory: memoryOf(graph),
  };
}

/** Hands a plan to the engine, which checks every number in it. `files` are undefined for a graph without weights. */
export function loadArtifact(
  engine: CpuEngine,
  artifact: CpuArtifact,
  options: { readonly threads: number; readonly files?: MappedFiles | undefined },
): CompiledGraph {
  const weights = options.files === undefined ? null : engine.openWeights(options.files);
  try {
    const handle = engine.loadPlan(artifact.plan, weights);
    return {
      device: CPU,
      steps: artifact.steps,
      weightBytes: artifact.weightBytes,
      arenaBytes: artifact.arenaBytes,
      rewind: artifact.rewind,
      ring: artifact.ring,
      open: (open: OpenOptions = {}) => {
        const threads = open.threads ?? options.threads;
        const session = sessionOver(artifact.inputs, handle.openSession({ threads, symbols: open.symbols ?? {} }));
        return openWithMemory(session, artifact.memory);
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

function sessionOver(inputs: readonly GraphInput[], handle: TokenSession): TokenSession {
  const symbolsOf = symbolReader(inputs);
  // async, so that a bad request is a rejection and never a throw
  const run: TokenSession["tokens"]["run"] = async (request, signal) => {
    const result = await handle.tokens.run({ ...request, symbols: symbolsOf(request) }, signal);
    return result;
  };
  return {
    threads: handle.threads,
    tokens: { ...handle.tokens, run },
    run,
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

// --------------------------------------------------------------------------------------- decoders

/** Weights, and tables of whole numbers. */
const TENSORS: readonly ElementType[] = [...WEIGHTS, "i32"];

export interface DecoderOptions extends DecoderPlanOptions {
  readonly threads: number;
}

/**
 * Graph, passes and plan of a file: the part that can be kept. It depends on the header (keys and tensor table), on
 * the options, and on nothing else: no weight is read, no path is in it.
 */
export function decoderArtifact(file: GgufFile, options: DecoderPlanOptions): CpuArtifact {
  const other = otherTypes(typeShares(file.tensors), TENSORS);
  if (other.length > 0)
    throw new WorkbenchError(
      "UNSUPPORTED_TENSOR_TYPE",
      `[${file.name}] its weights: got ${other.join(", ")}, expected ${TENSORS.join(", ")}`,
      { hint: "These can be inspected, but not run on the CPU: use a file of another type." },
    );
  return compileArtifact(decoderGraph(file, options), {
    weights: { paths: [], locate: locateIn(file) },
    asGgml: options.asGgml ?? options.cacheType === "f32",
  });
}

/** `artifact` is one that decoderArtifact made from this very header and these options. */
export function openDecoder(
  engine: CpuEngine,
  file: GgufFile,
  paths: readonly string[],
  options: DecoderOptions,
  artifact: CpuArtifact = decoderArtifact(requireData(file), options),
): DecoderModel {
  requireData(file);
  const { threads, asGgml = options.cacheType === "f32" } = options;
  const files = mappedFiles(file, paths);
  const weights = { ...files, locate: locateIn(file) };
  return decoderOver(file, options, loadArtifact(engine, artifact, { threads, files }), (graph) =>
    loadArtifact(engine, compileArtifact(graph, { weights, asGgml }), { threads, files }),
  );
}

// --------------------------------------------------------------------------------------- provider

/** The engine of this process: loaded at the first question, or the error that says what is missing. */
export interface CpuAccess {
  readonly engine: () => CpuEngine;
  readonly failure: () => unknown;
  /** None was built, which is the one case in which the TypeScript reference stands in. */
  readonly absent: () => boolean;
}

export function cpuAccess(load: () => CpuEngine, absent: () => boolean = () => false): CpuAccess {
  let engine: CpuEngine | undefined;
  let failure: Error | undefined;
  const get = (): CpuEngine => {
    if (failure !== undefined) throw failure;
    try {
      return (engine ??= load());
    } catch (error) {
      failure = error instanceof Error ? error : new Error(String(error));
      throw failure;
    }
  };
  return {
    engine: get,
    absent,
    failure() {
      try {
        get();
        return undefined;
      } catch (error) {
        return error;
      }
    },
  };
}

export type OpenCpuDecoder = (
  engine: CpuEngine,
  file: GgufFile,
  paths: readonly string[],
  options: DecoderOptions,
) => DecoderModel | Promise<DecoderModel>;

export interface CpuProviderOptions extends DecoderCompile {
  readonly access: CpuAccess;
  /** Opens over kept plans, for instance; compiles without it. */
  readonly open?: OpenCpuDecoder;
}

export function cpuProvider({ access, open = openDecoder, ...how }: CpuProviderOptions): DeviceProvider {
  const cacheType = "f16";
  const { rings = true } = how;
  return {
    id: CPU,
    title: "CPU",
    backend: CPU,
    capabilities: {
      tokens: true,
      measure: true,
      profile: true,
      rewind: true,
      train: true,
      plan: "The CPU runs every operation itself: there is no plan of the system.",
      graphs: true,
      segments: "Runs the host segments, whatever is chosen here.",
    },
    weightTypes: TENSORS,
    reads: { unit: "cpu", held: heldAsStored, form: "as the file packs them" },
    kept: { cacheType, packs: true, rings },
    probe() {
      const failure = access.failure();
      if (failure === undefined)
        return { ok: true, sentence: `The native engine with ${access.engine().isa} kernels.` };
      const { code, message, hint } = toWireError(failure);
      return { ok: false, code, sentence: message, hint: hint ?? null };
    },
    standIn: () => (access.absent() ? REFERENCE : undefined),
    facts: (threads) => ({
      truth: "measured",
      backend: "CPU",
      kernels: access.engine().isa,
      mapped: true,
      lane: { title: `CPU, ${threads} threads`, device: "cpu" },
      profileNote: "",
    }),
    device: (options) => cpuDevice(access.engine(), options),
    async openDecoder({ file, paths, threads, chunk, ...request }) {
      const own = request.cacheType ?? cacheType;
      const model = await open(access.engine(), file, paths, {
        cacheType: own,
        rings,
        threads,
        ...(request.precision === undefined ? {} : { precision: request.precision }),
        prepare: prepareDecoder("cpu", how, "decoder", request.precision),
        ...(chunk === undefined ? {} : { chunk }),
        ...(request.countsExperts === true && { countsExperts: true }),
      });
      return compiledDecoder(model, own);
    },
    openEmbedder({ file, paths, threads, pooling }) {
      const weights = { ...mappedFiles(file, paths), locate: locateIn(file) };
      const device = cpuDevice(access.engine(), { threads, weights });
      return Promise.resolve(openEmbedder(file, device, { pooling, prepare: prepareDecoder("cpu", how, "embedder") }));
    },
  };
}
