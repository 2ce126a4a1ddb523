/** The numbers that a draw is asked with: what each may be, and what it is where neither a user nor the file says. */

export const SAMPLING_RANGES = {
  temperature: [0, 10],
  topK: [0, 1_000_000],
  topP: [0, 1],
  minP: [0, 1],
  typicalP: [0, 1],
  repeatPenalty: [0.1, 10],
  repeatLast: [0, 1_000_000],
  frequencyPenalty: [-10, 10],
  presencePenalty: [-10, 10],
  xtcProbability: [0, 1],
  xtcThreshold: [0, 1],
  dryMultiplier: [0, 100],
  dryBase: [1, 100],
  dryAllowedLength: [0, 1_000_000],
  dryLast: [0, 1_000_000],
  mirostat: [0, 2],
  mirostatTau: [0, 100],
  mirostatEta: [0, 10],
} as const satisfies Readonly<Record<string, readonly [least: number, most: number]>>;

export type SamplingNumber = keyof typeof SAMPLING_RANGES;
export type SamplingNumbers = { readonly [K in SamplingNumber]: number };

export const SAMPLING_NUMBERS = Object.keys(SAMPLING_RANGES) as readonly SamplingNumber[];

/** What the command line and the window use; the steps that they name beyond the first four are off. */
export const SAMPLING_DEFAULTS: SamplingNumbers = {
  temperature: 0.7,
  topK: 40,
  topP: 0.95,
  minP: 0,
  typicalP: 1,
  repeatPenalty: 1,
  repeatLast: 64,
  frequencyPenalty: 0,
  presencePenalty: 0,
  xtcProbability: 0,
  xtcThreshold: 0.1,
  dryMultiplier: 0,
  dryBase: 1.75,
  dryAllowedLength: 2,
  // As far back as any context goes.
  dryLast: 1_000_000,
  mirostat: 0,
  mirostatTau: 5,
  mirostatEta: 0.1,
};

/** Texts at which DRY takes a repetition to end. */
export const DRY_BREAKERS: readonly string[] = ["\n", ":", '"', "*"];

const WHOLE: ReadonlySet<SamplingNumber> = new Set(["topK", "repeatLast", "dryAllowedLength", "dryLast", "mirostat"]);
export const isWhole = (name: SamplingNumber): boolean => WHOLE.has(name);

export function isInSamplingRange(name: SamplingNumber, value: number): boolean {
  const [least, most] = SAMPLING_RANGES[name];
  return value >= least && value <= most && (!isWhole(name) || Number.isInteger(value));
}
