/** A conversation for a model: the text that it reads, and how its answer is taken apart. */
import type { ChatMessage, ChatTemplate, RenderOptions } from "../chatTemplate/chatTemplate.ts";
import { writeConversation } from "../chatTemplate/conversation.ts";
import type { Json } from "../diagnostics/errors.ts";
import { WorkbenchError } from "../diagnostics/errors.ts";
import type { AnswerRequest } from "../replies/answerGrammar.ts";
import { hasBefore } from "../replies/answerGrammar.ts";
import type { CallRequest } from "../replies/callGrammar.ts";
import { toolsOf } from "../replies/callGrammar.ts";
import { PLAIN_STYLE, replyStyle } from "../replies/families.ts";
import { ReplyReader } from "../replies/reader.ts";
import { parameterTypes, toolNames } from "../replies/reply.ts";
import type { AnswerForms } from "./sampling/grammars.ts";

export interface Conversation extends Pick<RenderOptions, "tools" | "documents" | "variables"> {
  readonly messages: readonly ChatMessage[];
  /**
   * Whether the model calls tools: as it likes (`auto`, the default), not at all (`none`: it is not told about them),
   * always (`required`), or always this one tool, by its name. A call that has to be fits the tool's JSON schema.
   */
  readonly toolChoice?: string | undefined;
}

export interface ChatPrompt extends AnswerForms {
  readonly text: string;
  /** Reads one answer. */
  readonly reader: ReplyReader;
}

export function chatPrompt(template: ChatTemplate, conversation: Conversation): ChatPrompt {
  const { messages, toolChoice = "auto", tools: given, ...options } = conversation;
  const isWithout = toolChoice === "none";
  const tools = isWithout ? [] : (given ?? []);
  const text = writeConversation(template, messages, { ...options, tools: isWithout ? null : (given ?? null) });
  const earlierCalls = messages.reduce((count, { tool_calls: calls }) => count + (calls?.length ?? 0), 0);
  const style = replyStyle(template.source);
  const reader = new ReplyReader(isWithout ? { ...style, calls: null } : style, {
    prompt: text,
    hasTools: tools.length > 0,
    types: parameterTypes(tools),
    toolNames: toolNames(tools),
    earlierCalls,
  });
  const only = chosenTool(toolChoice, tools);
  if (only === undefined) return { text, reader, ...jsonFormOf({ style, template: template.source, prompt: text }) };
  const request: CallRequest = { style, template: template.source, prompt: text, tools, ...only };
  // Of the prompt only its end counts: what it begins.
  const key = JSON.stringify([template.source, text.slice(-100), tools, only]);
  return { text, reader, form: { kind: "calls", text: key, request } };
}

function jsonFormOf(before: Omit<AnswerRequest, "schema">): Pick<AnswerForms, "jsonForm"> {
  if (!hasBefore(before)) return {};
  return {
    jsonForm: (schema) => ({
      kind: "answer",
      text: JSON.stringify([before.template, before.prompt.slice(-100), schema]),
      request: { ...before, schema },
    }),
  };
}

/** Undefined where the model may choose. */
function chosenTool(choice: string, tools: readonly Json[]): { readonly only?: string } | undefined {
  if (choice === "auto" || choice === "none") return undefined;
  const names = toolsOf(tools).map(({ name }) => name);
  if (names.length === 0)
    throw new WorkbenchError("INPUT_ARGUMENT", `[tools] tool choice: got ${choice} without tools, expected some`, {
      hint: "Give the tools that the model may call.",
    });
  if (choice === "required") return {};
  if (names.includes(choice)) return { only: choice };
  throw new WorkbenchError(
    "INPUT_ARGUMENT",
    `[tools] tool choice: got ${JSON.stringify(choice)}, expected auto, none, required or one of ${names.join(", ")}`,
  );
}

/** For a text that goes on: whatever comes is the answer. */
export const plainReader = (): ReplyReader =>
  new ReplyReader(PLAIN_STYLE, { prompt: "", hasTools: false, types: parameterTypes([]), earlierCalls: 0 });
