/**
 * The runs of this session: input, output and speed; two of them side by side; all of them as JSON.
 */
import type { StreamInputOf } from "../../../main/contract/contract.ts";
import type { Reply } from "../../../main/contract/views/chat.ts";
import type { Figure } from "../../../main/contract/views/common.ts";
import type { RunDevice } from "../../../main/contract/views/engine.ts";
import type { RunStats } from "../../../main/contract/views/run.ts";
import { SAMPLING_NUMBERS, samplingWords } from "../../../main/contract/views/run.ts";
import type { Answer, RunMode, RunParameters } from "./request.ts";

export type Messages = Extract<StreamInputOf<"run.start">["prompt"], { readonly kind: "chat" }>["messages"];

export interface RunRecord {
  readonly id: number;
  /** Milliseconds since 1970, when it ended. */
  readonly at: number;
  readonly mode: RunMode;
  readonly prompt: string;
  /** All that was sent in a chat, the prompt last; none in a completion. */
  readonly messages: Messages;
  readonly parameters: RunParameters;
  /** The device of the answer: as reported by the engine, or as requested if it never began. */
  readonly device: RunDevice;
  /** The question that several columns answered; all of its runs have the same number. */
  readonly pair: number | null;
  /** The title of the model that answered; null: the open one. */
  readonly model: string | null;
  /** The seed that was used, also where a fresh one was asked for. */
  readonly seed: number | null;
  readonly text: string;
  readonly reply: Reply;
  readonly stats: RunStats | null;
  readonly truth: Answer["truth"];
  readonly end: string;
  readonly errorCode: string | null;
}

/** "Chat 3": two runs of the same second have names of their own. */
export const runName = ({ id, mode }: Pick<RunRecord, "id" | "mode">): string =>
  `${mode === "chat" ? "Chat" : "Text"} ${id}`;

export type AskedRun = Pick<RunRecord, "mode" | "prompt" | "messages" | "parameters" | "pair" | "model">;

export const KEPT_RUNS = 100;

export function recordOf(
  id: number,
  at: number,
  { mode, prompt, messages, parameters, pair, model }: AskedRun,
  answer: Answer,
): RunRecord {
  const { device, seed, text, reply, stats, truth, end, error } = answer;
  return {
    id,
    at,
    mode,
    prompt,
    messages,
    parameters,
    device: device ?? parameters.device,
    pair,
    model,
    seed,
    text,
    reply,
    stats,
    truth,
    end: end ?? "The run ended without a report.",
    errorCode: error?.code ?? null,
  };
}

export interface ComparedRow {
  readonly label: string;
  readonly left: Figure | null;
  readonly right: Figure | null;
  /** Right to left, where both are known. */
  readonly ratio: number | null;
}

/** The speeds of two runs. One run each: there is no interval, and the window says so. */
export function compareSpeeds(left: RunStats | null, right: RunStats | null): readonly ComparedRow[] {
  const row = (label: string, take: (stats: RunStats) => Figure | null): ComparedRow => {
    const [a, b] = [left === null ? null : take(left), right === null ? null : take(right)];
    return { label, left: a, right: b, ratio: a === null || b === null || a.value === 0 ? null : b.value / a.value };
  };
  return [
    row("decode", ({ rate }) => rate),
    row("prefill", ({ promptRate }) => promptRate),
    row("first token after", ({ firstTokenSeconds }) => firstTokenSeconds),
  ];
}

/** Too long to be shown in a list of changes. */
const TEXTS: ReadonlySet<string> = new Set([
  "system",
  "stop",
  "logitBias",
  "grammar",
  "jsonSchema",
  "tools",
  "variables",
]);

const NAMES: readonly (readonly [keyof RunParameters, string])[] = [
  ...SAMPLING_NUMBERS.map((name) => [name, samplingWords(name)] as const),
  ["logitBias", "logit biases"],
  ["grammar", "grammar"],
  ["jsonSchema", "JSON schema"],
  ["tools", "list of tools"],
  ["toolChoice", "use of tools"],
  ["variables", "set of template variables"],
  ["maxTokens", "max tokens"],
  ["context", "context"],
  ["precision", "precision"],
  ["cacheType", "cache type"],
  ["system", "system prompt"],
  ["stop", "stop sequences"],
];

/** The system prompt is a parameter, and the last message is the prompt. */
const talkBefore = ({ messages }: RunRecord): string =>
  JSON.stringify(messages.filter(({ role }) => role !== "system").slice(0, -1));

/** "temperature 0.7 → 0, seed 3 → 4": what was asked for differently; empty when nothing was. */
export function changedParameters(left: RunRecord, right: RunRecord): readonly string[] {
  const changes = NAMES.filter(([key]) => left.parameters[key] !== right.parameters[key]).map(([key, name]) =>
    TEXTS.has(key)
      ? `another ${name}`
      : `${name} ${left.parameters[key] ?? "as opened"} → ${right.parameters[key] ?? "as opened"}`,
  );
  if (left.model !== right.model) changes.push(`model ${left.model ?? "as opened"} → ${right.model ?? "as opened"}`);
  if (left.device !== right.device) changes.push(`device ${left.device} → ${right.device}`);
  if (left.seed !== right.seed) changes.push(`seed ${left.seed ?? "–"} → ${right.seed ?? "–"}`);
  if (left.mode !== right.mode) changes.push(`${left.mode} → ${right.mode}`);
  if (left.prompt !== right.prompt) changes.push("another prompt");
  if (talkBefore(left) !== talkBefore(right)) changes.push("another conversation before it");
  return changes;
}

export interface RunOrigin {
  readonly model: string;
  readonly headerHash: string | null;
  readonly machine: string;
  readonly engine: string;
}

/**
 * Everything needed to repeat the runs and to compare them: model, parameters, seeds, numbers,
 * texts.
 */
export function runsJson(origin: RunOrigin, runs: readonly RunRecord[]): string {
  const value = (figure: Figure | null): number | null => figure?.value ?? null;
  return JSON.stringify(
    {
      format: "rlx-runs",
      version: 1,
      ...origin,
      runs: runs.map(
        ({
          at,
          mode,
          prompt,
          messages,
          parameters,
          device,
          pair,
          model,
          seed,
          text,
          reply,
          stats,
          truth,
          end,
          errorCode,
        }) => ({
          at: new Date(at).toISOString(),
          mode,
          prompt,
          messages,
          parameters: { ...parameters, seed: seed ?? parameters.seed },
          device,
          sideBySide: pair,
          ...(model === null ? {} : { model }),
          text,
          reply,
          end,
          error: errorCode,
          truth,
          promptTokens: stats?.promptTokens ?? null,
          reusedTokens: stats?.reusedTokens ?? null,
          recomputed: stats?.recomputed ?? null,
          generatedTokens: stats?.generated ?? null,
          firstTokenSeconds: value(stats?.firstTokenSeconds ?? null),
          promptTokensPerSecond: value(stats?.promptRate ?? null),
          tokensPerSecond: value(stats?.rate ?? null),
        }),
      ),
    },
    null,
    2,
  );
}
