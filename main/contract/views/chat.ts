/** Conversations: messages, the tools that a model may call, and what an answer consists of. */
import { z } from "zod";
import type { View } from "../define.ts";

const LONGEST_CONTENT = 4_000_000;
const longText = z.string().max(LONGEST_CONTENT);
/** Characters. */
export const LONGEST_JSON = 1 << 20;
const jsonText = z.string().max(LONGEST_JSON);

export const toolCall = z.object({
  id: z.string().min(1).max(200),
  name: z.string().min(1).max(1000),
  /** A JSON object, as text. */
  arguments: jsonText,
});
export type ToolCall = View<typeof toolCall>;

export const chatMessage = z.object({
  role: z.enum(["system", "developer", "user", "assistant", "tool"]),
  content: z.union([longText, z.array(z.object({ type: z.literal("text"), text: longText })).max(1000)]),
  /** What the assistant thought before it answered; whether the model reads it again is for the template to say. */
  reasoning: longText.optional(),
  /** Of the assistant. */
  calls: z.array(toolCall).max(1000).optional(),
  /** Of a tool's result: the call that it answers, and the tool's name. */
  callId: z.string().max(200).optional(),
  name: z.string().max(1000).optional(),
});
export type ChatMessage = View<typeof chatMessage>;

/** What a template is told besides the messages. */
export const chatOptions = {
  /** JSON list of the functions that the model may call, each with a JSON schema of its parameters. */
  tools: jsonText.optional(),
  /** auto (without it), none, required, or the name of the one tool to call. */
  toolChoice: z.string().min(1).max(1000).optional(),
  /** JSON list of documents, for templates that take some. */
  documents: jsonText.optional(),
  /** Variables such as enable_thinking; a value is JSON, or else a text. */
  variables: z.record(z.string().regex(/^[A-Za-z_]\w{0,99}$/u), z.string().max(65_536)).optional(),
  /** One of the file's named templates; without it, as the file chooses. */
  template: z.string().max(1000).optional(),
};

/** Text of a token, by what it is for. The marks between the parts are not shown. */
export const shownPiece = z.object({ part: z.enum(["answer", "reasoning", "call"]), text: z.string() });
export type ShownPiece = View<typeof shownPiece>;

export const reply = z.object({
  reasoning: z.string(),
  content: z.string(),
  calls: z.array(toolCall),
  /** What could not be read as the model may have meant it. */
  notes: z.array(z.string()),
});
export type Reply = View<typeof reply>;

export const templateView = z.object({
  /** Source of the chat format: the file's template, ChatML (guessed from the vocabulary), or none. */
  origin: z.enum(["file", "chatml"]).nullable(),
  sentence: z.string(),
  source: z.string(),
  /** The conversation that was given, as the model would read it. */
  rendered: z.string().nullable(),
  /** Templates of the file beside its first one. */
  names: z.array(z.string()),
  /** Variables that it looks at, such as enable_thinking. */
  switches: z.array(z.string()),
  /** Whose form the calls of tools have; null where none is known. */
  callFamily: z.string().nullable(),
});
export type TemplateView = View<typeof templateView>;
