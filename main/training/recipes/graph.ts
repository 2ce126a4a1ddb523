/**
 * A graph of one's own, from its text (docs/ir-text.md): parameters in memory are trained, from their initial values, until the
 * output `loss` is small. Inputs are arrays of the same names; their first axis is the batch.
 */
import { WorkbenchError } from "../../diagnostics/errors.ts";
import { GraphBuilder } from "../../ir/builder.ts";
import type { Dim } from "../../ir/dim.ts";
import { plainDType } from "../../ir/dtype.ts";
import type { Graph, Value } from "../../ir/graph.ts";
import { isMemoryParam, valueKey } from "../../ir/graph.ts";
import { hostTensor, sizeOf } from "../../ir/hostTensor.ts";
import type { HostTensor } from "../../ir/hostTensor.ts";
import { initialValues } from "../../ir/initial.ts";
import { copyNode, prune } from "../../ir/rewrite.ts";
import { specialize } from "../../ir/specialize.ts";
import { finish } from "../../ir/steps.ts";
import { bindType, formatType, staticShape } from "../../ir/type.ts";
import { opTable } from "../../ops/index.ts";
import type { GraphInput } from "../../runtime/device.ts";
import { inputsOf } from "../../runtime/device.ts";
import type { MemoryLeaf } from "../../runtime/memoryLeaves.ts";
import { initialTensor, memoryParamsOf } from "../../runtime/memoryLeaves.ts";
import { batches, heldOut } from "../data/order.ts";
import type { NpyArray } from "../data/npy.ts";
import { isComplex } from "../data/npy.ts";
import { shapesIn } from "./linear.ts";
import type { Inputs, Prepared, Recipe, RecipeData, RecipeRequest } from "./recipe.ts";

const LOSS = "loss";
/** Of parameters that say nothing of how they begin. */
const SPREAD = 0.1;

const refused = (message: string, hint: string): WorkbenchError =>
  new WorkbenchError("INPUT_ARGUMENT", `[train graph] ${message}`, { hint });

/** Parameters as inputs, and the loss as the only output. */
function forwardOf(graph: Graph): Graph {
  const loss = graph.outputs.find(({ name }) => name === LOSS) ?? only(graph);
  const builder = new GraphBuilder(opTable, graph.name);
  const made = new Map<string, Value>();
  const resolve = (value: Value): Value => {
    const known = made.get(valueKey(value));
    if (known === undefined) throw new WorkbenchError("BUG_INVARIANT", `[train graph] no value ${valueKey(value)}`);
    return known;
  };
  const { graph: needed } = prune({ ...graph, outputs: [loss] });
  for (const node of needed.nodes) {
    const [type] = node.outputs;
    const copies =
      isMemoryParam(node) && type !== undefined
        ? [builder.input(String(node.attrs["name"]), type)]
        : copyNode(builder, needed, node, resolve);
    copies.forEach((value, output) => made.set(valueKey({ node: node.id, output }), value));
  }
  for (const { value } of needed.outputs) builder.output(LOSS, resolve(value));
  return builder.finish();
}

function only(graph: Graph): Graph["outputs"][number] {
  const [first, ...others] = graph.outputs;
  if (first !== undefined && others.length === 0) return first;
  throw refused(
    `outputs: got ${graph.outputs.map(({ name }) => name).join(", ") || "none"}, expected one with the name ${LOSS}`,
    `Write return "${LOSS}" = … before the number that is to be small.`,
  );
}

/** The first axis, which all data share: a symbol, or the number of rows that the graph fixes. */
function batchAxis(data: readonly GraphInput[]): Dim {
  const [first, ...others] = data.map(({ type }) => type.shape[0]);
  const told = data.map(({ name, type }) => `${name}: ${formatType(type)}`).join(", ");
  if (first === undefined || others.some((axis) => axis !== first))
    throw refused(
      `inputs: got ${told || "none"}, expected data whose first axis is the batch`,
      "Give each of them the same first axis, such as N.",
    );
  return first;
}

interface Rows {
  readonly count: number;
  take(rows: readonly number[]): Inputs;
}

/** Arrays laid beside the inputs of the same names, row by row. */
function rowsOf(data: RecipeData | undefined, inputs: readonly GraphInput[]): Rows {
  const expected = inputs.map(
    ({ name, type }) =>
      `${name}[rows${type.shape
        .slice(1)
        .map((dim) => `,${dim}`)
        .join("")}]${type.dtype === "c64" ? " of complex numbers" : ""}`,
  );
  if (data === undefined)
    throw refused(`data: got none, expected arrays ${expected.join(", ")}`, "numpy.savez(path, x=…) writes them.");
  const found = inputs.map(({ name, type }) => ({ name, type, array: arrayOf(data, name) }));
  const [first] = found;
  const count = first?.array?.shape[0] ?? 0;
  const fits = found.every(
    ({ array, type }) =>
      array?.shape.length === type.shape.length &&
      isComplex(array) === (type.dtype === "c64") &&
      array.shape.every((size, axis) => (axis === 0 ? size === count : size === type.shape[axis])),
  );
  if (!fits || count === 0)
    throw refused(
      `${data.name}: got ${shapesIn(data)}, expected ${expected.join(", ")}`,
      "numpy.savez(path, x=…) writes them.",
    );
  return {
    count,
    take: (rows) =>
      Object.fromEntries(
        found.flatMap(({ name, type, array }) =>
          array === undefined ? [] : [[name, rowsIn(array, rows, name, type)]],
        ),
      ),
  };
}

