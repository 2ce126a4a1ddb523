/**
 * Training as a job: what can be trained here, a spec, the course of a run, and runs that are kept. A spec is what `rlx train`
 * reads from a file too, so it is strict: a name that is unknown is refused, and what is left out is the recipe's own.
 */
import { z } from "zod";
import type { View } from "../define.ts";
import { ability, f64, figure, modelId, phaseItem } from "./common.ts";
import { runDevice } from "./engine.ts";
import { precision } from "./graph.ts";

/** Most of each that a spec may ask for. */
export const TRAIN_LIMITS = {
  steps: 100_000_000,
  batch: 65_536,
  every: 100_000_000,
  tokens: 4096,
  accumulate: 65_536,
  groups: 32,
  calibration: 1000,
  /** Of weights and of activations. */
  bits: { least: 2, weights: 8, activations: 16 },
} as const;
/** Points of a curve of a run that is kept. */
export const CURVE_POINTS = 2000;

const path = z.string().min(1).max(4096);
const name = z.string().regex(/^[A-Za-z][A-Za-z0-9-]{0,31}$/u, "expected a name: letters, digits and hyphens");
const whole = (least: number, most: number): z.ZodInt => z.int().min(least).max(most);
const rate = z.number().min(0).max(1000);
const every = whole(1, TRAIN_LIMITS.every);
/** A value of an option or of a recipe's own field. */
const setting = z.union([z.number(), z.boolean(), z.string().max(256)]);

export const runId = z.string().regex(/^[a-z0-9][a-z0-9-]{3,63}$/u, "expected the id of a training run");

/** The rate by step: `lr` is its highest. `steps` are the run's own where a form needs them. */
export const trainSchedule = z.discriminatedUnion("kind", [
  z.strictObject({ kind: z.literal("constant"), warmUp: whole(0, TRAIN_LIMITS.steps).default(0) }),
  z.strictObject({
    kind: z.literal("linear"),
    warmUp: whole(0, TRAIN_LIMITS.steps).default(0),
    /** The last rate. */
    to: rate.default(0),
  }),
  z.strictObject({
    kind: z.literal("cosine"),
    warmUp: whole(0, TRAIN_LIMITS.steps).default(0),
    to: rate.default(0),
  }),
  z.strictObject({
    kind: z.literal("step"),
    warmUp: whole(0, TRAIN_LIMITS.steps).default(0),
    every,
    factor: z.number().min(0).max(1).default(0.5),
  }),
  z.strictObject({ kind: z.literal("inverse-sqrt"), warmUp: whole(1, TRAIN_LIMITS.steps).default(100) }),
]);
export type TrainSchedule = View<typeof trainSchedule>;

const trainOptimizer = z.strictObject({
  name,
  options: z.record(z.string().min(1).max(64), setting).default({}),
});

/** Parameters that another optimiser trains, or that learn at another rate: those that fit both `names` and `rank`. */
export const trainGroup = z.strictObject({
  /** Parts of names, or patterns with `*`; any name without it. */
  names: z.array(z.string().min(1).max(256)).min(1).max(64).optional(),
  /** 1 for vectors, 2 for matrices; any without it. */
  rank: whole(0, 8).optional(),
  /** The run's own without it. */
  optimizer: trainOptimizer.optional(),
  /** The highest rate, on the run's schedule; the run's own without it. */
  lr: rate.optional(),
});
export type TrainGroup = View<typeof trainGroup>;

const trainGroups = z.array(trainGroup).max(TRAIN_LIMITS.groups);

const { bits } = TRAIN_LIMITS;
const quantizeNumbers = {
  /** Bits of weights: one grid for each output. */
  weights: whole(bits.least, bits.weights),
  /** Bits of activations: one grid for each product. */
  activations: whole(bits.least, bits.activations).default(8),
  /** Batches of the training data that calibration looks at. */
  batches: whole(1, TRAIN_LIMITS.calibration).default(8),
};
/** Updates in floats; those behind them train the net in few bits. */
const after = whole(1, TRAIN_LIMITS.steps);
const trainQuantize = z.object({ ...quantizeNumbers, after });
export type TrainQuantize = View<typeof trainQuantize>;

