/** The conversations of a model: one is open, the others wait in the list; what is deleted can be taken back. */
import { LARGEST_CONVERSATION, readConversation } from "../../../main/contract/views/conversation.ts";
import { WorkbenchError } from "../../../main/diagnostics/errors.ts";
import type { SliceTools } from "../../session/slice.ts";
import type { ColumnTurn } from "./columns.ts";
import type { Conversation, ConversationHead } from "./conversation.ts";
import {
  conversationName,
  idsOf,
  isEmpty,
  lettersOf,
  MOST_LETTERS,
  throughVersion,
  versionsOf,
  withoutTurn,
} from "./conversation.ts";
import { importedConversation } from "./importConversation.ts";
import type { Turn } from "./request.ts";
import type { RunState } from "./slice.ts";

/** What a deletion has taken, as it was before. */
export interface Deleted {
  readonly of: "conversation" | "turn";
  readonly name: string;
  readonly open: Conversation;
  readonly conversations: readonly Conversation[];
}

export interface ConversationSlice {
  /** The open one: its turns and its draft stand in the fields of the run tab. */
  readonly conversation: ConversationHead;
  /** The others, newest first. */
  readonly conversations: readonly Conversation[];
  /** Turns of the open one that are not on the way that is shown. */
  readonly others: readonly Turn[];
  /** Until something else happens. */
  readonly deleted: Deleted | null;
  readonly newConversation: () => void;
  readonly openConversation: (id: number) => void;
  /** One that was saved as JSON, here or by `rlx chat`; it becomes the open one. */
  readonly importConversation: (file: Pick<File, "name" | "size" | "text">) => Promise<void>;
  /** "" names it after its first words again. */
  readonly renameConversation: (id: number, name: string) => void;
  readonly deleteConversation: (id: number) => void;
  readonly undoDelete: () => void;
  /** A new conversation with the turns up to this one. */
  readonly branch: (turn: number) => void;
  readonly chooseVersion: (turn: number, step: 1 | -1) => void;
  readonly deleteTurn: (id: number) => void;
  /** Of the open conversation or another: an answer goes on where it was asked for. */
  readonly patchTurn: (id: number, change: (turn: Turn) => Turn) => void;
  readonly patchColumnTurn: (id: number, change: (turn: ColumnTurn) => ColumnTurn) => void;
  readonly turnOf: (id: number) => Turn | undefined;
  readonly columnTurnOf: (id: number) => ColumnTurn | undefined;
  readonly showWays: (ways: Pick<Conversation, "turns" | "others">) => void;
  /** Something was asked in the open one. */
  readonly touchConversation: () => void;
}

/** More are not kept with a session: it is saved as a whole, every time that something changes. */
export const MOST_CONVERSATIONS = 200;

export const NO_CONVERSATIONS = {
  conversation: { id: 1, name: null, at: 0 },
  conversations: [],
  others: [],
  deleted: null,
} as const;

type Open = Pick<
  RunState,
  "conversation" | "runMode" | "draft" | "attachments" | "turns" | "others" | "columnTurns" | "parameters"
>;

/** The open conversation as it would stand in the list. */
export const openConversationOf = ({
  conversation,
  runMode: mode,
  draft,
  attachments,
  parameters: { system },
  turns,
  others,
  columnTurns,
}: Open): Conversation => ({ ...conversation, mode, draft, attachments, system, turns, others, columnTurns });

/** One in which nothing was said yet is the newest. */
const placeOf = ({ at }: Conversation): number => (at === 0 ? Number.MAX_SAFE_INTEGER : at);

export const newestFirst = (all: readonly Conversation[]): readonly Conversation[] =>
  all.toSorted((a, b) => placeOf(b) - placeOf(a) || b.id - a.id);

/** All of them: the open one at its place. */
export const allConversations = (state: Open & Pick<ConversationSlice, "conversations">): readonly Conversation[] =>
  newestFirst([openConversationOf(state), ...state.conversations]);

