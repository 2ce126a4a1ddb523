/** The request of the run tab, and the parts of an answer. */
import type { StreamInputOf } from "../../../main/contract/contract.ts";
import type { Reply } from "../../../main/contract/views/chat.ts";
import type { Precision } from "../../../main/contract/views/graph.ts";
import type { CacheType, Truth } from "../../../main/contract/views/common.ts";
import type { RunDevice } from "../../../main/contract/views/engine.ts";
import { DEFAULT_DEVICE } from "../../../main/contract/views/engine.ts";
import type { RunStats, Sampling, SamplingNumber, TokenView } from "../../../main/contract/views/run.ts";
import { readTokenBias, SAMPLING_DEFAULTS, SAMPLING_NUMBERS } from "../../../main/contract/views/run.ts";
import type { WireError } from "../../../main/diagnostics/errors.ts";
import type { Attachment } from "./attachments.ts";
import { promptWith } from "./attachments.ts";

export interface Answer {
  /** The device that the engine reports; null before the answer begins. */
  readonly device: RunDevice | null;
  /** As it was written, marks included where they are text. */
  readonly text: string;
  /** What it consists of: reasoning, words, calls of tools. */
  readonly reply: Reply;
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

/** What a tool gave, for the call that asked for it. */
export interface ToolResult {
  readonly callId: string;
  readonly name: string;
  readonly content: string;
}

/** A question, or the results of the calls of the turn before, and the answer. */
export interface Turn {
  readonly id: number;
  /** The turn before it; null: it is the first. */
  readonly after: number | null;
  /** As it was typed. */
  readonly prompt: string;
  /** Files that went with it. */
  readonly attachments: readonly Attachment[];
  /** Empty for a question. */
  readonly results: readonly ToolResult[];
  readonly answer: Answer;
}

export interface RunParameters extends Readonly<Record<SamplingNumber, number>> {
  readonly device: RunDevice;
  readonly seed: number | null;
  readonly maxTokens: number;
  /** Tokens that prompt and answers share; null: as the model was opened. */
  readonly context: number | null;
  /** In which floats the CPU engine or MLX computes. */
  readonly precision: Precision;
  /** Of keys and values; null: the device's own. */
  readonly cacheType: CacheType | null;
  readonly system: string;
  readonly stop: string;
  /** `<token>=<bias>`, one a line. */
  readonly logitBias: string;
  /** GBNF that the answer has to follow; empty for none. */
  readonly grammar: string;
  /** A JSON schema that the answer has to follow; empty for none. Where it is set, the grammar does not count. */
  readonly jsonSchema: string;
  /** JSON list of the functions that the model may call; empty for none. */
  readonly tools: string;
  /** Which of them the model calls: `auto` (as it likes), `none`, `required`, or the name of one. */
  readonly toolChoice: string;
  /** `<name>=<value>` for the chat template, one a line. */
  readonly variables: string;
}

type TokenBias = NonNullable<Sampling["logitBias"]>[number];

export type RunMode = "chat" | "completion";

export const EMPTY_REPLY: Reply = { reasoning: "", content: "", calls: [], notes: [] };

export const EMPTY_ANSWER: Answer = {
  device: null,
  text: "",
  reply: EMPTY_REPLY,
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
  precision: "f32",
  cacheType: null,
  system: "",
  stop: "",
  logitBias: "",
  grammar: "",
  jsonSchema: "",
  tools: "",
  toolChoice: "auto",
  variables: "",
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

/** A list of tools, or what is wrong with it. */
function readTools(text: string): readonly unknown[] | string {
  if (text.trim() === "") return [];
  try {
    const value: unknown = JSON.parse(text);
    return Array.isArray(value) ? value : "This is not a list. Put the functions between [ and ].";
  } catch (error) {
    return error instanceof Error ? error.message : "This is not JSON.";
  }
}

/** What is wrong with a list of tools; null for nothing. */
export function wrongTools(text: string): string | null {
  const read = readTools(text);
  return typeof read === "string" ? read : null;
}

const fieldOf = (value: unknown, key: string): unknown =>
  typeof value === "object" && value !== null ? (Reflect.get(value, key) as unknown) : undefined;

/** Names of the tools in a list; none while it cannot be read. */
export function toolNames(text: string): readonly string[] {
  const read = readTools(text);
  if (typeof read === "string") return [];
  const names = read.map((tool) => fieldOf(fieldOf(tool, "function") ?? tool, "name"));
  return [...new Set(names.filter((name) => typeof name === "string"))];
}

const VARIABLE = /^\s*([A-Za-z_]\w*)\s*=(.*)$/su;
/** Lines that give no variable: they are left out. */
export const wrongVariables = (text: string): readonly string[] => lines(text).filter((line) => !VARIABLE.test(line));

const variablesOf = (text: string): Readonly<Record<string, string>> =>
  Object.fromEntries(
    lines(text).flatMap((line) => {
      const [, name, value] = VARIABLE.exec(line) ?? [];
      return name === undefined || value === undefined ? [] : [[name, value.trim()] as const];
    }),
  );

/** The lines of two lists that count, as a command line takes them. */
export const usableLines = ({
  logitBias,
  variables,
}: Pick<RunParameters, "logitBias" | "variables">): Pick<RunParameters, "logitBias" | "variables"> => ({
  logitBias: lines(logitBias)
    .filter((line) => readTokenBias(line) !== null)
    .join("\n"),
  variables: Object.entries(variablesOf(variables))
    .map((pair) => pair.join("="))
    .join("\n"),
});

type Chat = Extract<StreamInputOf<"run.start">["prompt"], { readonly kind: "chat" }>;

/** What a template is told besides the messages. */
export function chatOptions({
  tools,
  toolChoice,
  variables,
}: Pick<RunParameters, "tools" | "toolChoice" | "variables">): Omit<Chat, "kind" | "messages"> {
  const named = variablesOf(variables);
  return {
    // Without tools there is nothing to choose.
    ...(tools.trim() === "" ? {} : { tools, toolChoice }),
    ...(Object.keys(named).length === 0 ? {} : { variables: named }),
  };
}

/** What was asked: a question, or results. */
export type Asked = Pick<Turn, "prompt" | "results" | "attachments">;

export const askedMessages = ({ prompt, results, attachments }: Asked): Chat["messages"] =>
  results.length === 0
    ? [{ role: "user", content: promptWith(prompt, attachments) }]
    : results.map(({ callId, name, content }) => ({ role: "tool", content, callId, name }));

export function answerMessage({ reply: { reasoning, content, calls } }: Answer): Chat["messages"][number] {
  return {
    role: "assistant",
    content,
    ...(reasoning === "" ? {} : { reasoning }),
    ...(calls.length === 0 ? {} : { calls: [...calls] }),
  };
}

/** The request for the next answer: the whole conversation, or the text to go on from. */
export function runRequest(
  model: string,
  mode: RunMode,
  turns: readonly Turn[],
  asked: Asked,
  parameters: RunParameters,
): StreamInputOf<"run.start"> {
  const { device, system, stop, maxTokens, context, precision, cacheType, logitBias, seed } = parameters;
  const sampling: Partial<Sampling> = {
    ...Object.fromEntries(SAMPLING_NUMBERS.map((name) => [name, parameters[name]])),
    seed,
    ...answerForm(parameters),
    ...(logitBias === "" ? {} : { logitBias: biasesOf(logitBias) }),
  };
  const history = turns
    .filter(({ answer }) => answer.error === null)
    .flatMap((turn) => [...askedMessages(turn), answerMessage(turn.answer)]);
  const messages = [
    ...(system.trim() === "" ? [] : [{ role: "system" as const, content: system }]),
    ...history,
    ...askedMessages(asked),
  ];
  return {
    model,
    device,
    prompt:
      mode === "chat"
        ? { kind: "chat", messages, ...chatOptions(parameters) }
        : { kind: "completion", text: promptWith(asked.prompt, asked.attachments) },
    sampling,
    stop: [...lines(stop)],
    maxTokens,
    context,
    precision,
    ...(cacheType !== null && { cacheType }),
  };
}
