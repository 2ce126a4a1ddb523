/**
 * A transformer that writes a text character by character, about a million parameters as it comes. Blocks are pre-norm: attention
 * over what came before, then a wider layer of two products. A window of the text is one example; every place of it is a choice.
 */
import { WorkbenchError } from "../../diagnostics/errors.ts";
import type { Graph, Value } from "../../ir/graph.ts";
import { heldOut, windows } from "../data/order.ts";
import { alphabetOf } from "../data/text.ts";
import type { NetBuilder, WeightPlan } from "./netParts.ts";
import { beforeRelu, classLoss, countOf, firstWeights, net } from "./netParts.ts";
import type { Inputs, Prepared, Recipe } from "./recipe.ts";
import { numberField } from "./recipe.ts";
import { taleText } from "./tale.ts";

interface Sizes {
  readonly layers: number;
  readonly width: number;
  readonly heads: number;
  readonly context: number;
  readonly words: number;
}

const EPSILON = 1e-5;
/** Validation windows, in runs of this many. */
const RUN = 16;
const MOST_RUNS = 8;

function weightsOf({ layers, width, context, words }: Sizes): readonly WeightPlan[] {
  const matrix = (name: string, outputs: number, inputs: number, share = 1): WeightPlan => ({
    name,
    shape: [outputs, inputs],
    within: share * Math.sqrt(3 / inputs),
  });
  const gain = (name: string): WeightPlan => ({ name, shape: [width], within: 0, around: 1 });
  // What is added to the stream is smaller, the more layers add to it (Radford et al. 2019).
  const added = 1 / Math.sqrt(2 * layers);
  return [
    { name: "embedding", shape: [words, width], within: 0.05 },
    { name: "positions", shape: [context, width], within: 0.05 },
    ...Array.from({ length: layers }, (_, i) => [
      gain(`layers.${i}.norm1`),
      matrix(`layers.${i}.qkv`, 3 * width, width),
      matrix(`layers.${i}.attended`, width, width, added),
      gain(`layers.${i}.norm2`),
      { name: `layers.${i}.up`, shape: [4 * width, width], within: beforeRelu(width) },
      matrix(`layers.${i}.down`, width, 4 * width, added),
    ]).flat(),
    gain("norm"),
    matrix("head", words, width),
  ];
}

/** Logits of every place: [rows · context, words]. */
function logitsOf({ g, input }: NetBuilder, rows: number, sizes: Sizes, plan: readonly WeightPlan[]): Value {
  const { layers, width, heads, context } = sizes;
  const weights = new Map(plan.map(({ name, shape }) => [name, input(name, `f32[${shape.join(",")}]`)]));
  const weight = (name: string): Value => weights.get(name) ?? input(name, "f32[]");
  const places = rows * context;
  const size = width / heads;
  const inHeads = (x: Value, from: number): Value => {
    const own = g.narrow([x], { axis: 1, start: from * width, length: width });
    return g.transpose([g.reshape([own], { shape: [rows, context, heads, size] })], { perm: [0, 2, 1, 3] });
  };
  const tokens = g.gather([weight("embedding"), input("tokens", `i32[${rows},${context}]`)], { axis: 0 });
  let x = g.reshape([g.add([tokens, weight("positions")])], { shape: [places, width] });
  for (let i = 0; i < layers; i++) {
    const own = (name: string): Value => weight(`layers.${i}.${name}`);
    const qkv = g.linear([g.rms_norm([x, own("norm1")], { eps: EPSILON }), own("qkv")]);
    const [q, k, v] = [inHeads(qkv, 0), inHeads(qkv, 1), inHeads(qkv, 2)];
    const seen = g.attention([q, k, v], { mask: "causal", scale: 1 / Math.sqrt(size) });
    const joined = g.reshape([g.transpose([seen], { perm: [0, 2, 1, 3] })], { shape: [places, width] });
    x = g.add([x, g.linear([joined, own("attended")])]);
    const wide = g.relu([g.linear([g.rms_norm([x, own("norm2")], { eps: EPSILON }), own("up")])]);
    x = g.add([x, g.linear([wide, own("down")])]);
  }
  return g.linear([g.rms_norm([x, weight("norm")], { eps: EPSILON }), weight("head")]);
}

const lossGraph = (rows: number, sizes: Sizes, plan: readonly WeightPlan[]): Graph =>
  net("characters", (builder) => {
    const { g, input, output } = builder;
    const places = rows * sizes.context;
    const logits = logitsOf(builder, rows, sizes, plan);
    const next = g.reshape([input("next", `i32[${rows},${sizes.context}]`)], { shape: [places] });
    output("loss", classLoss(g, logits, next));
  });

