/** What a chat request says, as the engine's prompt: messages, tools, the form of the answer. */
import { z } from "zod";
import type { ChatMessage } from "../../contract/views/chat.ts";
import { ApiError, badField } from "./apiErrors.ts";
import type { Refused, RunInput } from "./fields.ts";
import { parsed, refused, sharedFields, tokenLimit } from "./fields.ts";
import type { JsonObject } from "./requestBody.ts";

export type ChatPrompt = Extract<RunInput["prompt"], { readonly kind: "chat" }>;

const part = z.looseObject({ type: z.string(), text: z.string().optional(), refusal: z.string().optional() });
const content = z.union([z.string(), z.array(part).max(1000)]);
export type Content = z.output<typeof content>;

/** A JSON text; some clients send the object itself. */
const callArguments = z.union([z.string(), z.record(z.string(), z.unknown())]).default("{}");

const message = z.object({
  role: z.string(),
  content: content.nullish(),
  reasoning_content: z.string().nullish(),
  reasoning: z.string().nullish(),
  name: z.string().max(1000).nullish(),
  tool_call_id: z.string().max(200).nullish(),
  tool_calls: z
    .array(
      z.looseObject({
        id: z.string().min(1).max(200),
        type: z.string().default("function"),
        function: z.object({ name: z.string().min(1).max(1000), arguments: callArguments }).optional(),
      }),
    )
    .max(1000)
    .nullish(),
});
type Message = z.output<typeof message>;

export const tool = z.looseObject({
  type: z.string(),
  function: z.looseObject({ name: z.string().min(1).max(1000) }).optional(),
});

export const schemaObject = z.record(z.string(), z.unknown());

const chatSchema = z.object({
  ...sharedFields,
  messages: z.array(message).min(1).max(10_000),
  max_tokens: tokenLimit,
  max_completion_tokens: tokenLimit,
  tools: z.array(tool).max(1000).optional(),
  tool_choice: z.union([z.string(), z.looseObject({ type: z.string() })]).optional(),
  parallel_tool_calls: z.boolean().default(true),
  response_format: z
    .looseObject({
      type: z.string(),
      schema: schemaObject.optional(),
      json_schema: z.looseObject({ schema: schemaObject.optional() }).optional(),
    })
    .optional(),
  logprobs: z.boolean().default(false),
  top_logprobs: z.number().int().min(0).max(20).optional(),
  reasoning_effort: z.string().max(50).optional(),
  chat_template_kwargs: z.record(z.string().regex(/^[A-Za-z_]\w{0,99}$/u), z.unknown()).optional(),
});
export type ChatRequest = z.output<typeof chatSchema>;

const CHAT_REFUSED: readonly Refused[] = [
  refused("functions", "Use tools."),
  refused("function_call", "Use tool_choice."),
  refused("audio", "This server writes text."),
  refused("web_search_options", "This server has no tools of its own."),
  refused("verbosity", "Say it in a message.", "medium"),
  refused("chat_template", "The template is the model file's.", ""),
  refused("continue_final_message", "Use /v1/completions with the whole text.", false),
  refused("add_generation_prompt", "Use /v1/completions with the whole text.", true),
  refused("reasoning_format", "What the model thought is in reasoning_content.", "auto", "deepseek"),
];

export function chatRequest(body: JsonObject): ChatRequest {
  const request = parsed(chatSchema, body, CHAT_REFUSED);
  const modalities = body["modalities"];
  if (Array.isArray(modalities) && modalities.some((each) => each !== "text"))
    throw new ApiError(400, "modalities: this server writes text only.", {
      param: "modalities",
      code: "unsupported_parameter",
    });
  if (request.top_logprobs !== undefined && !request.logprobs) throw badField("top_logprobs", "needs logprobs: true");
  return request;
}

export function chatPromptOf(request: ChatRequest): ChatPrompt {
  const { messages, tools = [], tool_choice: choice, reasoning_effort: effort, chat_template_kwargs: kwargs } = request;
  const names = new Map(
    messages.flatMap(({ tool_calls: calls }) => (calls ?? []).map((call) => [call.id, call.function?.name] as const)),
  );
  const variables = {
    ...(effort === undefined
      ? {}
      : { reasoning_effort: effort, ...(effort === "none" ? { enable_thinking: false } : {}) }),
    ...kwargs,
  };
  return {
    kind: "chat",
    messages: messages.map((each, at) => messageOf(each, at, names)),
    ...toolsOf(tools, choice),
    ...(Object.keys(variables).length === 0
      ? {}
      : {
          variables: Object.fromEntries(
            Object.entries(variables).map(([name, value]) => [name, JSON.stringify(value)]),
          ),
        }),
  };
}

