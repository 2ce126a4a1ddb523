/** A conversation as a file: written and read by the window, by `rlx chat`, and through the library. */
import { z } from "zod";
import type { View } from "../define.ts";
import { WorkbenchError } from "../../diagnostics/errors.ts";
import type { ChatMessage } from "./chat.ts";
import { chatMessage } from "./chat.ts";

/** Letters of its JSON. */
export const LARGEST_CONVERSATION = 16_000_000;

const conversation = z.object({
  format: z.literal("rlx-conversation"),
  version: z.literal(1),
  name: z.string().max(1000),
  /** The title of the model that answered. */
  model: z.string().max(1000),
  /** Milliseconds since 1970. */
  savedAt: z.number(),
  /** The system prompt first, where there is one. */
  messages: z.array(chatMessage).max(10_000),
});
export type Conversation = View<typeof conversation>;

export const conversationJson = (value: Conversation): string => JSON.stringify(value, null, 2);

/** A conversation from text of any origin. */
export function readConversation(text: string): Conversation {
  if (text.length > LARGEST_CONVERSATION)
    throw new WorkbenchError(
      "INPUT_LIMIT",
      `[conversation] got ${text.length} letters, expected ${LARGEST_CONVERSATION} at most`,
      { hint: "Remove messages from its end." },
    );
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new WorkbenchError("INPUT_MALFORMED", "[conversation] got text that is no JSON, expected a conversation", {
      hint: "Only JSON can be read again; Markdown is for people.",
      cause,
    });
  }
  const read = conversation.safeParse(value);
  if (read.success) return read.data;
  const [issue] = read.error.issues;
  throw new WorkbenchError(
    "INPUT_MALFORMED",
    `[conversation] ${issue?.path.map(String).join(".") ?? ""}: ${issue?.message ?? "not what a conversation holds"}`,
    { hint: "Choose a file that was saved with Save as JSON or rlx chat --save." },
  );
}

const textOf = ({ content }: ChatMessage): string =>
  typeof content === "string" ? content : content.map(({ text }) => text).join("\n");

const TITLES: { readonly [R in ChatMessage["role"]]: string } = {
  system: "System",
  developer: "Developer",
  user: "You",
  assistant: "Answer",
  tool: "Result",
};

/** A fence that ends nowhere in the text. */
function fenced(text: string, kind: string): string {
  const longest = Math.max(2, ...[...text.matchAll(/`+/gu)].map(([run]) => run.length));
  const fence = "`".repeat(longest + 1);
  return `${fence}${kind}\n${text}\n${fence}`;
}

function messageMarkdown(message: ChatMessage): string {
  const { role, reasoning = "", calls = [], name } = message;
  const parts = [
    `## ${TITLES[role]}${name === undefined ? "" : ` (${name})`}`,
    ...(reasoning.trim() === "" ? [] : [reasoning.trim().replaceAll(/^/gmu, "> ")]),
    ...(role === "tool"
      ? [fenced(textOf(message), "")]
      : textOf(message).trim() === ""
        ? []
        : [textOf(message).trim()]),
    ...calls.map((call) => `Calls \`${call.name}\`:\n\n${fenced(call.arguments, "json")}`),
  ];
  return parts.join("\n\n");
}

/** For people: reasoning is quoted, calls and results stand as code. */
export const conversationMarkdown = ({ name, model, savedAt, messages }: Conversation): string =>
  [
    `# ${name}`,
    `${model}, ${new Date(savedAt).toISOString().slice(0, 16).replace("T", " ")} UTC`,
    ...messages.map(messageMarkdown),
    "",
  ].join("\n\n");
