/**
 * What is asked of the draws of an answer, at three levels: `SamplingSettings` as people write them, `PreparedSampling` with
 * everything that needs a vocabulary looked up, and the `SampleOptions` of each token, which `startChain` gives.
 */
import { WorkbenchError } from "../../diagnostics/errors.ts";
import type { Dry, LogitBias, Mirostat, SampleOptions, TokenConstraint, Xtc } from "../../ir/session.ts";
import type { SamplingNumber, SamplingNumbers } from "../../ir/samplingRanges.ts";
import {
  DRY_BREAKERS,
  isInSamplingRange,
  isWhole,
  SAMPLING_DEFAULTS,
  SAMPLING_NUMBERS,
  SAMPLING_RANGES,
} from "../../ir/samplingRanges.ts";
import type { Steps } from "../../ir/steps.ts";
import type { BreakerSource } from "./dry.ts";
import { breakersOf } from "./dry.ts";
import type { AnswerForm, AnswerForms, GrammarVocabulary } from "./grammars.ts";
import { constraintOf } from "./grammars.ts";

/** What every engine draws by, and how many of the last tokens the penalties look at. */
export type PlainSampling = { readonly seed: number } & Pick<
  SamplingNumbers,
  "temperature" | "topK" | "topP" | "minP" | "repeatPenalty" | "repeatLast"
>;

/** Added to the logit of a token, named by its id, or by a text that is one token. -Infinity bans it. */
export interface TokenBias {
  readonly token: number | string;
  readonly bias: number;
}

/**
 * - `frequencyPenalty`, `presencePenalty`: taken from a token's logit for each time that it is among the last tokens, and once
 * - `typicalP`: 1 is off; `xtcProbability`, `dryMultiplier`, `mirostat`: 0 is off, `mirostat` 1 and 2 are its versions
 * - `xtcThreshold`: above 0.5 XTC does nothing
 * - `dryAllowedLength`: repetitions up to it cost nothing; `dryLast`: tokens that DRY looks at
 * - `mirostatTau`: bits of surprise to aim at; `mirostatEta`: how fast it corrects itself
 */
export type SamplingSettings = PlainSampling & {
  readonly [K in Exclude<SamplingNumber, keyof PlainSampling>]?: number | undefined;
} & {
  /** Texts that end a repetition for DRY; by default a line end, a colon, a quotation mark and an asterisk. */
  readonly dryBreakers?: readonly string[] | undefined;
  readonly logitBias?: readonly TokenBias[] | undefined;
  /** GBNF: the answer is a text of this grammar. */
  readonly grammar?: string | undefined;
  /** The answer is JSON that this schema takes: the schema, or its text. */
  readonly jsonSchema?: string | boolean | object | undefined;
};

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
export interface SamplingSource extends BreakerSource, GrammarVocabulary {
  /** Tokens that the file wants never to be drawn. */
  readonly suppressed?: readonly number[];
}

/**
 * Looks up tokens, reads the grammar, and leaves out what is off. A grammar's first use of a vocabulary takes a moment.
 * `forms`: what the conversation says of the answer's form.
 */
export function* prepareSampling(
  settings: SamplingSettings,
  source: SamplingSource,
  forms: AnswerForms = {},
): Steps<PreparedSampling> {
  checkRanges(settings);
  const form = formOf(settings, forms);
  const constraint = form === undefined ? {} : { constraint: yield* constraintOf(form, source) };
  const { temperature, topK, topP, minP, repeatPenalty, repeatLast, seed } = settings;
  const number = (name: SamplingNumber): number => settings[name] ?? SAMPLING_DEFAULTS[name];
  const given = <K extends SamplingNumber>(name: K, off: number): { readonly [N in K]?: number } =>
    number(name) === off ? {} : ({ [name]: number(name) } as { readonly [N in K]: number });
  const version = number("mirostat");
  const bans = (source.suppressed ?? []).map((token) => ({ token, bias: -Infinity }));
  const bias = biasesOf([...bans, ...(settings.logitBias ?? [])], source);
  return {
    ...{ temperature, topK, topP, minP, repeatPenalty, repeatLast, seed },
    ...constraint,
    ...given("frequencyPenalty", 0),
    ...given("presencePenalty", 0),
    ...given("typicalP", 1),
    ...(bias.length === 0 ? {} : { logitBias: bias }),
    ...(number("xtcProbability") === 0
      ? {}
      : { xtc: { probability: number("xtcProbability"), threshold: number("xtcThreshold") } }),
    ...(number("dryMultiplier") === 0
      ? {}
      : {
          dry: {
            multiplier: number("dryMultiplier"),
            base: number("dryBase"),
            allowedLength: number("dryAllowedLength"),
            last: number("dryLast"),
            breakers: cachedBreakers(source, settings.dryBreakers ?? DRY_BREAKERS),
          },
        }),
    ...(version === 0
      ? {}
      : {
          mirostat: {
            version: version === 1 ? 1 : 2,
            tau: number("mirostatTau"),
            eta: number("mirostatEta"),
          },
        }),
  };
}

function formOf(
  { grammar, jsonSchema }: SamplingSettings,
  { form: calls, jsonForm }: AnswerForms,
): AnswerForm | undefined {
  if (grammar !== undefined && jsonSchema !== undefined)
    throw new WorkbenchError("INPUT_ARGUMENT", "[sampling] got a grammar and a JSON schema, expected one of them");
  if (calls !== undefined && (grammar ?? jsonSchema) !== undefined)
    throw new WorkbenchError(
      "INPUT_ARGUMENT",
      "[sampling] got a tool choice beside a grammar or a JSON schema, expected one of them",
      { hint: "Leave the tool choice at auto, or leave the grammar out." },
    );
  if (calls !== undefined) return calls;
  if (grammar !== undefined) return { kind: "grammar", text: grammar };
  if (jsonSchema === undefined) return undefined;
  const text = typeof jsonSchema === "string" ? jsonSchema : JSON.stringify(jsonSchema);
  return jsonForm?.(text) ?? { kind: "jsonSchema", text };
}

function checkRanges(settings: SamplingSettings): void {
  for (const name of SAMPLING_NUMBERS) {
    const value = settings[name];
    if (value === undefined || isInSamplingRange(name, value)) continue;
    const kind = isWhole(name) ? "a whole number" : "a number";
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
