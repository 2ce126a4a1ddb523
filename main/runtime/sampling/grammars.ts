/** The grammar of an answer over the vocabulary of its model. What is made for one answer serves the next ones, too. */
import { WorkbenchError } from "../../diagnostics/errors.ts";
import { GrammarAutomaton } from "../../grammar/automaton.ts";
import type { ConstraintSource } from "../../grammar/constraint.ts";
import { ConstrainedTokens, TokenMasks } from "../../grammar/constraint.ts";
import type { TokenNames } from "../../grammar/gbnf.ts";
import { parseGbnf } from "../../grammar/gbnf.ts";
import { jsonSchemaGrammar } from "../../grammar/jsonSchema.ts";
import type { Grammar } from "../../grammar/rules.ts";
import type { TokenBytesSource } from "../../grammar/tokenBytes.ts";
import { grammarBytes } from "../../grammar/tokenBytes.ts";
import { vocabularyTrie } from "../../grammar/vocabularyTrie.ts";
import type { Steps } from "../../ir/steps.ts";
import type { AnswerRequest } from "../../replies/answerGrammar.ts";
import { answerGrammar } from "../../replies/answerGrammar.ts";
import type { CallRequest } from "../../replies/callGrammar.ts";
import { callGrammar } from "../../replies/callGrammar.ts";

export interface GrammarVocabulary extends TokenBytesSource, TokenNames {}

interface Kept {
  readonly source: ConstraintSource;
  /** Of the grammar that was asked for last. */
  last: { readonly text: string; readonly masks: TokenMasks } | undefined;
}

const kept = new WeakMap<GrammarVocabulary, Kept>();

/** What an answer has to be: a text of a GBNF grammar, JSON that a schema takes, or calls of tools. */
export type AnswerForm =
  | { readonly kind: "grammar"; readonly text: string }
  | { readonly kind: "jsonSchema"; readonly text: string }
  /** `text` tells one request from another. */
  | { readonly kind: "calls"; readonly text: string; readonly request: CallRequest }
  /** JSON behind what the model thinks first. */
  | { readonly kind: "answer"; readonly text: string; readonly request: AnswerRequest };

/** What a conversation says of the form of its answer. */
export interface AnswerForms {
  /** Calls, where a tool has to be called. */
  readonly form?: AnswerForm;
  /** The form of an answer that is JSON, where something may stand before it. */
  readonly jsonForm?: (schema: string) => AnswerForm;
}

function readForm(form: AnswerForm, vocabulary: GrammarVocabulary): Grammar {
  switch (form.kind) {
    case "grammar":
      return parseGbnf(form.text, vocabulary);
    case "jsonSchema":
      return jsonSchemaGrammar(form.text);
    case "calls":
      return callGrammar(form.request, vocabulary);
    case "answer":
      return answerGrammar(form.request, vocabulary);
  }
}

/** A new text of this form each time that the answer is called. */
export function* constraintOf(form: AnswerForm, vocabulary: GrammarVocabulary): Steps<() => ConstrainedTokens> {
  const known = kept.get(vocabulary);
  const text = `${form.kind} ${form.text}`;
  if (known?.last?.text === text) {
    const { masks } = known.last;
    return () => new ConstrainedTokens(masks);
  }
  const automaton = new GrammarAutomaton(readForm(form, vocabulary));
  yield;
  const { source } = known ?? (yield* keep(vocabulary));
  const masks = new TokenMasks(automaton, source);
  kept.set(vocabulary, { source, last: { text, masks } });
  return () => new ConstrainedTokens(masks);
}

function* keep(vocabulary: GrammarVocabulary): Steps<Kept> {
  const { size, endings } = vocabulary;
  if (endings.size === 0)
    throw new WorkbenchError("UNSUPPORTED_TOKENIZER", "[grammar] the vocabulary names no token that ends a text", {
      hint: "An answer under a grammar would not end: run without one.",
    });
  const bytes = grammarBytes(vocabulary);
  return { source: { bytes, endings, trie: yield* vocabularyTrie({ size, bytes }) }, last: undefined };
}
