/** Running: chat and completion as a stream, profiles, and the hybrid run of a demo graph. */
import { z } from "zod";
import type { View } from "../define.ts";
import {
  cacheType,
  LARGEST_CONTEXT,
  device,
  f32,
  f64,
  figure,
  i32,
  modelId,
  phaseItem,
  referenceNotice,
  targetSpec,
  truth,
  u32,
  u8,
} from "./common.ts";
import { chatMessage, chatOptions, reply, shownPiece, toolCall } from "./chat.ts";
import { DEFAULT_DEVICE, runDevice } from "./engine.ts";
import { precision } from "./graph.ts";
import type { SamplingNumber } from "../../ir/samplingRanges.ts";
import { isWhole, SAMPLING_NUMBERS, SAMPLING_RANGES } from "../../ir/samplingRanges.ts";

export {
  isWhole as isWholeSampling,
  SAMPLING_DEFAULTS,
  SAMPLING_NUMBERS,
  SAMPLING_RANGES,
} from "../../ir/samplingRanges.ts";
export type { SamplingNumber } from "../../ir/samplingRanges.ts";

/** Each within its range. One that is missing is as the model's file says, or else our default. */
const samplingNumbers = Object.fromEntries(
  SAMPLING_NUMBERS.map((name) => {
    const [least, most] = SAMPLING_RANGES[name];
    const number = z.number().min(least).max(most);
    return [name, (isWhole(name) ? number.int() : number).optional()];
  }),
) as { readonly [K in SamplingNumber]: z.ZodOptional<z.ZodNumber> };

export const sampling = z.object({
  ...samplingNumbers,
  /** GBNF: the answer is a text of this grammar. */
  grammar: z
    .string()
    .min(1)
    .max(1 << 20)
    .optional(),
  /** Text of a JSON schema: the answer is JSON that it takes. */
  jsonSchema: z
    .string()
    .min(1)
    .max(1 << 20)
    .optional(),
  dryBreakers: z.array(z.string().min(1).max(100)).max(64).optional(),
  /** Tokens by their id, or by a text that is one token; null bans one. */
  logitBias: z
    .array(
      z.object({
        token: z.union([z.number().int().min(0), z.string().min(1).max(1000)]),
        bias: z.number().min(-1000).max(1000).nullable(),
      }),
    )
    .max(10_000)
    .optional(),
  /** null: a fresh one, reported in the `start` item. */
  seed: z.number().int().min(0).max(4_294_967_295).nullable().default(null),
});
export type Sampling = View<typeof sampling>;

/** The flag of a number on the command line: "top-k" of "topK". */
export const samplingFlag = (name: SamplingNumber): string =>
  name.replace(/[A-Z]/gu, (letter) => `-${letter.toLowerCase()}`);

/** Its name in a sentence. */
export const samplingWords = (name: SamplingNumber): string =>
  name === "repeatPenalty"
    ? "repetition penalty"
    : /^(top|min|typical)/u.test(name)
      ? samplingFlag(name)
      : samplingFlag(name).replaceAll("-", " ");

type TokenBias = NonNullable<Sampling["logitBias"]>[number];

/**
 * `15=-2`, `hello=3`, `"15"=ban`: an id, a text, or a text in quotation marks, which may look like an id. null: not of this
 * form, or beyond ±1000.
 */
export function readTokenBias(text: string): TokenBias | null {
  const [, name = "", bias = ""] = /^(.+)=(ban|-?(?:\d+\.?\d*|\.\d+))$/su.exec(text) ?? [];
  if (name === "" || Math.abs(Number(bias)) > 1000) return null;
  const token = /^"(.+)"$/su.exec(name)?.[1] ?? (/^\d+$/u.test(name) ? Number(name) : name);
  return { token, bias: bias === "ban" ? null : Number(bias) };
}

/** What a file says of how its model is drawn from. */
export const samplingHints = z.object({
  values: z.object(samplingNumbers),
  /** Hints that are not followed, and why. */
  notes: z.array(z.string()),
});
export type SamplingHints = View<typeof samplingHints>;

