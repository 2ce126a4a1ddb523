/**
 * The grammar of an answer that is JSON: what a model thinks first is free, in the form of its family, and the JSON behind it
 * is what reader.ts takes for the answer.
 */
import { literal } from "../grammar/elements.ts";
import { finished, schemaOf } from "../grammar/jsonSchema.ts";
import type { Grammar, Sequence } from "../grammar/rules.ts";
import { RuleBuilder } from "../grammar/rules.ts";
import { SchemaWriter } from "../grammar/schemaWriter.ts";
import { jsonForm } from "../grammar/valueForm.ts";
import type { MarkTokens, MarkWriter } from "./callGrammar.ts";
import { markWriter, thoughts } from "./callGrammar.ts";
import type { ReplyStyle } from "./families.ts";
import { EVERYONE, marksOf, RECIPIENT_OPEN } from "./families.ts";
import { beginningOf } from "./reader.ts";

export interface AnswerRequest {
  readonly style: ReplyStyle;
  readonly template: string;
  /** The answer may go on with what it has begun. */
  readonly prompt: string;
  /** Text of the JSON schema. */
  readonly schema: string;
}

/** Whether something stands before such an answer: thoughts of a model that has them, or a header. */
export function hasBefore({ style, template, prompt }: Omit<AnswerRequest, "schema">): boolean {
  if (style.kind !== "marks") return true;
  const { closings } = beginningOf(style, prompt);
  if (closings !== undefined) return true;
  const end = prompt.trimEnd();
  // Only marks that the template knows: the usual ones are a guess, and not for a grammar to offer.
  const known = style.reasoning.filter(({ open, close }) => [open, ...close].some((mark) => template.includes(mark)));
  return known.length > 0 && !known.some(({ close }) => close.some((mark) => end.endsWith(mark)));
}

export function answerGrammar({ style, prompt, schema }: AnswerRequest, tokens: MarkTokens): Grammar {
  const read = schemaOf(schema);
  const builder = new RuleBuilder();
  const writer = markWriter(builder, tokens);
  const root = builder.reserve();
  // In a text, a mark would end the answer for its reader.
  const form = jsonForm(builder, readMarks(style));
  const value = new SchemaWriter(read, builder, { who: "schema", form }).root();
  builder.define(root, [
    [...thoughts({ style, prompt }, writer, { mustEnd: true }), ...headerOf(style, prompt, writer), value],
  ]);
  return finished(builder, root, "schema");
}

/** Marks that a reader takes anywhere. A single bracket begins a call at the start of an answer only. */
const readMarks = (style: ReplyStyle): readonly string[] => marksOf(style).filter((mark) => mark.length > 1);

/** Says that what follows is the answer. */
function headerOf({ kind }: ReplyStyle, prompt: string, { mark }: MarkWriter): Sequence {
  switch (kind) {
    case "marks":
      return [];
    case "channels":
      return [...mark("<|channel|>"), ...literal("final"), ...mark("<|message|>")];
    case "recipients":
      return literal(`${prompt.trimEnd().endsWith(RECIPIENT_OPEN) ? "" : RECIPIENT_OPEN}${EVERYONE}\n`);
  }
}
