/**
 * Unigram vocabularies as tokenizer.json has them: the keys that are written from it give the ids that llama.cpp gives over
 * the same vocabulary as a GGUF, character map included. Each is spelt as one of the known ways to convert such a model
 * spells it: with SentencePiece's blanks as a normaliser's rule, as a pre-tokenizer's, and without either.
 */
import { afterAll, describe, expect, it } from "vitest";
import { llamaForget, llamaMissing, llamaTokenize } from "../../testing/llama.ts";
import { seededRandom } from "../../testing/random.ts";
import { toyCharsmap, unigrams } from "../../testing/toyVocabularies.ts";
import { hardText, VocabularyFolder } from "../../testing/vocabulary.ts";
import { createTokenizer } from "../../tokenizer/tokenizer.ts";
import { boolEntry, numberEntry, numbersEntry } from "../gguf/encode.ts";
import { Metadata } from "../gguf/metadata.ts";
import type { MetadataEntry } from "../gguf/values.ts";
import { Json } from "../json.ts";
import { tokenizerEntries } from "./tokenizer.ts";

type JsonParts = Readonly<Record<string, unknown>>;

const missing = llamaMissing();
const folder = new VocabularyFolder();
afterAll(async () => {
  await folder.done();
  if (missing === undefined) await llamaForget();
});

const KINDS = "tokenizer.ggml.token_type";
const [NORMAL, UNKNOWN, CONTROL, USER, UNUSED] = [1, 2, 3, 4, 5];
const isAdded = (kind: number | undefined): boolean => kind === UNKNOWN || kind === CONTROL || kind === USER;

const tokensOf = (metadata: Metadata): readonly string[] => {
  const table = metadata.optionalStrings("tokenizer.ggml.tokens")!;
  return Array.from({ length: table.length }, (_, id) => table.textAt(id));
};

/** With the roles of the tokens by their texts. A tokenizer.json knows no tokens that are out of use. */
function vocabulary(keys: readonly MetadataEntry[]): readonly MetadataEntry[] {
  const entries = unigrams(seededRandom(8), keys);
  const metadata = new Metadata("toy", entries);
  const kinds = [...(metadata.optionalIntegers(KINDS) ?? [])];
  const tokens = tokensOf(metadata);
  const roles = { bos: "<pad>", eos: "</s>", unknown: "<unk>" };
  const changed = [
    numbersEntry(
      KINDS,
      "i32",
      kinds.map((kind) => (kind === UNUSED ? NORMAL : kind)),
    ),
    ...Object.entries(roles).map(([role, text]) =>
      numberEntry(`tokenizer.ggml.${role}_token_id`, "u32", tokens.indexOf(text)),
    ),
  ];
  return entries.map((entry) => changed.find(({ key }) => key === entry.key) ?? entry);
}

const map = toyCharsmap();
const charsmap = (): string => {
  const { value } = map;
  if (value.kind !== "fixedArray") throw new Error("the character map is no array");
  return Buffer.from(value.array.bytes).toString("base64");
};
const PRECOMPILED = { type: "Precompiled", precompiled_charsmap: charsmap() };
const special = (id: string): JsonParts => ({ SpecialToken: { id, type_id: 0 } });
const framed = (...single: readonly JsonParts[]): JsonParts => ({ type: "TemplateProcessing", single, pair: [] });
const TEXT: JsonParts = { Sequence: { id: "A", type_id: 0 } };
const metaspace = (scheme: string): JsonParts => ({
  type: "Metaspace",
  replacement: "▁",
  prepend_scheme: scheme,
  split: true,
});

interface Way {
  readonly json: JsonParts;
  readonly keys: readonly MetadataEntry[];
}
const flags = (settings: Readonly<Record<string, boolean>>): readonly MetadataEntry[] =>
  Object.entries(settings).map(([name, value]) => boolEntry(`tokenizer.ggml.${name}`, value));
const MERGED = { add_space_prefix: true, remove_extra_whitespaces: true };

const WAYS: Readonly<Record<string, Way>> = {
  "blanks merged by the normaliser, an end behind": {
    json: {
      normalizer: {
        type: "Sequence",
        normalizers: [
          PRECOMPILED,
          { type: "Strip", strip_left: false, strip_right: true },
          { type: "Replace", pattern: { Regex: " {2,}" }, content: "▁" },
        ],
      },
      pre_tokenizer: metaspace("always"),
      post_processor: framed(TEXT, special("</s>")),
    },
    keys: [...flags({ ...MERGED, add_bos_token: false, add_eos_token: true }), map],
  },
  "words split at blanks, a frame around": {
    json: {
      normalizer: PRECOMPILED,
      pre_tokenizer: {
        type: "Sequence",
        pretokenizers: [{ type: "WhitespaceSplit" }, { type: "Metaspace", replacement: "▁", add_prefix_space: true }],
      },
      post_processor: framed(special("<pad>"), TEXT, special("</s>")),
    },
    keys: [...flags({ ...MERGED, add_bos_token: true, add_eos_token: true }), map],
  },
  "blanks kept, no character map": {
    json: { normalizer: null, pre_tokenizer: metaspace("never"), post_processor: null },
    keys: flags({
      ...{ add_space_prefix: false, remove_extra_whitespaces: false },
      ...{ add_bos_token: false, add_eos_token: false },
    }),
  },
};

describe.skipIf(missing !== undefined)(`Unigram through tokenizer.json ${missing ?? ""}`, () => {
  it.each(Object.entries(WAYS))("%s, 1 000 texts", async (name, { json, keys }) => {
    const entries = vocabulary(keys);
    const { path, file } = await folder.make(`${name.length}.gguf`, entries);
    const { metadata } = file;
    const tokens = tokensOf(metadata);
    const kinds = [...(metadata.optionalIntegers(KINDS) ?? [])];
    const scores = [...(metadata.optionalFloats("tokenizer.ggml.scores") ?? [])];
    const tokenizer = {
      ...json,
      added_tokens: tokens.flatMap((content, id) =>
        isAdded(kinds[id]) ? [{ id, content, special: kinds[id] !== USER }] : [],
      ),
      model: {
        type: "Unigram",
        unk_id: tokens.indexOf("<unk>"),
        byte_fallback: false,
        vocab: tokens.map((token, id) => [token, scores[id]]),
      },
    };
    const written = tokenizerEntries({
      name,
      tokenizer: new Json(tokenizer),
      settings: new Json({ bos_token: "<pad>", eos_token: "</s>", unk_token: "<unk>" }),
      config: new Json({}),
      generation: new Json({}),
      template: undefined,
      rows: tokens.length,
    });
    const mine = createTokenizer({ name, metadata: new Metadata(name, written) });
    const random = seededRandom(22);
    const texts = Array.from({ length: 1000 }, () => hardText(random, ["<|user|>", "</s>", "ver", "  ", "①"]));
    for (const addSpecial of [true, false]) {
      const theirs = await llamaTokenize(path, texts, { addSpecial });
      texts.forEach((text, i) => {
        expect([...mine.encode(text, { addSpecial })].join(" "), JSON.stringify(text)).toBe(theirs[i]!.join(" "));
      });
    }
  });
});