export const runInput = z.object({
  model: modelId,
  device: runDevice.default(DEFAULT_DEVICE),
  prompt: z.discriminatedUnion("kind", [
    z.object({ kind: z.literal("chat"), messages: z.array(chatMessage).min(1).max(10_000), ...chatOptions }),
    z.object({ kind: z.literal("completion"), text: z.string().max(4_000_000) }),
    /** A text that is tokens already. */
    z.object({ kind: z.literal("tokens"), ids: i32 }),
  ]),
  sampling: sampling.prefault({}),
  stop: z.array(z.string().min(1).max(1000)).max(64).default([]),
  maxTokens: z.number().int().min(1).max(1_048_576).default(512),
  context: z.number().int().min(1).max(LARGEST_CONTEXT).nullable().default(null),
  threads: z.number().int().min(1).max(1024).nullable().default(null),
  /** In which floats the CPU engine or MLX computes. */
  precision: precision.default("f32"),
  /** Element type of keys and values; null: the device's own. */
  cacheType: cacheType.nullable().default(null),
  /** How many alternatives to report for each token. */
  alternatives: z.number().int().min(0).max(20).default(5),
  /** Goes on after a token that ends the answer: for measuring. */
  ignoreEnd: z.boolean().default(false),
});

export const tokenView = z.object({
  id: z.number(),
  /** May be empty: a token can hold half a character. */
  text: z.string(),
  logprob: z.number(),
  /** Seconds from the answer's first token to when this one was drawn. */
  at: z.number(),
  top: z.array(z.object({ id: z.number(), text: z.string(), logprob: z.number() })),
  /** Its text by what it is for; marks between the parts are left out. */
  pieces: z.array(shownPiece),
});
export type TokenView = View<typeof tokenView>;

export const runStats = z.object({
  promptTokens: z.number(),
  /** Tokens of the prompt that the session still held and did not run again. */
  reusedTokens: z.number(),
  /** Tokens that it held and had to run again, and why. */
  recomputed: z.object({ tokens: z.number(), because: z.string() }).nullable(),
  promptSeconds: figure,
  promptRate: figure.nullable(),
  firstTokenSeconds: figure.nullable(),
  generated: z.number(),
  /** Over the whole answer, and over the last second. */
  rate: figure.nullable(),
  rateNow: figure.nullable(),
  contextUsed: z.number(),
  contextSize: z.number(),
  cacheBytes: z.number(),
});
export type RunStats = View<typeof runStats>;

export const runItem = z.discriminatedUnion("kind", [
  phaseItem,
  z.object({
    kind: z.literal("start"),
    device: runDevice,
    truth,
    seed: z.number(),
    /** The numbers in use, and which of them are the file's. */
    sampling: z.object({
      values: z.record(z.string(), z.number()),
      fromFile: z.array(z.string()),
      notes: z.array(z.string()),
    }),
    promptTokens: z.number(),
    promptText: z.string(),
    reference: referenceNotice.nullable(),
  }),
  z.object({ kind: z.literal("token"), token: tokenView }),
  /** The model calls a tool, and the call is complete. */
  z.object({ kind: z.literal("call"), call: toolCall }),
  z.object({ kind: z.literal("stats"), stats: runStats }),
  z.object({
    kind: z.literal("done"),
    reason: z.enum(["stop", "length", "cancelled", "context-full"]),
    sentence: z.string(),
    stats: runStats,
    reply,
  }),
]);
export type RunItem = View<typeof runItem>;

export const profileInput = z.object({
  model: modelId,
  device: runDevice.default(DEFAULT_DEVICE),
  promptTokens: z.number().int().min(1).max(65_536).default(64),
  generateTokens: z.number().int().min(1).max(4096).default(16),
  threads: z.number().int().min(1).max(1024).nullable().default(null),
});

/**
 * What took the time: an instruction of the plan; the part of a step outside of them (its start, sampling, its end); the time
 * from the end of a step to the start of the next one.
 */
