/** A look at a chat template: a conversation as text and as tokens, what the template leaves out or refuses, and another beside it. */
import type { ChatMessage, ChatTemplate, RenderOptions } from "../../chatTemplate/chatTemplate.ts";
import { chatTemplate, encodeRenderedSteps } from "../../chatTemplate/chatTemplate.ts";
import { textOrBytes } from "../../diagnostics/utf8.ts";
import type { Json } from "../../diagnostics/errors.ts";
import { WorkbenchError } from "../../diagnostics/errors.ts";
import { finish } from "../../ir/steps.ts";
import type { Steps } from "../../ir/steps.ts";
import type { Tokenizer } from "../../tokenizer/tokenizer.ts";
import type { Rendered, TemplateAbility } from "./abilities.ts";
import { PROBE_LIMITS, rendered, templateAbilities } from "./abilities.ts";
import type { DiffLine } from "./lineDiff.ts";
import { lineDiff } from "./lineDiff.ts";
import type { RoundTrip } from "./roundTrip.ts";
import { callRoundTrip } from "./roundTrip.ts";

export interface InspectOptions extends Pick<RenderOptions, "addGenerationPrompt" | "variables"> {
  readonly messages: readonly ChatMessage[];
  readonly tools?: readonly Json[] | null;
  /** Source of another template, as `templateIn` finds it. */
  readonly against?: string;
}

export interface TemplateToken {
  readonly id: number;
  readonly text: string;
  /** A token of its own for the template's marks; the tokenizer would not make it of a person's words. */
  readonly isSpecial: boolean;
}

export interface TemplateReport {
  readonly text: string | null;
  /** Why there is no text. */
  readonly refusal: string | null;
  readonly tokens: readonly TemplateToken[];
  /** Marks in the text that are no tokens of this vocabulary: the model has never read them as marks. */
  readonly brokenMarks: readonly string[];
  readonly abilities: readonly TemplateAbility[];
  readonly roundTrip: RoundTrip;
  readonly against: AgainstReport | null;
}

export interface AgainstReport {
  readonly isSameSource: boolean;
  readonly text: string | null;
  readonly refusal: string | null;
  /** From this template's text to the other's; null where one of them has none. */
  readonly lines: readonly DiffLine[] | null;
  readonly abilities: readonly TemplateAbility[];
  readonly roundTrip: RoundTrip;
}

export function* inspectTemplateSteps(
  template: ChatTemplate,
  tokenizer: Tokenizer,
  { messages, tools = null, variables = {}, addGenerationPrompt = true, against }: InspectOptions,
): Steps<TemplateReport> {
  const told = { tools, variables, addGenerationPrompt };
  const result = rendered(template, messages, told);
  const ids = result.text === null ? [] : yield* encodeRenderedSteps(tokenizer, result.text);
  const found = yield* findingsOf(template.source, tokenizer, variables);
  return {
    text: result.text,
    refusal: result.refusal,
    tokens: Array.from(ids, (id) => ({
      id,
      text: textOrBytes(tokenizer.pieceBytes(id, true)),
      isSpecial: ["control", "user"].includes(tokenizer.tokenKind(id)),
    })),
    brokenMarks: result.text === null ? [] : brokenMarks(result.text, tokenizer),
    ...found,
    against:
      against === undefined ? null : yield* againstOf(template, tokenizer, result, { ...told, messages, against }),
  };
}

/** As `inspectTemplateSteps`, at once. */
export const inspectTemplate = (
  template: ChatTemplate,
  tokenizer: Tokenizer,
  options: InspectOptions,
): TemplateReport => finish(inspectTemplateSteps(template, tokenizer, options));

function* findingsOf(
  source: string,
  tokenizer: Tokenizer,
  variables: RenderOptions["variables"],
): Steps<Pick<TemplateReport, "abilities" | "roundTrip">> {
  const bounded = chatTemplate(source, tokenizer, "file", PROBE_LIMITS);
  const abilities = yield* templateAbilities(bounded, variables);
  yield;
  const endings = [...tokenizer.endings].map((id) => tokenizer.tokenText(id));
  return { abilities, roundTrip: callRoundTrip(bounded, endings, variables) };
}