/** Each window and, one place on, what has to follow. */
function windowsOf(ids: Int32Array, starts: readonly number[], context: number): Inputs {
  const [tokens, next] = [new Int32Array(starts.length * context), new Int32Array(starts.length * context)];
  starts.forEach((start, i) => {
    tokens.set(ids.subarray(start, start + context), i * context);
    next.set(ids.subarray(start + 1, start + context + 1), i * context);
  });
  return { tokens, next };
}

function sizesOf(fields: Readonly<Record<string, number | string>>, words: number): Sizes {
  const [layers, width] = [numberField(fields, "layers"), numberField(fields, "width")];
  const [heads, context] = [numberField(fields, "heads"), numberField(fields, "context")];
  if (width % heads !== 0)
    throw new WorkbenchError(
      "INPUT_ARGUMENT",
      `[train characters] width: got ${width}, expected a multiple of ${heads} heads`,
    );
  return { layers, width, heads, context, words };
}

export const charactersRecipe: Recipe = {
  id: "characters",
  title: "Characters",
  about: "A small transformer learns to write a text letter by letter, and shows what it writes while it learns.",
  needs: "nothing",
  resultEnding: "safetensors",
  dataEndings: ["txt", "md"],
  dataSentence: "A text in UTF-8, better 50 kB than 5. Its own are small tales that are put together by seed.",
  fields: [
    {
      id: "layers",
      label: "Layers",
      about: "Blocks on top of each other.",
      kind: "whole",
      value: 5,
      least: 1,
      most: 48,
    },
    { id: "width", label: "Width", about: "Numbers for each place.", kind: "whole", value: 128, least: 8, most: 2048 },
    {
      id: "heads",
      label: "Heads",
      about: "Of attention; they share the width.",
      kind: "whole",
      value: 4,
      least: 1,
      most: 64,
    },
    {
      id: "context",
      label: "Context",
      about: "Characters that it sees.",
      kind: "whole",
      value: 64,
      least: 4,
      most: 1024,
    },
  ],
  defaults: {
    steps: 1000,
    batch: 16,
    optimizer: { name: "adamw", options: {} },
    lr: 0.001,
    schedule: { kind: "cosine", warmUp: 50 },
    clipNorm: 1,
    validationEvery: 100,
    validationShare: 0.1,
    sample: { every: 200, prompt: "The " },
    normsEvery: 20,
  },
  async prepare({ fields, data, batch, seed, share, pace }): Promise<Prepared> {
    if (data !== undefined && data.kind !== "text")
      throw new WorkbenchError("INPUT_ARGUMENT", `[${data.name}] got arrays, expected a text`);
    const text = data?.text ?? taleText(seed);
    const alphabet = alphabetOf(text, data?.name ?? "tales");
    await pace();
    const ids = alphabet.encode(text, "data");
    await pace();
    const sizes = sizesOf(fields, alphabet.characters.length);
    const { context } = sizes;
    const plan = weightsOf(sizes);
    const kept = heldOut(ids.length, share);
    const learnt = ids.subarray(0, ids.length - kept);
    const take = windows(learnt.length, { batch, length: context + 1, seed });
    const held = ids.subarray(ids.length - kept);
    const starts = heldStarts(held.length, context);
    return {
      forward: lossGraph(batch, sizes, plan),
      trainable: plan.map(({ name }) => name),
      initial: firstWeights(plan, seed),
      parameters: countOf(plan),
      data: `${ids.length} characters of ${sizes.words} kinds${starts.length === 0 ? "" : `, ${held.length} of them for validation`}`,
      batch: (step) => windowsOf(learnt, take(step), context),
      ...(starts.length === 0
        ? {}
        : {
            validation: {
              graph: lossGraph(Math.min(RUN, starts.length), sizes, plan),
              hasAnswers: false,
              batches: inRuns(starts).map((run) => windowsOf(held, run, context)),
            },
          }),
      writing: {
        graph: net("characters logits", (builder) => builder.output("logits", logitsOf(builder, 1, sizes, plan))),
        input: "tokens",
        length: context,
        words: sizes.words,
        encode: (prompt) => alphabet.encode(prompt, "sample.prompt"),
        decode: (given) => alphabet.decode(given),
      },
      metadata: {
        alphabet: alphabet.characters.join(""),
        ...Object.fromEntries(Object.entries(sizes).map(([key, value]) => [key, String(value)])),
      },
    };
  },
};

/** Places in the text for validation, one window behind the other, spread over it where there are many. */
function heldStarts(length: number, context: number): readonly number[] {
  const fitting = Math.floor((length - 1) / context);
  const used = Math.min(fitting, RUN * MOST_RUNS);
  return Array.from({ length: Math.max(0, used) }, (_, i) => Math.floor((i * fitting) / used) * context);
}

/** Runs of the same size; a rest is left out. */
function inRuns(starts: readonly number[]): readonly (readonly number[])[] {
  const size = Math.min(RUN, starts.length);
  return Array.from({ length: Math.floor(starts.length / size) }, (_, i) => starts.slice(i * size, (i + 1) * size));
}
