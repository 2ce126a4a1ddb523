/**
 * A conversation as people and engines hold it, written in the form that a template takes. Templates disagree about
 * forms that mean the same: arguments of a call as a dictionary or as JSON, contents as a text or in parts, the name of
 * what was thought. The usual form comes first; where the template refuses it, the other one is tried.
 */
import { WorkbenchError } from "../diagnostics/errors.ts";
import type { Json } from "../diagnostics/errors.ts";
import type { ChatMessage, ChatTemplate, RenderOptions } from "./chatTemplate.ts";

type Form = (messages: readonly ChatMessage[]) => readonly ChatMessage[];

const AS_GIVEN: Form = (messages) => messages;

/** Of each call, as OpenAI's interface writes them. */
const argumentsAsText: Form = (messages) =>
  messages.map((message) =>
    message.tool_calls === undefined ? message : { ...message, tool_calls: message.tool_calls.map(callAsText) },
  );

function callAsText(call: Json): Json {
  const inner = isRecord(call) ? call["function"] : undefined;
  if (!isRecord(call) || inner === undefined || !isRecord(inner)) return call;
  const given = inner["arguments"];
  return typeof given === "string" || given === undefined
    ? call
    : { ...call, function: { ...inner, arguments: JSON.stringify(given) } };
}

const contentsAsText: Form = (messages) =>
  messages.map((message) =>
    typeof message.content === "object" &&
    message.content !== null &&
    message.content.every(({ text }) => text !== undefined)
      ? { ...message, content: message.content.map(({ text }) => text).join("") }
      : message,
  );

const contentsAsParts: Form = (messages) =>
  messages.map((message) =>
    typeof message.content === "string" ? { ...message, content: [{ type: "text", text: message.content }] } : message,
  );

const isRecord = (value: Json): value is { readonly [key: string]: Json } =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** The text that the model reads. */
export function writeConversation(
  template: ChatTemplate,
  messages: readonly ChatMessage[],
  options: RenderOptions = {},
): string {
  const named = withThinking(template.source, messages);
  const variables = { ...ofOneFamily(template.source, options), ...options.variables };
  const asUsual = takesParts(template) ? contentsAsParts : AS_GIVEN;
  const forms: readonly Form[] = [
    asUsual,
    (all) => argumentsAsText(asUsual(all)),
    contentsAsText,
    (all) => argumentsAsText(contentsAsText(all)),
  ];
  let refusal: unknown;
  for (const [i, form] of forms.entries()) {
    const shaped = form(named);
    // A form that changes nothing was tried already.
    if (i > 0 && JSON.stringify(shaped) === JSON.stringify(asUsual(named))) continue;
    try {
      return template.render(shaped, { ...options, variables });
    } catch (error) {
      if (!(error instanceof WorkbenchError) || error.code !== "INPUT_TEMPLATE") throw error;
      refusal ??= error;
    }
  }
  throw refusal;
}

/** gpt-oss calls what was thought `thinking`. */
const withThinking = (source: string, messages: readonly ChatMessage[]): readonly ChatMessage[] =>
  /message\.thinking|message\[['"]thinking['"]\]/u.test(source)
    ? messages.map((message) =>
        message.reasoning_content ? { ...message, thinking: message.reasoning_content } : message,
      )
    : messages;

/** Firefunction asks for its tools as a text, and for the date. */
function ofOneFamily(source: string, { tools, now = new Date() }: RenderOptions): { readonly [name: string]: Json } {
  if (!source.includes("functools") || !source.includes("datetime")) return {};
  return { functions: JSON.stringify(tools ?? [], null, 4), datetime: now.toDateString() };
}

/** True for a template that drops a content which is no list of parts. */
function takesParts(template: ChatTemplate): boolean {
  const known = PARTS.get(template);
  if (known !== undefined) return known;
  const shows = (form: Form): boolean => {
    try {
      return template.render(form([{ role: "user", content: MARK }])).includes(MARK);
    } catch {
      return false;
    }
  };
  const takes = !shows(AS_GIVEN) && shows(contentsAsParts);
  PARTS.set(template, takes);
  return takes;
}
const PARTS = new WeakMap<ChatTemplate, boolean>();
const MARK = "rlx-content";

const SWITCHES = [
  "enable_thinking",
  "thinking",
  "reasoning_effort",
  "thinking_budget",
  "preserve_thinking",
  "clear_thinking",
];

/** Variables of the usual kind that a template looks at: in its tags, and not in their texts. */
export function templateSwitches(source: string): readonly string[] {
  const [, ...behindOpenings] = source.split(/\{[{%]/u);
  const tags = behindOpenings.map((part) => part.split(/[%}]\}/u)[0]?.replace(/'[^']*'|"[^"]*"/gu, "") ?? "").join(" ");
  return SWITCHES.filter((name) => new RegExp(String.raw`(?<![\w.])${name}(?!\w)`, "u").test(tags));
}