export const profileRow = z.object({
  kind: z.enum(["op", "edges", "between"]),
  op: z.string(),
  device,
  truth,
  /** Of a prompt: totals. Of writing: of one typical token, the mean of the middle half by time. */
  count: z.number(),
  seconds: z.number(),
  /** Of the whole: of the prompt, or of a token until the next. */
  share: z.number(),
  bytes: z.number(),
  /** Achieved bytes per second and its share of this machine's measured peak; null where bytes say nothing. */
  bandwidth: z.number().nullable(),
  peakShare: z.number().nullable(),
});
export type ProfileRow = View<typeof profileRow>;

/** Below this an instruction's time is that of starting and ending it; a rate of its bytes would say nothing. */
const LEAST_BYTES = 64 * 1024;

export type PeakShare =
  | { readonly kind: "share"; readonly value: number }
  /** Faster than memory: the weights are so small that they stay in the processor's cache from token to token. */
  | { readonly kind: "cache"; readonly value: number }
  | { readonly kind: "none" };

export function peakShareOf({ peakShare, bytes, count }: Pick<ProfileRow, "peakShare" | "bytes" | "count">): PeakShare {
  if (peakShare === null || bytes / Math.max(1, count) < LEAST_BYTES) return { kind: "none" };
  return { kind: peakShare > 1 ? "cache" : "share", value: peakShare };
}

/** `seconds`: of one token in the engine; `whole`: until the next one. */
const profilePhase = z.object({ seconds: figure, whole: figure, rows: z.array(profileRow) });

export const profileView = z.object({
  /** The model's title. */
  model: z.string(),
  /** Milliseconds since 1970. */
  recordedAt: z.number(),
  device: runDevice,
  truth,
  machine: z.string(),
  sentence: z.string(),
  /** How it was recorded, as far as a reader must know; the end of the sentence. */
  note: z.string(),
  /** Bytes per second that this machine reads at most. */
  peakBandwidth: figure.nullable(),
  strings: z.array(z.string()),
  lanes: z.array(z.object({ title: z.string(), device, truth })),
  /** Lanes that this recording cannot have, and why. */
  absent: z.array(z.object({ what: z.string(), why: z.string() })),
  /** One step is a prompt chunk or one generated token; times in seconds from the start. */
  steps: z.object({ start: f64, seconds: f32, tokens: u32, decode: u8 }),
  /**
   * One slice is one instruction of the plan. It computes the operations of the model `nodes[nodeStart[i] … nodeStart[i+1]-1]`:
   * those that `sourceOf` gives for the nodes of a graph.
   */
  slices: z.object({
    start: f64,
    seconds: f32,
    lane: u8,
    step: u32,
    op: u32,
    label: u32,
    bytes: f64,
    nodeStart: u32,
    nodes: u32,
  }),
  /** Seconds that each thread worked on each slice, thread after thread: the rest it waited for the others. */
  threads: z.object({ count: z.number(), busy: f32 }),
  /** At these seconds from the start: the engine's process, and the part of it that caches and states take. */
  memory: z.object({ time: f64, resident: f64, states: f64 }),
  prefill: profilePhase,
  decode: profilePhase,
});
export type ProfileView = View<typeof profileView>;
export const profileItem = z.discriminatedUnion("kind", [
  phaseItem,
  z.object({ kind: z.literal("done"), profile: profileView }),
]);

/** One run of a demo graph through its segments: simulator or Core ML for the device, CPU engine for the host. */
export const hybridInput = z.object({
  model: modelId,
  /** null: the first that runs segments. */
  device: runDevice.nullable().default(null),
  target: targetSpec,
  seed: z.number().int().min(0).max(4_294_967_295).default(1),
});
export const hybridView = z.object({
  truth,
  target: targetSpec,
  sentence: z.string(),
  segments: z.array(
    z.object({
      index: z.number(),
      device,
      title: z.string(),
      seconds: figure,
      bytesIn: z.number(),
      bytesOut: z.number(),
    }),
  ),
  outputs: z.array(
    z.object({ name: z.string(), type: z.string(), min: z.number(), max: z.number(), mean: z.number(), values: f32 }),
  ),
  /** The same graph by the reference evaluator or the CPU engine alone. */
  agreement: z.object({ against: z.string(), relativeRms: figure, sentence: z.string() }),
});
export type HybridView = View<typeof hybridView>;
