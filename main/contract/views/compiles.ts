/**
 * Core ML's compiles on this Mac: a record of each, what they say together, the failure that one ended with, and the search for the
 * operations that a refused program fails on.
 */
import { z } from "zod";
import type { View } from "../define.ts";
import { modelId, phase, phaseItem, targetSpec } from "./common.ts";
import { macAnswer } from "./mac.ts";

/** The history of compiles: a `compileRecord` in each line. */
export const COMPILE_HISTORY = "compile";
/** The history of what this Mac answered (`rlx doctor --verify`): a `verifyRecord` in each line. */
export const VERIFY_HISTORY = "verify";

/** How long a load takes, from parts of a second to hours. */
export function secondsText(seconds: number): string {
  if (seconds < 1) return "under a second";
  if (seconds < 90) return `${Math.round(seconds)} s`;
  if (seconds < 5400) return `${Math.round(seconds / 60)} min`;
  return `${(seconds / 3600).toFixed(1)} h`;
}

const units = z.enum(["cpu", "cpu-gpu", "cpu-ane", "all"]);

/** A system as Core ML depends on it: an update that keeps the version changes the build. */
export const compileSystem = z.object({
  chip: z.string().max(200),
  os: z.string().max(50),
  /** "24F74"; empty where the system does not tell. */
  osBuild: z.string().max(50),
});
export type CompileSystem = View<typeof compileSystem>;

/** A message of Core ML or of its compilers, read. */
export const compileFailure = z.object({
  id: z.enum(["ane-compile", "plan-build", "ane-load"]),
  title: z.string().max(300),
  /** As the message has it: -14, 11; null where it has none. */
  number: z.number().nullable(),
  /** What it means, and how sure that is. */
  sentence: z.string().max(1000),
});
export type CompileFailure = View<typeof compileFailure>;

const share = z.object({ ane: z.number(), gpu: z.number(), cpu: z.number() });

export const compileRecord = compileSystem.extend({
  version: z.literal(1),
  /** "first": nothing of it was kept by the system. "verify": again, after an update of the system. */
  why: z.enum(["first", "verify"]),
  truth: z.enum(["measured", "simulated"]),
  /** Hash of the compiled model's content. */
  content: z.string().max(64),
  function: z.string().max(200),
  units,
  /** What the package was made for: shapes, weights, options. */
  target: z.string().max(500),
  packageBytes: z.number().nullable(),
  /** By the clock, from the start of the helper to its end. */
  seconds: z.number(),
  stages: z.array(z.object({ stage: z.string().max(50), seconds: z.number() })).max(10),
  result: z.enum(["ok", "failed", "killed", "cancelled"]),
  /** Where it ended; null where all went well. */
  stage: z.string().max(50).nullable(),
  code: z.string().max(50).nullable(),
  message: z.string().max(4000).nullable(),
  /** What the messages say; also beside "ok", where a compiler failed and the system went on without it. */
  failure: compileFailure.nullable(),
  /** Shares of the system's plan by its costs; null where none was told. */
  plan: share.nullable(),
});
export type CompileRecord = View<typeof compileRecord>;

export const verifyRecord = compileSystem.extend({
  version: z.literal(1),
  answers: z.array(z.object({ id: z.string().max(100), answer: z.string().max(100) })).max(100),
});
export type VerifyRecord = View<typeof verifyRecord>;

/** How long a load will take, by the loads before it. */
export const compileEstimate = z.object({
  /** null: nothing like it was loaded here before. */
  seconds: z.object({ low: z.number(), typical: z.number(), high: z.number() }).nullable(),
  /** Loads that it rests on. */
  count: z.number(),
  sentence: z.string(),
});
export type CompileEstimate = View<typeof compileEstimate>;

/** A model, a function and its units, over all their loads. */
export const compileRow = z.object({
  title: z.string(),
  identity: z.string(),
  content: z.string(),
  function: z.string(),
  units,
  target: z.string(),
  loads: z.number(),
  last: compileRecord,
  /** Milliseconds since 1970. */
  lastAt: z.number(),
  estimate: compileEstimate,
  /** The compiled model is still on this disk: it can be verified without being made again. */
  kept: z.boolean(),
  /** It ended the helper on this system and is not loaded again unless it is allowed: the name of that verdict. */
  unsafe: z.string().nullable(),
});
export type CompileRow = View<typeof compileRow>;

export const compileList = z.object({
  /** null: there is no Core ML here. */
  system: compileSystem.extend({ truth: z.enum(["measured", "simulated"]) }).nullable(),
  sentence: z.string(),
  /** The system that the last loads were on, where it is another build; what that means. */
  changed: z.object({ before: compileSystem, sentence: z.string(), toVerify: z.number() }).nullable(),
  /** Of the model that was asked for, over its loads for any target; null without one. */
  estimate: compileEstimate.nullable(),
  /** The last load first. */
  rows: z.array(compileRow),
  damaged: z.number(),
});
export type CompileList = View<typeof compileList>;

export const compileListInput = z.object({ model: modelId.nullable().default(null) });

/** One difference between the system before and this one. */
const change = z.object({ what: z.string(), before: z.string(), after: z.string(), worse: z.boolean() });
export type CompileChange = View<typeof change>;

export const verifyAgainItem = z.discriminatedUnion("kind", [
  phaseItem,
  z.object({ kind: z.literal("answer"), answer: macAnswer }),
  z.object({ kind: z.literal("model"), title: z.string(), record: compileRecord }),
  z.object({
    kind: z.literal("done"),
    before: compileSystem.nullable(),
    after: compileSystem,
    sentence: z.string(),
    changes: z.array(change),
  }),
]);
export type VerifyAgainItem = View<typeof verifyAgainItem>;

export const explainInput = z.object({
  model: modelId,
  target: targetSpec,
  phase: phase.default("decode"),
  /** Most pieces that are compiled. */
  most: z.number().int().min(1).max(1000).default(120),
});

/** An operation of the graph that the search names. */
const culprit = z.object({
  node: z.number(),
  op: z.string(),
  /** Where it is in the model: "blk.3/attn · softmax". */
  title: z.string(),
  shape: z.string(),
});
export type Culprit = View<typeof culprit>;

const way = z.object({
  id: z.enum(["units", "context", "host"]),
  title: z.string(),
  /** null: it was not tried. */
  works: z.boolean().nullable(),
  sentence: z.string(),
  /** The target with it, to be chosen; null where no target says it. */
  target: targetSpec.nullable(),
});
export type WayOut = View<typeof way>;

export const explainItem = z.discriminatedUnion("kind", [
  phaseItem,
  z.object({
    kind: z.literal("tried"),
    count: z.number(),
    ops: z.number(),
    outcome: z.enum(["same failure", "another failure", "compiles"]),
    seconds: z.number(),
  }),
  z.object({
    kind: z.literal("done"),
    truth: z.enum(["measured", "simulated"]),
    /** "fails": a piece was found. "compiles": nothing fails. "only whole": no smaller piece fails. "stopped": too many pieces. */
    result: z.enum(["fails", "compiles", "only whole", "stopped"]),
    sentence: z.string(),
    code: z.string().nullable(),
    message: z.string().nullable(),
    failure: compileFailure.nullable(),
    culprits: z.array(culprit),
    tries: z.number(),
    ways: z.array(way),
  }),
]);
export type ExplainItem = View<typeof explainItem>;