export const trainSpec = z.strictObject({
  /** The id of a recipe (`train.recipes`). */
  recipe: name,
  /** What the run is called in lists. */
  title: z.string().min(1).max(200).optional(),
  /** The decoder that is adapted: an open one, or a file. */
  model: z
    .discriminatedUnion("kind", [
      z.strictObject({ kind: z.literal("open"), model: modelId }),
      z.strictObject({ kind: z.literal("path"), path }),
    ])
    .optional(),
  /** A text, a chat file (.jsonl) or arrays (.npz), as the recipe takes them; the recipe's own data without it. */
  data: z
    .discriminatedUnion("kind", [
      z.strictObject({ kind: z.literal("built-in") }),
      z.strictObject({ kind: z.literal("path"), path }),
    ])
    .optional(),
  steps: whole(1, TRAIN_LIMITS.steps).optional(),
  batch: whole(1, TRAIN_LIMITS.batch).optional(),
  /** Batches whose gradients make one update, as their mean. */
  accumulate: whole(1, TRAIN_LIMITS.accumulate).optional(),
  optimizer: trainOptimizer.optional(),
  /** Tried in order; what no group takes is trained by the run's own optimiser. */
  groups: trainGroups.optional(),
  /** Decay of an exponential average of the weights, which is validated and written in their place; 0: none. */
  average: z.number().min(0).lt(1).optional(),
  /** The net in few bits: calibrated after so many updates, all of them without `after`, and trained on behind them. */
  quantize: z.strictObject({ ...quantizeNumbers, after: after.optional() }).optional(),
  /** The highest learning rate. */
  lr: rate.optional(),
  schedule: trainSchedule.optional(),
  /** Most that all gradients together may be long, and that one number may be. */
  clip: z
    .strictObject({ norm: z.number().positive().max(1e9).optional(), value: z.number().positive().max(1e9).optional() })
    .optional(),
  precision: precision.optional(),
  device: runDevice.optional(),
  /** The update runs on the device, where that is possible. */
  fused: z.boolean().optional(),
  seed: whole(0, 0xffff_ffff).optional(),
  /** The loss over data that is not trained on, every so many steps; 0: never. */
  validation: z
    .strictObject({
      every: whole(0, TRAIN_LIMITS.every),
      /** Of the data. */
      share: z.number().gt(0).max(0.5).default(0.1),
    })
    .optional(),
  /** Text of the model while it learns, every so many steps; 0: never. */
  sample: z
    .strictObject({
      every: whole(0, TRAIN_LIMITS.every),
      prompt: z.string().max(10_000).optional(),
      tokens: whole(1, TRAIN_LIMITS.tokens).default(100),
      /** 0: always the likeliest. */
      temperature: z.number().min(0).max(10).default(0.8),
    })
    .optional(),
  /** The length of the gradient of each parameter, every so many steps; 0: never. */
  norms: z.strictObject({ every: whole(0, TRAIN_LIMITS.every) }).optional(),
  /** Where everything is saved that the next step depends on, at the end and every so many steps; 0: at the end only. */
  checkpoint: z.strictObject({ path, every: whole(0, TRAIN_LIMITS.every).default(0) }).optional(),
  /** A checkpoint of a run with the same spec, which goes on from there with the same bits. */
  resume: path.optional(),
  /** Where the result is written at the end. `overwrite`: in place of a file that is there. */
  output: z.strictObject({ path, overwrite: z.boolean().default(false) }).optional(),
  /** The recipe's own fields by id. */
  fields: z.record(z.string().min(1).max(64), setting).optional(),
});
export type TrainSpec = View<typeof trainSpec>;
export type TrainSpecInput = z.input<typeof trainSpec>;

/** A number or a word that a recipe asks for besides: the width of a net, the rank of an adapter. */
export const trainField = z.object({
  id: z.string(),
  label: z.string(),
  /** One sentence. */
  about: z.string(),
  /** A `text` is free, as a list of parts of names is. */
  kind: z.enum(["whole", "number", "choice", "text"]),
  value: z.union([z.number(), z.string()]),
  least: z.number().nullable(),
  most: z.number().nullable(),
  /** With `choice`. */
  choices: z.array(z.string()),
});
export type TrainField = View<typeof trainField>;

