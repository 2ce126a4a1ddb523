/** Tokenizers on llama.cpp's own test pairs (text → ids), on small vocabularies made here, and on damaged ones. */
import { readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  boolEntry,
  numberEntry,
  numbersEntry,
  stringEntry,
  stringsEntry,
  withEntries,
} from "../formats/gguf/encode.ts";
import { Metadata } from "../formats/gguf/metadata.ts";
import type { MetadataEntry } from "../formats/gguf/values.ts";
import { seededRandom } from "../testing/random.ts";
import { sharedFile, sharedFileMissing } from "../testing/sharedData.ts";
import {
  characterPairs,
  dnaTokens,
  escapedTokens,
  scoredPieces,
  scoredTokens,
  unigrams,
  wordPieces,
} from "../testing/toyVocabularies.ts";
import { hardText, openShared } from "../testing/vocabulary.ts";
import { TOKENIZER_MODELS } from "./models.ts";
import { createTokenizer, tokenizerRefusal } from "./tokenizer.ts";
import type { Tokenizer } from "./tokenizer.ts";

const key = (name: string): string => `tokenizer.ggml.${name}`;

describe.each(["llama-spm", "gpt-2", "deepseek-coder", "bert-bge"])("llama.cpp's pairs for %s", (name) => {
  const file = `vocab/${name}.gguf`;
  const missing = sharedFileMissing(file);
  it.skipIf(missing)(`are all the same ${missing ?? ""}`, async () => {
    const tokenizer = createTokenizer(await openShared(file));
    const inputs = readFileSync(sharedFile(`${file}.inp`), "utf8").split("\n__ggml_vocab_test__\n");
    const outputs = readFileSync(sharedFile(`${file}.out`), "utf8").split("\n");
    expect(inputs.length).toBeGreaterThan(40);
    inputs.forEach((text, i) => {
      const ids = tokenizer.encode(text, { addSpecial: false });
      expect(ids.join(" "), JSON.stringify(text)).toBe(outputs[i]?.trim());
    });
  });

  // Words of WordPiece lose their case: there is no such test of them.
  const pairs = name === "bert-bge" ? undefined : it.skipIf(missing);
  pairs?.(`come back as the text they were made from ${missing ?? ""}`, async () => {
    const tokenizer = createTokenizer(await openShared(file));
    const random = seededRandom(11);
    for (let i = 0; i < 500; i++) {
      // SentencePiece writes spaces as ▁ and cannot tell the two apart afterwards.
      const text = name === "llama-spm" ? hardText(random).replaceAll("▁", " ") : hardText(random);
      const ids = tokenizer.encode(text, { addSpecial: false, parseSpecial: false });
      expect(tokenizer.decode(ids, { special: true })).toBe(text);
      const stream = tokenizer.detokenizer({ special: true });
      const streamed = [...ids].map((id) => stream.push(id)).join("") + stream.flush();
      expect(streamed).toBe(tokenizer.decode(ids, { special: true, dropPrefix: false }));
    }
  });
});

/** Bytes as single tokens, then a few merges: "a b" and so on. */
const tinyBpe = (changes: Changes = {}): Tokenizer => createTokenizer(tinySource(changes));
type Changes = Readonly<Record<string, MetadataEntry | undefined>>;
function tinySource(changes: Changes) {
  const letters = [..."abcdefgh!?"];
  const entries = [
    stringEntry(key("model"), "gpt2"),
    stringEntry(key("pre"), "gpt-2"),
    stringsEntry(key("tokens"), [...letters, "ab", "cd", "abcd", "Ġ", "Ġab", "<end>", "<user>"]),
    numbersEntry(key("token_type"), "i32", [...letters.map(() => 1), 1, 1, 1, 1, 1, 3, 4]),
    stringsEntry(key("merges"), ["a b", "c d", "ab cd", "Ġ ab", "e f"]),
    numberEntry(key("bos_token_id"), "u32", 15),
    numberEntry(key("eos_token_id"), "u32", 15),
  ];
  return { name: "tiny", metadata: new Metadata("tiny", withEntries(entries, changes)) };
}
const ids = (tokenizer: Tokenizer, text: string, options = {}): number[] => [...tokenizer.encode(text, options)];

