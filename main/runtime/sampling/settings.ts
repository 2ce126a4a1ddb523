/**
 * What is asked of the draws of an answer, at three levels: `SamplingSettings` as people write them, `PreparedSampling` with
 * everything that needs a vocabulary looked up, and the `SampleOptions` of each token, which `startChain` gives.
 */
import { WorkbenchError } from "../../diagnostics/errors.ts";
import type { Dry, LogitBias, Mirostat, SampleOptions, TokenConstraint, Xtc } from "../../ir/session.ts";
import type { BreakerSource } from "./dry.ts";
import { breakersOf } from "./dry.ts";

export interface PlainSampling {
  readonly temperature: number;
  readonly topK: number;
  readonly topP: number;
  readonly minP: number;
  readonly repeatPenalty: number;
  /** How many of the last tokens the penalties look at. */
  readonly repeatLast: number;
  readonly seed: number;
}

/** Added to the logit of a token, named by its id, or by a text that is one token. -Infinity bans it. */
export interface TokenBias {
  readonly token: number | string;
  readonly bias: number;
}

export interface SamplingSettings extends PlainSampling {
  /** Taken from a token's logit for each time that it is among the last tokens, and once. 0: off. */
  readonly frequencyPenalty?: number | undefined;
  readonly presencePenalty?: number | undefined;
  /** 1: off. */
  readonly typicalP?: number | undefined;
  /** 0: off. */
  readonly xtcProbability?: number | undefined;
  /** 0.1 by default; above 0.5 XTC does nothing. */
  readonly xtcThreshold?: number | undefined;
  /** 0: off. */
  readonly dryMultiplier?: number | undefined;
  /** 1.75 by default. */
  readonly dryBase?: number | undefined;
  /** Repetitions up to this length cost nothing; 2 by default. */
  readonly dryAllowedLength?: number | undefined;
  /** How many of the last tokens DRY looks at; all without it. */
  readonly dryLast?: number | undefined;
  /** Texts that end a repetition; by default a line end, a colon, a quotation mark and an asterisk. */
  readonly dryBreakers?: readonly string[] | undefined;
  /** 0: off. */
  readonly mirostat?: 0 | 1 | 2 | undefined;
  /** Bits of surprise to aim at; 5 by default. */
  readonly mirostatTau?: number | undefined;
  /** How fast it corrects itself; 0.1 by default. */
  readonly mirostatEta?: number | undefined;
  readonly logitBias?: readonly TokenBias[] | undefined;
}

export const DRY_DEFAULTS = { base: 1.75, allowedLength: 2, breakers: ["\n", ":", '"', "*"] } as const;
export const MIROSTAT_DEFAULTS = { tau: 5, eta: 0.1 } as const;
export const XTC_THRESHOLD = 0.1;

/** Steps that are absent are off. */
export interface PreparedSampling extends PlainSampling {
  readonly frequencyPenalty?: number;
  readonly presencePenalty?: number;
  readonly typicalP?: number;
  readonly xtc?: Xtc;
  readonly dry?: Omit<Dry, "tokens"> & { readonly last: number };
  readonly mirostat?: Omit<Mirostat, "state">;
  readonly logitBias?: readonly LogitBias[];
  /** Starts anew for each answer. */
  readonly constraint?: () => ConstrainedText;
}

/** A constraint that reads the answer's tokens. */
export interface ConstrainedText extends TokenConstraint {
  /** Reads what stands in `tokens` behind those that it has read. */
  read(tokens: readonly number[]): void;
}

/** Vocabulary and encoding; a tokenizer fits. */
export type SamplingSource = BreakerSource;