/** What a spec is made complete with. */
export const trainDefaults = z.object({
  steps: z.number(),
  batch: z.number(),
  // Records of runs that were kept before these were there have none of them.
  accumulate: z.number().default(1),
  optimizer: z.object({ name: z.string(), options: z.record(z.string(), setting) }),
  groups: trainGroups.default([]),
  average: z.number().default(0),
  quantize: trainQuantize.nullable().default(null),
  lr: z.number(),
  schedule: trainSchedule,
  clip: z.object({ norm: z.number().nullable(), value: z.number().nullable() }),
  precision,
  device: runDevice,
  fused: z.boolean(),
  seed: z.number(),
  validation: z.object({ every: z.number(), share: z.number() }),
  /** null: this recipe writes no text. */
  sample: z.object({ every: z.number(), prompt: z.string(), tokens: z.number(), temperature: z.number() }).nullable(),
  norms: z.object({ every: z.number() }),
});
export type TrainDefaults = View<typeof trainDefaults>;

/** Everything that a run is made with. */
export const trainSettings = trainDefaults.extend({
  fields: z.record(z.string(), z.union([z.number(), z.string()])),
});
export type TrainSettings = View<typeof trainSettings>;

export const trainRecipe = z.object({
  id: z.string(),
  title: z.string(),
  /** What is trained, on what, in a sentence. */
  about: z.string(),
  /** What it cannot do without. */
  needs: z.enum(["nothing", "text", "model"]),
  /** Files that it takes as data: endings without a dot; empty where it takes none. */
  dataEndings: z.array(z.string()),
  /** What it takes as data, in a sentence; null where it takes none. */
  dataSentence: z.string().nullable(),
  /** What is written at the end: the ending of the file, and what it is. */
  result: z.object({ ending: z.string(), sentence: z.string() }),
  fields: z.array(trainField),
  defaults: trainDefaults,
});
export type TrainRecipe = View<typeof trainRecipe>;

/** What updates the weights: the device in the graph of the step, or this program in float64 from the device's gradients. */
export const updatePath = z.object({
  path: z.literal("gradient"),
  fused: z.boolean(),
  /** Why it is not fused, or what the path is. */
  reason: z.string(),
});
export type UpdatePath = View<typeof updatePath>;

export const trainDevice = z.object({
  id: runDevice,
  title: z.string(),
  available: z.boolean(),
  /** What it is here, or what is missing. */
  reason: z.string(),
  update: updatePath,
});
export type TrainDevice = View<typeof trainDevice>;

export const trainRecipes = z.object({
  recipes: z.array(trainRecipe),
  devices: z.array(trainDevice),
  /** Each with its options and their defaults. */
  optimizers: z.array(z.object({ name: z.string(), options: z.record(z.string(), setting) })),
});
export type TrainRecipes = View<typeof trainRecipes>;

/** What a spec comes to, before it runs; it reads its data, and compiles nothing. */
export const trainPlan = z.object({
  title: z.string(),
  device: runDevice,
  update: updatePath,
  parameters: z.number(),
  trainedParameters: z.number(),
  /** Weights, moments, gradients and what a step keeps for the way back. */
  memory: figure,
  /** "10 000 letters of 39 kinds; 1 000 of them for validation". */
  data: z.string(),
  /** For `output.path`. */
  suggestedPath: z.string(),
  can: ability,
});
export type TrainPlan = View<typeof trainPlan>;

export const trainResult = z.object({
  what: z.enum(["weights", "adapter", "checkpoint", "model"]),
  path: z.string(),
  bytes: z.number(),
  /** Whether the workbench opens it: a weight file by itself, an adapter over its model. */
  opens: z.enum(["no", "model", "adapter"]),
  /** With `adapter`: the file that it is for. */
  model: z.string().nullable(),
  sentence: z.string(),
});
export type TrainResult = View<typeof trainResult>;

/** Why a run cannot go on: a number that is none. */
export const trainAlarm = z.object({
  step: z.number(),
  /** The first operation that gave no number, where it is known: "softmax". */
  op: z.string().nullable(),
  /** "the loss", "the gradient of w1", "blk.0.attention". */
  place: z.string(),
  sentence: z.string(),
  advice: z.string(),
});
export type TrainAlarm = View<typeof trainAlarm>;

export const trainNorm = z.object({
  /** A layer, or a parameter that belongs to none. */
  layer: z.string(),
  /** Of its gradients as one vector. */
  norm: z.number(),
});

/** Columns of steps, in order; NaN where a value was not asked for. */
const columns = { step: f64, loss: f64, rate: f64, norm: f64, scale: f64 };

