/**
 * Runs a graph part by part: Core ML parts on the simulator (or, on a Mac, Core ML), host parts node by node through
 * registered kernels or the host executor. The order, the cuts and the crossings are those of the program. A state that belongs to
 * one Core ML part goes through it as the package's feature; any other is a value like all others, and its next value a result.
 */
import { WorkbenchError, invariant, throwIfCancelled } from "../../../diagnostics/errors.ts";
import type { Graph, Node, Value } from "../../../ir/graph.ts";
import { valueKey } from "../../../ir/graph.ts";
import type { HostTensor } from "../../../ir/hostTensor.ts";
import { hostTensor, sizeOf } from "../../../ir/hostTensor.ts";
import { initialOf, initialValues } from "../../../ir/initial.ts";
import { isPacked } from "../../../ir/dtype.ts";
import type { OpTable } from "../../../ir/opTable.ts";
import { staticShape } from "../../../ir/type.ts";
import type { FeatureBinding } from "../lowering/lower.ts";
import { elementCount } from "../mil/types.ts";
import type { PackageRunner, PackageState } from "../package/packageRunner.ts";
import type { PackageTensor } from "../package/packageTensor.ts";
import { allocate } from "../package/packageTensor.ts";
import type { CoremlKernel } from "./customKernels.ts";
import { runCoremlKernel } from "./customKernels.ts";
import type { Part } from "./partition.ts";
import type { HybridProgram } from "./program.ts";
import type { SingleNode } from "./singleNode.ts";
import { singleNode } from "./singleNode.ts";
import { fromFeature, toFeature } from "./tensors.ts";

/** Runs a small graph on the host: the CPU engine or the reference evaluator. Its parameters are those of the model. */
export type HostExecutor = (
  graph: Graph,
  inputs: Readonly<Record<string, HostTensor>>,
  signal?: AbortSignal,
) => Promise<Readonly<Record<string, HostTensor>>>;

export interface HybridOptions {
  readonly table: OpTable;
  readonly program: HybridProgram;
  /** Runs the Core ML parts: the simulator, or Core ML. */
  readonly runner: PackageRunner;
  readonly host: HostExecutor;
  /** The function of a `custom` op, by its name; throws where none is registered. */
  readonly kernel: (name: string) => CoremlKernel;
}

/** What one run takes besides the graph's inputs. */
export interface HybridRun {
  readonly states?: Readonly<Record<string, HostTensor>>;
  /** Features of states that are a Core ML part's own, by part. */
  readonly own?: ReadonlyMap<number, Readonly<Record<string, PackageTensor>>>;
  readonly signal?: AbortSignal | undefined;
  /** Time spent per operator of a function, by index; only the simulator knows it. */
  readonly onOperation?: ((index: number, milliseconds: number) => void) | undefined;
}

export interface PartTiming {
  readonly part: number;
  readonly side: Part["side"];
  /** On the clock of performance.now(), in seconds. */
  readonly start: number;
  readonly seconds: number;
  readonly bytesIn: number;
  readonly bytesOut: number;
}

export interface HybridResult {
  /** Simulated when the Core ML parts ran on the simulator. */
  readonly truth: PackageRunner["truth"];
  readonly outputs: Readonly<Record<string, HostTensor>>;
  /** Next values of the states that are no part's own. */
  readonly states: Readonly<Record<string, HostTensor>>;
  /** What Core ML parts gave for their own states, by part. */
  readonly own: ReadonlyMap<number, Readonly<Record<string, PackageTensor>>>;
  readonly timings: readonly PartTiming[];
}

/** Features of a part's own states. */
export const OWN_KINDS: ReadonlySet<FeatureBinding["kind"]> = new Set(["stateIn", "stateOut", "freshKeys"]);

export class HybridRunner {
  readonly #options: HybridOptions;
  /** One-node graphs of host nodes, by their id: built once, so that an executor can keep what it compiled. */
  readonly #single = new Map<number, SingleNode>();
  /** Of functions whose parts are the whole graph, with Core ML states. */
  readonly #state: PackageState;