/** Looks up tokens and leaves out what is off. */
export function prepareSampling(settings: SamplingSettings, source: SamplingSource): PreparedSampling {
  const { temperature, topK, topP, minP, repeatPenalty, repeatLast, seed, ...extra } = settings;
  checkRanges(settings);
  const bias = biasesOf(extra.logitBias ?? [], source);
  return {
    ...{ temperature, topK, topP, minP, repeatPenalty, repeatLast, seed },
    ...present("frequencyPenalty", extra.frequencyPenalty, 0),
    ...present("presencePenalty", extra.presencePenalty, 0),
    ...present("typicalP", extra.typicalP, 1),
    ...(bias.length === 0 ? {} : { logitBias: bias }),
    ...((extra.xtcProbability ?? 0) > 0
      ? { xtc: { probability: extra.xtcProbability ?? 0, threshold: extra.xtcThreshold ?? XTC_THRESHOLD } }
      : {}),
    ...((extra.dryMultiplier ?? 0) > 0 ? { dry: dryOf(extra, source) } : {}),
    ...(extra.mirostat === 1 || extra.mirostat === 2
      ? {
          mirostat: {
            version: extra.mirostat,
            tau: extra.mirostatTau ?? MIROSTAT_DEFAULTS.tau,
            eta: extra.mirostatEta ?? MIROSTAT_DEFAULTS.eta,
          },
        }
      : {}),
  };
}

const present = <K extends string>(name: K, value: number | undefined, off: number): Partial<Record<K, number>> =>
  value === undefined || value === off ? {} : ({ [name]: value } as Record<K, number>);

type Range = readonly [least: number, most: number];

/** Least and most of each number; what the contract, the command line and the library accept. */
export const SAMPLING_RANGES = {
  temperature: [0, 10],
  topK: [0, 1_000_000],
  topP: [0, 1],
  minP: [0, 1],
  repeatPenalty: [0.1, 10],
  repeatLast: [0, 1_000_000],
  frequencyPenalty: [-10, 10],
  presencePenalty: [-10, 10],
  typicalP: [0, 1],
  xtcProbability: [0, 1],
  xtcThreshold: [0, 1],
  dryMultiplier: [0, 100],
  dryBase: [1, 100],
  dryAllowedLength: [0, 1_000_000],
  dryLast: [0, 1_000_000],
  mirostat: [0, 2],
  mirostatTau: [0, 100],
  mirostatEta: [0, 10],
} as const satisfies Readonly<Partial<Record<keyof SamplingSettings, Range>>>;

export const WHOLE_SAMPLING: ReadonlySet<string> = new Set<keyof typeof SAMPLING_RANGES>([
  ...(["topK", "repeatLast", "dryAllowedLength", "dryLast", "mirostat"] as const),
]);

export type SamplingNumber = keyof typeof SAMPLING_RANGES;
export const SAMPLING_NUMBERS = Object.keys(SAMPLING_RANGES) as readonly SamplingNumber[];

export function isInSamplingRange(name: SamplingNumber, value: number): boolean {
  const [least, most] = SAMPLING_RANGES[name];
  return value >= least && value <= most && (!WHOLE_SAMPLING.has(name) || Number.isInteger(value));
}

function checkRanges(settings: SamplingSettings): void {
  for (const name of SAMPLING_NUMBERS) {
    const value = settings[name];
    if (value === undefined || isInSamplingRange(name, value)) continue;
    const kind = WHOLE_SAMPLING.has(name) ? "a whole number" : "a number";
    throw new WorkbenchError(
      "INPUT_ARGUMENT",
      `[sampling] ${name}: got ${value}, expected ${kind} from ${SAMPLING_RANGES[name].join(" to ")}`,
    );
  }
}

/** One entry for each token: biases of the same one add up. */
function biasesOf(biases: readonly TokenBias[], source: SamplingSource): readonly LogitBias[] {
  const sums = new Map<number, number>();
  for (const { token, bias } of biases) {
    if (Number.isNaN(bias) || bias === Infinity)
      throw new WorkbenchError(
        "INPUT_ARGUMENT",
        `[sampling] bias of ${JSON.stringify(token)}: got ${bias}, expected a number`,
      );
    const id = typeof token === "number" ? token : onlyToken(token, source);
    if (!Number.isInteger(id) || id < 0 || id >= source.size)
      throw new WorkbenchError(
        "INPUT_ARGUMENT",
        `[sampling] bias of token ${id}: the vocabulary has the ids 0 to ${source.size - 1}`,
      );
    sums.set(id, (sums.get(id) ?? 0) + bias);
  }
  return Array.from(sums, ([id, bias]) => ({ id, bias }));
}

