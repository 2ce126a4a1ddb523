/** Runs the nodes of host parts: on the CPU engine, and by their own definition where it has no kernel for them. */
import type { CpuEngine } from "../../backends/cpu/engine.ts";
import type { HostExecutor } from "../../backends/coreml/hybrid/runner.ts";
import { WorkbenchError } from "../../diagnostics/errors.ts";
import { dequantize } from "../../formats/quant/dequantize.ts";
import type { GgufFile } from "../../formats/gguf/file.ts";
import { isPacked } from "../../ir/dtype.ts";
import type { Graph, Node } from "../../ir/graph.ts";
import { isLeaf, isMemoryParam } from "../../ir/graph.ts";
import { numbersIn, typedArrayOf } from "../../ir/hostBytes.ts";
import type { HostTensor } from "../../ir/hostTensor.ts";
import { hostTensor } from "../../ir/hostTensor.ts";
import type { GraphSession } from "../../ir/session.ts";
import { finish } from "../../ir/steps.ts";
import type { TensorType } from "../../ir/type.ts";
import { staticShape } from "../../ir/type.ts";
import { evaluate } from "../../ops/evaluate.ts";
import { opOf } from "../../ops/index.ts";
import type { CompiledGraph } from "../../runtime/device.ts";
import { locateIn, mappedFiles } from "../../runtime/decoderModel.ts";
import type { CpuDeviceOptions } from "../../runtime/devices/cpu.ts";
import { compileGraph, cpuDevice } from "../../runtime/devices/cpu.ts";

/** Where the parameters of host nodes are. */
export interface HostWeights {
  readonly file: GgufFile;
  readonly paths: readonly string[];
}

/** Custom ops come here in branches and loops only. */
export function hostExecutor(
  engine: CpuEngine,
  weights?: HostWeights,
): { readonly run: HostExecutor; dispose(): void } {
  const options: CpuDeviceOptions = {
    threads: 1,
    ...(weights !== undefined && {
      weights: { ...mappedFiles(weights.file, weights.paths), locate: locateIn(weights.file) },
    }),
  };
  const sessions = new Map<Graph, GraphSession>();
  const plans: CompiledGraph[] = [];
  const numbers = new Map<string, Promise<HostTensor>>();
  const open = (graph: Graph, compile: (graph: Graph) => CompiledGraph): GraphSession => {
    const plan = compile(graph);
    plans.push(plan);
    return plan.open();
  };
  const read = (name: string, tensor: string, type: TensorType): Promise<HostTensor> => {
    const known = numbers.get(name) ?? numbersOf(weights?.file, tensor, type);
    numbers.set(name, known);
    return known;
  };
  /** By definition, with the numbers of its parameters. */
  const define = async (
    graph: Graph,
    inputs: Readonly<Record<string, HostTensor>>,
    signal: AbortSignal | undefined,
  ): Promise<Readonly<Record<string, HostTensor>>> => {
    const params = new Map<string, HostTensor>();
    for (const { op, attrs, outputs } of graph.nodes.filter(isFileParam)) {
      const [name, [type]] = [String(attrs["name"]), outputs];
      if (op === "param" && type !== undefined) params.set(name, await read(name, String(attrs["tensor"]), type));
    }
    const param = (name: string): HostTensor => params.get(name) ?? noNumbers(name);
    return finish(evaluate(graph, { inputs, param, ...(signal === undefined ? {} : { signal }) })).outputs;
  };
  const sessionOf = (graph: Graph): GraphSession | undefined => {
    const works = graph.nodes.filter((node) => !isLeaf(node));
    const kinds = new Set(works.map(({ op }) => opOf(op)?.backends.cpu.kind ?? "unsupported"));
    if (works.length === 0 || kinds.has("unsupported")) return undefined;
    if (!kinds.has("decompose")) return open(graph, (whole) => cpuDevice(engine, options).compile(whole));
    return open(graph, (whole) => compileGraph(engine, whole, options));
  };
  const run: HostExecutor = async (graph, inputs, signal) => {
    const session = sessions.get(graph) ?? sessionOf(graph);
    if (session === undefined) return define(graph, inputs, signal);
    sessions.set(graph, session);
    const given = Object.fromEntries(Object.entries(inputs).map(([name, tensor]) => [name, typedArrayOf(tensor)]));
    const { outputs } = await session.run({ inputs: given, fetch: graph.outputs.map((output) => output.name) }, signal);
    return Object.fromEntries(
      Object.entries(outputs).map(([name, value]) => [
        name,
        hostTensor(value.dtype, value.shape, Float64Array.from(numbersIn(value.dtype, value.bytes))),
      ]),
    );
  };
  const dispose = (): void => {
    for (const session of sessions.values()) session.dispose();
    for (const plan of plans) plan.dispose();
  };
  return { run, dispose };
}

const isFileParam = (node: Node): boolean => node.op === "param" && !isMemoryParam(node);

const noNumbers = (name: string): never => {
  throw new WorkbenchError("INPUT_MISSING_TENSOR", `[hybrid] "${name}": a graph without a model has no weight file`);
};

/** Of a tensor of the file, unpacked. */
async function numbersOf(file: GgufFile | undefined, tensor: string, type: TensorType): Promise<HostTensor> {
  if (file === undefined) return noNumbers(tensor);
  const bytes = await file.readTensor(file.requireTensor(tensor), {});
  const shape = staticShape(type, tensor);
  if (!isPacked(type.dtype)) return hostTensor(type.dtype, shape, Float64Array.from(numbersIn(type.dtype, bytes)));
  const count = shape.reduce((product, size) => product * size, 1);
  return hostTensor("f32", shape, Float64Array.from(dequantize(type.dtype, bytes, count)));
}
