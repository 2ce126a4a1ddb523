/** What a session keeps of the run tab: the conversations with their parameters, the columns, and the runs before. */
import { z } from "zod";
import type { View } from "../../../main/contract/define.ts";
import { chatMessage, reply } from "../../../main/contract/views/chat.ts";
import { cacheType, truth } from "../../../main/contract/views/common.ts";
import { runDevice } from "../../../main/contract/views/engine.ts";
import { precision } from "../../../main/contract/views/graph.ts";
import { runStats, SAMPLING_NUMBERS, tokenView } from "../../../main/contract/views/run.ts";
import type { SamplingNumber } from "../../../main/contract/views/run.ts";
import { isErrorCode } from "../../../main/diagnostics/errors.ts";
import type { WireError } from "../../../main/diagnostics/errors.ts";
import { documentPart } from "../../session/document.ts";
import type { HistorySlice } from "./historySlice.ts";
import { KEPT_RUNS } from "./history.ts";
import type { Column, ColumnTurn } from "./columns.ts";
import { COLUMN_ORDERS, MOST_COLUMNS } from "./columns.ts";
import type { ColumnsSlice } from "./columnsSlice.ts";
import { linked } from "./conversation.ts";
import type { ConversationSlice } from "./conversationSlice.ts";
import { MOST_CONVERSATIONS } from "./conversationSlice.ts";
import type { Answer, Turn } from "./request.ts";
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
  precision: precision.default("f32"),
  cacheType: cacheType.nullable().default(null),
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
const attachments = z.array(z.object({ name: text, bytes: z.number(), text })).default([]);
const turn = z.object({
  ...{ id: z.number(), prompt: text, results: z.array(result), answer, attachments },
  /** Documents from before conversations had several ways do not say it. */
  after: z.number().nullable().optional(),
});
const otherModel = z.object({ path: text, title: text });
const column = z.object({ id: z.number(), parameters, answer, model: otherModel.nullable().default(null) });
const columnTurn = z.object({
  ...{ id: z.number(), prompt: text, mode, order: z.enum(COLUMN_ORDERS), seed: z.number(), attachments },
  /** As they were named while there were two. */
  ...{ left: column.optional(), right: column.optional() },
  columns: z.array(column).max(MOST_COLUMNS).default([]),
});
const head = { id: z.number(), name: text.nullable(), at: z.number() };
const conversation = z.object({
  ...head,
  ...{ mode, draft: text, system: text, attachments, turns: z.array(turn), others: z.array(turn) },
  columnTurns: z.array(columnTurn),
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

const doneColumn = (each: View<typeof column>): Column => ({ ...each, state: "done", sentence: "", rates: [] });
const restoredTurns = (turns: readonly View<typeof columnTurn>[]): readonly ColumnTurn[] =>
  turns.map(({ left, right, columns, ...rest }) => ({
    ...rest,
    columns: [left, right, ...columns].flatMap((each) => (each === undefined ? [] : [doneColumn(each)])),
  }));

/** Turns as they are kept, newest first while there is room for the chances of their tokens. */
function keeper(): {
  readonly turns: (all: readonly Turn[]) => View<typeof turn>[];
  readonly columnTurns: (all: readonly ColumnTurn[]) => View<typeof columnTurn>[];
} {
  const tokensOf = tokenBudget();
  const kept = (each: Answer): View<typeof answer> => keptAnswer(each, tokensOf(each));
  return {
    turns: (all) =>
      all
        .toReversed()
        .map((each) => ({ ...each, answer: kept(each.answer) }))
        .reverse(),
    columnTurns: (all) =>
      all
        .toReversed()
        .map(({ columns, ...rest }) => ({
          ...rest,
          columns: columns.map(({ id, parameters: own, answer: each, model }) => ({
            ...{ id, parameters: own, model },
            answer: kept(each),
          })),
        }))
        .reverse(),
  };
}

export const talkPart = documentPart<TalkSlice & ColumnsSlice & ConversationSlice, RunState>()({
  name: "talk",
  of: "model",
  schema: z.object({
    ...{ mode, draft: text, attachments, turns: z.array(turn), parameters },
    /** Absent in documents from before there were several conversations. */
    conversation: z.object(head).optional(),
    others: z.array(turn).default([]),
    conversations: z.array(conversation).max(MOST_CONVERSATIONS).default([]),
    pairs: z.array(columnTurn),
  }),
  save(state) {
    const keep = keeper();
    const { runMode, draft, attachments: files, turns, columnTurns, parameters: asked, others } = state;
    return {
      ...{ mode: runMode, draft, attachments: files, parameters: asked, conversation: state.conversation },
      ...{ turns: keep.turns(turns), pairs: keep.columnTurns(columnTurns) },
      conversations: state.conversations.map((each) => ({
        ...each,
        ...{ turns: keep.turns(each.turns), columnTurns: keep.columnTurns(each.columnTurns) },
        others: keep.turns(each.others),
      })),
      others: keep.turns(others),
    };
  },
  restore(kept, { set, get }) {
    const { mode: runMode, draft, attachments: files, parameters: asked } = kept;
    const { turns, others } = linked(kept.turns, kept.others);
    set({
      ...{ runMode, draft, attachments: files, parameters: asked, turns, others },
      columnTurns: restoredTurns(kept.pairs),
      conversation: kept.conversation ?? get().conversation,
      conversations: kept.conversations.map((each) => ({
        ...each,
        ...linked(each.turns, each.others),
        columnTurns: restoredTurns(each.columnTurns),
      })),
    });
  },
});

export const columnsPart = documentPart<ColumnsSlice>()({
  name: "columns",
  of: "model",
  schema: z.object({
    order: z.enum(COLUMN_ORDERS),
    /** With the files of other models. */
    paths: z
      .array(z.object({ device: runDevice, model: otherModel.nullable() }))
      .max(MOST_COLUMNS - 1)
      .default([]),
  }),
  save: ({ beside, columnOrder: order }) => (beside.length === 0 ? null : { order, paths: [...beside] }),
  restore: ({ order, paths }, { set }) => set({ columnOrder: order, beside: paths }),
});

const record = z.object({
  ...{ id: z.number(), at: z.number(), mode, prompt: text, messages: z.array(chatMessage), parameters },
  ...{ device: runDevice, pair: z.number().nullable(), seed: z.number().nullable(), text, reply },
  model: text.nullable().default(null),
  ...{ stats: runStats.nullable(), truth, end: text, errorCode: text.nullable() },
});

export const runsPart = documentPart<HistorySlice>()({
  name: "runs",
  of: "model",
  schema: z.array(record).max(KEPT_RUNS),
  save: ({ runHistory }) => (runHistory.length === 0 ? null : runHistory),
  restore: (runHistory, { set }) => set({ runHistory }),
});