  constructor(options: HybridOptions) {
    this.#options = options;
    this.#state = options.runner.newState();
  }

  async run(inputs: Readonly<Record<string, HostTensor>>, given: HybridRun = {}): Promise<HybridResult> {
    const { graph, parts } = this.#options.program;
    const { signal } = given;
    const values = new Map<string, HostTensor>();
    for (const id of graph.inputs) {
      const name = String(graph.nodes[id]?.attrs["name"]);
      const value = Object.hasOwn(inputs, name) ? inputs[name] : undefined;
      if (value === undefined) throw new WorkbenchError("INPUT_ARGUMENT", `[hybrid] input ${name} is missing`);
      values.set(valueKey({ node: id, output: 0 }), value);
    }
    const crossing = crossingStates(this.#options.program);
    for (const { name, input } of crossing)
      values.set(valueKey({ node: input, output: 0 }), given.states?.[name] ?? firstOf(graph, input));
    const kernels = this.#kernels();
    const timings: PartTiming[] = [];
    const own = new Map<number, Readonly<Record<string, PackageTensor>>>();
    for (const part of parts) {
      throwIfCancelled(signal);
      const started = performance.now();
      if (part.side === "coreml") own.set(part.index, await this.#runCoreml(part, values, given));
      else await this.#runHost(part, kernels, values, signal);
      timings.push({
        part: part.index,
        side: part.side,
        start: started / 1000,
        seconds: (performance.now() - started) / 1000,
        bytesIn: part.bytesIn,
        bytesOut: part.bytesOut,
      });
    }
    const named = async (name: string, value: Value): Promise<readonly [string, HostTensor]> => [
      name,
      await this.#operand(graph, value, values, signal),
    ];
    const outputs = await Promise.all(graph.outputs.map(({ name, value }) => named(name, value)));
    const states = await Promise.all(crossing.map(({ name, output }) => named(name, output)));
    return {
      truth: this.#options.runner.truth,
      outputs: Object.fromEntries(outputs),
      states: Object.fromEntries(states),
      own,
      timings,
    };
  }

  async #runCoreml(
    part: Part,
    values: Map<string, HostTensor>,
    { own, signal, onOperation }: HybridRun,
  ): Promise<Readonly<Record<string, PackageTensor>>> {
    const { program, runner } = this.#options;
    const known = program.functions.get(part.index);
    invariant(known !== undefined, `part ${part.index} was not lowered`);
    const features: Record<string, PackageTensor> = {};
    for (const b of known.bindings) {
      if (b.kind === "input") features[b.feature] = toFeature(b, at(values, crossing(part.inputs, b).value));
      if (b.kind === "stateIn")
        features[b.feature] = own?.get(part.index)?.[b.feature] ?? {
          ...b,
          data: allocate(b.dtype, elementCount(b.shape)),
        };
    }
    const made = await runner.function(known.name).predict(features, {
      state: this.#state,
      ...(signal === undefined ? {} : { signal }),
      ...(onOperation === undefined ? {} : { onOperation }),
    });
    const next: Record<string, PackageTensor> = {};
    for (const b of known.bindings) {
      if (b.kind !== "output" && b.kind !== "stateOut" && b.kind !== "freshKeys") continue;
      const feature = made[b.feature];
      invariant(feature, `no feature ${b.feature}`);
      if (b.kind !== "output") next[b.feature] = feature;
      else {
        const out = crossing(part.outputs, b);
        values.set(valueKey(out.value), fromFeature(b, feature, out.type));
      }
    }
    return next;
  }

  /** Of every custom op, asked for before the first part runs: one that is not registered is told at once, not after minutes. */
  #kernels(): ReadonlyMap<number, CoremlKernel> {
    const { program, kernel } = this.#options;
    const nodes = program.parts.flatMap((part) => (part.side === "host" ? part.nodes : []));
    return new Map(
      nodes.flatMap((id) => {
        const node = program.graph.nodes[id];
        return node?.op === "custom" ? [[id, kernel(String(node.attrs["name"]))] as const] : [];
      }),
    );
  }