describe("byte-level BPE", () => {
  it("merges by rank, the leftmost first", () => {
    expect(ids(tinyBpe(), "abcd")).toEqual([12]);
    expect(ids(tinyBpe(), "abab")).toEqual([10, 10]);
    expect(ids(tinyBpe(), "ab ab")).toEqual([10, 14]);
  });

  it("takes a merge product that is no token apart again", () => {
    expect(ids(tinyBpe(), "ef")).toEqual([4, 5]);
  });

  it("finds control tokens when told, user-defined ones always", () => {
    expect(ids(tinyBpe(), "a<end>b")).toEqual([0, 15, 1]);
    expect(ids(tinyBpe(), "a<end>b", { parseSpecial: false })).toEqual([0, 4, 3, 1]);
    expect(ids(tinyBpe(), "a<user>b", { parseSpecial: false })).toEqual([0, 16, 1]);
  });

  it("shows control tokens only when asked", () => {
    const tokenizer = tinyBpe();
    expect(tokenizer.decode([0, 15, 16])).toBe("a<user>");
    expect(tokenizer.decode([0, 15, 16], { special: true })).toBe("a<end><user>");
    expect(tokenizer.endings.has(15)).toBe(true);
  });

  it("adds what the file says", () => {
    const tokenizer = tinyBpe({ a: boolEntry(key("add_bos_token"), true), b: boolEntry(key("add_eos_token"), true) });
    expect(ids(tokenizer, "a")).toEqual([15, 0, 15]);
    expect(ids(tokenizer, "a", { addSpecial: false })).toEqual([0]);
  });

  it("is quick with one endless word", () => {
    const text = "abcd".repeat(50_000);
    expect(ids(tinyBpe(), text)).toHaveLength(50_000);
  });
});

describe("a long text", () => {
  it("is read with pauses, and gives the same tokens", () => {
    expectPauses(tinyBpe(), ["ab cd ".repeat(20_000), "abcd".repeat(150_000)]);
  });

  it.each([
    ["characters", characterPairs("gemma4", seededRandom(1))],
    ["SentencePiece", scoredPieces(seededRandom(1))],
    ["WordPiece", wordPieces(seededRandom(1))],
    ["Unigram", unigrams(seededRandom(1))],
    ["RWKV", escapedTokens(seededRandom(1))],
    ["PLaMo 2", scoredTokens(seededRandom(1))],
    ["DNA", dnaTokens(seededRandom(1))],
  ])("is read with pauses by %s", (name, entries) => {
    const tokenizer = createTokenizer({ name, metadata: new Metadata(name, entries) });
    expectPauses(tokenizer, ["hello 123 <dna>acgtacgt</dna>".repeat(12_000)]);
  });
});

function expectPauses(tokenizer: Tokenizer, texts: readonly string[]): void {
  for (const text of texts) {
    const steps = tokenizer.encodeSteps(text);
    let pauses = 0;
    let step = steps.next();
    for (; step.done !== true; step = steps.next()) pauses += 1;
    expect(pauses).toBeGreaterThan(0);
    expect(step.value).toEqual(tokenizer.encode(text));
  }
}

describe("tokens that are parts of a character", () => {
  it("are held back until the character is whole", () => {
    const bytes = ["Ã", "Â©", "©", "Ã©"];
    const tokenizer = createTokenizer({
      name: "parts",
      metadata: new Metadata("parts", [
        stringEntry(key("model"), "gpt2"),
        stringEntry(key("pre"), "gpt-2"),
        stringsEntry(key("tokens"), bytes),
        stringsEntry(key("merges"), []),
      ]),
    });
    const stream = tokenizer.detokenizer();
    expect([stream.push(0), stream.push(2), stream.push(0), stream.flush()]).toEqual(["", "é", "", "\ufffd"]);
    expect([0, 2, 1, 0, 3, 0].map((id) => [stream.push(id), stream.open()])).toEqual([
      ["", true],
      ["é", false],
      ["©", false],
      ["", true],
      ["\ufffdé", false],
      ["", true],
    ]);
    expect([stream.flush(), stream.open()]).toEqual(["\ufffd", false]);
    expect(tokenizer.decode([0, 2, 3])).toBe("éé");
  });
});