const validationPoint = {
  step: z.number(),
  loss: z.number(),
  /** Of answers that are right, where the recipe has answers: 0 to 1. */
  accuracy: z.number().nullable(),
};
const measured = z.object({ loss: z.number(), accuracy: z.number().nullable() });
/** A net in few bits beside itself in floats, over data that is not trained on. */
export const trainQuantized = z.object({
  weights: z.number(),
  activations: z.number(),
  /** After which it was calibrated. */
  step: z.number(),
  floats: measured,
  /** In few bits, without a further update. */
  calibrated: measured,
  /** Trained on in few bits; null: it was not, or is not yet. */
  trained: measured.nullable(),
});
export type TrainQuantized = View<typeof trainQuantized>;

const samplePoint = { step: z.number(), prompt: z.string(), text: z.string() };

/** How a run ended, or stands. `interrupted`: its process ended in the middle. */
export const trainState = z.enum(["running", "paused", "done", "stopped", "cancelled", "failed", "interrupted"]);
export type TrainState = View<typeof trainState>;

const started = z.object({
  kind: z.literal("started"),
  run: runId,
  title: z.string(),
  recipe: z.string(),
  device: runDevice,
  deviceTitle: z.string(),
  update: updatePath,
  parameters: z.number(),
  trainedParameters: z.number(),
  memory: figure,
  data: z.string(),
  /** The first step is the one after it: 0, or where a checkpoint stands. */
  from: z.number(),
  /** The last one. */
  steps: z.number(),
  /** What was made of the spec: nothing is left out. */
  settings: trainSettings,
});

export const trainItem = z.discriminatedUnion("kind", [
  phaseItem,
  started,
  /** At most ten a second, however many steps there are. */
  z.object({
    kind: z.literal("steps"),
    ...columns,
    stepsPerSecond: z.number(),
    /** Of the engine's process. */
    memoryBytes: z.number(),
    elapsedSeconds: z.number(),
    secondsLeft: z.number().nullable(),
  }),
  z.object({ kind: z.literal("validation"), ...validationPoint }),
  /** When it is calibrated, and again at the end where it was trained on. */
  z.object({ kind: z.literal("quantized"), quantized: trainQuantized }),
  z.object({ kind: z.literal("norms"), step: z.number(), norms: z.array(trainNorm) }),
  z.object({ kind: z.literal("sample"), ...samplePoint }),
  z.object({ kind: z.literal("paused"), step: z.number() }),
  z.object({ kind: z.literal("resumed"), step: z.number() }),
  z.object({ kind: z.literal("alarm"), alarm: trainAlarm }),
  z.object({ kind: z.literal("saved"), step: z.number(), result: trainResult }),
  z.object({
    kind: z.literal("done"),
    run: runId,
    /** `failed`: the alarm says why. */
    state: z.enum(["done", "stopped", "failed"]),
    steps: z.number(),
    seconds: z.number(),
    stepsPerSecond: z.number(),
    loss: z.number().nullable(),
    validation: z.number().nullable(),
    results: z.array(trainResult),
    sentence: z.string(),
  }),
]);
export type TrainItem = View<typeof trainItem>;

/** A run that is kept, as a row. */
export const trainRow = z.object({
  run: runId,
  title: z.string(),
  recipe: z.string(),
  /** Milliseconds since 1970, when it began. */
  at: z.number(),
  device: z.string(),
  state: trainState,
  step: z.number(),
  steps: z.number(),
  seconds: z.number(),
  stepsPerSecond: z.number(),
  parameters: z.number(),
  /** The last ones. */
  loss: z.number().nullable(),
  validation: z.number().nullable(),
  results: z.array(trainResult),
  /** Why it failed, in a sentence. */
  problem: z.string().nullable(),
});
export type TrainRow = View<typeof trainRow>;

export const trainRuns = z.object({
  /** Newest first. */
  runs: z.array(trainRow),
  /** Files of runs that cannot be read. */
  damaged: z.number(),
});

export const trainRun = z.object({
  row: trainRow,
  /** The spec as it was given, so that it can be run again. */
  spec: trainSpec,
  settings: trainSettings,
  update: updatePath,
  memory: figure,
  data: z.string(),
  /** Thinned to CURVE_POINTS: a point stands for the steps up to it, and `loss` is their mean. */
  curve: z.object(columns),
  validation: z.array(z.object(validationPoint)),
  samples: z.array(z.object(samplePoint)),
  /** The last ones. */
  norms: z.array(trainNorm),
  quantized: trainQuantized.nullable().default(null),
  alarm: trainAlarm.nullable(),
});
export type TrainRun = View<typeof trainRun>;
