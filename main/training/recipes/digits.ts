/** A small convolutional net that reads digits, on images of MNIST's form: those that are drawn here, or an .npz file. */
import { WorkbenchError } from "../../diagnostics/errors.ts";
import type { Graph, Value } from "../../ir/graph.ts";
import type { RecipeData, Inputs, Prepared, Recipe } from "./recipe.ts";
import { numberField } from "./recipe.ts";
import { batches, heldOut } from "../data/order.ts";
import type { NetBuilder, WeightPlan } from "./netParts.ts";
import { beforeRelu, classLoss, correctShare, countOf, firstWeights, net } from "./netParts.ts";
import { shapesIn } from "./linear.ts";
import type { Digits } from "./strokes.ts";
import { DIGIT_CLASSES, DIGIT_SIZE, drawDigits } from "./strokes.ts";

const PIXELS = DIGIT_SIZE * DIGIT_SIZE;
/** After two pools of 2 × 2. */
const REST = (DIGIT_SIZE / 4) ** 2;
/** Images of one validation run. */
const MOST_AT_ONCE = 100;

const weightsOf = (channels: number): readonly WeightPlan[] => [
  { name: "conv1.weight", shape: [channels, 1, 3, 3], within: beforeRelu(9) },
  { name: "conv1.bias", shape: [1, channels, 1, 1], within: 0 },
  { name: "conv2.weight", shape: [2 * channels, channels, 3, 3], within: beforeRelu(9 * channels) },
  { name: "conv2.bias", shape: [1, 2 * channels, 1, 1], within: 0 },
  { name: "head.weight", shape: [DIGIT_CLASSES, 2 * channels * REST], within: beforeRelu(2 * channels * REST) },
  { name: "head.bias", shape: [DIGIT_CLASSES], within: 0 },
];

function logitsOf({ g, input }: NetBuilder, rows: number, plan: readonly WeightPlan[]): Value {
  const weights = new Map(plan.map(({ name, shape }) => [name, input(name, `f32[${shape.join(",")}]`)]));
  const weight = (name: string): Value => weights.get(name) ?? input(name, "f32[]");
  const layer = (x: Value, name: string): Value => {
    const same = { strides: [1, 1], padding: [1, 1], dilations: [1, 1], groups: 1 };
    const seen = g.conv([x, weight(`${name}.weight`)], same);
    const active = g.relu([g.add([seen, weight(`${name}.bias`)])]);
    return g.pool([active], { kind: "max", kernel: [2, 2], strides: [2, 2], padding: [0, 0] });
  };
  const images = g.reshape([input("images", `f32[${rows},${PIXELS}]`)], {
    shape: [rows, 1, DIGIT_SIZE, DIGIT_SIZE],
  });
  const features = layer(layer(images, "conv1"), "conv2");
  const columns = plan.find(({ name }) => name === "head.weight")?.shape[1] ?? 0;
  const flat = g.reshape([features], { shape: [rows, columns] });
  return g.add([g.linear([flat, weight("head.weight")]), weight("head.bias")]);
}

const graphOf = (rows: number, plan: readonly WeightPlan[], hasAnswers: boolean): Graph =>
  net("digits", (builder) => {
    const { g, input, output } = builder;
    const logits = logitsOf(builder, rows, plan);
    const labels = input("labels", `i32[${rows}]`);
    output("loss", classLoss(g, logits, labels));
    if (hasAnswers) output("correct", correctShare(g, logits, labels));
  });

const rowsOf = ({ images, labels }: Digits, rows: readonly number[]): Inputs => {
  const own = new Float32Array(rows.length * PIXELS);
  rows.forEach((row, i) => own.set(images.subarray(row * PIXELS, (row + 1) * PIXELS), i * PIXELS));
  return { images: own, labels: Int32Array.from(rows, (row) => labels[row] ?? 0) };
};

/** Images of a file: bytes from 0 to 255 or numbers from 0 to 1. */
function digitsOf(data: RecipeData): Digits {
  const [images, labels] = data.kind === "arrays" ? [data.arrays.get("images"), data.arrays.get("labels")] : [];
  const count = labels?.data.length ?? 0;
  if (images === undefined || labels === undefined || count === 0 || images.data.length !== count * PIXELS)
    throw new WorkbenchError(
      "INPUT_ARGUMENT",
      `[${data.name}] arrays: got ${shapesIn(data)}, expected images[N,${DIGIT_SIZE},${DIGIT_SIZE}] and labels[N]`,
      { hint: "Save them with numpy.savez(path, images=…, labels=…)." },
    );
  const odd = labels.data.findIndex((label) => !Number.isInteger(label) || label < 0 || label >= DIGIT_CLASSES);
  if (odd >= 0)
    throw new WorkbenchError(
      "INPUT_ARGUMENT",
      `[${data.name}] label ${odd}: got ${String(labels.data[odd])}, expected a digit from 0 to ${DIGIT_CLASSES - 1}`,
    );
  const most = images.type === "u1" ? 255 : 1;
  return { images: Float32Array.from(images.data, (value) => value / most), labels: Uint8Array.from(labels.data) };
}

export const digitsRecipe: Recipe = {
  id: "digits",
  title: "Digits",
  about: "A convolutional net learns to read digits that are drawn here by chance, 28 × 28 like MNIST’s.",
  needs: "nothing",
  resultEnding: "safetensors",
  dataEndings: ["npz"],
  dataSentence: "An .npz file with images[N,28,28] and labels[N], as MNIST has them. Its own digits are drawn by seed.",
  fields: [
    {
      id: "channels",
      label: "Channels",
      about: "Of the first layer; the second has twice as many.",
      kind: "whole",
      value: 8,
      least: 1,
      most: 64,
    },
    {
      id: "images",
      label: "Images",
      about: "How many digits are drawn; a file brings its own.",
      kind: "whole",
      value: 2000,
      least: 100,
      most: 100_000,
    },
  ],
  defaults: {
    steps: 300,
    batch: 32,
    optimizer: { name: "adamw", options: {} },
    lr: 0.003,
    schedule: { kind: "cosine", warmUp: 10 },
    clipNorm: null,
    validationEvery: 50,
    validationShare: 0.1,
    sample: null,
    normsEvery: 20,
  },
  async prepare({ fields, data, batch, seed, share, pace }): Promise<Prepared> {
    const plan = weightsOf(numberField(fields, "channels"));
    const digits = data === undefined ? await drawDigits(numberField(fields, "images"), seed, pace) : digitsOf(data);
    const count = digits.labels.length;
    const asked = heldOut(count, share);
    // Whole runs of the same size.
    const size = Math.min(MOST_AT_ONCE, asked);
    const kept = size === 0 ? 0 : asked - (asked % size);
    const take = batches(count - kept, batch, seed);
    const runs = Array.from({ length: size === 0 ? 0 : kept / size }, (_, run) =>
      rowsOf(
        digits,
        Array.from({ length: size }, (_, i) => count - kept + run * size + i),
      ),
    );
    return {
      forward: graphOf(batch, plan, false),
      trainable: plan.map(({ name }) => name),
      initial: firstWeights(plan, seed),
      parameters: countOf(plan),
      data: `${count} images of ${DIGIT_CLASSES} digits${kept === 0 ? "" : `, ${kept} of them for validation`}`,
      batch: (step) => rowsOf(digits, take(step)),
      ...(kept === 0 ? {} : { validation: { graph: graphOf(size, plan, true), hasAnswers: true, batches: runs } }),
      metadata: { classes: String(DIGIT_CLASSES), image: `${DIGIT_SIZE}x${DIGIT_SIZE}` },
    };
  },
};