describe("a vocabulary that cannot be used", () => {
  const code = (changes: Changes, text = "a"): string | undefined => {
    try {
      tinyBpe(changes).encode(text);
      return undefined;
    } catch (error) {
      return error instanceof Error && "code" in error ? String(error.code) : String(error);
    }
  };

  it("is known from its keys alone, in the words that making it would end with", () => {
    const said = (changes: Changes): string | undefined => tokenizerRefusal(tinySource(changes))?.message;
    expect(said({})).toBeUndefined();
    expect(said({ [key("pre")]: undefined })).toBeUndefined();
    expect(said({ [key("model")]: undefined })).toMatch(/names no tokenizer/);
    for (const changes of [
      { [key("model")]: stringEntry(key("model"), "no-such-model") },
      { [key("pre")]: stringEntry(key("pre"), "no-such-thing") },
      { [key("tokens")]: undefined },
      { [key("tokens")]: numberEntry(key("tokens"), "u32", 1) },
      { [key("merges")]: undefined },
      { [key("merges")]: numberEntry(key("merges"), "u32", 1) },
      { [key("tokens")]: stringsEntry(key("tokens"), []) },
      { [key("token_type")]: numbersEntry(key("token_type"), "i32", [1]) },
      ...["bert", "t5", "rwkv", "plamo2"].map((model) => ({
        [key("model")]: stringEntry(key("model"), model),
        [key("tokens")]: stringsEntry(key("tokens"), ["a".repeat(2000)]),
        [key("token_type")]: undefined,
      })),
      { [key("model")]: stringEntry(key("model"), "plamo2") },
      {
        [key("model")]: stringEntry(key("model"), "t5"),
        [key("precompiled_charsmap")]: numbersEntry(key("precompiled_charsmap"), "u8", [9, 0, 0, 0, 1, 2, 3]),
      },
    ])
      expect(() => tinyBpe(changes)).toThrow(said(changes) ?? "it is refused");
  });

  it("is named", () => {
    expect(code({})).toBeUndefined();
    expect(code({ [key("model")]: stringEntry(key("model"), "no-such-model") })).toBe("UNSUPPORTED_TOKENIZER");
    expect(code({ [key("pre")]: stringEntry(key("pre"), "no-such-thing") })).toBe("UNSUPPORTED_TOKENIZER");
    expect(code({ [key("model")]: undefined })).toBe("INPUT_MISSING_KEY");
    expect(code({ [key("tokens")]: undefined })).toBe("INPUT_MISSING_KEY");
    expect(code({ [key("merges")]: undefined })).toBe("INPUT_MISSING_KEY");
    expect(code({ [key("tokens")]: stringsEntry(key("tokens"), []) })).toBe("INPUT_TOKENIZER");
    expect(code({ [key("token_type")]: numbersEntry(key("token_type"), "i32", [1]) })).toBe("INPUT_TOKENIZER");
    expect(code({ [key("tokens")]: numberEntry(key("tokens"), "u32", 1) })).toBe("INPUT_MALFORMED");
  });

  it("with ids that point nowhere falls back or leaves them out", () => {
    const tokenizer = tinyBpe({ [key("eos_token_id")]: numberEntry(key("eos_token_id"), "u32", 4_000_000_000) });
    expect(tokenizer.eos).toBe(11);
    expect(() => tokenizer.decode([99])).toThrow(/99/u);
    expect(() => tokenizer.decode([-1])).toThrow(/-1/u);
  });

  it("does not hang or crash on nonsense", () => {
    const text = fc.string({ unit: "binary", maxLength: 30 });
    fc.assert(
      fc.property(
        fc.array(text, { minLength: 1, maxLength: 20 }),
        fc.array(text, { maxLength: 20 }),
        fc.array(fc.float(), { maxLength: 20 }),
        fc.array(fc.integer({ min: -3, max: 9 }), { maxLength: 20 }),
        fc.constantFrom(...TOKENIZER_MODELS.flatMap(({ names }) => names)),
        fc.uint8Array({ maxLength: 40 }),
        text,
        (tokens, merges, scores, types, model, charsmap, input) => {
          const entries = [
            stringEntry(key("model"), model),
            stringEntry(key("pre"), "llama-bpe"),
            stringsEntry(key("tokens"), tokens),
            stringsEntry(key("merges"), merges),
            numbersEntry(
              key("scores"),
              "f32",
              tokens.map((_, i) => scores[i] ?? NaN),
            ),
            numbersEntry(
              key("token_type"),
              "i32",
              tokens.map((_, i) => types[i] ?? 1),
            ),
            ...(charsmap.length > 20 ? [numbersEntry(key("precompiled_charsmap"), "u8", [...charsmap])] : []),
          ];
          try {
            const tokenizer = createTokenizer({ name: "t", metadata: new Metadata("t", entries) });
            tokenizer.decode(tokenizer.encode(input + tokens.join("")));
          } catch (error) {
            expect(error).toHaveProperty("code", "INPUT_TOKENIZER");
          }
        },
      ),
      { numRuns: 400, seed: 1 },
    );
  });
});
