/**
 * The TypeScript reference as a device: the fallback where no native addon was built. It says so in
 * its title, tells beforehand how long it will take, and refuses models above 100 million
 * parameters.
 */
import { numbersIn, tensorBytes } from "../../ir/hostBytes.ts";
import { WorkbenchError, invariant } from "../../diagnostics/errors.ts";
import type { GgufFile } from "../../formats/gguf/file.ts";
import { dequantizableTypes, dequantize } from "../../formats/quant/dequantize.ts";
import { bindDim } from "../../ir/dim.ts";
import { isInteger, isPacked } from "../../ir/dtype.ts";
import type { Graph } from "../../ir/graph.ts";
import type { HostTensor } from "../../ir/hostTensor.ts";
import { hostTensor, sizeOf } from "../../ir/hostTensor.ts";
import { graphRewind, graphRing } from "../../ir/rewind.ts";
import type { GraphRun, GraphSession, RunResult } from "../../ir/session.ts";
import type { TensorType } from "../../ir/type.ts";
import type { Steps } from "../../ir/steps.ts";
import { finish } from "../../ir/steps.ts";
import type { Pooling } from "../../models/family.ts";
import { evaluate } from "../../ops/evaluate.ts";
import type { DecoderModel, DecoderPlanOptions } from "../decoderModel.ts";
import { decoderGraph, decoderOver, requireData } from "../decoderModel.ts";
import type { CompiledGraph, Device, OpenOptions } from "../device.ts";
import { inputsOf, symbolsOf } from "../device.ts";
import type { EmbedderModel } from "../embedderModel.ts";
import { embedderGraph, openEmbedder } from "../embedderModel.ts";
import { MemoryParams, memoryParamsOf } from "../memoryLeaves.ts";
import { stepsOf } from "../planSteps.ts";
import type { DecoderCompile, DeviceProvider } from "./provider.ts";
import { compiledDecoder } from "./provider.ts";

export const REFERENCE = "reference";

export interface ReferenceOptions {
  /** The numbers of a weight. */
  readonly param?: (name: string, type: TensorType) => HostTensor;
  /** How a run goes through its nodes: all at once unless other work wants a turn between them. */
  readonly pace?: <T>(steps: Steps<T>, signal: AbortSignal | undefined) => Promise<T>;
}

/** More is hopeless in TypeScript, and would only look like a hang. */
export const REFERENCE_LIMIT = 100_000_000;
/**
 * Multiply-adds a second: the most that was measured, and what is left with a small model, whose
 * cache is copied at each step.
 */
const RATE = { low: 4e7, high: 2.5e8 };

export function parameterCount(graph: Graph): number {
  return graph.nodes.reduce((total, node) => {
    const [type] = node.outputs;
    if (node.op !== "param" || type === undefined) return total;
    return total + type.shape.reduce<number>((n, dim) => n * Number(dim), 1);
  }, 0);
}

/** Seconds for one token, by parameters alone. */
export const referenceEstimate = (parameters: number): { readonly low: number; readonly high: number } => ({
  low: parameters / RATE.high,
  high: parameters / RATE.low,
});

/** Why a model of so many parameters does not run here. */
export const referenceRefusal = (parameters: number): WorkbenchError | undefined =>
  parameters <= REFERENCE_LIMIT
    ? undefined
    : new WorkbenchError(
        "ENV_NO_ADDON",
        `[reference] the model has ${parameters} parameters: the TypeScript reference runs at most ${REFERENCE_LIMIT}`,
        { hint: "Build the native engine with `npm run build:native`." },
      );

export function referenceDevice(options: ReferenceOptions = {}): Device {
  return {
    id: REFERENCE,
    title: "TypeScript reference (slow, for lack of the native addon)",
    compile: (graph) => compile(graph, options),
  };
}

function compile(graph: Graph, options: ReferenceOptions): CompiledGraph {
  const parameters = parameterCount(graph);
  const refusal = referenceRefusal(parameters);
  if (refusal !== undefined) throw refusal;
  const computing = graph.nodes.filter((node) => node.inputs.length > 0);
  return {
    device: REFERENCE,
    steps: stepsOf(
      graph,
      computing.map((node) => ({ kernel: node.op, nodes: [node.id] })),
    ),
    weightBytes: parameters * 8,
    arenaBytes: 0,
    rewind: graphRewind(graph),
    ring: graphRing(graph),
    open: (open = {}) => new ReferenceSession(graph, options, open, {}),
    dispose: () => undefined,
  };
}

type States = Readonly<Record<string, HostTensor>>;

class ReferenceSession implements GraphSession {
  readonly threads = 1;
  readonly params: MemoryParams;
  readonly #graph: Graph;
  readonly #options: ReferenceOptions;
  readonly #open: OpenOptions;
  #states: States;