/** The one token whose text this is. SentencePiece writes a space before a text; that one is not meant. */
function onlyToken(text: string, source: SamplingSource): number {
  const wanted = new TextEncoder().encode(text);
  const isWanted = (id: number): boolean => {
    const bytes = source.pieceBytes(id, true);
    return bytes.length === wanted.length && bytes.every((byte, i) => byte === wanted[i]);
  };
  const encoded = source.encode(text, { addSpecial: false, parseSpecial: false });
  const [id] = encoded;
  if (encoded.length === 1 && id !== undefined && isWanted(id)) return id;
  for (let other = 0; other < source.size; other++) if (isWanted(other)) return other;
  throw new WorkbenchError(
    "INPUT_ARGUMENT",
    `[sampling] bias of ${JSON.stringify(text)}: got a text of ${encoded.length} tokens, expected the text of one token`,
    { hint: "Name the token by its id; `rlx tokenize` shows the ids of a text." },
  );
}

function dryOf(extra: Partial<SamplingSettings>, source: SamplingSource): NonNullable<PreparedSampling["dry"]> {
  return {
    multiplier: extra.dryMultiplier ?? 0,
    base: extra.dryBase ?? DRY_DEFAULTS.base,
    allowedLength: extra.dryAllowedLength ?? DRY_DEFAULTS.allowedLength,
    last: extra.dryLast ?? Infinity,
    breakers: cachedBreakers(source, extra.dryBreakers ?? DRY_DEFAULTS.breakers),
  };
}

/** Finding them reads the whole vocabulary. */
const breakerCache = new WeakMap<SamplingSource, { readonly key: string; readonly breakers: Dry["breakers"] }>();

function cachedBreakers(source: SamplingSource, texts: readonly string[]): Dry["breakers"] {
  const key = JSON.stringify(texts);
  const known = breakerCache.get(source);
  if (known?.key === key) return known.breakers;
  const breakers = breakersOf(source, texts);
  breakerCache.set(source, { key, breakers });
  return breakers;
}

/** How to draw the token of an index behind a prompt, given the answer's tokens that are known. */
export type TokenChain = (known: readonly number[], index: number) => SampleOptions;

const NO_TOKENS = new Int32Array(0);

/**
 * The chain of one answer. Where its last tokens are not known yet, the device adds them to those that the penalties count;
 * chains with a state are only asked for when all are known.
 */
export function startChain(
  {
    repeatLast,
    repeatPenalty,
    frequencyPenalty,
    presencePenalty,
    dry,
    mirostat,
    constraint,
    ...rest
  }: PreparedSampling,
  prompt: readonly number[],
  alternatives: number,
): TokenChain {
  const penalties = {
    repeatPenalty,
    ...(frequencyPenalty === undefined ? {} : { frequencyPenalty }),
    ...(presencePenalty === undefined ? {} : { presencePenalty }),
  };
  const penalises = repeatPenalty !== 1 || frequencyPenalty !== undefined || presencePenalty !== undefined;
  const counted = penalises ? repeatLast : 0;
  const fixed = { ...rest, ...(counted === 0 ? { repeatPenalty: 1 } : penalties), window: counted, alternatives };
  const moving = mirostat === undefined ? {} : { mirostat: { ...mirostat, state: { mu: 2 * mirostat.tau } } };
  const constrained = constraint?.();
  const lastOf = (known: readonly number[], count: number): Int32Array =>
    count > 0 ? Int32Array.from([...prompt.slice(-count), ...known.slice(-count)].slice(-count)) : NO_TOKENS;
  return (known, index) => {
    constrained?.read(known);
    return {
      ...fixed,
      recent: lastOf(known, counted - (index - known.length)),
      step: index,
      ...moving,
      ...(dry === undefined ? {} : { dry: { ...dry, tokens: lastOf(known, dry.last) } }),
      ...(constrained === undefined ? {} : { constraint: constrained }),
    };
  };
}
