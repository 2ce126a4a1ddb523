/** The tensors of a run of a text: inputs as they are given or drawn, sizes of symbols, parameters and states. */
import type { RunTextInput } from "../../contract/views/text.ts";
import { WorkbenchError } from "../../diagnostics/errors.ts";
import { memorySource } from "../../formats/byteSource.ts";
import type { Bindings } from "../../ir/dim.ts";
import { dimSymbols } from "../../ir/dim.ts";
import { isFloat, plainDType, unheld } from "../../ir/dtype.ts";
import type { Graph } from "../../ir/graph.ts";
import { typedArrayOf } from "../../ir/hostBytes.ts";
import type { HostTensor } from "../../ir/hostTensor.ts";
import { hostTensor, sizeOf } from "../../ir/hostTensor.ts";
import { initialOf, initialValues } from "../../ir/initial.ts";
import { nodesWithin } from "../../ir/regions.ts";
import { symbolsWithin } from "../../ir/specialize.ts";
import { numberText } from "../../ir/text/spelling.ts";
import type { TensorType } from "../../ir/type.ts";
import { bindType, staticShape } from "../../ir/type.ts";
import { opTable } from "../../ops/index.ts";
import { inputsOf, symbolsOf } from "../../runtime/device.ts";
import type { GraphInput } from "../../runtime/device.ts";
import { initialTensor, memoryParamsOf } from "../../runtime/memoryLeaves.ts";
import { tensorOf } from "../../runtime/numbers.ts";
import type { NpyArray } from "../../training/data/npy.ts";
import { isComplex, readNpy } from "../../training/data/npy.ts";
import type { Inflate } from "../../training/data/npz.ts";
import { readNpz } from "../../training/data/npz.ts";
import type { ModelFiles } from "../services.ts";

type Asked = Pick<RunTextInput, "inputs" | "symbols" | "seed">;

/** What reads the arrays of files. */
export interface ArrayFiles {
  readonly files: Pick<ModelFiles, "open">;
  readonly inflate: Inflate;
}

/** Sizes of symbols that nothing says. */
const UNSAID_SIZE = 4;
/** Of all inputs together: more is no graph to try out. */
const MOST_NUMBERS = 1 << 26;
const LARGEST_ARRAY = 2 ** 31;
/** Numbers of any value on the way: 2 GB in the reference's float64. */
const LARGEST_VALUE = 1 << 28;

type Given = ReadonlyMap<string, { readonly numbers: ArrayLike<number>; readonly shape?: readonly number[] }>;

export async function givenNumbers(
  from: ArrayFiles,
  graph: Graph,
  { inputs }: Asked,
  signal: AbortSignal,
): Promise<Given> {
  const leaves = inputsOf(graph);
  const names = leaves.map(({ name }) => name);
  const found = new Map<string, { readonly numbers: ArrayLike<number>; readonly shape?: readonly number[] }>();
  for (const [name, said] of Object.entries(inputs)) {
    if (!names.includes(name))
      throw new WorkbenchError("INPUT_ARGUMENT", `[run] input: got ${name}, expected ${names.join(", ") || "none"}`, {
        hint: "Name an input of the graph.",
      });
    const type = leaves.find((leaf) => leaf.name === name)?.type;
    if ("numbers" in said) {
      if (type?.dtype === "i64") requireTold(name, said.numbers);
      found.set(name, said);
    } else {
      const array = await arrayOf(from, said, said.array ?? name, signal);
      const isPairs = type?.dtype === "c64";
      if (isComplex(array) && !isPairs)
        throw new WorkbenchError("INPUT_ARGUMENT", `[run] ${name}: got complex numbers, expected real ones`, {
          hint: "Save its real part, or take c64 for the input.",
        });
      // Of other axes it is the numbers row by row, as those that are written out.
      const isAlike = array.shape.length === type?.shape.length && isComplex(array) === isPairs;
      found.set(name, { numbers: array.data, ...(isAlike && { shape: array.shape }) });
    }
  }
  return found;
}

type ArrayFile = Exclude<RunTextInput["inputs"][string], { readonly numbers: readonly number[] }>;

/** The array of a .npy file, or that of this name in a .npz file. */
async function arrayOf(from: ArrayFiles, said: ArrayFile, name: string, signal: AbortSignal): Promise<NpyArray> {
  const source = "path" in said ? (await from.files.open(said.path)).source : memorySource(said.name, said.bytes);
  try {
    if (source.byteLength > LARGEST_ARRAY)
      throw new WorkbenchError(
        "INPUT_LIMIT",
        `[${source.name}] got ${source.byteLength} bytes, expected ${LARGEST_ARRAY} at most`,
        { hint: "Take a part of it." },
      );
    if (!/\.npz$/iu.test(source.name)) return readNpy(source.name, await source.read(0, source.byteLength, signal));
    const arrays = await readNpz(source, from.inflate, signal);
    const array = arrays.get(name) ?? (arrays.size === 1 ? [...arrays.values()][0] : undefined);
    if (array !== undefined) return array;
    throw new WorkbenchError(
      "INPUT_ARGUMENT",
      `[${source.name}] got no array ${name}, expected one of ${[...arrays.keys()].join(", ")}`,
      { hint: "Save the array under the name of the input." },
    );
  } finally {
    await source.close();
  }
}

