/** A graph from a text on a device, once, beside the float64 reference. */
import type { RunTextInput, TextRun } from "../../contract/views/text.ts";
import { compileNow } from "../../compiler/compile.ts";
import { WorkbenchError, invariant } from "../../diagnostics/errors.ts";
import type { Bindings } from "../../ir/dim.ts";
import { dimSymbols } from "../../ir/dim.ts";
import { isFloat, plainDType } from "../../ir/dtype.ts";
import type { Graph } from "../../ir/graph.ts";
import type { Pass } from "../../ir/pass.ts";
import { isMemoryParam } from "../../ir/graph.ts";
import { numbersIn, typedArrayOf } from "../../ir/hostBytes.ts";
import type { HostTensor } from "../../ir/hostTensor.ts";
import { hostTensor, sizeOf } from "../../ir/hostTensor.ts";
import { initialValues } from "../../ir/initial.ts";
import type { TensorType } from "../../ir/type.ts";
import { bindType, formatType, staticShape } from "../../ir/type.ts";
import { evaluate } from "../../ops/evaluate.ts";
import type { Evaluation } from "../../ops/evaluate.ts";
import { inputsOf, symbolsOf } from "../../runtime/device.ts";
import type { GraphInput } from "../../runtime/device.ts";
import { initialTensor, memoryParamsOf } from "../../runtime/memoryLeaves.ts";
import { tensorOf } from "../../runtime/numbers.ts";
import { readNpy } from "../../training/data/npy.ts";
import type { EngineDevice } from "../devices.ts";
import { inSlices } from "../models/taskCache.ts";
import type { ModelFiles } from "../services.ts";

type Asked = Omit<RunTextInput, "text" | "device">;

export interface TextRunParts {
  readonly files: ModelFiles;
  readonly device: EngineDevice;
  readonly threads: number;
}

/** Sizes of symbols that nothing says. */
const UNSAID_SIZE = 4;
/** Of all inputs together: more is no graph to try out. */
const MOST_NUMBERS = 1 << 26;
const LARGEST_ARRAY = 2 ** 31;

/** What a run is given: numbers that were said, and drawn ones. */
export async function valuesFor(files: ModelFiles, graph: Graph, asked: Asked, signal: AbortSignal): Promise<Values> {
  refuseFiles(graph);
  const given = await givenNumbers(files, graph, asked, signal);
  return { ...tensorsOf(graph, given, asked), params: paramsOf(graph, asked.seed) };
}

/** By the meaning of the ops, in float64. */
export const referenceOf = (
  graph: Graph,
  { inputs, params, symbols }: Values,
  signal: AbortSignal,
): Promise<Evaluation> => inSlices(evaluate(graph, { inputs, params, bindings: symbols, signal }), signal);

export async function runText(parts: TextRunParts, graph: Graph, asked: Asked, signal: AbortSignal): Promise<TextRun> {
  const values = await valuesFor(parts.files, graph, asked, signal);
  const { inputs } = values;
  const began = performance.now();
  const outputs = await onDevice(parts, graph, values, signal);
  const seconds = (performance.now() - began) / 1000;
  const reference = await referenceOf(graph, values, signal);
  return {
    device: parts.device.id,
    sentence: `${parts.device.title}: compiled and run in ${(seconds * 1000).toFixed(1)} ms.`,
    seconds,
    inputs: Object.entries(inputs).map(([name, tensor]) => ({ name, type: formatType(tensor) })),
    outputs: outputs.map(({ name, ...output }) => ({
      name,
      ...output,
      error: distanceOf(output.values, expectedOf(name, output.values, reference)),
    })),
  };
}

/** A text names the weights of files and does not hold them. */
function refuseFiles(graph: Graph): void {
  const param = graph.nodes.find((node) => node.op === "param" && !isMemoryParam(node));
  if (param === undefined) return;
  throw new WorkbenchError(
    "INPUT_ARGUMENT",
    `[run] ${String(param.attrs["name"])}: got a weight of a file, expected parameters in memory`,
    { hint: "Run the model's own file, or write {memory: true} and an initial value." },
  );
}

