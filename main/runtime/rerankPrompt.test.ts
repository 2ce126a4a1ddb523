// A query and a document become one text as llama.cpp's server makes it.
import { expect, it } from "vitest";
import { stringEntry } from "../formats/gguf/encode.ts";
import { Metadata } from "../formats/gguf/metadata.ts";
import { finish } from "../ir/steps.ts";
import type { Tokenizer } from "../tokenizer/tokenizer.ts";
import { filled, rerankTokens } from "./rerankPrompt.ts";

const PAIR = { query: "q", document: "d" };

/** Each letter is its code; special tokens are 1 (before), 2 (behind) and 3 (between). */
const letters = (rules: Partial<Tokenizer>): Tokenizer =>
  ({
    ...{ addBos: false, addEos: false, addSep: false, bos: 1, eos: 2, separator: 3 },
    *encodeSteps(text: string) {
      yield;
      return Int32Array.from(text, (letter) => letter.charCodeAt(0));
    },
    ...rules,
  }) as Tokenizer;

const tokens = (rules: Partial<Tokenizer>): number[] => [
  ...finish(rerankTokens(new Metadata("test", []), letters(rules), PAIR)),
];
const [Q, D] = [113, 100];

it("puts the tokens of the file's rules before, between and behind", () => {
  expect(tokens({ addBos: true, addSep: true })).toEqual([1, Q, 3, D]);
  expect(tokens({ addBos: true, addEos: true })).toEqual([1, Q, 2, D, 2]);
  expect(tokens({ addBos: true, addEos: true, addSep: true })).toEqual([1, Q, 2, 3, D, 2]);
  expect(tokens({ addEos: true, eos: undefined })).toEqual([Q, 3, D, 3]);
});

it("fills the file's own template, and nothing that stands in the texts", () => {
  expect(filled("<{query}|{document}>", { query: "{document}", document: "$&" })).toBe("<{document}|$&>");
  const metadata = new Metadata("test", [stringEntry("tokenizer.chat_template.rerank", "{document}:{query}")]);
  expect([...finish(rerankTokens(metadata, letters({ addBos: true }), PAIR))]).toEqual([D, 58, Q]);
});
