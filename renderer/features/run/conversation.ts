/**
 * A conversation: turns in a tree. What is shown is one way through it; an edited question or a new answer begins another way at
 * that turn, and none is lost. A turn's number is larger than that of the turn before it, so ways end.
 */
import type { Conversation as ConversationFile } from "../../../main/contract/views/conversation.ts";
import type { Attachment } from "./attachments.ts";
import type { Column, ColumnTurn } from "./columns.ts";
import type { Answer, RunMode, Turn } from "./request.ts";
import { answerMessage, askedMessages } from "./request.ts";

export interface ConversationHead {
  readonly id: number;
  /** As a person named it; null: after its first words. */
  readonly name: string | null;
  /** When it was asked something last, in milliseconds since 1970; 0: not yet. */
  readonly at: number;
}

export interface Conversation extends ConversationHead {
  readonly mode: RunMode;
  readonly draft: string;
  /** Of the draft. */
  readonly attachments: readonly Attachment[];
  readonly system: string;
  /** The way that is shown. */
  readonly turns: readonly Turn[];
  /** Turns of its other ways. */
  readonly others: readonly Turn[];
  /** Questions that several columns answered. */
  readonly columnTurns: readonly ColumnTurn[];
}

const LONGEST_NAME = 60;

/** The first words of what was asked first. */
export function conversationName({
  name,
  turns,
  columnTurns,
}: Pick<Conversation, "name" | "turns" | "columnTurns">): string {
  if (name !== null) return name;
  const first = turns[0] ?? columnTurns[0];
  if (first === undefined) return "New conversation";
  const words = first.prompt.trim() === "" ? (first.attachments[0]?.name ?? "") : first.prompt.trim();
  const line = words.replaceAll(/\s+/gu, " ");
  if (line.length <= LONGEST_NAME) return line;
  const cut = line.slice(0, LONGEST_NAME);
  return `${cut.slice(0, Math.max(cut.lastIndexOf(" "), LONGEST_NAME / 2)).trimEnd()}…`;
}

export const isEmpty = ({
  turns,
  columnTurns,
  draft,
  attachments,
  name,
}: Pick<Conversation, "turns" | "columnTurns" | "draft" | "attachments" | "name">): boolean =>
  turns.length + columnTurns.length + attachments.length === 0 && draft === "" && name === null;

type Ways = Pick<Conversation, "turns" | "others">;

const byId = (a: Turn, b: Turn): number => a.id - b.id;

/** The other ways to go on from where this turn begins, itself among them, oldest first. */
export const versionsOf = ({ turns, others }: Ways, turn: Turn): readonly Turn[] =>
  [...others, ...turns].filter(({ after }) => after === turn.after).sort(byId);

/** On from the last turn of a way along the newest turns. */
function followed(way: readonly Turn[], all: readonly Turn[]): Ways {
  const turns = [...way];
  for (;;) {
    const last = turns.at(-1)?.id ?? null;
    const next = all
      .filter(({ id, after }) => after === last && (last === null || id > last))
      .sort(byId)
      .at(-1);
    if (next === undefined) break;
    turns.push(next);
  }
  const shown = new Set(turns.map(({ id }) => id));
  return { turns, others: all.filter(({ id }) => !shown.has(id)) };
}

/** The way that goes through this version of a turn. */
export function throughVersion({ turns, others }: Ways, version: Turn): Ways {
  const at = version.after === null ? 0 : turns.findIndex(({ id }) => id === version.after) + 1;
  return followed([...turns.slice(0, at), version], [...turns, ...others]);
}

/** A new turn behind the first `at` of the way: what came behind them is another way. */
export const withTurn = ({ turns, others }: Ways, at: number, turn: Turn): Ways => ({
  turns: [...turns.slice(0, at), turn],
  others: [...others, ...turns.slice(at)],
});

/** Without one turn. What follows it stays, behind what was before it. */
export function withoutTurn({ turns, others }: Ways, id: number): Ways {
  const gone = [...turns, ...others].find((turn) => turn.id === id);
  if (gone === undefined) return { turns, others };
  const kept = (all: readonly Turn[]): readonly Turn[] =>
    all.filter((turn) => turn !== gone).map((turn) => (turn.after === id ? { ...turn, after: gone.after } : turn));
  const way = kept(turns);
  return followed(way, [...way, ...kept(others)]);
}

/** Turns of any origin as one tree: those of an old document follow one another, and a turn that hangs on none is left out. */
export function linked(
  turns: readonly (Omit<Turn, "after"> & { readonly after?: number | null | undefined })[],
  others: readonly (Omit<Turn, "after"> & { readonly after?: number | null | undefined })[],
): Ways {
  const way = turns.map((turn, i): Turn => ({ ...turn, after: turns[i - 1]?.id ?? null }));
  const known = new Set(way.map(({ id }) => id));
  const rest: Turn[] = [];
  for (const { after = null, ...turn } of others.toSorted((a, b) => a.id - b.id)) {
    if (known.has(turn.id) || (after !== null && (!known.has(after) || after >= turn.id))) continue;
    known.add(turn.id);
    rest.push({ ...turn, after });
  }
  return { turns: way, others: rest };
}

type Answered = Pick<Conversation, "turns" | "others" | "columnTurns">;

const answersOf = ({ turns, others, columnTurns }: Answered): readonly Answer[] => [
  ...[...turns, ...others].map(({ answer }) => answer),
  ...columnTurns.flatMap(({ columns }) => columns.map(({ answer }) => answer)),
];

/** Of all that are kept with a session. */
export const MOST_LETTERS = 2_000_000;

/** About how many letters it takes in a document, chances of tokens not counted. */
export const lettersOf = (conversation: Conversation): number =>
  [...conversation.turns, ...conversation.others, ...conversation.columnTurns].reduce(
    (sum, { prompt, attachments }) => sum + prompt.length + attachments.reduce((all, { text }) => all + text.length, 0),
    answersOf(conversation).reduce((sum, { text }) => sum + 2 * text.length + 800, conversation.system.length),
  );

/** Numbers of its turns and columns. */
export const idsOf = ({ turns, others, columnTurns }: Answered): readonly number[] => [
  ...[...turns, ...others].map(({ id }) => id),
  ...columnTurns.flatMap(({ columns }) => columns.map(({ id }: Column) => id)),
];

/** Everything that was said in it, for a search. */
export const wordsOf = (conversation: Conversation): string =>
  [
    conversationName(conversation),
    ...[...conversation.turns, ...conversation.columnTurns].map(({ prompt }) => prompt),
    ...answersOf(conversation).map(({ text }) => text),
  ]
    .join("\n")
    .toLowerCase();

/** The way that is shown, for a file. Answers that failed are left out, as they are of the next request. */
export function conversationFile(conversation: Conversation, model: string, savedAt: number): ConversationFile {
  const { system, turns, columnTurns } = conversation;
  const beside = columnTurns.flatMap((turn) => [
    ...askedMessages({ ...turn, results: [] }),
    ...turn.columns
      .filter(({ answer }) => answer.error === null)
      .map(({ answer, parameters, model: other }) => ({
        ...answerMessage(answer),
        name: [other?.title ?? model, answer.device ?? parameters.device].join(" on "),
      })),
  ]);
  return {
    format: "rlx-conversation",
    version: 1,
    name: conversationName(conversation),
    model,
    savedAt,
    messages: [
      ...(system.trim() === "" ? [] : [{ role: "system" as const, content: system }]),
      ...turns
        .filter(({ answer }) => answer.error === null)
        .flatMap((turn) => [...askedMessages(turn), answerMessage(turn.answer)]),
      ...beside,
    ],
  };
}
