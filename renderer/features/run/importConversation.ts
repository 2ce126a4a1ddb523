/**
 * A conversation from a file: questions with their answers, behind one system prompt. Several answers to one question, as columns
 * give them, become versions of the turn. The file comes from anywhere: what does not fit is refused, and nothing is left out.
 */
import type { ChatMessage } from "../../../main/contract/views/chat.ts";
import type { Conversation as ConversationFile } from "../../../main/contract/views/conversation.ts";
import { WorkbenchError } from "../../../main/diagnostics/errors.ts";
import type { Conversation } from "./conversation.ts";
import { lettersOf, MOST_LETTERS } from "./conversation.ts";
import type { Answer, Asked, Turn } from "./request.ts";
import { EMPTY_ANSWER } from "./request.ts";

type Imported = Pick<Conversation, "name" | "draft" | "system" | "turns" | "others">;

const textOf = ({ content }: ChatMessage): string =>
  typeof content === "string" ? content : content.map(({ text }) => text).join("\n");

const refuse = (at: number, got: string, hint: string): WorkbenchError =>
  new WorkbenchError(
    "INPUT_MALFORMED",
    `[conversation] messages.${at}: got ${got}, expected questions with their answers`,
    { hint },
  );

const answerOf = (message: ChatMessage): Answer => {
  const { reasoning = "", calls = [] } = message;
  const content = textOf(message);
  return {
    ...EMPTY_ANSWER,
    text: content,
    reply: { reasoning, content, calls: [...calls], notes: [] },
    end: message.name === undefined ? "Read from a file." : `Read from a file: ${message.name}.`,
  };
};

/** What the model is told before the first question. */
const isSystem = ({ role }: ChatMessage): boolean => role === "system" || role === "developer";

function asAsked(asked: Asked | null, message: ChatMessage, at: number): Asked {
  if (message.role === "user") {
    if (asked !== null)
      throw refuse(at, "a second question before an answer", "Put both questions into one message of the file.");
    return { prompt: textOf(message), results: [], attachments: [] };
  }
  if (asked !== null && asked.results.length === 0)
    throw refuse(at, "a tool's result behind a question", "A result follows the answer that made the call.");
  const result = { callId: message.callId ?? "", name: message.name ?? "", content: textOf(message) };
  return { prompt: "", attachments: [], results: [...(asked?.results ?? []), result] };
}

/** `nextId`: numbers for its turns, each larger than the one before. */
export function importedConversation(file: ConversationFile, nextId: () => number): Imported {
  const behind = file.messages.findIndex((message) => !isSystem(message));
  const start = behind < 0 ? file.messages.length : behind;
  const turns: Turn[] = [];
  const others: Turn[] = [];
  let asked: Asked | null = null;
  for (const [i, message] of file.messages.entries()) {
    if (i < start) continue;
    if (isSystem(message))
      throw refuse(
        i,
        `a message of the role ${message.role} behind a question`,
        "Move it to the beginning of the file.",
      );
    if (message.role !== "assistant") {
      asked = asAsked(asked, message, i);
      continue;
    }
    const last = turns.at(-1);
    if (asked !== null) {
      turns.push({ ...asked, id: nextId(), after: last?.id ?? null, answer: answerOf(message) });
      asked = null;
    } else if (last === undefined)
      throw refuse(i, "an answer without a question", "Add the question as a message of the role user.");
    // The first answer is the one that is gone on from.
    else others.push({ ...last, id: nextId(), answer: answerOf(message) });
  }
  if (asked !== null && asked.results.length > 0)
    throw refuse(
      file.messages.length - 1,
      "results of tools without an answer to them",
      "Go on with it in a terminal first: rlx chat --conversation.",
    );
  const imported: Imported = {
    ...{ name: file.name.trim().slice(0, 200) || null, draft: asked?.prompt ?? "", turns, others },
    system: file.messages.slice(0, start).map(textOf).join("\n\n"),
  };
  const letters = lettersOf({ ...imported, columnTurns: [], id: 0, at: 0, mode: "chat", attachments: [] });
  if (letters > MOST_LETTERS)
    throw new WorkbenchError(
      "INPUT_LIMIT",
      `[conversation] got about ${letters} letters, expected ${MOST_LETTERS} at most, which a session has room for`,
      { hint: "Remove messages from its end, or go on with it in a terminal: rlx chat --conversation." },
    );
  return imported;
}
