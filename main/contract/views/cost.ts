/** Predicted seconds of a step for a subject, node by node; and the verdict: how fast a model would be on each target. */
import { z } from "zod";
import type { View } from "../define.ts";
import { device, f32, figure, phase, sumRow, targetSpec, truth } from "./common.ts";
import { backend, graphKey } from "./graph.ts";
import { fitView } from "./model.ts";

/** What predictions are for: a backend on the machine of a target; units and profile of the target are Core ML's. */
export const subject = z.object({ backend, target: targetSpec });
export type Subject = View<typeof subject>;

export const costlyOp = z.object({
  node: z.number(),
  op: z.string(),
  /** "the output matrix", "ffn_down of blk.3". */
  name: z.string(),
  device,
  seconds: figure,
  /** Of the step. */
  share: z.number(),
});
export type CostlyOp = View<typeof costlyOp>;

export const costView = z.object({
  /** The legal graph of the backend, whose nodes the columns count. */
  key: graphKey,
  subject,
  phase,
  truth,
  /** "M4, 24 GB". */
  machine: z.string(),
  /** That one step reads. */
  tokens: z.number(),
  nodes: z.object({ seconds: f32, low: f32, high: f32 }),
  devices: z.array(z.object({ device, seconds: figure, share: z.number() })),
  /** Copying the caches that a call passes. */
  caches: figure,
  hops: figure,
  /** Of all, starting things and handing over. */
  overhead: figure,
  /** Devices, hops and caches together. */
  step: figure,
  heaviest: z.array(costlyOp),
  sentence: z.string(),
});
export type CostView = View<typeof costView>;

/** How fast a model would be for a subject. */
export const speed = z.object({
  machine: z.string(),
  /** Tokens per second; null where the sum would not hold or nothing is generated, and `sentence` says why. */
  generate: figure.nullable(),
  /** Seconds of one token; of a demo graph, of a run. */
  token: figure,
  /** Seconds to read `promptTokens` tokens, which is when the first one comes; null for graphs without tokens. */
  prompt: figure.nullable(),
  promptTokens: z.number(),
  /** Of a token: they add up to it. */
  rows: z.array(sumRow),
  /** Of the prompt. */
  promptRows: z.array(sumRow),
  sentence: z.string(),
});
export type SpeedView = View<typeof speed>;

export const verdictRow = z.discriminatedUnion("ok", [
  z.object({
    ok: z.literal(true),
    subject,
    /** "Core ML, CPU and Neural Engine". */
    title: z.string(),
    speed,
    /** null for a graph without a file. */
    fit: fitView.nullable(),
    /** Of the time of one token; null where the Neural Engine is out of the question. */
    aneShare: z.number().nullable(),
    /** Of the time of one token; null where the GPU is out of the question. */
    gpuShare: z.number().nullable(),
    hops: z.number(),
  }),
  /** There is no prediction for it. */
  z.object({ ok: z.literal(false), subject, title: z.string(), sentence: z.string() }),
]);
export type VerdictRow = View<typeof verdictRow>;

export const verdict = z.object({
  /** In one line: how fast, and what most of the time goes into. */
  sentence: z.string(),
  truth,
  /** The subject's own row. */
  own: verdictRow,
  /** All targets; the own one among them, at its place. None where only the own one was asked for. */
  rows: z.array(verdictRow),
});
export type Verdict = View<typeof verdict>;
