/**
 * The grammar of answers that call tools: what it takes is read by reader.ts as calls of these
 * tools, with arguments that their schemas take. Each family writes them in its own form
 * (callForms.ts); what the model thinks before is free.
 */
import type { Json } from "../diagnostics/errors.ts";
import { WorkbenchError } from "../diagnostics/errors.ts";
import { characters, literal, one } from "../grammar/elements.ts";
import { finished } from "../grammar/jsonSchema.ts";
import type { Element, Grammar, Range, Sequence } from "../grammar/rules.ts";
import { inverted, RuleBuilder, tokenPoint } from "../grammar/rules.ts";
import type { SchemaProperty } from "../grammar/schemaWriter.ts";
import { checkDepth, inOrder, SchemaWriter } from "../grammar/schemaWriter.ts";
import { textWithout, UNBOUNDED } from "../grammar/textWithout.ts";
import type { ValueForm } from "../grammar/valueForm.ts";
import { jsonForm } from "../grammar/valueForm.ts";
import { CALL_FORMS } from "./callForms.ts";
import type { ReplyStyle } from "./families.ts";
import { CHANNEL_MARKS } from "./families.ts";
import { beginningOf } from "./reader.ts";
import { partOf } from "./reply.ts";

export interface CallRequest {
  readonly style: ReplyStyle;
  /** Some families write calls in several ways, and their templates show which. */
  readonly template: string;
  /** The answer may go on with what it has begun. */
  readonly prompt: string;
  readonly tools: readonly Json[];
  /** The one tool to call; without it one of them, or several. */
  readonly only?: string | undefined;
}

/** The vocabulary's tokens by their texts. */
export interface MarkTokens {
  readonly idOf: (text: string) => number | undefined;
  /** Tokens that end a text: a grammar ends where they stand. */
  readonly endings: ReadonlySet<number>;
}

export interface Tool {
  readonly name: string;
  /** JSON schema of its parameters. */
  readonly parameters: Json;
}

/** What marks and choices are written with. */
export interface MarkWriter {
  readonly builder: RuleBuilder;
  /** A mark is a token of its own where the vocabulary has it. */
  readonly mark: (text: string) => Sequence;
  readonly choice: (...ways: readonly Sequence[]) => Element;
}

/** What a form of calls is written with. */
export interface CallWriter extends MarkWriter {
  readonly tools: readonly Tool[];
  /** Several calls may follow one another. */
  readonly many: boolean;
  readonly template: string;
  /** The prompt ends with the beginning of a call or a header. */
  readonly isBegun: boolean;
  /** One of the tools. */
  readonly each: (write: (tool: Tool) => Sequence) => Element;
  /** One call, or several with something between. */
  readonly row: (call: Sequence, between: Sequence) => Sequence;
  /** Arguments as one value. */
  readonly object: (tool: Tool, form: ValueForm) => Sequence;
  /** Arguments one by one. */
  readonly pairs: (
    tool: Tool,
    between: Sequence,
    write: (property: SchemaProperty, value: (form: ValueForm) => Sequence) => Sequence,
  ) => Sequence;
  readonly wrong: (tool: Tool, what: string) => WorkbenchError;
}

/** All calls of an answer, with their marks. */
export type CallForm = (writer: CallWriter) => Sequence;

/** With or without the frame {"type": "function", "function": …}. */
export function toolsOf(tools: readonly Json[]): readonly Tool[] {
  return tools.map((tool, i) => {
    const inner = partOf(tool, "function") ?? tool;
    const name = partOf(inner, "name");
    if (typeof name !== "string" || name === "")
      throw new WorkbenchError("INPUT_ARGUMENT", `[tools] ${i}: got a tool without a name, expected one`);
    return { name, parameters: partOf(inner, "parameters") ?? {} };
  });
}

const EVERY_CHARACTER: readonly Range[] = inverted([
  [0, 0],
  [0xd800, 0xdfff],
]);

export function markWriter(builder: RuleBuilder, tokens: MarkTokens): MarkWriter {
  return {
    builder,
    mark(text) {
      const id = tokens.idOf(text);
      if (id === undefined) return literal(text);
      return tokens.endings.has(id) ? [] : [characters([tokenPoint(id), tokenPoint(id)])];
    },
    choice: (...ways) => builder.rule(ways),
  };
}