  constructor(
    graph: Graph,
    options: ReferenceOptions,
    open: OpenOptions,
    states: States,
    params = new MemoryParams(memoryParamsOf(graph)),
  ) {
    this.params = params;
    this.#graph = graph;
    this.#options = options;
    this.#open = open;
    this.#states = states;
  }

  async run(request: GraphRun, signal?: AbortSignal): Promise<RunResult> {
    const start = performance.now();
    const inputs: Record<string, HostTensor> = {};
    const bindings = symbolsOf(inputsOf(this.#graph), {
      ...request,
      symbols: { ...this.#open.symbols, ...request.symbols },
    });
    for (const id of this.#graph.inputs) {
      const node = this.#graph.nodes[id];
      const [type] = node?.outputs ?? [];
      const name = String(node?.attrs["name"]);
      const data = request.inputs[name];
      if (type === undefined || data === undefined)
        throw new WorkbenchError("INPUT_ARGUMENT", `[reference] input ${name} is missing`);
      invariant(!isPacked(type.dtype), "inputs are plain");
      inputs[name] = hostTensor(
        type.dtype,
        type.shape.map((dim) => Number(bindDim(dim, bindings))),
        numbersIn(type.dtype, data),
      );
    }
    const { param, pace } = this.#options;
    const steps = evaluate(this.#graph, {
      inputs,
      states: this.#states,
      params: this.#paramTensors(),
      bindings,
      ...(param === undefined ? {} : { param }),
      ...(signal === undefined ? {} : { signal }),
    });
    const result = pace === undefined ? finish(steps) : await pace(steps, signal);
    this.#states = result.states;
    return {
      seconds: (performance.now() - start) / 1000,
      outputs: Object.fromEntries(
        (request.fetch ?? []).map((name) => {
          const tensor = result.outputs[name];
          invariant(tensor, `output ${name}`);
          return [name, { dtype: tensor.dtype, shape: tensor.shape, bytes: tensorBytes(tensor).slice() }];
        }),
      ),
    };
  }