const ROLES = ["system", "developer", "user", "assistant", "tool"] as const;
const isRole = (role: string): role is (typeof ROLES)[number] => (ROLES as readonly string[]).includes(role);

function messageOf(given: Message, at: number, names: ReadonlyMap<string, string | undefined>): ChatMessage {
  const { role } = given;
  const where = `messages.${at}`;
  if (!isRole(role)) throw badField(`${where}.role`, `got ${role}, expected ${ROLES.join(", ")}`);
  const calls = (given.tool_calls ?? []).map((call, i) => {
    if (call.type !== "function" || call.function === undefined)
      throw badField(`${where}.tool_calls.${i}`, `got ${call.type}, expected a function`);
    const { name, arguments: written } = call.function;
    return { id: call.id, name, arguments: typeof written === "string" ? written : JSON.stringify(written) };
  });
  const reasoning = given.reasoning_content ?? given.reasoning;
  const callId = given.tool_call_id;
  const name = given.name ?? (role === "tool" && typeof callId === "string" ? names.get(callId) : undefined);
  return {
    role,
    content: contentOf(given.content ?? "", `${where}.content`),
    ...(typeof reasoning === "string" ? { reasoning } : {}),
    ...(calls.length === 0 ? {} : { calls }),
    ...(typeof callId === "string" ? { callId } : {}),
    ...(name === undefined ? {} : { name }),
  };
}

const TEXT_PARTS = ["text", "input_text", "output_text"];

/** Text stays in its parts, because some templates look at them. */
export function contentOf(given: Content, where: string): ChatMessage["content"] {
  if (typeof given === "string") return given;
  return given.map(({ type, text, refusal }, i) => {
    const said = type === "refusal" ? refusal : TEXT_PARTS.includes(type) ? text : undefined;
    if (said === undefined)
      throw new ApiError(400, `${where}.${i}: got ${type}, expected text: this server reads nothing else.`, {
        param: `${where}.${i}`,
        code: "unsupported_content",
      });
    return { type: "text", text: said };
  });
}

type Tools = Pick<ChatPrompt, "tools" | "toolChoice">;

function toolsOf(tools: readonly z.output<typeof tool>[], choice: ChatRequest["tool_choice"]): Tools {
  for (const [i, { type, function: called }] of tools.entries())
    if (type !== "function" || called === undefined) throw badField(`tools.${i}`, `got ${type}, expected a function`);
  const toolChoice = choiceOf(choice);
  if (tools.length === 0) {
    if (toolChoice !== undefined && toolChoice !== "auto" && toolChoice !== "none")
      throw badField("tool_choice", `got ${toolChoice} without tools`);
    return {};
  }
  return { tools: JSON.stringify(tools), ...(toolChoice === undefined ? {} : { toolChoice }) };
}

function choiceOf(choice: ChatRequest["tool_choice"]): string | undefined {
  if (choice === undefined) return undefined;
  if (typeof choice === "string") {
    if (["auto", "none", "required"].includes(choice)) return choice;
    throw badField("tool_choice", `got ${choice}, expected auto, none, required or a function`);
  }
  const { function: called, name = (called as { readonly name?: unknown } | undefined)?.name } = choice;
  if (choice.type === "function" && typeof name === "string" && name !== "") return name;
  throw badField("tool_choice", `got ${choice.type}, expected a function with its name`);
}

/** The text of the JSON schema that the answer has to fit; undefined where it is free. */
export function schemaOf(
  format: ChatRequest["response_format"],
  isCalling: boolean,
  where = "response_format",
): string | undefined {
  if (format === undefined || format.type === "text") return undefined;
  if (isCalling)
    throw new ApiError(400, `${where}: got a form of the answer beside tools, expected one of them.`, {
      param: where,
      code: "unsupported_parameter",
    });
  const schema = format.json_schema?.schema ?? format.schema;
  if (format.type === "json_object") return JSON.stringify(schema ?? { type: "object" });
  if (format.type !== "json_schema")
    throw badField(`${where}.type`, `got ${format.type}, expected text, json_object or json_schema`);
  if (schema === undefined) throw badField(where, "got no schema");
  return JSON.stringify(schema);
}
