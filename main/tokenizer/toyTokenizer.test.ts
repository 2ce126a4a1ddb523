/** A tokenizer model and a pre-tokenizer of one's own: what docs/extending.md promises. */
import { expect, it } from "vitest";
import { numberEntry, numbersEntry, stringEntry, stringsEntry } from "../formats/gguf/encode.ts";
import { Metadata } from "../formats/gguf/metadata.ts";
import { finish } from "../ir/steps.ts";
import { wordEnds } from "./cutting.ts";
import { TOKENIZER_MODELS } from "./models.ts";
import { preTokenizersOf } from "./pretokenizers.ts";
import { bytesByKind, framed } from "./rules.ts";
import type { TokenizerModel } from "./rules.ts";
import { createTokenizer, tokenizerRefusal } from "./tokenizer.ts";
import { Vocabulary, checkedTokens } from "./vocabulary.ts";

const key = (name: string): string => `tokenizer.ggml.${name}`;

/** Each letter is a token, from the last one to the first. */
const backwards: TokenizerModel = {
  id: "backwards",
  title: "Backwards",
  names: ["toy-backwards"],
  check: ({ name, metadata }) => void checkedTokens(name, metadata),
  make: ({ name, metadata }) => {
    const vocabulary = new Vocabulary(name, metadata, { bos: 0, eos: undefined, unknown: 1 });
    return {
      pre: "default",
      vocabulary,
      *encode(text, out) {
        for (const char of [...text].toReversed()) out.push(vocabulary.idOf(char) ?? vocabulary.special.unknown ?? 0);
        yield;
      },
      bytesOf: (id, kind) => bytesByKind(vocabulary, id, kind, (text) => new TextEncoder().encode(text)),
      before: framed(vocabulary.special.bos),
      behind: [],
      addBos: true,
      addEos: false,
      addSep: false,
      addSpacePrefix: false,
      cleanSpaces: false,
      keepsText: false,
      warnings: [],
    };
  },
};

const source = {
  name: "toy",
  metadata: new Metadata("toy", [
    stringEntry(key("model"), "toy-backwards"),
    stringsEntry(key("tokens"), ["<s>", "<unk>", "a", "b", "<end>"]),
    numbersEntry(key("token_type"), "i32", [3, 2, 1, 1, 3]),
    numberEntry(key("eos_token_id"), "u32", 4),
  ]),
};

it("a tokenizer model is one object, and a line in the list", () => {
  const tokenizer = createTokenizer(source, [...TOKENIZER_MODELS, backwards]);
  expect([...tokenizer.encode("ab!<end>b")]).toEqual([0, 1, 3, 2, 4, 3]);
  expect(tokenizer.decode([0, 3, 2, 4])).toBe("ba");
  expect([tokenizer.model, tokenizer.endings.has(4)]).toEqual(["backwards", true]);
  const refusal = tokenizerRefusal(source);
  expect([refusal?.code, refusal?.details?.["model"]]).toEqual(["UNSUPPORTED_TOKENIZER", "toy-backwards"]);
});

it("a pre-tokenizer is its patterns, with their names", () => {
  const added = preTokenizersOf([
    { patterns: [{ regex: /x+/gu, over: "plain" }], names: "toy-x toy-xx", ignoreMerges: true },
  ]).get("toy-xx");
  expect(added).toMatchObject({ name: "toy-xx", ignoreMerges: true, addBos: false, spelling: "bytes" });
  expect(finish(wordEnds("abxxxc", added!.patterns))).toEqual([2, 5, 6]);
});
