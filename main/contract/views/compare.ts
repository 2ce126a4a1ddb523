/**
 * Two sides against each other: each a model on a subject, with a measurement and an answer where there are any. In words first,
 * then structure, routing, predicted numbers, measured speed, and words.
 */
import { z } from "zod";
import type { DeepReadonly, View } from "../define.ts";
import { benchRecord } from "./bench.ts";
import { device, f32, figure, i32, modelId, phase, phaseItem, u32, u8 } from "./common.ts";
import { subject } from "./cost.ts";
import { graphView } from "./graph.ts";

export const SIDES = ["a", "b"] as const;
export type Side = (typeof SIDES)[number];

const ofSides = <S extends z.ZodType>(each: S) => z.object({ a: each, b: each });

/** Letters of an answer that are compared. */
export const LONGEST_ANSWER = 200_000;

const measured = z.object({
  record: benchRecord,
  /** Which of its subjects is meant. */
  subject: z.number().int().min(0),
  /** "Bench 3". */
  name: z.string().max(200),
});
export type Measured = View<typeof measured>;

const answer = z.object({
  name: z.string().max(200),
  prompt: z.string().max(LONGEST_ANSWER),
  text: z.string().max(LONGEST_ANSWER),
});
export type ComparedAnswer = View<typeof answer>;

export const compareInput = z.object({
  ...ofSides(z.object({ model: modelId, subject })).shape,
  phase,
  /** `together`: both are of one benchmark, whose rounds measured them in turn. */
  speed: ofSides(measured).extend({ together: z.boolean() }).nullable().default(null),
  answers: ofSides(answer).nullable().default(null),
});
export type CompareInput = DeepReadonly<z.input<typeof compareInput>>;

export const comparedSide = z.object({
  title: z.string(),
  variant: z.string(),
  /** null: a demo graph. */
  file: z.object({ name: z.string(), bytes: z.number(), headerHash: z.string() }).nullable(),
  subject,
  /** "Core ML, CPU and Neural Engine". */
  subjectTitle: z.string(),
  /** "M4, 24 GB". */
  machine: z.string(),
  /** Why there is no graph of it, nor numbers; null where there are. */
  refusal: z.string().nullable(),
});
export type ComparedSide = View<typeof comparedSide>;

/** Rows that are sent of a list; `more` says how many are not. */
export const MOST_ROWS = 500;

const text = z.string().nullable();
const keyRow = z.object({ key: z.string(), a: text, b: text });
const form = z.object({ type: z.string(), shape: z.array(z.number()), bytes: z.number() });
export const tensorDifference = z.object({
  name: z.string(),
  a: form.nullable(),
  b: form.nullable(),
  /** Numbers of one form: from samples of each tensor. */
  numbers: z.enum(["same", "other", "unknown"]).nullable(),
});
export type TensorDifference = View<typeof tensorDifference>;

/** Tensors that hold one type on one side and another on the other. */
const typeChange = z.object({
  from: z.string(),
  to: z.string(),
  tensors: z.number(),
  bytesA: z.number(),
  bytesB: z.number(),
});

export const opDifference = z.object({
  kind: z.enum(["added", "removed", "changed"]),
  op: z.string(),
  /** "blk.*" stands for several blocks. */
  path: z.string(),
  name: z.string(),
  what: z.string(),
  /** Ops that differ so, and the blocks they are in: "0–27". */
  count: z.number(),
  blocks: z.string(),
  /** The first of them in each graph. */
  a: z.number().nullable(),
  b: z.number().nullable(),
});
export type OpDifference = View<typeof opDifference>;

export const movedOp = z.object({
  ...opDifference.pick({ op: true, path: true, name: true, count: true, blocks: true, a: true, b: true }).shape,
  from: device,
  to: device,
  /** Why it is where it is on each side. */
  reasonA: z.string(),
  reasonB: z.string(),
  secondsA: z.number(),
  secondsB: z.number(),
});
export type MovedOp = View<typeof movedOp>;