function* againstOf(
  template: ChatTemplate,
  tokenizer: Tokenizer,
  own: Rendered,
  { messages, against, ...told }: InspectOptions & { readonly against: string },
): Steps<AgainstReport> {
  const other = chatTemplate(against, tokenizer);
  yield;
  const { text, refusal } = rendered(other, messages, told);
  return {
    isSameSource: against === template.source,
    text,
    refusal,
    lines: own.text === null || text === null ? null : lineDiff(own.text, text),
    ...(yield* findingsOf(against, tokenizer, told.variables)),
  };
}

const MARKS = /<\|[^\s<>|]{1,60}\|>|<｜[^\s<>]{1,60}｜>|<(?:start|end)_of_turn>/gu;

const brokenMarks = (text: string, tokenizer: Tokenizer): readonly string[] =>
  [...new Set(text.match(MARKS) ?? [])].filter((mark) => tokenizer.idOf(mark) === undefined);

/** The template in a text: itself, or in the JSON of tokenizer_config.json or chat_template.json. */
export function templateIn(text: string): string {
  if (!/^\s*\{\s*"/u.test(text)) return text;
  const none = (why: string): WorkbenchError =>
    new WorkbenchError("INPUT_ARGUMENT", `[template] got JSON ${why}, expected one with chat_template`, {
      hint: "Give a .jinja file, or tokenizer_config.json of the model.",
    });
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw none("that cannot be read");
  }
  const found = fieldOf(value, "chat_template");
  if (typeof found === "string") return found;
  // Several, by their names.
  const named = Array.isArray(found) ? (found as readonly unknown[]) : [];
  const chosen = named.find((each) => fieldOf(each, "name") === "default") ?? named[0];
  const source = fieldOf(chosen, "template");
  if (typeof source === "string") return source;
  throw none("without a template");
}

const fieldOf = (value: unknown, key: string): unknown =>
  typeof value === "object" && value !== null && Object.hasOwn(value, key)
    ? (value as Readonly<Record<string, unknown>>)[key]
    : undefined;

/** A conversation as JSON: a list of messages in OpenAI's or Hugging Face's form, alone or as `messages` of an object. */
export function messagesIn(text: string): readonly ChatMessage[] {
  const wrong = (got: string): WorkbenchError =>
    new WorkbenchError("INPUT_ARGUMENT", `[template] messages: got ${got}, expected a JSON list of messages`, {
      hint: 'Write [{"role": "user", "content": "Hello"}].',
    });
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw wrong(error instanceof Error ? error.message.slice(0, 200) : "no JSON");
  }
  const list: unknown = Array.isArray(value) ? value : fieldOf(value, "messages");
  if (!Array.isArray(list) || list.length === 0) throw wrong("no list");
  return list.map((each: unknown, i) => {
    if (typeof fieldOf(each, "role") !== "string") throw wrong(`message ${i + 1} without a role`);
    const [content, calls] = [fieldOf(each, "content"), fieldOf(each, "tool_calls")];
    if (!isContent(content)) throw wrong(`message ${i + 1} with a content that is neither text nor a list of parts`);
    return {
      ...(each as ChatMessage),
      ...(Array.isArray(calls) ? { tool_calls: calls.map((call) => withArguments(call as Json)) } : {}),
    };
  });
}

const isContent = (content: unknown): boolean =>
  content === undefined ||
  content === null ||
  typeof content === "string" ||
  (Array.isArray(content) && content.every((part) => typeof fieldOf(part, "type") === "string"));

/** OpenAI writes arguments as a text of JSON; most templates take them as an object. */
function withArguments(call: Json): Json {
  const inner = fieldOf(call, "function");
  const given = fieldOf(inner, "arguments");
  if (typeof given !== "string") return call;
  try {
    return { ...(call as object), function: { ...(inner as object), arguments: JSON.parse(given) as Json } };
  } catch {
    return call;
  }
}
