/**
 * A device in one file, as docs/extending.md says: it runs graphs by the definition of each op and leaves the drawing of tokens to
 * the runtime. The test beside main/node puts it in the list with one line.
 */
import type { EngineDevice } from "../engine/devices.ts";
import type { GgufFile } from "../formats/gguf/file.ts";
import { dequantize } from "../formats/quant/dequantize.ts";
import { bindDim } from "../ir/dim.ts";
import type { Graph } from "../ir/graph.ts";
import { graphRewind, graphRing } from "../ir/rewind.ts";
import { finish } from "../ir/steps.ts";
import { tensorBytes } from "../ir/hostBytes.ts";
import type { HostTensor } from "../ir/hostTensor.ts";
import { hostTensor } from "../ir/hostTensor.ts";
import type { GraphRun, GraphSession, RunResult } from "../ir/session.ts";
import { evaluate } from "../ops/evaluate.ts";
import { decoderGraph, decoderOver } from "../runtime/decoderModel.ts";
import type { Device, OpenOptions } from "../runtime/device.ts";
import { inputsOf, symbolsOf } from "../runtime/device.ts";
import { compiledDecoder } from "../runtime/devices/provider.ts";

const ID = "toy";
type Weights = ReadonlyMap<string, HostTensor>;

class ToySession implements GraphSession {
  readonly threads = 1;
  #states: Readonly<Record<string, HostTensor>>;
  readonly #graph: Graph;
  readonly #weights: Weights;
  readonly #open: OpenOptions;

  constructor(graph: Graph, weights: Weights, open: OpenOptions, states: Readonly<Record<string, HostTensor>> = {}) {
    this.#graph = graph;
    this.#weights = weights;
    this.#open = open;
    this.#states = states;
  }

  run(request: GraphRun): Promise<RunResult> {
    const inputs = inputsOf(this.#graph);
    const bindings = symbolsOf(inputs, { ...request, symbols: { ...this.#open.symbols, ...request.symbols } });
    const given = inputs.map(({ name, type }): [string, HostTensor] => {
      const shape = type.shape.map((dim) => Number(bindDim(dim, bindings)));
      return [name, hostTensor(type.dtype === "i32" ? "i32" : "f32", shape, request.inputs[name] as Float32Array)];
    });
    const param = (name: string): HostTensor => this.#weights.get(name) as HostTensor;
    const made = finish(
      evaluate(this.#graph, { inputs: Object.fromEntries(given), states: this.#states, bindings, param }),
    );
    this.#states = made.states;
    const outputs = (request.fetch ?? []).map((name) => {
      const tensor = made.outputs[name] as HostTensor;
      return [name, { dtype: tensor.dtype, shape: tensor.shape, bytes: tensorBytes(tensor).slice() }] as const;
    });
    return Promise.resolve({ seconds: 0.001, outputs: Object.fromEntries(outputs) });
  }
  fork(): Promise<GraphSession> {
    return Promise.resolve(new ToySession(this.#graph, this.#weights, this.#open, this.#states));
  }
  save(): Promise<never> {
    return Promise.reject(new Error("a toy saves nothing"));
  }
  restore(): Promise<never> {
    return Promise.reject(new Error("a toy restores nothing"));
  }
  reset(): Promise<void> {
    this.#states = {};
    return Promise.resolve();
  }
  bytes = (): { reserved: number; states: number; used: number } => ({ reserved: 0, states: 0, used: 0 });
  dispose(): void {
    this.#states = {};
  }
}

const toy = (weights: Weights): Device => ({
  id: ID,
  title: "Toy",
  compile: (graph) => ({
    ...{ device: ID, steps: [], weightBytes: 0, arenaBytes: 0, rewind: graphRewind(graph), ring: graphRing(graph) },
    open: (open = {}) => new ToySession(graph, weights, open),
    dispose: () => undefined,
  }),
});

async function weightsOf(file: GgufFile): Promise<Weights> {
  const found = new Map<string, HostTensor>();
  for (const tensor of file.tensors) {
    const values = dequantize(tensor.type.element ?? "f32", await file.readTensor(tensor), tensor.elements);
    found.set(tensor.name, hostTensor("f32", tensor.shape, values));
  }
  return found;
}

export const toyDevice: EngineDevice = {
  id: ID,
  title: "Toy",
  capabilities: {
    tokens: true,
    measure: "A toy has no speed.",
    profile: "A toy has no instructions.",
    rewind: "A toy saves nothing.",
    train: "A toy does not train.",
    plan: "A toy plans nothing.",
    graphs: true,
    segments: "A toy runs no package.",
  },
  weightTypes: ["f32"],
  probe: () => ({ ok: true, sentence: "For playing." }),
  facts: () => ({
    ...{ truth: "simulated", backend: "Toy", kernels: "none", mapped: false, profileNote: "" },
    lane: { title: "Toy", device: "cpu" },
  }),
  device: () => toy(new Map()),
  async openDecoder({ file }) {
    const plan = { cacheType: "f32", chunk: 8 } as const;
    const { compile } = toy(await weightsOf(file));
    return compiledDecoder(decoderOver(file, plan, compile(decoderGraph(file, plan)), compile), plan.cacheType);
  },
};
