/**
 * A net in few bits, before it is one: its products read weights and activations that are rounded to a grid of whole numbers
 * and multiplied back. Calibration looks at the activations of some batches and says how wide each grid has to be (PTQ).
 * Training the rounded net lets the weights find their places on the grid (QAT): the gradient of a rounding is that of its
 * operand, and numbers beyond the grid get none.
 */
import { WorkbenchError } from "../diagnostics/errors.ts";
import { GraphBuilder } from "../ir/builder.ts";
import type { Graph, Node, Value } from "../ir/graph.ts";
import { isLeaf } from "../ir/graph.ts";
import { numbersIn } from "../ir/hostBytes.ts";
import { hostScalar } from "../ir/hostTensor.ts";
import { copyNode } from "../ir/rewrite.ts";
import { stepTo } from "../ops/families/fakeQuantize.ts";
import { opTable, typedBuilder } from "../ops/index.ts";
import type { OpBuilder } from "../ops/opBuilder.ts";
import { inputsOf } from "../runtime/device.ts";
import type { Numbers } from "../runtime/numbers.ts";
import { typedInputs } from "../runtime/numbers.ts";
import type { TrainingDevice } from "./trainingDevice.ts";

export interface QuantizedBits {
  /** Of weights: one grid for each row of outputs. 2 to 8. */
  readonly weights: number;
  /** Of activations: one grid for each product. 2 to 16. */
  readonly activations: number;
}

/** The largest activation of each product, in the order of the graph: those of a net fit its forward graph and its validation. */
export type Ranges = readonly number[];

/** Products with a weight, and the axes of the weight over which one output sums. */
const PRODUCTS: Readonly<Record<string, (rank: number) => readonly number[]>> = {
  linear: () => [1],
  // [outputs, inputs, …sizes]
  conv: (rank) => Array.from({ length: rank - 1 }, (_, i) => i + 1),
  // [inputs, outputs]
  matmul: (rank) => [rank - 2],
};

const nameOf = (node: Node | undefined): string => String(node?.attrs["name"] ?? "");

/** Axes of the weight where this is a product with a trained one. */
function summedAxes(graph: Graph, node: Node, weights: ReadonlySet<string>): readonly number[] | undefined {
  const [, weight] = node.inputs;
  const leaf = weight && graph.nodes[weight.node];
  if (leaf === undefined || !isLeaf(leaf) || !weights.has(nameOf(leaf))) return undefined;
  return PRODUCTS[node.op]?.(leaf.outputs[0]?.shape.length ?? 0);
}

/** What a product is given in place of its two operands; `index` counts products. */
type Change = (
  g: OpBuilder,
  operands: readonly [Value, Value],
  product: { readonly index: number; readonly axes: readonly number[] },
  output: (name: string, value: Value) => void,
) => readonly [Value, Value];

function withProducts(source: Graph, trainable: readonly string[], name: string, change: Change): Graph {
  const builder = new GraphBuilder(opTable, `${source.name} ${name}`);
  const g = typedBuilder(builder);
  const weights = new Set(trainable);
  const values: (readonly Value[])[] = [];
  const map = (old: Value): Value => {
    const value = values[old.node]?.[old.output];
    if (value === undefined) throw new WorkbenchError("BUG_INVARIANT", `[quantize] value ${old.node} is not made yet`);
    return value;
  };
  let index = 0;
  for (const [symbol, size] of Object.entries(source.symbolLimits)) builder.limitSymbol(symbol, size);
  for (const node of source.nodes) {
    const axes = summedAxes(source, node, weights);
    const [x, w] = node.inputs;
    if (axes === undefined || x === undefined || w === undefined) {
      values.push(copyNode(builder, source, node, map));
      continue;
    }
    const output = (own: string, value: Value): void => builder.output(own, value);
    const [left, right] = change(g, [map(x), map(w)], { index: index++, axes }, output);
    const given = (old: Value): Value => (old === x ? left : old === w ? right : map(old));
    values.push(copyNode(builder, source, node, given));
  }
  if (index === 0)
    throw new WorkbenchError("INPUT_ARGUMENT", "[quantize] graph: got no product with a trained weight, expected one", {
      hint: `Products are ${Object.keys(PRODUCTS).join(", ")}, and their second operand is a weight that is trained.`,
    });
  for (const { name: own, value } of source.outputs) builder.output(own, map(value));
  return builder.finish();
}

