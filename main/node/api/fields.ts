/**
 * Fields that several endpoints share, and what they ask of the engine. Fields that are not known are left alone, as other
 * servers do; those that are known and cannot be served are refused by name.
 */
import { z } from "zod";
import type { StreamInputOf } from "../../contract/contract.ts";
import { ApiError, badField } from "./apiErrors.ts";
import type { JsonObject } from "./requestBody.ts";

export type RunInput = StreamInputOf<"run.start">;
export type RunSampling = NonNullable<RunInput["sampling"]>;

/** Answers to one prompt. */
const MOST_CHOICES = 16;

const bias = z.union([z.number().min(-1000).max(1000), z.literal(false)]);
const count = z.number().int().min(0);

const MOST_TOKENS = 1_048_576;
/** -1, as samples of other servers send it, is no limit. */
export const tokenLimit = z
  .number()
  .int()
  .refine((limit) => limit === -1 || (limit >= 1 && limit <= MOST_TOKENS), {
    error: `expected 1 to ${MOST_TOKENS}, or -1 for no limit`,
  })
  .optional();
export const limitOf = (limit: number | undefined): number | null => (limit === undefined || limit < 1 ? null : limit);

export const sharedFields = {
  model: z.string().max(1000).optional(),
  stream: z.boolean().default(false),
  stream_options: z.object({ include_usage: z.boolean().optional() }).optional(),
  n: z.number().int().min(1).max(MOST_CHOICES).default(1),
  stop: z.union([z.string(), z.array(z.string().min(1).max(1000)).max(64)]).default([]),
  seed: z.number().int().optional(),
  temperature: z.number().min(0).max(10).optional(),
  top_p: z.number().min(0).max(1).optional(),
  top_k: z.number().int().min(-1).max(1_000_000).optional(),
  min_p: z.number().min(0).max(1).optional(),
  typical_p: z.number().min(0).max(1).optional(),
  frequency_penalty: z.number().min(-10).max(10).optional(),
  presence_penalty: z.number().min(-10).max(10).optional(),
  repeat_penalty: z.number().min(0.1).max(10).optional(),
  repetition_penalty: z.number().min(0.1).max(10).optional(),
  repeat_last_n: count.max(1_000_000).optional(),
  xtc_probability: z.number().min(0).max(1).optional(),
  xtc_threshold: z.number().min(0).max(1).optional(),
  dry_multiplier: z.number().min(0).max(100).optional(),
  dry_base: z.number().min(1).max(100).optional(),
  dry_allowed_length: count.max(1_000_000).optional(),
  mirostat: count.max(2).optional(),
  mirostat_tau: z.number().min(0).max(100).optional(),
  mirostat_eta: z.number().min(0).max(10).optional(),
  logit_bias: z.record(z.string().regex(/^\d{1,9}$/u, "expected ids of tokens"), bias).optional(),
  grammar: z.string().min(1).max(1_000_000).optional(),
  json_schema: z.record(z.string(), z.unknown()).optional(),
  ignore_eos: z.boolean().default(false),
  timings_per_token: z.boolean().default(false),
};
const sharedObject = z.object(sharedFields);
export type Shared = z.output<typeof sharedObject>;

/** Names of the engine for those of a request; a second name counts where the first is absent. */
const NUMBERS = {
  temperature: ["temperature"],
  topP: ["top_p"],
  minP: ["min_p"],
  typicalP: ["typical_p"],
  frequencyPenalty: ["frequency_penalty"],
  presencePenalty: ["presence_penalty"],
  repeatPenalty: ["repeat_penalty", "repetition_penalty"],
  repeatLast: ["repeat_last_n"],
  xtcProbability: ["xtc_probability"],
  xtcThreshold: ["xtc_threshold"],
  dryMultiplier: ["dry_multiplier"],
  dryBase: ["dry_base"],
  dryAllowedLength: ["dry_allowed_length"],
  mirostat: ["mirostat"],
  mirostatTau: ["mirostat_tau"],
  mirostatEta: ["mirostat_eta"],
} as const satisfies Readonly<Record<string, readonly (keyof Shared)[]>>;

const MOST_BIASES = 5000;

export function samplingOf(asked: Partial<Shared>, schema?: string): RunSampling {
  const numbers = Object.fromEntries(
    Object.entries(NUMBERS).flatMap(([name, fields]) => {
      const value = fields.map((field) => asked[field]).find((each) => each !== undefined);
      return value === undefined ? [] : [[name, value]];
    }),
  );
  const { seed, logit_bias: biases, top_k: topK, grammar, json_schema: own } = asked;
  const jsonSchema = schema ?? (own === undefined ? undefined : JSON.stringify(own));
  if (grammar !== undefined && jsonSchema !== undefined) throw badField("grammar", "got one beside a JSON schema");
  const biased = Object.entries(biases ?? {});
  if (biased.length > MOST_BIASES)
    throw badField("logit_bias", `got ${biased.length}, expected at most ${MOST_BIASES}`);
  return {
    ...numbers,
    ...(topK === undefined ? {} : { topK: Math.max(0, topK) }),
    ...(grammar === undefined ? {} : { grammar }),
    ...(jsonSchema === undefined ? {} : { jsonSchema }),
    ...(biased.length === 0
      ? {}
      : {
          logitBias: biased.map(([id, by]) => ({ token: Number(id), bias: by === false ? null : by })),
        }),
    // Negative: a fresh one, as elsewhere. The engine knows 32 bits of the others.
    seed: seed === undefined || seed < 0 ? null : seed % 2 ** 32,
  };
}

export const stopsOf = ({ stop }: Pick<Shared, "stop">): readonly string[] => {
  const stops = typeof stop === "string" ? [stop] : stop;
  if (stops.includes("")) throw badField("stop", "got an empty text");
  return stops;
};

/** A field that is known and not served, unless it says what is the case anyway. */
export interface Refused {
  readonly field: string;
  readonly isFine: (value: unknown) => boolean;
  readonly instead: string;
}
export const refused = (field: string, instead: string, ...fine: readonly unknown[]): Refused => ({
  field,
  instead,
  isFine: (value) => fine.includes(value) || (Array.isArray(value) && value.length === 0),
});

export const REFUSED: readonly Refused[] = [
  refused("lora", "Open the model with its adapter."),
  refused("samplers", "The steps of drawing have a fixed order."),
  refused("image_data", "This server reads no images."),
];

/** null stands for a field that is absent. */
export function parsed<S extends z.ZodType>(schema: S, body: JsonObject, refusals: readonly Refused[]): z.output<S> {
  const given = Object.fromEntries(Object.entries(body).filter(([, value]) => value !== null));
  for (const { field, isFine, instead } of [...REFUSED, ...refusals])
    if (Object.hasOwn(given, field) && !isFine(given[field]))
      throw new ApiError(400, `${field}: this server does not have it. ${instead}`, {
        param: field,
        code: "unsupported_parameter",
      });
  const result = schema.safeParse(given);
  if (result.success) return result.data;
  const [first] = result.error.issues;
  const param = first?.path.map(String).join(".") ?? "";
  throw badField(param === "" ? "body" : param, first?.message ?? "not what it has to be");
}
