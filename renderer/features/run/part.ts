/** What a session keeps of the run tab: the conversation with its parameters, and the runs before it. */
import { z } from "zod";
import type { View } from "../../../main/contract/define.ts";
import { chatMessage, reply } from "../../../main/contract/views/chat.ts";
import { truth } from "../../../main/contract/views/common.ts";
import { runDevice } from "../../../main/contract/views/engine.ts";
import { runStats, SAMPLING_NUMBERS, tokenView } from "../../../main/contract/views/run.ts";
import type { SamplingNumber } from "../../../main/contract/views/run.ts";
import { isErrorCode } from "../../../main/diagnostics/errors.ts";
import type { WireError } from "../../../main/diagnostics/errors.ts";
import { documentPart } from "../../session/document.ts";
import type { HistorySlice } from "./historySlice.ts";
import { KEPT_RUNS } from "./history.ts";
import type { PairSide } from "./pair.ts";
import { PAIR_ORDERS } from "./pair.ts";
import type { PairSlice } from "./pairSlice.ts";
import type { Answer } from "./request.ts";
import type { RunState, TalkSlice } from "./slice.ts";

/** Tokens whose chances are kept, the newest answers first: they take a hundred times the room of their text. */
export const MOST_TOKENS = 4000;

const text = z.string();
const mode = z.enum(["chat", "completion"]);
const samplingNumbers = Object.fromEntries(SAMPLING_NUMBERS.map((name) => [name, z.number()])) as Record<
  SamplingNumber,
  z.ZodNumber
>;
const parameters = z.object({
  ...samplingNumbers,
  device: runDevice,
  seed: z.number().nullable(),
  maxTokens: z.number(),
  context: z.number().nullable(),
  system: text,
  stop: text,
  logitBias: text,
  grammar: text,
  jsonSchema: text,
  tools: text,
  toolChoice: text,
  variables: text,
});
const isText = (value: unknown): boolean => typeof value === "string";
/** Its details are for the moment in which it is shown. */
const error = z.custom<Pick<WireError, "code" | "message" | "hint">>((value) => {
  if (typeof value !== "object" || value === null) return false;
  const { code, message, hint } = value as { readonly [key: string]: unknown };
  return isErrorCode(code) && isText(message) && (hint === undefined || isText(hint));
}, "expected an error");
const answer = z.object({
  device: runDevice.nullable(),
  text,
  reply,
  tokens: z.array(tokenView),
  stats: runStats.nullable(),
  truth,
  seed: z.number().nullable(),
  end: text.nullable(),
  cut: z.boolean(),
  error: error.nullable(),
});
const result = z.object({ callId: text, name: text, content: text });
const turn = z.object({ id: z.number(), prompt: text, results: z.array(result), answer });
const side = z.object({ id: z.number(), parameters, answer });
const pair = z.object({
  ...{ id: z.number(), prompt: text, mode, order: z.enum(PAIR_ORDERS), seed: z.number() },
  ...{ left: side, right: side },
});

const LEFT = "Not finished: its model or its window was closed.";

/** An answer as it is kept: one that still goes on ends with its window. */
const keptAnswer = ({ error: failure, end, cut, ...rest }: Answer, tokens: Answer["tokens"]): View<typeof answer> => {
  const isOpen = end === null && failure === null;
  return {
    ...rest,
    tokens,
    end: isOpen ? LEFT : end,
    cut: cut || isOpen,
    error:
      failure === null
        ? null
        : {
            code: failure.code,
            message: failure.message,
            ...(failure.hint === undefined ? {} : { hint: failure.hint }),
          },
  };
};

/** Gives each answer, newest first, its tokens while there is room. */
function tokenBudget(): (answer: Answer) => Answer["tokens"] {
  let left = MOST_TOKENS;
  return ({ tokens }) => {
    if (tokens.length > left) return [];
    left -= tokens.length;
    return tokens;
  };
}

export const talkPart = documentPart<TalkSlice & PairSlice, RunState>()({
  name: "talk",
  of: "model",
  schema: z.object({
    mode,
    draft: text,
    turns: z.array(turn),
    pairs: z.array(pair),
    beside: runDevice.nullable(),
    parameters,
  }),
  save({ runMode, draft, turns, pairTurns, beside, parameters: asked }) {
    const tokensOf = tokenBudget();
    const kept = (each: Answer): View<typeof answer> => keptAnswer(each, tokensOf(each));
    const keptSide = ({ id, parameters: own, answer: each }: PairSide): View<typeof side> => ({
      ...{ id, parameters: own },
      answer: kept(each),
    });
    return {
      mode: runMode,
      draft,
      turns: turns
        .toReversed()
        .map((each) => ({ ...each, answer: kept(each.answer) }))
        .reverse(),
      pairs: pairTurns
        .toReversed()
        .map(({ sides: [left, right], ...rest }) => ({ ...rest, left: keptSide(left), right: keptSide(right) }))
        .reverse(),
      beside,
      parameters: asked,
    };
  },
  restore({ mode: runMode, draft, turns, pairs, beside, parameters: asked }, { set }) {
    const done = (each: View<typeof side>): PairSide => ({ ...each, state: "done", sentence: "", rates: [] });
    set({
      runMode,
      draft,
      turns,
      pairTurns: pairs.map(({ left, right, ...rest }) => ({ ...rest, sides: [done(left), done(right)] })),
      beside,
      parameters: asked,
    });
  },
});

const record = z.object({
  ...{ id: z.number(), at: z.number(), mode, prompt: text, messages: z.array(chatMessage), parameters },
  ...{ device: runDevice, pair: z.number().nullable(), seed: z.number().nullable(), text, reply },
  ...{ stats: runStats.nullable(), truth, end: text, errorCode: text.nullable() },
});

export const runsPart = documentPart<HistorySlice>()({
  name: "runs",
  of: "model",
  schema: z.array(record).max(KEPT_RUNS),
  save: ({ runHistory }) => (runHistory.length === 0 ? null : runHistory),
  restore: (runHistory, { set }) => set({ runHistory }),
});