  async #runHost(
    part: Part,
    kernels: ReadonlyMap<number, CoremlKernel>,
    values: Map<string, HostTensor>,
    signal: AbortSignal | undefined,
  ): Promise<void> {
    const { graph } = this.#options.program;
    for (const id of part.nodes) {
      throwIfCancelled(signal);
      const node = graph.nodes[id];
      invariant(node, `no node ${id}`);
      const kernel = kernels.get(id);
      const outputs =
        kernel === undefined
          ? await this.#execute(node, graph, values, signal)
          : await runCoremlKernel(
              String(node.attrs["name"]),
              kernel,
              await Promise.all(node.inputs.map((v) => this.#operand(graph, v, values, signal))),
              node.outputs,
            );
      outputs.forEach((value, output) => values.set(valueKey({ node: node.id, output }), value));
    }
  }

  /** A weight is asked of the executor once, as what a graph of it alone gives. */
  async #operand(
    graph: Graph,
    value: Value,
    values: Map<string, HostTensor>,
    signal: AbortSignal | undefined,
  ): Promise<HostTensor> {
    const known = values.get(valueKey(value));
    if (known !== undefined) return known;
    const node = graph.nodes[value.node];
    if (node?.op !== "param") return constantOf(graph, value);
    const [read] = await this.#execute(node, graph, values, signal);
    return read ?? missing(node.op, "its numbers");
  }

  async #execute(
    node: Node,
    graph: Graph,
    values: ReadonlyMap<string, HostTensor>,
    signal: AbortSignal | undefined,
  ): Promise<readonly HostTensor[]> {
    const single = this.#single.get(node.id) ?? singleNode(this.#options.table, graph, node);
    this.#single.set(node.id, single);
    const named = Object.fromEntries(single.operands.map(({ name, value }) => [name, at(values, value)]));
    const made = await this.#options.host(single.graph, named, signal);
    return node.outputs.map((_, i) => made[`y${i}`] ?? missing(node.op, `output ${i}`));
  }
}

/** States that are no Core ML part's own. */
export function crossingStates({ graph, functions }: HybridProgram): Graph["states"] {
  const own = new Set(
    [...functions.values()].flatMap(({ bindings }) =>
      bindings.flatMap(({ kind, name }) => (kind === "state" || OWN_KINDS.has(kind) ? [name] : [])),
    ),
  );
  return graph.states.filter(({ name }) => !own.has(name));
}

/** What a state holds before the first step. */
function firstOf(graph: Graph, id: number): HostTensor {
  const node = graph.nodes[id];
  const [type] = node?.outputs ?? [];
  invariant(node !== undefined && type !== undefined && !isPacked(type.dtype), `no state ${id}`);
  const own = { dtype: type.dtype, shape: staticShape(type, "state") };
  const initial = initialOf(node.attrs);
  if (initial !== undefined) return initialValues(initial, own);
  return hostTensor(own.dtype, own.shape, new Float64Array(sizeOf(own.shape) * (own.dtype === "c64" ? 2 : 1)));
}

function constantOf(graph: Graph, value: Value): HostTensor {
  const node = graph.nodes[value.node];
  const constant = node?.op === "constant" ? graph.constants.get(String(node.attrs["data"])) : undefined;
  return constant ?? missing(`value ${valueKey(value)}`, "it");
}

const missing = (source: string, what: string): never => {
  throw new WorkbenchError("BUG_INVARIANT", `[hybrid] ${source}: ${what} is missing`);
};

const at = (values: ReadonlyMap<string, HostTensor>, value: Value): HostTensor =>
  values.get(valueKey(value)) ?? missing(`value ${valueKey(value)}`, "it");

const crossing = (list: Part["inputs"], binding: FeatureBinding): Part["inputs"][number] =>
  list.find((c) => c.name === binding.name) ?? missing(binding.name, "the crossing");
