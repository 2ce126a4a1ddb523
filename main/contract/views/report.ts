/** A report: what is seen of a model, as one page of HTML for a bug tracker or a colleague, and its head as Markdown. */
import { z } from "zod";
import type { DeepReadonly, View } from "../define.ts";
import { benchRecord } from "./bench.ts";
import { figure, modelId, phase } from "./common.ts";
import { compareInput } from "./compare.ts";
import { subject } from "./cost.ts";

/** Letters that a person's own words may take of a report. */
const MOST_LETTERS = 200_000;

/** A recording in short: its sentence and the ops that took longest. */
export const reportedProfile = z.object({
  sentence: z.string().max(2000),
  /** "cpu, 2 threads, 32 tokens". */
  what: z.string().max(500),
  ops: z.array(z.object({ name: z.string().max(500), seconds: z.number(), share: z.number() })).max(50),
});
export type ReportedProfile = View<typeof reportedProfile>;

/** How fast one answer was, without its words. */
export const reportedAnswer = z.object({
  /** "Chat 3". */
  name: z.string().max(200),
  /** "Qwen3 0.6B Q8_0 on cpu". */
  what: z.string().max(500),
  promptTokens: z.number(),
  promptRate: figure.nullable(),
  firstToken: figure.nullable(),
  generated: z.number(),
  rate: figure.nullable(),
});
export type ReportedAnswer = View<typeof reportedAnswer>;

export const reportInput = z.object({
  model: modelId,
  subject,
  phase,
  benches: z
    .array(z.object({ name: z.string().max(200), record: benchRecord }))
    .max(20)
    .default([]),
  answers: z.array(reportedAnswer).max(20).default([]),
  profile: reportedProfile.nullable().default(null),
  /** Left out unless it is given: it may be private. */
  conversation: z
    .array(z.object({ role: z.string().max(50), text: z.string().max(MOST_LETTERS) }))
    .max(500)
    .default([]),
  notes: z.string().max(MOST_LETTERS).default(""),
  /** Whole paths instead of names of files. */
  paths: z.boolean().default(false),
  /** A comparison with another side, of which `a` is this model. */
  against: compareInput.nullable().default(null),
});
export type ReportInput = DeepReadonly<z.input<typeof reportInput>>;

export const reportPage = z.object({
  /** "qwen3-0.6b-report.html". */
  name: z.string(),
  html: z.string(),
  /** Model, verdict and machine, for a bug tracker. */
  markdown: z.string(),
});
export type ReportPage = View<typeof reportPage>;
