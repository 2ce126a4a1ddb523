/**
 * Conversations, one in each line (JSON Lines): `{"messages": [{"role": "user", "content": "…"}, …]}`, as programs that fine-tune
 * models write them, or the list of messages alone. The file is untrusted; an error names its line.
 */
import { WorkbenchError } from "../../diagnostics/errors.ts";

export interface ChatTurn {
  readonly role: "system" | "user" | "assistant";
  readonly content: string;
}
export type Conversation = readonly ChatTurn[];

const LONGEST_LINE = 4 << 20;
const MOST_LINES = 1_000_000;
const MOST_TURNS = 1000;
const ROLES: readonly string[] = ["system", "user", "assistant"];

export function readChats(file: string, text: string): readonly Conversation[] {
  const lines = text.split("\n");
  if (lines.length > MOST_LINES)
    throw new WorkbenchError("INPUT_LIMIT", `[${file}] got ${lines.length} lines, expected ${MOST_LINES} at most`);
  const chats = lines.flatMap((line, i) => (line.trim() === "" ? [] : [readChat(`${file}:${i + 1}`, line)]));
  if (chats.length === 0)
    throw new WorkbenchError("INPUT_MALFORMED", `[${file}] got no conversation, expected one in each line`, {
      hint: HINT,
    });
  return chats;
}

const HINT = 'Write one conversation in each line: {"messages": [{"role": "user", "content": "…"}]}.';
const malformed = (place: string, what: string): WorkbenchError =>
  new WorkbenchError("INPUT_MALFORMED", `[${place}] ${what}`, { hint: HINT });

function readChat(place: string, line: string): Conversation {
  if (line.length > LONGEST_LINE)
    throw malformed(place, `got ${line.length} letters, expected ${LONGEST_LINE} at most`);
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch (cause) {
    throw new WorkbenchError("INPUT_MALFORMED", `[${place}] got text that is no JSON`, { hint: HINT, cause });
  }
  const turns = Array.isArray(value) ? value : fieldOf(value, "messages");
  if (!Array.isArray(turns) || turns.length === 0 || turns.length > MOST_TURNS)
    throw malformed(place, `messages: expected a list of 1 to ${MOST_TURNS} messages`);
  return turns.map((turn: unknown, i): ChatTurn => {
    const [role, content] = [fieldOf(turn, "role"), fieldOf(turn, "content")];
    if (typeof role !== "string" || !ROLES.includes(role))
      throw malformed(place, `message ${i + 1}, role: got ${said(role)}, expected one of ${ROLES.join(", ")}`);
    if (typeof content !== "string")
      throw malformed(place, `message ${i + 1}, content: got ${said(content)}, expected text`);
    return { role: role as ChatTurn["role"], content };
  });
}

const fieldOf = (value: unknown, key: string): unknown =>
  typeof value === "object" && value !== null && Object.hasOwn(value, key)
    ? (value as Readonly<Record<string, unknown>>)[key]
    : undefined;

const said = (value: unknown): string => (value === undefined ? "nothing" : JSON.stringify(value).slice(0, 40));
