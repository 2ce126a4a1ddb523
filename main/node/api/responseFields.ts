/** What a request of the responses API says: its items become messages of a conversation. Nothing is kept between requests. */
import { z } from "zod";
import type { ChatMessage, ToolCall } from "../../contract/views/chat.ts";
import { ApiError, badField } from "./apiErrors.ts";
import type { ChatPrompt } from "./chatFields.ts";
import { contentOf, schemaObject, schemaOf } from "./chatFields.ts";
import type { Refused } from "./fields.ts";
import { parsed, refused } from "./fields.ts";
import type { JsonObject } from "./requestBody.ts";

const part = z.looseObject({ type: z.string(), text: z.string().optional(), refusal: z.string().optional() });
const content = z.union([z.string(), z.array(part).max(1000)]);

const item = z.looseObject({
  type: z.string().default("message"),
  role: z.string().optional(),
  content: content.nullish(),
  call_id: z.string().min(1).max(200).optional(),
  name: z.string().min(1).max(1000).optional(),
  arguments: z.string().optional(),
  output: content.optional(),
  summary: z.array(part).optional(),
});
type Item = z.output<typeof item>;

const schema = z.object({
  model: z.string().max(1000).optional(),
  input: z.union([z.string(), z.array(item).min(1).max(5000)]),
  instructions: z.string().optional(),
  stream: z.boolean().default(false),
  max_output_tokens: z.number().int().min(1).max(1_048_576).optional(),
  temperature: z.number().min(0).max(10).optional(),
  top_p: z.number().min(0).max(1).optional(),
  tools: z
    .array(z.looseObject({ type: z.string(), name: z.string().min(1).max(1000).optional() }))
    .max(1000)
    .default([]),
  tool_choice: z.union([z.string(), z.looseObject({ type: z.string(), name: z.string().optional() })]).default("auto"),
  parallel_tool_calls: z.boolean().default(true),
  reasoning: z.looseObject({ effort: z.string().max(50).nullish() }).optional(),
  text: z
    .looseObject({ format: z.looseObject({ type: z.string(), schema: schemaObject.optional() }).optional() })
    .optional(),
  metadata: z.record(z.string(), z.unknown()).optional(),
});
export type ResponseRequest = z.output<typeof schema>;

const REFUSED: readonly Refused[] = [
  refused("previous_response_id", "Send the whole conversation: nothing is kept here."),
  refused("conversation", "Send the whole conversation: nothing is kept here."),
  refused("background", "The answer comes on the connection of its request.", false),
  refused("prompt", "Send input and instructions."),
  refused("truncation", "Shorten the conversation: what is too long is an error.", "disabled"),
  refused("max_tool_calls", "Set parallel_tool_calls to false for one call."),
  refused("top_logprobs", "Use /v1/chat/completions for log-probabilities.", 0),
];

export const responseRequest = (body: JsonObject): ResponseRequest => parsed(schema, body, REFUSED);

export function responsePrompt(request: ResponseRequest): ChatPrompt {
  const { input, instructions, tools, tool_choice: choice, reasoning } = request;
  const said: ChatMessage[] = typeof input === "string" ? [{ role: "user", content: input }] : messagesOf(input);
  const effort = reasoning?.effort;
  const functions = tools.map((tool, i) => {
    const { type, name, description, parameters } = tool;
    if (type !== "function" || name === undefined)
      throw new ApiError(400, `tools.${i}: got ${type}, expected a function: this server has no tools of its own.`, {
        param: `tools.${i}`,
        code: "unsupported_parameter",
      });
    return { type, function: { name, description, parameters } };
  });
  const toolChoice = typeof choice === "string" ? choice : choice.type === "function" ? choice.name : undefined;
  if (toolChoice === undefined || (typeof choice === "string" && !["auto", "none", "required"].includes(choice)))
    throw badField("tool_choice", "expected auto, none, required or a function with its name");
  return {
    kind: "chat",
    messages: [...(instructions === undefined ? [] : [{ role: "system" as const, content: instructions }]), ...said],
    ...(functions.length === 0 ? {} : { tools: JSON.stringify(functions), toolChoice }),
    ...(typeof effort === "string"
      ? {
          variables: {
            reasoning_effort: JSON.stringify(effort),
            ...(effort === "none" ? { enable_thinking: "false" } : {}),
          },
        }
      : {}),
  };
}

export const responseSchema = ({ text }: ResponseRequest, isCalling: boolean): string | undefined =>
  schemaOf(text?.format, isCalling, "text.format");

const ROLES = ["system", "developer", "user", "assistant"] as const;
const isRole = (role: string): role is (typeof ROLES)[number] => (ROLES as readonly string[]).includes(role);

interface Assistant {
  content: ChatMessage["content"];
  reasoning: string;
  readonly calls: ToolCall[];
}

/** What was thought, said and called one after the other is one message of the assistant. */
function messagesOf(items: readonly Item[]): ChatMessage[] {
  const messages: ChatMessage[] = [];
  const names = new Map<string, string>();
  let open: Assistant | undefined;
  const close = (): void => {
    if (open === undefined) return;
    const { content: said, reasoning, calls } = open;
    messages.push({
      role: "assistant",
      content: said,
      ...(reasoning === "" ? {} : { reasoning }),
      ...(calls.length === 0 ? {} : { calls: [...calls] }),
    });
    open = undefined;
  };
  const assistant = (): Assistant => (open ??= { content: "", reasoning: "", calls: [] });
  for (const [at, each] of items.entries()) {
    const where = `input.${at}`;
    const { type, role = "", call_id: callId, name } = each;
    if (type === "message" && role === "assistant") {
      if (open !== undefined && open.content !== "") close();
      assistant().content = contentOf(each.content ?? "", `${where}.content`);
    } else if (type === "message") {
      close();
      if (!isRole(role)) throw badField(`${where}.role`, `got ${role}, expected ${ROLES.join(", ")}`);
      messages.push({ role, content: contentOf(each.content ?? "", `${where}.content`) });
    } else if (type === "reasoning") assistant().reasoning += reasoningOf(each);
    else if (type === "function_call") {
      if (callId === undefined || name === undefined) throw badField(where, "got a call without call_id or name");
      names.set(callId, name);
      assistant().calls.push({ id: callId, name, arguments: each.arguments ?? "{}" });
    } else if (type === "function_call_output") {
      close();
      if (callId === undefined) throw badField(where, "got a result without call_id");
      const called = names.get(callId);
      messages.push({
        role: "tool",
        content: contentOf(each.output ?? "", `${where}.output`),
        callId,
        ...(called === undefined ? {} : { name: called }),
      });
    } else
      throw new ApiError(400, `${where}: got ${type}, expected message, reasoning, function_call or its output.`, {
        param: where,
        code: "unsupported_content",
      });
  }
  close();
  return messages;
}

function reasoningOf({ content: parts, summary }: Item): string {
  const texts = Array.isArray(parts) && parts.length > 0 ? parts : (summary ?? []);
  return texts.map(({ text = "" }) => text).join("\n\n");
}