const largestOf = (g: OpBuilder, x: Value, axes: readonly number[]): Value =>
  g.reduce([g.abs([x])], { kind: "max", axes: [...axes], keepDims: true });

const rangeName = (index: number): string => `range.${index}`;

/** Runs the batches through the net with these weights, and gives the largest activation of each product. */
export async function calibrate(
  graph: Graph,
  trainable: readonly string[],
  weights: Readonly<Record<string, Numbers>>,
  batches: readonly Readonly<Record<string, Numbers>>[],
  device: TrainingDevice,
  signal?: AbortSignal,
): Promise<Ranges> {
  if (batches.length === 0)
    throw new WorkbenchError("INPUT_ARGUMENT", "[quantize] batches: got none, expected at least one", {
      hint: "Give some batches of the training data to calibrate with.",
    });
  let count = 0;
  const probed = withProducts(graph, trainable, "calibration", (g, [x, w], { index }, output) => {
    const axes = [...g.typeOf(x).shape.keys()];
    output(rangeName(index), g.reshape([largestOf(g, x, axes)], { shape: [1] }));
    count = index + 1;
    return [x, w];
  });
  const runner = await device.open(probed, "f32");
  const names = Array.from({ length: count }, (_, i) => rangeName(i));
  const ranges = names.map(() => 0);
  try {
    for (const batch of batches) {
      const made = await runner.run(typedInputs(inputsOf(probed), { ...weights, ...batch }), names, signal);
      names.forEach((name, i) => {
        const tensor = made[name];
        const largest = tensor === undefined ? NaN : (numbersIn(tensor.dtype, tensor.bytes)[0] ?? NaN);
        ranges[i] = Math.max(ranges[i] ?? 0, largest);
      });
    }
  } finally {
    await runner.dispose();
  }
  return ranges;
}

/** The net as it would be in so many bits, with the ranges of a calibration. It is trained like any other: that is QAT. */
export function quantizedGraph(
  graph: Graph,
  trainable: readonly string[],
  ranges: Ranges,
  { weights, activations }: QuantizedBits,
): Graph {
  requireBits("weights", weights, 8);
  requireBits("activations", activations, 16);
  const odd = ranges.findIndex((range) => !Number.isFinite(range) || range < 0);
  if (odd >= 0)
    throw new WorkbenchError(
      "INPUT_ARGUMENT",
      `[quantize] range ${odd}: got ${String(ranges[odd])}, expected a number`,
      { hint: "Calibrate again, with weights and batches that are finite." },
    );
  let products = 0;
  const made = withProducts(graph, trainable, `in ${weights} bits`, (g, [x, w], { index, axes }) => {
    products = index + 1;
    return [onGrid(g, x, ranges[index] ?? 0, activations), g.fake_quantize([w], { bits: weights, axes })];
  });
  if (products !== ranges.length)
    throw new WorkbenchError("INPUT_ARGUMENT", `[quantize] ranges: got ${ranges.length}, expected ${products}`, {
      hint: "Calibrate the same net.",
    });
  return made;
}

function requireBits(what: string, bits: number, most: number): void {
  if (Number.isInteger(bits) && bits >= 2 && bits <= most) return;
  throw new WorkbenchError("INPUT_ARGUMENT", `[quantize] bits of ${what}: got ${bits}, expected 2 to ${most}`, {
    hint: "Give a whole number of bits.",
  });
}

const onGrid = (g: OpBuilder, x: Value, range: number, bits: number): Value =>
  g.fake_quantize([x, g.constant(hostScalar("f32", stepTo(range, bits)))], { bits });
