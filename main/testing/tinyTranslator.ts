/** A small T5 as GGUF: random weights, and a Unigram vocabulary that has every word of small letters. */
import { boolEntry, numberEntry, numbersEntry, stringEntry, stringsEntry } from "../formats/gguf/encode.ts";
import type { MetadataEntry } from "../formats/gguf/values.ts";
import { t5 } from "../models/families/t5.ts";
import { TOY_VOCABULARY, writePlainToy } from "./toyFiles.ts";

const SPECIAL = ["<pad>", "</s>", "<unk>"];
const LETTERS = [..."abcdefghijklmnopqrstuvwxyz"];
const PIECES = ["\u2581", ...LETTERS, ...LETTERS.map((letter) => `\u2581${letter}`)];
const PAIRS = LETTERS.flatMap((a) => LETTERS.map((b) => a + b));
const TOKENS = [...SPECIAL, ...PIECES, ...PAIRS].slice(0, TOY_VOCABULARY);
const [NORMAL, UNKNOWN, CONTROL] = [1, 2, 3];

const id = (name: string, token: string): MetadataEntry =>
  numberEntry(`tokenizer.ggml.${name}_token_id`, "u32", TOKENS.indexOf(token));

const ENTRIES: readonly MetadataEntry[] = [
  stringEntry("general.name", "Tiny translator"),
  stringEntry("tokenizer.ggml.model", "t5"),
  stringsEntry("tokenizer.ggml.tokens", TOKENS),
  numbersEntry(
    "tokenizer.ggml.scores",
    "f32",
    TOKENS.map((_, i) => (i < SPECIAL.length ? 0 : -1 - (i % 17))),
  ),
  numbersEntry(
    "tokenizer.ggml.token_type",
    "i32",
    TOKENS.map((_, i) => (i >= SPECIAL.length ? NORMAL : i === 2 ? UNKNOWN : CONTROL)),
  ),
  id("padding", "<pad>"),
  id("eos", "</s>"),
  id("unknown", "<unk>"),
  boolEntry("tokenizer.ggml.add_bos_token", false),
  boolEntry("tokenizer.ggml.add_eos_token", true),
];

export async function writeTinyTranslator(path: string): Promise<void> {
  const sample = t5.samples.at(-1);
  if (sample === undefined) throw new Error("t5 has samples");
  await writePlainToy(
    path,
    t5,
    { ...sample, keys: { ...sample.keys, decoder_start_token_id: 0 } },
    { vocabulary: ENTRIES },
  );
}
