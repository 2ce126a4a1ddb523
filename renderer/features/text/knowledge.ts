/** What the editor is told of the language: operations, types, names. */
import type { OpFacts, TextReport } from "../../../main/contract/views/text.ts";
import type { TextKnowledge } from "../../ui/monaco/TextEditor.tsx";
import { definitionOf, nameRefusal, sameValue, valueWords, wordAt } from "./names.ts";

export interface KnowledgeParts {
  readonly report: () => TextReport | null;
  readonly operations: () => readonly OpFacts[];
  readonly format: (text: string) => Promise<string | null>;
}

/** "relu" where the offset is on it and an opening bracket follows. */
function operationAt(text: string, offset: number): string | null {
  const line = text.lastIndexOf("\n", offset - 1) + 1;
  const end = text.indexOf("\n", offset);
  for (const match of text.slice(line, end < 0 ? undefined : end).matchAll(/\b([A-Za-z_]\w*)\s*\(/gu)) {
    const start = line + match.index;
    if (start <= offset && offset <= start + (match[1]?.length ?? 0)) return match[1] ?? null;
  }
  return null;
}

export function operationWords({ name, summary, operands, attributes }: OpFacts): readonly string[] {
  const told = attributes.map((each) => `- \`${each.name}\`: ${each.expects}`);
  return [`**${name}**(${operands.join(", ")})`, summary, ...(told.length === 0 ? [] : [told.join("\n")])];
}

export function textKnowledge({ report, operations, format }: KnowledgeParts): TextKnowledge {
  /** Of the text that was asked about last: a person stays at one for some questions. */
  let last: { readonly text: string; readonly words: ReturnType<typeof valueWords> } | null = null;
  const wordsOf = (text: string): ReturnType<typeof valueWords> => {
    if (last?.text !== text) last = { text, words: valueWords(text) };
    return last.words;
  };
  const found = (text: string, offset: number) => {
    const words = wordsOf(text);
    const word = wordAt(words, offset);
    return word === undefined ? null : { words, word, definition: definitionOf(words, word) };
  };
  return {
    hover(text, offset) {
      const op = operationAt(text, offset);
      const facts = op === null ? undefined : operations().find(({ name }) => name === op);
      if (facts !== undefined) return Promise.resolve(operationWords(facts));
      const at = found(text, offset);
      if (at?.definition === undefined) return Promise.resolve(null);
      const { word, definition } = at;
      const types = report()?.types.find(({ start }) => start === definition.start)?.types ?? [];
      const result = Number(text.slice(word.end + 1, word.wholeEnd) || 0);
      const shown = word.isDefinition ? types : types.slice(result, result + 1);
      const line = text.slice(0, definition.start).split("\n").length;
      const lines = shown.length === 0 ? [] : [`\`${shown.join("`, `")}\``];
      return Promise.resolve([...lines, `%${word.name}, line ${line}`]);
    },
    definition: (text, offset) => found(text, offset)?.definition ?? null,
    references(text, offset) {
      const at = found(text, offset);
      return at === null ? [] : sameValue(at.words, at.word);
    },
    nameAt(text, offset) {
      const word = found(text, offset)?.word;
      return word === undefined ? null : { name: word.name, start: word.start + 1, end: word.end };
    },
    rename(text, offset, name) {
      const at = found(text, offset);
      if (at === null) return "There is no value here.";
      const plain = name.replace(/^%/u, "");
      const refusal = nameRefusal(at.words, at.word, plain);
      return refusal ?? sameValue(at.words, at.word).map(({ start, end }) => ({ start: start + 1, end }));
    },
    format,
  };
}