export function callGrammar(request: CallRequest, tokens: MarkTokens): Grammar {
  const { style, template, prompt, only } = request;
  const known = toolsOf(request.tools);
  for (const { parameters } of known) checkDepth(parameters);
  const tools = only === undefined ? known : known.filter(({ name }) => name === only);
  const family = style.calls?.family;
  const form = family === undefined ? undefined : CALL_FORMS[family];
  if (form === undefined)
    throw new WorkbenchError(
      "INPUT_ARGUMENT",
      "[tools] tool choice: got a chat template whose form of calls is not known, expected one of a known form",
      {
        hint: `Leave the choice at auto, or give a JSON schema. Known forms: ${Object.keys(CALL_FORMS).join(", ")}.`,
      },
    );
  const builder = new RuleBuilder();
  const marks = markWriter(builder, tokens);
  const wrong = ({ name }: Tool, what: string): WorkbenchError =>
    new WorkbenchError("INPUT_ARGUMENT", `[tools ${name}] ${what}`);
  const many = only === undefined;
  const writerOf = (tool: Tool, form: ValueForm): SchemaWriter =>
    new SchemaWriter(tool.parameters, builder, { who: `tools ${tool.name}`, form });
  const writer: CallWriter = {
    ...marks,
    tools,
    many,
    template,
    wrong,
    isBegun: beginningOf(style, prompt).isBegun,
    each: (write) => builder.rule(tools.map(write)),
    row: (call, between) => {
      const item = builder.rule([call]);
      return many ? [item, ...builder.repeated([...between, item], 0, Infinity)] : [item];
    },
    object: (tool, form) => {
      const schema = writerOf(tool, form);
      const properties = schema.properties();
      const isEmpty = properties.length === 0 && !takesAny(tool.parameters);
      return isEmpty ? literal("{}") : [schema.root()];
    },
    pairs: (tool, between, write) => {
      const schema = writerOf(tool, jsonForm(builder));
      const members = schema.properties().map((property) => ({
        isRequired: property.isRequired,
        text: write(property, (form) => writerOf(tool, form).value(property)),
      }));
      return inOrder(members, between, builder);
    },
  };
  const root = builder.reserve();
  builder.define(root, [[...thoughts(request, writer), ...form(writer)]]);
  return finished(builder, root, "tools");
}

/** A schema that says that it takes any object, and not only nothing at all. */
const takesAny = (parameters: Json): boolean => {
  const more = partOf(parameters, "additionalProperties");
  return more !== undefined && more !== false;
};

/** What may stand before the calls, or before an answer: its thoughts must have an end, where a call is one. */
export function thoughts(
  { style, prompt }: Pick<CallRequest, "style" | "prompt">,
  { builder, mark, choice }: MarkWriter,
  { mustEnd = false } = {},
): Sequence {
  const letters = { plain: EVERY_CHARACTER, escapes: [] };
  const blanks = builder.repeated([characters(one("\n"))], 0, 2);
  const { isBegun, closings } = beginningOf(style, prompt);
  if (style.kind === "channels")
    return [
      ...(isBegun ? [] : [...mark("<|start|>"), ...literal("assistant")]),
      choice(
        [
          ...mark("<|channel|>"),
          ...literal("analysis"),
          ...mark("<|message|>"),
          ...textWithout(CHANNEL_MARKS, letters, UNBOUNDED, builder),
          ...mark("<|end|>"),
          ...mark("<|start|>"),
          ...literal("assistant"),
        ],
        [],
      ),
    ];
  const opens = (style.calls?.marks ?? []).map(({ open }) => open);
  const ended = (marks: readonly string[]): Sequence => [choice(...marks.map(mark)), ...blanks];
  const without = (marks: readonly string[]): Sequence => textWithout(marks, letters, UNBOUNDED, builder);
  // A call ends such thoughts, too.
  if (closings !== undefined && style.beginsThinking && !mustEnd)
    return [...without([...closings, ...opens]), choice(ended(closings), [])];
  if (closings !== undefined) return [...without(closings), ...ended(closings)];
  if (style.reasoning.length === 0) return [];
  const ways = style.reasoning.flatMap(({ open, close, mayLackOpen }) => [
    [...mark(open), ...without(close), ...ended(close)],
    ...(mayLackOpen === true ? [ended(close)] : []),
  ]);
  return [choice(...ways, [])];
}