async function givenNumbers(
  files: ModelFiles,
  graph: Graph,
  { inputs }: Asked,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, { readonly numbers: ArrayLike<number>; readonly shape?: readonly number[] }>> {
  const names = inputsOf(graph).map(({ name }) => name);
  const found = new Map<string, { readonly numbers: ArrayLike<number>; readonly shape?: readonly number[] }>();
  for (const [name, said] of Object.entries(inputs)) {
    if (!names.includes(name))
      throw new WorkbenchError("INPUT_ARGUMENT", `[run] input: got ${name}, expected ${names.join(", ") || "none"}`, {
        hint: "Name an input of the graph.",
      });
    if ("numbers" in said) found.set(name, said);
    else {
      const array = await arrayOf(files, said.path, signal);
      found.set(name, { numbers: array.data, shape: array.shape });
    }
  }
  return found;
}

async function arrayOf(files: ModelFiles, path: string, signal: AbortSignal): Promise<ReturnType<typeof readNpy>> {
  const { source } = await files.open(path);
  try {
    if (source.byteLength > LARGEST_ARRAY)
      throw new WorkbenchError(
        "INPUT_LIMIT",
        `[${source.name}] got ${source.byteLength} bytes, expected ${LARGEST_ARRAY} at most`,
        { hint: "Take a part of it." },
      );
    return readNpy(source.name, await source.read(0, source.byteLength, signal));
  } finally {
    await source.close();
  }
}

/** Every input as a tensor: as given, or drawn. Shapes of arrays say what symbols are; the rest is asked for or small. */
function tensorsOf(
  graph: Graph,
  given: Awaited<ReturnType<typeof givenNumbers>>,
  { symbols: said, seed }: Asked,
): { readonly inputs: Readonly<Record<string, HostTensor>>; readonly symbols: Bindings } {
  const leaves = inputsOf(graph);
  const symbols: Record<string, number> = { ...said };
  for (const { name, type } of leaves)
    for (const [i, dim] of type.shape.entries()) {
      const size = given.get(name)?.shape?.[i];
      if (typeof dim === "string" && dimSymbols(dim)[0] === dim && size !== undefined) symbols[dim] ??= size;
    }
  // Of numbers without a shape, how many there are says the size that is left.
  const typed = [...given].map(([name, { numbers }]): readonly [string, ArrayBufferView] => {
    const dtype = plainDType(leaves.find((leaf) => leaf.name === name)?.type.dtype ?? "f32", name);
    return [name, typedArrayOf({ dtype, shape: [numbers.length], data: Float64Array.from(numbers) })];
  });
  Object.assign(symbols, symbolsOf(leaves, { inputs: Object.fromEntries(typed), symbols }));
  const states = graph.states.flatMap(({ input }) => graph.nodes[input]?.outputs ?? []);
  for (const { shape } of [...leaves.map(({ type }) => type), ...states])
    for (const symbol of shape.flatMap(dimSymbols))
      symbols[symbol] ??= Math.min(UNSAID_SIZE, graph.symbolLimits[symbol] ?? UNSAID_SIZE);
  let total = 0;
  const inputs = leaves.map(({ name, type }, i): readonly [string, HostTensor] => {
    const bound = bindType(type, symbols);
    const shape = staticShape(bound, name);
    total += sizeOf(shape);
    if (total > MOST_NUMBERS)
      throw new WorkbenchError("INPUT_LIMIT", `[run] inputs: got ${total} numbers, expected at most ${MOST_NUMBERS}`, {
        hint: "Give smaller sizes for the symbols.",
      });
    const numbers = given.get(name)?.numbers;
    return [
      name,
      numbers === undefined
        ? drawn({ name, type: bound }, seed + i)
        : tensorOf(name, plainDType(type.dtype, name), shape, numbers),
    ];
  });
  return { inputs: Object.fromEntries(inputs), symbols };
}

/** Floats between -1 and 1; whole numbers and truth values 0 or 1, which are good indices of nearly everything. */
function drawn({ name, type }: GraphInput, seed: number): HostTensor {
  const dtype = plainDType(type.dtype, name);
  const shape = staticShape(type, name);
  const pairs = dtype === "c64" ? [2] : [];
  const { data } = initialValues({ kind: "uniform", scale: 1, seed }, { dtype: "f32", shape: [...shape, ...pairs] });
  return hostTensor(dtype, shape, isFloat(dtype) || dtype === "c64" ? data : data.map((value) => (value < 0 ? 0 : 1)));
}

function paramsOf(graph: Graph, seed: number): Readonly<Record<string, HostTensor>> {
  const leaves = memoryParamsOf(graph);
  return Object.fromEntries(
    leaves.map((leaf, i) => {
      const { name, dtype, shape, initial } = leaf;
      const type: TensorType = { dtype, shape };
      return [name, initial === undefined ? drawn({ name, type }, seed + 1000 + i) : initialTensor(leaf, initial)];
    }),
  );
}

export interface Values {
  readonly inputs: Readonly<Record<string, HostTensor>>;
  readonly params: Readonly<Record<string, HostTensor>>;
  readonly symbols: Bindings;
}

export type RunOutput = Omit<TextRun["outputs"][number], "error">;

/** The outputs of a graph, compiled with the passes of the device's backend, or with these. */
export async function onDevice(
  { device, threads }: TextRunParts,
  graph: Graph,
  { inputs, params, symbols }: Values,
  signal: AbortSignal,
  passes?: readonly Pass[],
): Promise<readonly RunOutput[]> {
  const limited = { ...graph, symbolLimits: { ...symbols, ...graph.symbolLimits } };
  const made = device.device?.({ threads });
  invariant(made, `device ${device.id} compiles graphs`);
  const compiled = made.compile(
    device.backend === undefined
      ? limited
      : compileNow(limited, { backend: device.backend, ...(passes !== undefined && { passes }) }).graph,
  );
  try {
    const session = compiled.open({ symbols });
    try {
      const held = session.params;
      invariant(held !== undefined || Object.keys(params).length === 0, `device ${device.id} holds parameters`);
      for (const [name, tensor] of Object.entries(params)) held?.setParam(name, tensor.data);
      const typed = Object.fromEntries(Object.entries(inputs).map(([name, tensor]) => [name, typedArrayOf(tensor)]));
      const fetch = graph.outputs.map(({ name }) => name);
      const result = await session.run({ inputs: typed, fetch, symbols }, signal);
      return fetch.map((name) => {
        const output = result.outputs[name];
        invariant(output, `output ${name} was fetched`);
        const { dtype, shape, bytes } = output;
        return { name, dtype, shape: [...shape], values: Float64Array.from(numbersIn(dtype, bytes)) };
      });
    } finally {
      session.dispose();
    }
  } finally {
    compiled.dispose();
  }
}

export function expectedOf(name: string, values: Float64Array, { outputs }: Evaluation): Float64Array {
  const expected = outputs[name]?.data;
  invariant(expected?.length === values.length, `the reference has output ${name}`);
  return expected;
}

/** Largest distance over the largest value; infinities and NaN count where only one side has them. */
export function distanceOf(values: Float64Array, expected: Float64Array): number {
  let [distance, largest] = [0, 0];
  for (const [i, value] of values.entries()) {
    const right = expected[i] ?? NaN;
    if (Object.is(value, right)) continue;
    distance = Math.max(
      distance,
      Number.isFinite(value) && Number.isFinite(right) ? Math.abs(value - right) : Infinity,
    );
  }
  for (const right of expected) if (Number.isFinite(right)) largest = Math.max(largest, Math.abs(right));
  return distance === 0 ? 0 : distance / (largest || 1);
}
