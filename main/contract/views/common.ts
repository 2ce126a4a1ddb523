/** What all views share: a number that says how it was obtained, an answer to "can I?", typed arrays as schema leaves. */
import { z } from "zod";
import type { View } from "../define.ts";

/** More tokens than any model was trained for, and few enough for every count of bytes. */
export const LARGEST_CONTEXT = 16_777_216;

/**
 * exact: read from the file or counted · measured: by a clock or a counter here · attributed: a measured total shared out ·
 * predicted: by our rules · planned: by the system's own plan · simulated: by our simulator of the device.
 */
export const TRUTHS = ["exact", "measured", "attributed", "predicted", "planned", "simulated"] as const;
export const truth = z.enum(TRUTHS);
export type Truth = z.output<typeof truth>;

/** Element types of keys and values. */
export const cacheType = z.enum(["f16", "f32", "q8_0", "q4_0"]);
export type CacheType = z.output<typeof cacheType>;

export const UNITS = [
  "bytes",
  "seconds",
  "tokens/s",
  "bytes/s",
  "flops",
  "flops/s",
  "share",
  "count",
  "bits",
  "ratio",
  "joules",
  "watts",
] as const;
export const unit = z.enum(UNITS);
export type Unit = z.output<typeof unit>;

/** A number for a person. `low`/`high`: the range of a prediction or the 95 % interval of a measurement. `basis`: how we know. */
export const figure = z.object({
  value: z.number(),
  low: z.number().nullable(),
  high: z.number().nullable(),
  unit,
  truth,
  basis: z.string(),
});
export type Figure = View<typeof figure>;

/** "Can I …?": yes, or the reason in a sentence and what to do about it. */
export const ability = z.discriminatedUnion("ok", [
  z.object({ ok: z.literal(true) }),
  z.object({
    ok: z.literal(false),
    code: z.string(),
    sentence: z.string(),
    hint: z.string().nullable(),
    /** What the window can offer: find the file by path or folder, or send it here. */
    offer: z.enum(["none", "locate-or-upload"]),
  }),
]);
export type Ability = View<typeof ability>;

/** That the TypeScript reference stands in for a native engine that was not built, and how slow it is. */
export const referenceNotice = z.object({ sentence: z.string(), secondsPerToken: figure });
export type ReferenceNotice = View<typeof referenceNotice>;

/** A label and its value as text, for property lists. */
export const fact = z.object({ label: z.string(), value: z.string() });
export type Fact = View<typeof fact>;

/** One row of an arithmetic that is shown: "2 048 tokens × 28 layers × …". */
export const sumRow = z.object({ label: z.string(), arithmetic: z.string().nullable(), value: figure });
export type SumRow = View<typeof sumRow>;

export const modelId = z.string().min(1).max(64);
export const phase = z.enum(["prefill", "decode"]);
export type Phase = z.output<typeof phase>;

/** Where an op can run, in the order of the byte codes used by columns: index = code. */
export const DEVICES = ["none", "ane", "gpu", "cpu", "host"] as const;
/** What threads of ours run on. */
export const THREADS_DEVICE = DEVICES[3];
export const device = z.enum(DEVICES);
export type Device = z.output<typeof device>;
export const deviceCode = (name: Device): number => DEVICES.indexOf(name);
export const deviceOf = (code: number): Device => DEVICES[code] ?? "none";

export const page = {
  offset: z.number().int().min(0).default(0),
  limit: z.number().int().min(1).max(1000).default(100),
};

export const u8 = z.custom<Uint8Array>((value) => value instanceof Uint8Array, "expected a Uint8Array");
export const u32 = z.custom<Uint32Array>((value) => value instanceof Uint32Array, "expected a Uint32Array");
export const i32 = z.custom<Int32Array>((value) => value instanceof Int32Array, "expected an Int32Array");
export const f32 = z.custom<Float32Array>((value) => value instanceof Float32Array, "expected a Float32Array");
export const f64 = z.custom<Float64Array>((value) => value instanceof Float64Array, "expected a Float64Array");

const units = z.enum(["cpu-ane", "cpu-gpu", "all", "cpu"]);

/** Other ways to compile the same program, all off at first; `main/backends/coreml/levers.ts` says what each does. */
export const targetOptions = z.object({
  splitRows: z.boolean().default(false),
  islands: z.boolean().default(false),
  states: z.boolean().default(false),
  prefillUnits: units.nullable().default(null),
  palette: z
    .union([z.literal(4), z.literal(6), z.literal(8)])
    .nullable()
    .default(null),
});
export type TargetOptions = View<typeof targetOptions>;

/** The word of each on a command line. */
export const OPTION_WORDS: readonly { readonly name: string; readonly options: Partial<TargetOptions> }[] = [
  { name: "split-rows", options: { splitRows: true } },
  { name: "islands", options: { islands: true } },
  { name: "states", options: { states: true } },
  ...(["cpu-ane", "cpu-gpu", "all", "cpu"] as const).map((prefillUnits) => ({
    name: `prefill-${prefillUnits}`,
    options: { prefillUnits },
  })),
  ...([4, 6, 8] as const).map((palette) => ({ name: `palette-${palette}`, options: { palette } })),
];
/** What is on, in these words. */
export const optionWords = (options: TargetOptions | undefined): readonly string[] =>
  options === undefined
    ? []
    : OPTION_WORDS.filter(({ options: own }) =>
        Object.entries(own).every(([key, value]) => options[key as keyof TargetOptions] === value),
      ).map(({ name }) => name);

/** The machine and, for Core ML, the target a prediction is for. No routing number without one. `chip`: a family or a variant. */
export const targetSpec = z.object({
  chip: z.string().min(1).max(32),
  os: z.string().min(1).max(32),
  units,
  profile: z.enum(["auto", "gpu", "ane", "exact", "f32"]),
  context: z.number().int().min(1).max(LARGEST_CONTEXT),
  /** Memory of the machine; without it as it is sold, or as this Mac has it. */
  memoryGiB: z.number().int().min(1).max(4096).nullable().optional(),
  options: targetOptions.optional(),
});
export type TargetSpec = View<typeof targetSpec>;

/** Whether both have the same weights in their packages: stated, or following from units and system. */
export const sameWeights = (a: TargetSpec, b: TargetSpec): boolean => {
  const palette = a.options?.palette ?? null;
  const sameForms = a.profile === b.profile && (a.profile !== "auto" || (a.units === b.units && a.os === b.os));
  // An older system has other tables.
  return sameForms && palette === (b.options?.palette ?? null) && (palette === null || a.os === b.os);
};

/** Progress of a long call: a named phase, elapsed time, and a fraction only where one is known. */
export const phaseItem = z.object({
  kind: z.literal("phase"),
  name: z.string(),
  sentence: z.string(),
  fraction: z.number().min(0).max(1).nullable(),
  elapsedSeconds: z.number(),
});
export type PhaseItem = View<typeof phaseItem>;