/** Every input as a tensor: as given, or drawn. Shapes of arrays say what symbols are; the rest is asked for or small. */
export function tensorsOf(
  graph: Graph,
  given: Given,
  { symbols: said, seed }: Asked,
): { readonly inputs: Readonly<Record<string, HostTensor>>; readonly symbols: Bindings } {
  const leaves = inputsOf(graph);
  for (const leaf of leaves) requireHeld(leaf, given.get(leaf.name)?.numbers ?? []);
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
  const used = symbolsWithin(opTable, graph);
  for (const symbol of used) symbols[symbol] ??= Math.min(UNSAID_SIZE, graph.symbolLimits[symbol] ?? UNSAID_SIZE);
  refuseLarge(graph, symbols);
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
  // What the run tells of symbols are those that the graph has.
  for (const symbol of Object.keys(symbols)) if (!used.has(symbol)) delete symbols[symbol];
  return { inputs: Object.fromEntries(inputs), symbols };
}

/**
 * A text of a few lines may ask for more than any machine has, and a system that lends it comes to a stand. In sub-graphs, too:
 * whether a branch is taken is known when it runs.
 */
function refuseLarge(graph: Graph, symbols: Bindings): void {
  for (const { op, outputs } of nodesWithin(graph))
    for (const type of outputs) {
      const count = sizeOf(staticShape(bindType(type, symbols), op)) * (type.dtype === "c64" ? 2 : 1);
      if (count > LARGEST_VALUE)
        throw new WorkbenchError(
          "INPUT_LIMIT",
          `[run] ${op}: got ${count} numbers, expected at most ${LARGEST_VALUE} in a value`,
          { hint: "Give smaller sizes for the symbols, or take a smaller shape." },
        );
    }
}

/** What was written may have been another number, from 2^53 on: 2^53 + 1 comes as 2^53. */
function requireTold(name: string, numbers: readonly number[]): void {
  const wrong = numbers.find((number) => Number.isInteger(number) && !Number.isSafeInteger(number));
  if (wrong === undefined) return;
  const got = `got ${numberText(wrong)}, or one that is rounded to it`;
  throw new WorkbenchError("INPUT_ARGUMENT", `[run] ${name}: i64 numbers are held exactly up to 2^53: ${got}`, {
    hint: "Take smaller ones, or a .npy file, where each number is looked at.",
  });
}

function requireHeld({ name, type: { dtype } }: GraphInput, numbers: ArrayLike<number>): void {
  const wrong = unheld(dtype, numbers);
  if (wrong === undefined) return;
  throw new WorkbenchError("INPUT_ARGUMENT", `[run] ${name}: got ${wrong}, expected numbers that ${dtype} holds`, {
    hint: "Give others, or take a type that holds them.",
  });
}

/** Floats between -1 and 1; whole numbers and truth values 0 or 1, which are good indices of nearly everything. */
function drawn({ name, type }: GraphInput, seed: number): HostTensor {
  const dtype = plainDType(type.dtype, name);
  const shape = staticShape(type, name);
  const pairs = dtype === "c64" ? [2] : [];
  const { data } = initialValues({ kind: "uniform", scale: 1, seed }, { dtype: "f32", shape: [...shape, ...pairs] });
  return hostTensor(dtype, shape, isFloat(dtype) || dtype === "c64" ? data : data.map((value) => (value < 0 ? 0 : 1)));
}

export function paramsOf(graph: Graph, seed: number): Readonly<Record<string, HostTensor>> {
  const leaves = memoryParamsOf(graph);
  return Object.fromEntries(
    leaves.map((leaf, i) => {
      const { name, dtype, shape, initial } = leaf;
      const type: TensorType = { dtype, shape };
      return [name, initial === undefined ? drawn({ name, type }, seed + 1000 + i) : initialTensor(leaf, initial)];
    }),
  );
}

/** What states are before the first run: their initial values, or zeros. */
export function statesOf(graph: Graph, symbols: Bindings): Readonly<Record<string, HostTensor>> {
  return Object.fromEntries(
    graph.states.flatMap(({ name, input }) => {
      const node = graph.nodes[input];
      const [type] = node?.outputs ?? [];
      if (node === undefined || type === undefined) return [];
      const shape = staticShape(bindType(type, symbols), name);
      const dtype = plainDType(type.dtype, name);
      const initial = initialOf(node.attrs);
      const zeros = new Float64Array(sizeOf(shape) * (dtype === "c64" ? 2 : 1));
      return [
        [name, initial === undefined ? hostTensor(dtype, shape, zeros) : initialValues(initial, { dtype, shape })],
      ];
    }),
  );
}
