/** The HTTP server for other programs: how it is started, how it is, and the requests that it answered. */
import { z } from "zod";
import type { View } from "../define.ts";
import { cacheType, figure, LARGEST_CONTEXT } from "./common.ts";
import { DEFAULT_DEVICE, runDevice } from "./engine.ts";

export const LOOPBACK = "127.0.0.1";
/** Characters of a key that is given. A key that is made has more. */
export const SHORTEST_KEY = 8;

/** One word, as it stands behind `Bearer`. */
const KEY = /^[!-~]{8,200}$/u;

/** A key is made unless one is given; without a key the server is on loopback only. */
export const KEY_CHOICES = ["made", "none"] as const;
const key = z
  .union([z.object({ given: z.string().meta({ pattern: KEY.source }) }), z.enum(KEY_CHOICES)])
  // Of the whole: an error then names the key, not a field that nobody sees.
  .refine((choice) => typeof choice === "string" || KEY.test(choice.given), {
    error: `expected ${SHORTEST_KEY} to 200 letters, digits or signs, no blanks`,
  });

export const serverInput = z.object({
  /** An address or name of this machine. Beyond loopback a key has to be given. */
  host: z
    .string()
    .regex(/^[\w.:-]{1,253}$/u, "expected an address or a name")
    .default(LOOPBACK),
  /** 0: a free one. */
  port: z.number().int().min(0).max(65_535).default(0),
  key: key.default("made"),
  /** Files, and folders that are searched for model files. */
  models: z.array(z.string().min(1).max(4096)).min(1).max(1000),
  device: runDevice.default(DEFAULT_DEVICE),
  /** Positions of each conversation, where the model knows as many. */
  context: z.number().int().min(1).max(LARGEST_CONTEXT).default(8192),
  threads: z.number().int().min(1).max(1024).nullable().default(null),
  /** Element type of keys and values; null: the device's own. */
  cacheType: cacheType.nullable().default(null),
  /** Bytes that the files of open models may take together; null: three quarters of the memory. */
  memoryBytes: z.number().int().min(1).nullable().default(null),
  /** Requests that may wait; the next is told to come again. */
  mostWaiting: z.number().int().min(0).max(1000).default(64),
  /** Prompts and answers stand in the log of requests. */
  keepTexts: z.boolean().default(false),
});
export type ServerInput = View<typeof serverInput>;

export const serverModel = z.object({
  /** What requests call it. */
  id: z.string(),
  path: z.string(),
  bytes: z.number(),
  state: z.enum(["known", "opening", "open"]),
});
export type ServerModel = View<typeof serverModel>;

export const serverStatus = z.object({
  /** null: stopped. */
  running: z
    .object({
      /** With /v1, as clients are told it. */
      url: z.string(),
      host: z.string(),
      port: z.number(),
      /** null: none is asked for. */
      key: z.string().nullable(),
      device: runDevice,
      context: z.number(),
      keepsTexts: z.boolean(),
      models: z.array(serverModel),
      answering: z.number(),
      waiting: z.number(),
      /** Requests that have ended. */
      served: z.number(),
    })
    .nullable(),
});
export type ServerStatus = View<typeof serverStatus>;

export const serverRequest = z.object({
  id: z.number(),
  /** Milliseconds since 1970. */
  at: z.number(),
  method: z.string(),
  path: z.string(),
  /** As the request names it, or the one that there is. */
  model: z.string().nullable(),
  state: z.enum(["waiting", "answering", "done", "left"]),
  /** Of HTTP; null until it is known. */
  status: z.number().nullable(),
  /** The code and sentence of its error. */
  error: z.object({ code: z.string(), sentence: z.string() }).nullable(),
  promptTokens: z.number(),
  /** Of the prompt, those that were still known. */
  reusedTokens: z.number(),
  generatedTokens: z.number(),
  promptRate: figure.nullable(),
  rate: figure.nullable(),
  /** From the request to the first token, waiting included. */
  firstTokenSeconds: figure.nullable(),
  seconds: z.number(),
  /** stop, length, tool_calls. */
  finish: z.string().nullable(),
  /** null unless texts are kept. */
  prompt: z.string().nullable(),
  answer: z.string().nullable(),
});
export type ServerRequest = View<typeof serverRequest>;

export const serverItem = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("status"), status: serverStatus }),
  z.object({ kind: z.literal("request"), request: serverRequest }),
]);
export type ServerItem = View<typeof serverItem>;
