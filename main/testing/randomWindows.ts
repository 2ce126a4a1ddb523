/** Random convolutions, transposes, pools and products, some wide enough for the product kernels. */
import { WorkbenchError } from "../diagnostics/errors.ts";
import type { AttrRecord } from "../ir/attributes.ts";
import { GraphBuilder } from "../ir/builder.ts";
import { hostTensor, sizeOf } from "../ir/hostTensor.ts";
import { tensor } from "../ir/type.ts";
import { opTable } from "../ops/index.ts";
import type { RandomCase } from "./randomGraphs.ts";
import type { Random } from "./random.ts";
import { seededRandom } from "./random.ts";

interface Draft {
  readonly op: string;
  readonly shapes: readonly (readonly number[])[];
  readonly attrs: AttrRecord;
}

const list = (count: number, make: () => number): number[] => Array.from({ length: count }, make);
/** From `least` on, `count` of them. */
const among = (random: Random, least: number, count: number): number => least + random.integer(count);

function convolution(random: Random, op: "conv" | "conv_transpose"): Draft {
  const axes = among(random, 1, 2);
  const groups = random.pick([1, 1, 2, 3]);
  const [own, other] = [random.pick([1, 2, 5, 9]), random.pick([1, 2, 7, 11])];
  const kernel = list(axes, () => among(random, 1, 4));
  const image = [among(random, 1, 2), groups * own, ...list(axes, () => among(random, 1, 12))];
  const strides = list(axes, () => among(random, 1, 3));
  const dilations = list(axes, () => among(random, 1, 2));
  const attrs = { strides, dilations, padding: list(axes, () => random.integer(4)), groups };
  if (op === "conv") return { op, shapes: [image, [groups * other, own, ...kernel]], attrs };
  const outputPadding = strides.map((stride, axis) => random.integer(Math.max(stride, dilations[axis] ?? 1)));
  return { op, shapes: [image, [groups * own, other, ...kernel]], attrs: { ...attrs, outputPadding } };
}

function pooling(random: Random): Draft {
  const axes = among(random, 1, 2);
  const kernel = list(axes, () => among(random, 1, 4));
  const image = [among(random, 1, 2), among(random, 1, 3), ...list(axes, () => among(random, 1, 19))];
  const kind = random.pick(["max", "mean", "sum", "min", "prod"]);
  const strides = list(axes, () => among(random, 1, 4));
  return {
    op: "pool",
    shapes: [image],
    attrs: { kind, kernel, strides, padding: kernel.map((k) => random.integer(k)) },
  };
}

function product(random: Random): Draft {
  const shuffled = (items: readonly string[]): string[] =>
    items
      .map((item) => [random.next(), item] as const)
      .sort(([a], [b]) => a - b)
      .map(([, item]) => item);
  const sizes: Record<string, number> = {};
  const names = (prefix: string): string[] =>
    list(random.integer(3), () => among(random, 1, 5)).map((size, i) => {
      sizes[`${prefix}${i}`] = size;
      return `${prefix}${i}`;
    });
  const [batch, contracting] = [names("b"), names("c")];
  const [left, right] = [
    shuffled([...batch, ...contracting, ...names("l")]),
    shuffled([...batch, ...contracting, ...names("r")]),
  ];
  const shape = (axes: readonly string[]): number[] => axes.map((name) => sizes[name] ?? 1);
  const places = (axes: readonly string[], wanted: readonly string[]): number[] =>
    wanted.map((name) => axes.indexOf(name));
  return {
    op: "dot_general",
    shapes: [shape(left), shape(right)],
    attrs: {
      lhsBatch: places(left, batch),
      rhsBatch: places(right, batch),
      lhsContracting: places(left, contracting),
      rhsContracting: places(right, contracting),
    },
  };
}

const DRAFTS: readonly ((random: Random) => Draft)[] = [
  (random) => convolution(random, "conv"),
  (random) => convolution(random, "conv_transpose"),
  pooling,
  product,
];

/** The draft as a graph of one node; undefined where the op refuses the sizes. */
function graphOf({ op, shapes, attrs }: Draft, title: string): RandomCase["graph"] | undefined {
  const builder = new GraphBuilder(opTable, title);
  const operands = shapes.map((shape, i) => builder.input(`x${i}`, tensor("f32", shape)));
  try {
    const [y] = builder.apply(op, operands, attrs);
    if (y !== undefined) builder.output("y", y);
    return builder.finish();
  } catch (error) {
    if (error instanceof WorkbenchError && error.code === "IR_SHAPE") return undefined;
    throw error;
  }
}

export function randomWindowCase(seed: number): RandomCase {
  const random = seededRandom(seed);
  const make = DRAFTS[seed % DRAFTS.length] ?? pooling;
  for (;;) {
    const draft = make(random);
    const graph = graphOf(draft, `windows ${seed}`);
    if (graph === undefined) continue;
    const filled = draft.shapes.map((shape, i) => [
      `x${i}`,
      hostTensor(
        "f32",
        shape,
        Float64Array.from({ length: sizeOf(shape) }, () => Math.fround(random.normal())),
      ),
    ]);
    return { graph, inputs: { inputs: Object.fromEntries(filled) } };
  }
}
