/** A conversation for a model: the text that it reads, and how its answer is taken apart. */
import type { ChatMessage, ChatTemplate, RenderOptions } from "../chatTemplate/chatTemplate.ts";
import { writeConversation } from "../chatTemplate/conversation.ts";
import { PLAIN_STYLE, replyStyle } from "../replies/families.ts";
import { ReplyReader } from "../replies/reader.ts";
import { parameterTypes } from "../replies/reply.ts";

export interface Conversation extends Pick<RenderOptions, "tools" | "documents" | "variables"> {
  readonly messages: readonly ChatMessage[];
}

export interface ChatPrompt {
  readonly text: string;
  /** Reads one answer. */
  readonly reader: ReplyReader;
}

export function chatPrompt(template: ChatTemplate, { messages, ...options }: Conversation): ChatPrompt {
  const text = writeConversation(template, messages, options);
  const tools = options.tools ?? [];
  const earlierCalls = messages.reduce((count, { tool_calls: calls }) => count + (calls?.length ?? 0), 0);
  const reader = new ReplyReader(replyStyle(template.source), {
    prompt: text,
    hasTools: tools.length > 0,
    types: parameterTypes(tools),
    earlierCalls,
  });
  return { text, reader };
}

/** For a text that goes on: whatever comes is the answer. */
export const plainReader = (): ReplyReader =>
  new ReplyReader(PLAIN_STYLE, { prompt: "", hasTools: false, types: parameterTypes([]), earlierCalls: 0 });