export const costlyDifference = z.object({
  ...movedOp.pick({ op: true, path: true, name: true, count: true, blocks: true, a: true, b: true }).shape,
  deviceA: device,
  deviceB: device,
  /** Of all of them together; null where the side has none. */
  secondsA: z.number().nullable(),
  secondsB: z.number().nullable(),
});
export type CostlyDifference = View<typeof costlyDifference>;

/** A route in short: its ribbon and its parts. */
export const routeBrief = z.object({
  runs: z.object({ device: u8, work: f32, seconds: f32, ops: u32, firstNode: u32, segment: u32 }),
  segments: z.array(z.object({ device, ops: z.number(), seconds: z.number(), why: z.string() })),
  devices: z.array(z.object({ device, ops: z.number(), seconds: z.number(), share: z.number() })),
  hops: z.number(),
  /** Seconds that handing over takes before each segment, and of copying caches: with the segments they are the step. */
  handing: z.array(z.object({ toSegment: z.number(), seconds: z.number() })),
  cacheSeconds: z.number(),
  step: z.number(),
  sentence: z.string(),
});
export type RouteBrief = View<typeof routeBrief>;

export const numberRow = z.object({
  label: z.string(),
  a: figure.nullable(),
  b: figure.nullable(),
  /** Which side is better off; null where neither is, or where it is a matter of taste. */
  better: z.enum(SIDES).nullable(),
});
export type NumberRow = View<typeof numberRow>;

const ratio = z.object({ value: z.number(), low: z.number(), high: z.number() });
export const speedRow = z.object({
  /** "tg 128". */
  test: z.string(),
  a: figure,
  b: figure,
  kind: z.enum(["faster", "slower", "even", "too few", "not comparable"]),
  ratio: ratio.nullable(),
  sentence: z.string(),
});
export type SpeedRow = View<typeof speedRow>;

export const comparison = z.object({
  ...ofSides(comparedSide).shape,
  phase,
  /** Three to six, the most important first; one where nothing differs. */
  sentences: z.array(z.string()),
  /** file: the same file · header: the same header and other numbers · no. */
  same: z.enum(["file", "header", "no"]),
  /** Nothing at all differs, in what both have. */
  equal: z.boolean(),
  facts: z.array(z.object({ label: z.string(), a: text, b: text })),
  keys: z.object({ same: z.number(), rows: z.array(keyRow), more: z.number() }),
  tensors: z.object({
    same: z.number(),
    differing: z.number(),
    rows: z.array(tensorDifference),
    more: z.number(),
    types: z.array(typeChange),
  }),
  graph: z
    .object({
      same: z.number(),
      added: z.number(),
      removed: z.number(),
      changed: z.number(),
      rows: z.array(opDifference),
      more: z.number(),
    })
    .nullable(),
  routing: z
    .object({ ...ofSides(routeBrief).shape, moved: z.number(), rows: z.array(movedOp), more: z.number() })
    .nullable(),
  numbers: z.array(numberRow),
  costs: z.array(costlyDifference),
  speed: z.object({ names: ofSides(z.string()), rows: z.array(speedRow), differences: z.array(z.string()) }).nullable(),
  words: z
    .object({
      names: ofSides(z.string()),
      samePrompt: z.boolean(),
      /** Tokens of both before they part; null: A's model splits no text here. */
      sameTokens: z.number().nullable(),
      equal: z.boolean(),
      sentence: z.string(),
    })
    .nullable(),
});
export type Comparison = View<typeof comparison>;

/** How a node of the merged graph differs, by its code: index = code. */
export const CHANGE_KINDS = ["same", "added", "removed", "changed"] as const;

export const mergeInput = compareInput.pick({ a: true, b: true, phase: true });
/** Both graphs as one to draw: all of B, and what only A has where it stood. null: one of them has no graph. */
export const mergedGraph = z
  .object({
    view: graphView,
    /** By node, a code of CHANGE_KINDS. */
    kind: u8,
    /** By node, its number in the graph of either side; -1: that one has none. */
    a: i32,
    b: i32,
  })
  .nullable();
export type MergedGraph = NonNullable<View<typeof mergedGraph>>;

export const compareItem = z.discriminatedUnion("kind", [phaseItem, z.object({ kind: z.literal("done"), comparison })]);
export type CompareItem = View<typeof compareItem>;