/** The newest that there is room for, and those that there is none for. */
export function fitting(conversations: readonly Conversation[]): {
  readonly kept: readonly Conversation[];
  readonly left: readonly Conversation[];
} {
  let letters = 0;
  const sorted = newestFirst(conversations);
  const end = sorted.findIndex((each, i) => (letters += lettersOf(each)) > MOST_LETTERS || i >= MOST_CONVERSATIONS);
  return end < 0 ? { kept: sorted, left: [] } : { kept: sorted.slice(0, end), left: sorted.slice(end) };
}

export function createConversationSlice({ set, get, on }: SliceTools<ConversationSlice, RunState>): ConversationSlice {
  on("modelLeft", ({ opensAgain }) => {
    if (!opensAgain) set(NO_CONVERSATIONS);
  });

  const nextId = (): number =>
    Math.max(get().conversation.id, ...get().conversations.map(({ id }) => id), get().deleted?.open.id ?? 0) + 1;
  const blank = (): Conversation => ({
    ...{
      id: nextId(),
      name: null,
      at: 0,
      mode: get().runMode,
      draft: "",
      attachments: [],
      system: get().parameters.system,
    },
    ...{ turns: [], others: [], columnTurns: [] },
  });

  /** The open one goes into the list, unless it is empty; another takes its place. */
  const show = (next: Conversation, rest: readonly Conversation[]): void => {
    const { kept, left } = fitting(rest.filter((each) => each.id !== next.id && !isEmpty(each)));
    set({ conversation: { id: next.id, name: next.name, at: next.at }, conversations: kept, others: next.others });
    set({ deleted: null });
    get().showTalk(next);
    if (left.length === 0) return;
    get().notify({
      ...{ level: "warning", code: "INPUT_LIMIT", details: left.map((each) => conversationName(each)).join("\n") },
      stays: true,
      title: "Old conversations are no longer kept",
      text: left.map((each) => conversationName(each)).join(", "),
      hint: "A session has room for so much. Save conversations that you want to keep as Markdown or JSON.",
    });
  };
  const isAnswering = (conversation: Pick<Conversation, "turns" | "others" | "columnTurns">): boolean =>
    get().running !== null &&
    ([...conversation.turns, ...conversation.others].some(({ answer }) => answer.end === null) ||
      conversation.columnTurns.some(({ columns }) => columns.some(({ state }) => state !== "done")));
  const open = (): Conversation => openConversationOf(get());
  const withOpen = (): readonly Conversation[] => [open(), ...get().conversations];

  return {
    ...NO_CONVERSATIONS,
    newConversation() {
      if (!isEmpty(open())) show(blank(), withOpen());
    },
    openConversation(id) {
      const next = get().conversations.find((each) => each.id === id);
      if (next !== undefined) show(next, withOpen());
    },
    async importConversation(file) {
      try {
        // Before it is read: its letters are no more than its bytes.
        if (file.size > 4 * LARGEST_CONVERSATION)
          throw new WorkbenchError(
            "INPUT_LIMIT",
            `[conversation] ${file.name}: got ${file.size} bytes, expected ${LARGEST_CONVERSATION} letters at most`,
            { hint: "Choose a file that was saved with Save as JSON or rlx chat --save." },
          );
        const read = importedConversation(readConversation(await file.text()), () => get().nextRunId());
        show({ ...blank(), ...read, mode: "chat", at: Date.now(), attachments: [], columnTurns: [] }, withOpen());
      } catch (error) {
        get().notifyError(`${file.name} could not be read as a conversation`, error);
      }
    },
    renameConversation(id, text) {
      const name = text.trim().slice(0, 200) || null;
      const { conversation, conversations } = get();
      if (conversation.id === id) set({ conversation: { ...conversation, name } });
      else set({ conversations: conversations.map((each) => (each.id === id ? { ...each, name } : each)) });
    },
    deleteConversation(id) {
      const before = { open: open(), conversations: get().conversations };
      const gone = withOpen().find((each) => each.id === id);
      // What is being answered has to be stopped first.
      if (gone === undefined || isAnswering(gone)) return;
      const rest = before.conversations.filter((each) => each !== gone);
      if (gone.id === before.open.id) show(rest[0] ?? blank(), rest);
      else set({ conversations: rest });
      set({ deleted: { of: "conversation", name: conversationName(gone), ...before } });
    },
    undoDelete() {
      const { deleted } = get();
      if (deleted !== null && get().running === null) show(deleted.open, [deleted.open, ...deleted.conversations]);
    },
    branch(turn) {
      const { turns } = get();
      const at = turns.findIndex(({ id }) => id === turn);
      if (at < 0 || get().running !== null) return;
      const name = `${conversationName(open()).replace(/^Branch of /u, "")}`;
      show(
        {
          ...blank(),
          name: `Branch of ${name}`,
          at: Date.now(),
          turns: copied(turns.slice(0, at + 1)),
          columnTurns: [],
        },
        withOpen(),
      );
    },
    chooseVersion(id, step) {
      const { turns, others, running } = get();
      const turn = turns.find((each) => each.id === id);
      if (turn === undefined || running !== null) return;
      const versions = versionsOf({ turns, others }, turn);
      const next = versions[versions.indexOf(turn) + step];
      if (next === undefined) return;
      get().showWays(throughVersion({ turns, others }, next));
    },
    deleteTurn(id) {
      if (get().running !== null) return;
      const before = { open: open(), conversations: get().conversations };
      const { turns, others } = get();
      const turn = turns.find((each) => each.id === id);
      if (turn === undefined) get().removeColumnTurn(id);
      else get().showWays(withoutTurn({ turns, others }, id));
      set({ deleted: { of: "turn", name: turn?.prompt ?? "", ...before } });
    },
    patchTurn(id, change) {
      const changed = (all: readonly Turn[]): readonly Turn[] =>
        all.some((turn) => turn.id === id) ? all.map((turn) => (turn.id === id ? change(turn) : turn)) : all;
      const { turns, others, conversations } = get();
      const shown = changed(turns);
      if (shown !== turns) return get().showTurns(shown);
      if (others.some((turn) => turn.id === id)) return set({ others: changed(others) });
      set({
        conversations: conversations.map((each) =>
          idsOf(each).includes(id) ? { ...each, turns: changed(each.turns), others: changed(each.others) } : each,
        ),
      });
    },
    patchColumnTurn(id, change) {
      const changed = (all: readonly ColumnTurn[]): readonly ColumnTurn[] =>
        all.some((turn) => turn.id === id) ? all.map((turn) => (turn.id === id ? change(turn) : turn)) : all;
      const { columnTurns, conversations } = get();
      const shown = changed(columnTurns);
      if (shown !== columnTurns) return get().showColumnTurns(shown);
      set({ conversations: conversations.map((each) => ({ ...each, columnTurns: changed(each.columnTurns) })) });
    },
    turnOf: (id) =>
      withOpen()
        .flatMap(({ turns, others }) => [...turns, ...others])
        .find((turn) => turn.id === id),
    columnTurnOf: (id) =>
      withOpen()
        .flatMap(({ columnTurns }) => columnTurns)
        .find((turn) => turn.id === id),
    showWays({ turns, others }) {
      set({ others });
      get().showTurns(turns);
    },
    touchConversation: () => set({ conversation: { ...get().conversation, at: Date.now() }, deleted: null }),
  };

  /** With numbers of their own: an answer that is patched by its number stands in one place. */
  function copied(turns: readonly Turn[]): readonly Turn[] {
    let before: number | null = null;
    return turns.map((turn) => {
      const id = get().nextRunId();
      const copy = { ...turn, id, after: before };
      before = id;
      return copy;
    });
  }
}
