/** Advice: what would make a model faster on a subject, what it is about, what applying it changes, and what was measured of it. */
import { z } from "zod";
import type { View } from "../define.ts";
import { ability, figure, modelId, phase, phaseItem, targetSpec } from "./common.ts";
import { benchInput } from "./bench.ts";
import { backend, RUNTIMES } from "./graph.ts";
import { routeView } from "./route.ts";

/** What *Apply* changes. */
export const adviceChange = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("target"), target: targetSpec }),
  z.object({ kind: z.literal("backend"), backend }),
  z.object({ kind: z.literal("threads"), threads: z.number().int().min(1) }),
  /** Another file: the recipe that makes it. */
  z.object({ kind: z.literal("quantize"), recipe: z.string() }),
]);
export type AdviceChange = View<typeof adviceChange>;

/** not-comparable: something disturbed the machine while it was measured. */
export const OUTCOMES = ["faster", "slower", "no-difference", "not-comparable"] as const;

/** What a measurement on this machine said; kept until it is measured again. */
export const adviceVerdict = z.object({
  outcome: z.enum(OUTCOMES),
  sentence: z.string(),
  /** Time before over time after, of interleaved pairs: the median and its 95 % interval. */
  ratio: figure.nullable(),
  pairs: z.number(),
  machine: z.string(),
  at: z.number(),
  /** What makes the numbers hard to compare. */
  notes: z.array(z.string()),
});
export type AdviceVerdict = View<typeof adviceVerdict>;

export const advice = z.object({
  rule: z.string(),
  title: z.string(),
  claim: z.string(),
  /** Nodes of the legal graph of the subject, and their ids that survive passes. */
  ops: z.array(z.number()),
  ids: z.array(z.number()),
  /** Of a step: one token in decode, one chunk in prefill. */
  before: figure,
  after: figure,
  gain: figure,
  change: adviceChange,
  /** What *Apply* does, in a sentence. */
  applies: z.string(),
  /** Flags of the command line that do it; null where a command of its own does. */
  flags: z.string().nullable(),
  risk: z.string(),
  canMeasure: ability,
  verdict: adviceVerdict.nullable(),
});
export type Advice = View<typeof advice>;

export const adviceSubject = z.object({
  model: modelId,
  target: targetSpec,
  phase,
  backend: backend.default(RUNTIMES.coreml),
});

export const adviceList = z.object({
  /** Largest gain first. */
  advices: z.array(advice),
  /** Rules that looked, whatever they found. */
  rules: z.number(),
  sentence: z.string(),
});
export type AdviceList = View<typeof adviceList>;

export const adviceChoice = adviceSubject.extend({ rule: z.string().min(1).max(64) });

export const advicePreview = z.object({
  advice,
  /** The route with the change; null where the change is no route's. */
  route: routeView.nullable(),
  rows: z.array(z.object({ label: z.string(), before: figure, after: figure })),
});
export type AdvicePreview = View<typeof advicePreview>;

export const measureAdviceInput = adviceChoice.extend({
  pairs: z.number().int().min(1).max(100).default(8),
  tokens: z.number().int().min(1).max(4096).default(32),
  ...benchInput.pick({ conditions: true, waitSeconds: true }).shape,
});
export const measureAdviceItem = z.discriminatedUnion("kind", [
  phaseItem,
  z.object({ kind: z.literal("pair"), index: z.number(), before: z.number(), after: z.number() }),
  z.object({ kind: z.literal("done"), verdict: adviceVerdict }),
]);
export type MeasureAdviceItem = View<typeof measureAdviceItem>;
