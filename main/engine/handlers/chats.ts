/** From what a person says to the tokens a model reads: the file's own template, or the text as it is. */
import type { View } from "../../contract/define.ts";
import type { chatMessage, TemplateView, ToolCall as CallView } from "../../contract/views/chat.ts";
import type { runInput } from "../../contract/views/run.ts";
import type { Json } from "../../diagnostics/errors.ts";
import { toWireError, WorkbenchError } from "../../diagnostics/errors.ts";
import { chatRefusal, requireDecoder } from "../../models/architecture.ts";
import type { ChatMessage, ChatSupport, TemplateChoice } from "../../chatTemplate/chatTemplate.ts";
import { chatSupport, encodeRenderedSteps, templateNames } from "../../chatTemplate/chatTemplate.ts";
import { templateSwitches } from "../../chatTemplate/conversation.ts";
import { replyStyle } from "../../replies/families.ts";
import type { ReplyReader } from "../../replies/reader.ts";
import type { ToolCall } from "../../replies/reply.ts";
import type { AnswerForms } from "../../runtime/sampling/grammars.ts";
import type { Conversation } from "../../runtime/chatPrompt.ts";
import { chatPrompt, plainReader } from "../../runtime/chatPrompt.ts";
import type { OpenModel } from "../models/openModel.ts";
import { inSlices } from "../models/taskCache.ts";

type Prompt = View<typeof runInput>["prompt"];
type Asked = Extract<Prompt, { readonly kind: "chat" }>;
type Options = Omit<Asked, "kind" | "messages">;
type MessageView = View<typeof chatMessage>;

export interface PromptTokens extends AnswerForms {
  readonly text: string;
  readonly ids: Int32Array;
  readonly reader: ReplyReader;
}

export function supportOf(model: OpenModel, { template, tools, toolChoice }: Options): ChatSupport {
  const choice: TemplateChoice = { name: template, hasTools: tools !== undefined && toolChoice !== "none" };
  const sentence = chatRefusal(model.requireFile("chat"));
  if (sentence !== undefined) return { kind: "none", sentence };
  return model.cached(`chat support ${JSON.stringify(choice)}`, () =>
    chatSupport(model.requireFile("chat"), model.tokenizer, choice),
  );
}

/** Made in slices: the text may be long, and the vocabulary comes from a stranger's file. */
export async function promptOf(model: OpenModel, prompt: Prompt, signal: AbortSignal): Promise<PromptTokens> {
  if (prompt.kind === "completion") {
    const ids = await inSlices(model.tokenizer.encodeSteps(prompt.text), signal);
    return { text: prompt.text, ids, reader: plainReader() };
  }
  if (prompt.kind === "tokens") return { text: "", ids: prompt.ids, reader: plainReader() };
  const support = supportOf(model, prompt);
  if (support.kind === "none") {
    // What cannot run at all has no use for a completion either.
    requireDecoder(model.requireFile("chat"));
    throw new WorkbenchError("INPUT_TEMPLATE", `[chat] ${support.sentence}`, { hint: "Use completion instead." });
  }
  const { text, ...read } = chatPrompt(support.template, conversationOf(prompt.messages, prompt));
  return { text, ids: await inSlices(encodeRenderedSteps(model.tokenizer, text), signal), ...read };
}

function conversationOf(messages: readonly MessageView[], options: Options): Conversation {
  const { tools, documents, toolChoice, variables = {} } = options;
  return {
    messages: messages.map(messageOf),
    tools: tools === undefined ? null : listOf("tools", tools),
    toolChoice,
    documents: documents === undefined ? null : listOf("documents", documents),
    variables: Object.fromEntries(Object.entries(variables).map(([name, text]) => [name, jsonOrText(text)])),
  };
}

/** As templates know it. */
function messageOf({ role, content, reasoning, calls, callId, name }: MessageView): ChatMessage {
  return {
    role,
    content,
    ...(reasoning === undefined ? {} : { reasoning_content: reasoning }),
    ...(calls === undefined || calls.length === 0 ? {} : { tool_calls: calls.map(callOf) }),
    ...(callId === undefined ? {} : { tool_call_id: callId }),
    ...(name === undefined ? {} : { name }),
  };
}

const callOf = ({ id, name, arguments: text }: CallView): Json => ({
  id,
  type: "function",
  function: { name, arguments: jsonOrText(text) },
});

export const callView = ({ id, name, arguments: given }: ToolCall): CallView => ({
  id,
  name,
  arguments: JSON.stringify(given),
});

/** Undefined for a text that is no JSON. */
function jsonOf(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return undefined;
  }
}

/** `null` is JSON too. */
export function jsonOrText(text: string): Json {
  const value = jsonOf(text);
  return value === undefined ? text : value;
}

export function listOf(what: "tools" | "documents", text: string): readonly Json[] {
  const value = jsonOf(text);
  if (Array.isArray(value) && value.every((item) => typeof item === "object" && item !== null))
    return value as readonly Json[];
  throw new WorkbenchError("INPUT_ARGUMENT", `[chat] ${what}: got no JSON list of objects, expected one`, {
    hint:
      what === "tools"
        ? 'Write [{"type": "function", "function": {"name": …, "description": …, "parameters": {…}}}].'
        : 'Write [{"title": …, "text": …}].',
  });
}

interface TemplateAsked extends Options {
  readonly messages: readonly MessageView[] | null;
}

export function templateView(model: OpenModel, { messages, ...options }: TemplateAsked): TemplateView {
  const none = { origin: null, source: "", rendered: null, names: [], switches: [], callFamily: null };
  let support: ChatSupport;
  try {
    support = supportOf(model, options);
  } catch (error) {
    return { ...none, sentence: toWireError(error).message };
  }
  if (support.kind === "none") return { ...none, sentence: support.sentence };
  const { template } = support;
  const conversation = conversationOf(messages ?? [], options);
  return {
    origin: template.origin,
    sentence:
      template.origin === "file"
        ? "The chat template of the file is used."
        : "The file has no template; its vocabulary knows ChatML, so that is used.",
    source: template.source,
    rendered: messages === null ? null : chatPrompt(template, conversation).text,
    names: [...templateNames(model.requireFile("chat"))],
    switches: [...templateSwitches(template.source)],
    callFamily: replyStyle(template.source).calls?.family ?? null,
  };
}