  #paramTensors(): Readonly<Record<string, HostTensor>> {
    const held = this.params.inputs();
    return Object.fromEntries(
      memoryParamsOf(this.#graph).flatMap(({ name, dtype, shape }) => {
        const values = held[name];
        return values === undefined ? [] : [[name, hostTensor(dtype, shape, numbersIn(dtype, values))] as const];
      }),
    );
  }

  async fork(): Promise<GraphSession> {
    const params = this.params.fork();
    return Promise.resolve(new ReferenceSession(this.#graph, this.#options, this.#open, this.#states, params));
  }
  async save(): Promise<Uint8Array<ArrayBuffer>> {
    const held = this.#graph.states.flatMap(({ name }) => this.#states[name] ?? []);
    const parts = held.map(({ data }) => new Uint8Array(data.buffer, data.byteOffset, data.byteLength));
    const saved = new Uint8Array(parts.reduce((n, part) => n + part.length, 0));
    parts.reduce((at, part) => (saved.set(part, at), at + part.length), 0);
    return Promise.resolve(saved);
  }
  async restore(_positions: number, saved: Uint8Array): Promise<void> {
    // Nothing has run before: all states are zero, and none is held.
    if (saved.byteLength === 0) return this.reset();
    const places = this.#graph.states.map((state) => {
      const [type] = this.#graph.nodes[state.input]?.outputs ?? [];
      invariant(type && !isPacked(type.dtype), "a state is plain");
      const shape = type.shape.map((dim) => Number(bindDim(dim, this.#open.symbols ?? {})));
      return { name: state.name, dtype: type.dtype, shape };
    });
    const expected = 8 * places.reduce((sum, { shape }) => sum + sizeOf(shape), 0);
    if (saved.byteLength !== expected)
      throw new WorkbenchError(
        "INPUT_ARGUMENT",
        `[reference] saved state: got ${saved.byteLength} bytes, expected ${expected}`,
      );
    const numbers = new Float64Array(saved.slice().buffer);
    const states: Record<string, HostTensor> = {};
    let at = 0;
    for (const { name, dtype, shape } of places) {
      states[name] = hostTensor(dtype, shape, numbers.slice(at, at + sizeOf(shape)));
      at += sizeOf(shape);
    }
    this.#states = states;
    return Promise.resolve();
  }
  async reset(): Promise<void> {
    this.#states = {};
    return Promise.resolve();
  }
  bytes(): { readonly reserved: number; readonly states: number; readonly used: number } {
    const states = Object.values(this.#states).reduce((n, state) => n + state.data.byteLength, 0);
    return { reserved: states, states, used: states };
  }
  dispose(): void {
    this.#states = {};
  }
}

// --------------------------------------------------------------------------------------- decoders

/** Several tokens at once gain little here, and a cancel waits for one operation on all of them. */
const CHUNK = 4;

/**
 * The weights come from the file through the unpacking in TypeScript, and stay in memory as
 * float64.
 */
export async function openReference(
  file: GgufFile,
  plan: DecoderPlanOptions,
  pace?: ReferenceOptions["pace"],
): Promise<DecoderModel> {
  requireData(file);
  const options = { ...plan, chunk: Math.min(plan.chunk ?? CHUNK, CHUNK) };
  const { device, read } = overWeights(file, pace);
  const graph = decoderGraph(file, options);
  // Refused before anything is read.
  const compiled = device.compile(graph);
  await read(graph);
  const encoders: Graph[] = [];
  const model = decoderOver(file, options, compiled, (encoder) => {
    encoders.push(encoder);
    return device.compile(encoder);
  });
  for (const encoder of encoders) await read(encoder);
  return model;
}

/** The same for vectors of whole texts. */
async function openReferenceEmbedder(
  file: GgufFile,
  pooling: Pooling,
  pace: ReferenceOptions["pace"],
): Promise<EmbedderModel> {
  const { device, read } = overWeights(file, pace);
  const opened = openEmbedder(file, device, { pooling });
  await read(embedderGraph(file, { pooling }));
  return opened;
}

/** A device whose weights are those that `read` has taken from the file. */
function overWeights(
  file: GgufFile,
  pace: ReferenceOptions["pace"],
): { readonly device: Device; readonly read: (graph: Graph) => Promise<void> } {
  const weights = new Map<string, HostTensor>();
  const device = referenceDevice({
    param: (name) => {
      const weight = weights.get(name);
      if (weight === undefined)
        throw new WorkbenchError("INPUT_MISSING_TENSOR", `[reference] the tensor "${name}" is missing`);
      return weight;
    },
    ...(pace === undefined ? {} : { pace }),
  });
  return {
    device,
    async read({ nodes }) {
      for (const { op, attrs } of nodes) if (op === "param") await readWeight(file, String(attrs["name"]), weights);
    },
  };
}

async function readWeight(file: GgufFile, name: string, weights: Map<string, HostTensor>): Promise<void> {
  if (weights.has(name)) return;
  const tensor = file.requireTensor(name);
  const { element } = tensor.type;
  if (element === undefined)
    throw new WorkbenchError("UNSUPPORTED_TENSOR_TYPE", `[reference] ${tensor.type.name} cannot be unpacked`);
  const values = dequantize(element, await file.readTensor(tensor), tensor.elements);
  weights.set(name, hostTensor(isPacked(element) ? "f32" : element, tensor.shape, values));
}

// --------------------------------------------------------------------------------------- provider

export const REFERENCE_SENTENCE = `No native engine was built here: the TypeScript reference runs models of up to ${REFERENCE_LIMIT / 1e6} M parameters, slowly.`;

/**
 * Where no native engine was built, and only there, it runs what the CPU engine would; never for
 * one that is broken, and never in silence.
 */
export function referenceProvider({
  rings = true,
  ...options
}: Pick<ReferenceOptions, "pace"> & Pick<DecoderCompile, "rings"> = {}): DeviceProvider {
  const cacheType = "f16";
  const slow = "The reference is slow: its times say nothing.";
  return {
    id: REFERENCE,
    title: "TypeScript reference",
    hidden: true,
    capabilities: {
      tokens: true,
      measure: slow,
      profile: slow,
      rewind: true,
      train: "It keeps its states in float64, of which f32 is no copy: a training session updates on the host.",
      plan: "The reference runs every operation itself: there is no plan of the system.",
      graphs: true,
      segments: "The reference runs whole graphs.",
    },
    weightTypes: dequantizableTypes.filter((type) => !isInteger(type)),
    kept: { cacheType, packs: true, rings },
    probe: () => ({ ok: true, sentence: REFERENCE_SENTENCE }),
    refuses: referenceRefusal,
    notice: (parameters) => ({ sentence: REFERENCE_SENTENCE, secondsPerToken: referenceEstimate(parameters) }),
    facts: () => ({
      truth: "measured",
      backend: "TypeScript",
      kernels: "float64",
      mapped: false,
      lane: { title: "TypeScript", device: "cpu" },
      profileNote: "",
    }),
    device: () => referenceDevice(options),
    async openDecoder({ file, chunk, ...request }) {
      const own = request.cacheType ?? cacheType;
      const { countsExperts = false } = request;
      const plan = { cacheType: own, countsExperts, rings, ...(chunk === undefined ? {} : { chunk }) };
      return compiledDecoder(await openReference(file, plan, options.pace), own);
    },
    openEmbedder: ({ file, pooling }) => openReferenceEmbedder(file, pooling, options.pace),
  };
}
