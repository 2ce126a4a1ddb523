/** The grammar of an answer over the vocabulary of its model. What is made for one answer serves the next ones, too. */
import { WorkbenchError } from "../../diagnostics/errors.ts";
import { GrammarAutomaton } from "../../grammar/automaton.ts";
import type { ConstraintSource } from "../../grammar/constraint.ts";
import { ConstrainedTokens, TokenMasks } from "../../grammar/constraint.ts";
import { parseGbnf } from "../../grammar/gbnf.ts";
import { jsonSchemaGrammar } from "../../grammar/jsonSchema.ts";
import type { TokenBytesSource } from "../../grammar/tokenBytes.ts";
import { grammarBytes } from "../../grammar/tokenBytes.ts";
import { vocabularyTrie } from "../../grammar/vocabularyTrie.ts";
import type { Steps } from "../../ir/steps.ts";

export interface GrammarVocabulary extends TokenBytesSource {
  readonly size: number;
}

interface Kept {
  readonly source: ConstraintSource;
  /** Of the grammar that was asked for last. */
  last: { readonly text: string; readonly masks: TokenMasks } | undefined;
}

const kept = new WeakMap<GrammarVocabulary, Kept>();

/** What an answer has to be: a text of a GBNF grammar, or JSON that a schema takes. */
export type AnswerForm =
  { readonly kind: "grammar"; readonly text: string } | { readonly kind: "jsonSchema"; readonly text: string };

const READERS = { grammar: parseGbnf, jsonSchema: jsonSchemaGrammar } as const;

/** A new text of this form each time that the answer is called. */
export function* constraintOf(form: AnswerForm, vocabulary: GrammarVocabulary): Steps<() => ConstrainedTokens> {
  const known = kept.get(vocabulary);
  const text = `${form.kind} ${form.text}`;
  if (known?.last?.text === text) {
    const { masks } = known.last;
    return () => new ConstrainedTokens(masks);
  }
  const automaton = new GrammarAutomaton(READERS[form.kind](form.text));
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
