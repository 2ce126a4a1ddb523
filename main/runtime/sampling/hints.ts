/**
 * What a file says of how its model is drawn from: `general.sampling.*`. A hint counts where the user says nothing; one that
 * cannot be followed is left out with a sentence.
 */
import type { Metadata } from "../../formats/gguf/metadata.ts";
import type { SamplingNumber, SamplingNumbers } from "../../ir/samplingRanges.ts";
import { isInSamplingRange, isWhole, SAMPLING_RANGES } from "../../ir/samplingRanges.ts";

export interface SamplingHints {
  readonly values: Partial<SamplingNumbers>;
  readonly notes: readonly string[];
}

const PREFIX = "general.sampling.";

/** The last part of a key, and the number that it stands for. */
const KEYS: Readonly<Record<string, SamplingNumber>> = {
  temp: "temperature",
  top_k: "topK",
  top_p: "topP",
  min_p: "minP",
  penalty_repeat: "repeatPenalty",
  penalty_last_n: "repeatLast",
  xtc_probability: "xtcProbability",
  xtc_threshold: "xtcThreshold",
  mirostat: "mirostat",
  mirostat_tau: "mirostatTau",
  mirostat_eta: "mirostatEta",
};

/** Below zero these mean "no limit" and "the whole context". */
const NEGATIVE: Readonly<Partial<Record<SamplingNumber, number>>> = {
  topK: 0,
  repeatLast: SAMPLING_RANGES.repeatLast[1],
};

/** The steps that `sequence` may name, and what they are where it leaves them out. */
const SEQUENCE: Readonly<Record<string, Partial<SamplingNumbers>>> = {
  penalties: { repeatPenalty: 1 },
  dry: {},
  top_k: { topK: 0 },
  typical: {},
  top_p: { topP: 1 },
  min_p: { minP: 0 },
  xtc: { xtcProbability: 0 },
  temperature: { temperature: 1 },
};
const OTHER_NAMES: ReadonlyMap<string, string> = new Map([
  ["temp", "temperature"],
  ["typ_p", "typical"],
  ["typical_p", "typical"],
  ["nucleus", "top_p"],
]);

export function samplingHints(metadata: Metadata): SamplingHints {
  const values: Partial<Record<SamplingNumber, number>> = {};
  const notes: string[] = [];
  for (const [part, name] of Object.entries(KEYS)) {
    const key = `${PREFIX}${part}`;
    const given = numberOf(metadata, key);
    if (given === undefined) continue;
    const value = given < 0 ? (NEGATIVE[name] ?? given) : given;
    if (isInSamplingRange(name, value)) values[name] = value;
    else {
      const kind = isWhole(name) ? "a whole number" : "a number";
      notes.push(`${key} is left out: got ${given}, expected ${kind} from ${SAMPLING_RANGES[name].join(" to ")}.`);
    }
  }
  const sequence = metadata.get(`${PREFIX}sequence`);
  if (sequence === undefined) return { values, notes };
  if (sequence.kind !== "string") notes.push(`${PREFIX}sequence is left out: it is no text.`);
  else {
    const names = metadata.string(`${PREFIX}sequence`).split(";").map(stepName);
    const unknown = names
      .filter((name) => !Object.hasOwn(SEQUENCE, name))
      .map((name) => JSON.stringify(name.slice(0, 40)));
    for (const [step, off] of Object.entries(SEQUENCE)) if (!names.includes(step)) Object.assign(values, off);
    if (unknown.length > 0)
      notes.push(`${PREFIX}sequence names steps that are not here: ${unknown.slice(0, 8).join(", ")}.`);
    notes.push(`${PREFIX}sequence says which steps are taken; their order is always the same.`);
  }
  return { values, notes };
}

function stepName(text: string): string {
  const name = text.trim().toLowerCase().replaceAll("-", "_");
  return OTHER_NAMES.get(name) ?? name;
}

/** As the file's author wrote it: 0.8, not the float32 beside it. */
function numberOf(metadata: Metadata, key: string): number | undefined {
  const value = metadata.get(key);
  if (value?.kind === "number") return Number(value.value.toPrecision(7));
  if (value?.kind === "big") return Number(value.value);
  return undefined;
}
