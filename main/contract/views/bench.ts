/**
 * Benchmarks: a matrix of tests (prompt and generated tokens, depth) by subjects (model, device, threads), taken in turn, with the
 * state of the machine that the numbers depend on.
 */
import { z } from "zod";
import type { View } from "../define.ts";
import { cacheType, figure, modelId, phaseItem, truth } from "./common.ts";
import { DEFAULT_DEVICE, runDevice } from "./engine.ts";
import { precision } from "./graph.ts";
import { machineState } from "./machine.ts";

const oneOrMore = <S extends z.ZodType>(each: S) => z.union([each, z.array(each).min(1).max(64)]);
const tokens = z.number().int().min(0).max(1_048_576);

/** Cells of a matrix, and what it may have of each kind. */
export const MOST_CELLS = 256;
export const MOST_SUBJECTS = 64;

export const benchInput = z.object({
  model: modelId,
  /** Models that are measured in turn with it. */
  others: z.array(modelId).max(7).default([]),
  device: oneOrMore(runDevice).default(DEFAULT_DEVICE),
  /** 0 leaves the test out. */
  promptTokens: oneOrMore(tokens).default(512),
  generateTokens: oneOrMore(tokens).default(128),
  /** Tokens that the cache holds already. */
  depth: oneOrMore(tokens).default(0),
  threads: oneOrMore(z.number().int().min(1).max(1024)).nullable().default(null),
  /** In which floats the CPU engine or MLX computes; other than f32, it stands behind the kernels of the result. */
  precision: precision.default("f32"),
  /** Element type of keys and values, behind the kernels of the result; null: the device's own. */
  cacheType: cacheType.nullable().default(null),
  repeats: z.number().int().min(1).max(1000).default(6),
  warmup: z.number().int().min(0).max(100).default(1),
  /** As many repeats as fit into these seconds, at least six, at most `repeats`. */
  seconds: z.number().min(1).max(86_400).nullable().default(null),
  /**
   * Rounds until it is clear which subject is faster than the first, or until these seconds are up, at most `repeats`; the time in
   * which it waits for a quiet machine before it begins is not counted.
   */
  decideWithin: z.number().min(1).max(3600).nullable().default(null),
  /**
   * wait: a measurement begins and goes on in a quiet machine only; it waits for one, then gives up with the reason. warn: it goes
   * on in any, and the result is marked.
   */
  conditions: z.enum(["wait", "warn"]).default("wait"),
  waitSeconds: z.number().int().min(0).max(3600).default(60),
});
export type BenchInput = z.input<typeof benchInput>;

/**
 * Of fewer repeats no interval can be told that holds the median in 95 of 100 cases: the range of n repeats does so in
 * 1 - 2^(1 - n) of all, which is 75 % for three, 93.75 % for five and 96.9 % for six.
 */
export const LEAST_REPEATS = 6;
/** What `low` and `high` of so many repeats are. */
export const intervalName = (repeats: number): string => (repeats < LEAST_REPEATS ? "range" : "95 % interval");

/** What is measured against each other. */
export const benchSubject = z.object({
  model: modelId,
  /** The model's title and variant. */
  title: z.string(),
  device: runDevice,
  threads: z.number(),
  kernels: z.string(),
  truth,
});
export type BenchSubject = View<typeof benchSubject>;

const cell = {
  test: z.enum(["pp", "tg"]),
  tokens: z.number(),
  /** Tokens that the cache held before. */
  depth: z.number(),
  /** Its place among the subjects. */
  subject: z.number(),
};

/**
 * How two subjects compare. clear: one of them is faster. even: what lies between them is too small to matter. open: nothing can
 * be told yet, or could not be told in the time.
 */
export const DECISIONS = ["clear", "even", "open"] as const;
export type Decision = (typeof DECISIONS)[number];

export const benchTest = z.object({
  ...cell,
  /** Tokens per second of each repeat; the figure is their median with its interval (`intervalName`). */
  samples: z.array(z.number()),
  rate: figure,
  mean: z.number(),
  stddev: z.number(),
  /** Until the first token: of a prompt, the median over the repeats. */
  firstToken: figure.nullable(),
  /** Seconds of each token of each repeat of a generation; a series that a device drew at once shares its time. */
  tokenSeconds: z.array(z.array(z.number())),
  /** Above the idle floor, where the system counts energy. */
  joulesPerToken: figure.nullable(),
  /** Against the same test of the first subject, where the benchmark ended when that was decided. */
  decision: z.enum(DECISIONS).optional(),
});
export type BenchTest = View<typeof benchTest>;

/** Where more threads no longer help. */
export const benchKnee = z.object({ ...cell, threads: z.number(), sentence: z.string() });
export type BenchKnee = View<typeof benchKnee>;

/** Energy by phase; null where there was nothing to count, `sentence` where the system does not count. */
export const benchEnergy = z.object({
  sentence: z.string(),
  idle: figure.nullable(),
  load: figure.nullable(),
  prefill: figure.nullable(),
  decode: figure.nullable(),
});
export type BenchEnergy = View<typeof benchEnergy>;

export const benchDone = z.object({
  kind: z.literal("done"),
  subjects: z.array(benchSubject),
  tests: z.array(benchTest),
  knees: z.array(benchKnee),
  energy: benchEnergy,
  /** The first subject's. */
  device: runDevice,
  truth,
  threads: z.number(),
  kernels: z.string(),
  machine: z.string(),
  system: z.string(),
  /** Of this program. */
  version: z.string(),
  /** The state of the machine at the beginning and at the end: what the numbers depend on besides model and device. */
  conditions: z.object({ before: machineState, after: machineState }),
  /** What disturbed it, "Load 9.8 on 2 processors": numbers of such a result are compared with none. */
  red: z.array(z.string()),
  /** Why it ended before all repeats were done. */
  stopped: z.string().nullable(),
  notes: z.array(z.string()),
  /** In llama-bench's own JSON. */
  json: z.string(),
});
export type BenchResult = View<typeof benchDone>;

/** A line of the history of benchmarks: what was measured of one model. Times of single tokens and llama-bench's text are left out. */
export const benchRecord = z.object({
  ...benchDone.pick({ subjects: true, machine: true, system: true, version: true, conditions: true, red: true }).shape,
  ...benchDone.pick({ stopped: true, energy: true }).shape,
  tests: z.array(benchTest.omit({ tokenSeconds: true })),
});
export type BenchRecord = View<typeof benchRecord>;

export const benchItem = z.discriminatedUnion("kind", [
  phaseItem,
  z.object({ kind: z.literal("plan"), subjects: z.array(benchSubject), cells: z.array(z.object(cell)) }),
  z.object({
    kind: z.literal("sample"),
    /** Its place in the plan. */
    cell: z.number(),
    test: z.enum(["pp", "tg"]),
    index: z.number(),
    warmup: z.boolean(),
    seconds: z.number(),
    rate: z.number(),
    done: z.number(),
    total: z.number(),
    secondsLeft: z.number(),
  }),
  benchDone,
]);
export type BenchItem = View<typeof benchItem>;
