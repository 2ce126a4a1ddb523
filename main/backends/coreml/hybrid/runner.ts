/**
 * Runs a routed graph part by part: Core ML parts on the simulator (or, on a Mac, Core ML), host parts node by node through
 * registered kernels or the host executor. The order, the cuts and the crossings are those of the route.
 */
import { WorkbenchError, invariant, throwIfCancelled } from "../../../diagnostics/errors.ts";
import { GraphBuilder } from "../../../ir/builder.ts";
import type { Graph, Node, Value } from "../../../ir/graph.ts";
import { valueKey } from "../../../ir/graph.ts";
import type { HostTensor } from "../../../ir/hostTensor.ts";
import type { OpTable } from "../../../ir/opTable.ts";
import type { FeatureBinding } from "../lowering/lower.ts";
import type { PackageRunner, PackageState } from "../package/packageRunner.ts";
import type { CoremlKernel } from "./customKernels.ts";
import { runCoremlKernel } from "./customKernels.ts";
import type { Part } from "./partition.ts";
import type { Route } from "./route.ts";
import { fromFeature, toFeature } from "./tensors.ts";

/** Runs a small graph on the host: the CPU engine or the reference evaluator. */
export type HostExecutor = (
  graph: Graph,
  inputs: Readonly<Record<string, HostTensor>>,
  signal?: AbortSignal,
) => Promise<Readonly<Record<string, HostTensor>>>;

export interface HybridOptions {
  readonly table: OpTable;
  readonly route: Route;
  /** Runs the Core ML parts: the simulator, or Core ML. */
  readonly runner: PackageRunner;
  readonly host: HostExecutor;
  /** The function of a `custom` op, by its name; throws where none is registered. */
  readonly kernel: (name: string) => CoremlKernel;
  /** Numbers of a weight that a host part needs. */
  readonly param?: (tensor: string) => Promise<HostTensor>;
}

export interface PartTiming {
  readonly part: number;
  readonly side: Part["side"];
  readonly seconds: number;
  readonly bytesIn: number;
  readonly bytesOut: number;
}

export interface HybridResult {
  /** Simulated when the Core ML parts ran on the simulator. */
  readonly truth: PackageRunner["truth"];
  readonly outputs: Readonly<Record<string, HostTensor>>;
  readonly timings: readonly PartTiming[];
}

export class HybridRunner {
  readonly #options: HybridOptions;
  /** One-node graphs of host nodes, by their id: built once, so that an executor can keep what it compiled. */
  readonly #single = new Map<number, Graph>();
  readonly #state: PackageState;

  constructor(options: HybridOptions) {
    this.#options = options;
    this.#state = options.runner.newState();
  }