const arrayOf = (data: RecipeData, name: string): NpyArray | undefined =>
  data.kind === "arrays" ? data.arrays.get(name) : undefined;

function rowsIn(array: NpyArray, rows: readonly number[], name: string, type: GraphInput["type"]): HostTensor {
  const shape = [rows.length, ...array.shape.slice(1)];
  const width = sizeOf(array.shape.slice(1)) * (isComplex(array) ? 2 : 1);
  const numbers = new Float64Array(rows.length * width);
  rows.forEach((row, i) => {
    for (let at = 0; at < width; at++) numbers[i * width + at] = array.data[row * width + at] ?? 0;
  });
  return hostTensor(plainDType(type.dtype, name), shape, numbers);
}

/** As its leaf says; without a word by chance, so that no two of a layer are alike. */
const firstNumbers = (leaf: MemoryLeaf, seed: number): HostTensor =>
  leaf.initial === undefined
    ? initialValues({ kind: "normal", scale: SPREAD, seed }, leaf)
    : initialTensor(leaf, leaf.initial);

function prepare({ graph, data, batch, seed, share }: RecipeRequest): Prepared {
  if (graph === undefined)
    throw refused("model: got a model's file, expected a graph in text", "`rlx new` names some to start from.");
  if (graph.states.length > 0)
    throw refused(
      `states: got ${graph.states.map(({ name }) => name).join(", ")}, expected none`,
      "Make inputs of them.",
    );
  const leaves = memoryParamsOf(graph);
  if (leaves.length === 0) throw refused("parameters: got none, expected some", "Write {memory: true} behind param.");
  const whole = forwardOf(graph);
  const weights = new Set(leaves.map(({ name }) => name));
  const inputs = inputsOf(whole).filter(({ name }) => !weights.has(name));
  const used = leaves.filter(({ name }) => inputsOf(whole).some((input) => input.name === name));
  const axis = batchAxis(inputs);
  if (typeof axis === "number" && axis !== batch)
    throw refused(
      `batch: got ${batch}, expected ${axis}, which the graph says`,
      `Take --batch ${axis}, or write N for it.`,
    );
  const sized = (rows: number): Graph =>
    typeof axis === "number" ? whole : finish(specialize(opTable, whole, { [axis]: rows }));
  const bound = inputs.map((input) => ({
    ...input,
    type: typeof axis === "number" ? input.type : bindType(input.type, { [axis]: batch }),
  }));
  for (const { name, type } of bound) staticShape(type, name);
  const rows = rowsOf(data, bound);
  const kept = typeof axis === "number" ? (heldOut(rows.count, share) >= axis ? axis : 0) : heldOut(rows.count, share);
  const take = batches(rows.count - kept, batch, seed);
  const held = Array.from({ length: kept }, (_, i) => rows.count - kept + i);
  const initial = Object.fromEntries(used.map((leaf, i) => [leaf.name, firstNumbers(leaf, seed + i)]));
  return {
    forward: sized(batch),
    trainable: used.map(({ name }) => name),
    initial,
    parameters: used.reduce((sum, { shape }) => sum + sizeOf(shape), 0),
    data: `${rows.count} rows of ${inputs.map(({ name }) => name).join(", ")}${kept === 0 ? "" : `, ${kept} of them for validation`}`,
    batch: (step) => rows.take(take(step)),
    ...(kept === 0 ? {} : { validation: { graph: sized(kept), hasAnswers: false, batches: [rows.take(held)] } }),
    metadata: { graph: graph.name },
  };
}

export const graphRecipe: Recipe = {
  id: "graph",
  title: "A graph",
  about: "Trains the parameters of a graph in text (.rlx) until its output “loss” is small.",
  needs: "model",
  resultEnding: "safetensors",
  dataEndings: ["npz"],
  dataSentence: "An .npz file with an array for each input, of the same name; the first axis is the rows.",
  fields: [],
  defaults: {
    steps: 200,
    batch: 32,
    optimizer: { name: "adam", options: {} },
    lr: 0.01,
    schedule: { kind: "constant", warmUp: 0 },
    clipNorm: null,
    validationEvery: 20,
    validationShare: 0.1,
    sample: null,
    normsEvery: 20,
  },
  prepare: (request) => Promise.resolve(request).then(prepare),
};
