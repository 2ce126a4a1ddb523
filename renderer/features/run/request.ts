/** The request of the run tab, and the parts of an answer. */
import type { StreamInputOf } from "../../../main/contract/contract.ts";
import type { Truth } from "../../../main/contract/views/common.ts";
import type { RunDevice } from "../../../main/contract/views/engine.ts";
import { DEFAULT_DEVICE } from "../../../main/contract/views/engine.ts";
import type { RunStats, Sampling, SamplingNumber, TokenView } from "../../../main/contract/views/run.ts";
import { readTokenBias, SAMPLING_DEFAULTS, SAMPLING_NUMBERS } from "../../../main/contract/views/run.ts";
import type { WireError } from "../../../main/diagnostics/errors.ts";

export interface Answer {
  /** The device that the engine reports; null before the answer begins. */
  readonly device: RunDevice | null;
  readonly text: string;
  readonly tokens: readonly TokenView[];
  readonly stats: RunStats | null;
  readonly truth: Truth;
  readonly seed: number | null;
  /** Why it ended; null while it goes on. */
  readonly end: string | null;
  /** Stopped, failed or never begun: its end is not the model's. */
  readonly cut: boolean;
  readonly error: WireError | null;
}

export interface Turn {
  readonly id: number;
  readonly prompt: string;
  readonly answer: Answer;
}

export interface RunParameters extends Readonly<Record<SamplingNumber, number>> {
  readonly device: RunDevice;
  readonly seed: number | null;
  readonly maxTokens: number;
  /** Tokens that prompt and answers share; null: as the model was opened. */
  readonly context: number | null;
  readonly system: string;
  readonly stop: string;
  /** `<token>=<bias>`, one a line. */
  readonly logitBias: string;
  /** GBNF that the answer has to follow; empty for none. */
  readonly grammar: string;
  /** A JSON schema that the answer has to follow; empty for none. Where it is set, the grammar does not count. */
  readonly jsonSchema: string;
}

type TokenBias = NonNullable<Sampling["logitBias"]>[number];

export type RunMode = "chat" | "completion";

export const EMPTY_ANSWER: Answer = {
  device: null,
  text: "",
  tokens: [],
  stats: null,
  truth: "measured",
  seed: null,
  end: null,
  cut: false,
  error: null,
};

export const DEFAULT_PARAMETERS: RunParameters = {
  ...SAMPLING_DEFAULTS,
  device: DEFAULT_DEVICE,
  seed: null,
  maxTokens: 512,
  context: null,
  system: "",
  stop: "",
  logitBias: "",
  grammar: "",
  jsonSchema: "",
};

const lines = (text: string): readonly string[] => text.split("\n").filter((line) => line !== "");

/** The lines of a list of biases that say none: they are left out. */
export const wrongBiases = (text: string): readonly string[] =>
  lines(text).filter((line) => readTokenBias(line) === null);

/** What the answer has to be: one of the two. */
export const answerForm = ({
  grammar = "",
  jsonSchema = "",
}: Partial<Pick<RunParameters, "grammar" | "jsonSchema">>): Partial<Record<"grammar" | "jsonSchema", string>> =>
  jsonSchema.trim() !== "" ? { jsonSchema } : grammar.trim() !== "" ? { grammar } : {};

const biasesOf = (text: string): readonly TokenBias[] => lines(text).flatMap((line) => readTokenBias(line) ?? []);

/** The request for the next answer: the whole conversation, or the text to go on from. */
export function runRequest(
  model: string,
  mode: RunMode,
  turns: readonly Turn[],
  prompt: string,
  parameters: RunParameters,
): StreamInputOf<"run.start"> {
  const { device, system, stop, maxTokens, context, logitBias, seed } = parameters;
  const sampling: Partial<Sampling> = {
    ...Object.fromEntries(SAMPLING_NUMBERS.map((name) => [name, parameters[name]])),
    seed,
    ...answerForm(parameters),
    ...(logitBias === "" ? {} : { logitBias: biasesOf(logitBias) }),
  };
  const history = turns
    .filter(({ answer }) => answer.error === null)
    .flatMap((turn) => [
      { role: "user" as const, content: turn.prompt },
      { role: "assistant" as const, content: turn.answer.text },
    ]);
  const messages = [
    ...(system.trim() === "" ? [] : [{ role: "system" as const, content: system }]),
    ...history,
    { role: "user" as const, content: prompt },
  ];
  return {
    model,
    device,
    prompt: mode === "chat" ? { kind: "chat", messages } : { kind: "completion", text: prompt },
    sampling,
    stop: [...lines(stop)],
    maxTokens,
    context,
  };
}