  async run(inputs: Readonly<Record<string, HostTensor>>, signal?: AbortSignal): Promise<HybridResult> {
    const { route } = this.#options;
    const values = new Map<string, HostTensor>();
    for (const id of route.graph.inputs) {
      const name = String(route.graph.nodes[id]?.attrs["name"]);
      const given = Object.hasOwn(inputs, name) ? inputs[name] : undefined;
      if (given === undefined) throw new WorkbenchError("INPUT_ARGUMENT", `[hybrid] input ${name} is missing`);
      values.set(valueKey({ node: id, output: 0 }), given);
    }
    const kernels = this.#kernels();
    const timings: PartTiming[] = [];
    for (const part of route.parts) {
      throwIfCancelled(signal);
      const started = performance.now();
      await (part.side === "coreml"
        ? this.#runCoreml(part, values, signal)
        : this.#runHost(part, kernels, values, signal));
      timings.push({
        part: part.index,
        side: part.side,
        seconds: (performance.now() - started) / 1000,
        bytesIn: part.bytesIn,
        bytesOut: part.bytesOut,
      });
    }
    const outputs = Object.fromEntries(route.graph.outputs.map(({ name, value }) => [name, at(values, value)]));
    return { truth: this.#options.runner.truth, outputs, timings };
  }

  async #runCoreml(part: Part, values: Map<string, HostTensor>, signal: AbortSignal | undefined): Promise<void> {
    const { route, runner } = this.#options;
    const name = route.functionNames.get(part.index);
    const position = route.parts.filter((p) => p.side === "coreml").indexOf(part);
    const bindings = route.lowered?.functions[position]?.bindings;
    invariant(name !== undefined && bindings !== undefined, `part ${part.index} was not lowered`);
    const features = Object.fromEntries(
      bindings
        .filter((b) => b.kind === "input")
        .map((b) => [b.feature, toFeature(b, at(values, crossing(part.inputs, b).value))]),
    );
    const made = await runner
      .function(name)
      .predict(features, { state: this.#state, ...(signal === undefined ? {} : { signal }) });
    for (const b of bindings) {
      if (b.kind !== "output") continue;
      const out = crossing(part.outputs, b);
      const feature = made[b.feature];
      invariant(feature, `no feature ${b.feature}`);
      values.set(valueKey(out.value), fromFeature(feature, out.type));
    }
  }

  /** Of every custom op, asked for before the first part runs: one that is not registered is told at once, not after minutes. */
  #kernels(): ReadonlyMap<number, CoremlKernel> {
    const { route, kernel } = this.#options;
    const nodes = route.parts.flatMap((part) => (part.side === "host" ? part.nodes : []));
    return new Map(
      nodes.flatMap((id) => {
        const node = route.graph.nodes[id];
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
    const { graph } = this.#options.route;
    for (const id of part.nodes) {
      throwIfCancelled(signal);
      const node = graph.nodes[id];
      invariant(node, `no node ${id}`);
      const inputs = await Promise.all(node.inputs.map((v) => this.#operand(graph, v, values)));
      const kernel = kernels.get(id);
      const outputs =
        kernel === undefined
          ? await this.#execute(node, graph, inputs, signal)
          : await runCoremlKernel(String(node.attrs["name"]), kernel, inputs, node.outputs);
      outputs.forEach((value, output) => values.set(valueKey({ node: node.id, output }), value));
    }
  }

  async #operand(graph: Graph, value: Value, values: ReadonlyMap<string, HostTensor>): Promise<HostTensor> {
    const known = values.get(valueKey(value));
    if (known !== undefined) return known;
    const node = graph.nodes[value.node];
    const constant = node?.op === "constant" ? graph.constants.get(String(node.attrs["data"])) : undefined;
    if (constant !== undefined) return constant;
    if (node?.op === "param" && this.#options.param !== undefined)
      return this.#options.param(String(node.attrs["tensor"]));
    return at(values, value);
  }

  async #execute(
    node: Node,
    graph: Graph,
    inputs: readonly HostTensor[],
    signal: AbortSignal | undefined,
  ): Promise<readonly HostTensor[]> {
    const single = this.#single.get(node.id) ?? singleNode(this.#options.table, graph, node);
    this.#single.set(node.id, single);
    const named = Object.fromEntries(inputs.map((value, i) => [`x${i}`, value]));
    const made = await this.#options.host(single, named, signal);
    return node.outputs.map((_, i) => made[`y${i}`] ?? missing(node.op, `output ${i}`));
  }
}

const missing = (source: string, what: string): never => {
  throw new WorkbenchError("BUG_INVARIANT", `[hybrid] ${source}: ${what} is missing`);
};

const at = (values: ReadonlyMap<string, HostTensor>, value: Value): HostTensor =>
  values.get(valueKey(value)) ?? missing(`value ${valueKey(value)}`, "it");

const crossing = (list: Part["inputs"], binding: FeatureBinding): Part["inputs"][number] =>
  list.find((c) => c.name === binding.name) ?? missing(binding.name, "the crossing");

/** One node with its operands as inputs `x0 …` and results as outputs `y0 …`. */
function singleNode(table: OpTable, graph: Graph, node: Node): Graph {
  const builder = new GraphBuilder(table, `host ${node.op}`);
  const operands = node.inputs.map((v, i) => {
    const type = graph.nodes[v.node]?.outputs[v.output];
    invariant(type, `no value ${valueKey(v)}`);
    return builder.input(`x${i}`, type);
  });
  builder
    .apply(node.op, operands, node.attrs, { regions: node.regions })
    .forEach((value, i) => builder.output(`y${i}`, value));
  return builder.finish();
}
