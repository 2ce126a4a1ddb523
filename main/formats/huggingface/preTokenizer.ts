/**
 * The name that a GGUF gives to a pre-tokenizer, from the expressions of a tokenizer.json. Names
 * whose expressions are the same share an entry; the tokenizer's other keys are written beside it.
 */
import { WorkbenchError } from "../../diagnostics/errors.ts";
import { Json } from "../json.ts";

const CONTRACTIONS = "(?i:'s|'t|'re|'ve|'m|'ll|'d)";
const TAIL = "\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";
const modern = (digits: string): string =>
  `${CONTRACTIONS}|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}${digits}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|${TAIL}`;
/** The same with letters spelt out, as the first files of this kind have it. */
const spelt = (text: string): string =>
  text.replace(CONTRACTIONS, "(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])");
/** The same; marks belong to the words, and digits stand by themselves. */
const marked = `${CONTRACTIONS}|[^\\r\\n\\p{L}\\p{N}]?[\\p{L}\\p{M}]+|\\p{N}| ?[^\\s\\p{L}\\p{M}\\p{N}]+[\\r\\n]*|${TAIL}`;
const UPPER = "\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}";
const LOWER = "\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}";
const cased = (digits: string, ending: string): string =>
  `[^\\r\\n\\p{L}\\p{N}]?[${UPPER}]*[${LOWER}]+${ending}|[^\\r\\n\\p{L}\\p{N}]?[${UPPER}]+[${LOWER}]*${ending}|` +
  `\\p{N}${digits}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|${TAIL}`;

/** Expressions in order, each applied to what the one before left, and the name. */
const NAMES: ReadonlyMap<string, string> = new Map([
  [signature(["bytes"]), "gpt-2"],
  [signature(["digits", "bytes"]), "smollm"],
  [signature([modern("{1,3}")]), "dbrx"],
  [signature([spelt(modern("{1,3}"))]), "dbrx"],
  [signature([modern("")]), "qwen2"],
  [signature([spelt(modern(""))]), "qwen2"],
  [signature([marked]), "qwen35"],
  [signature(["[\r\n]", "\\s?\\p{L}+", "\\s?\\p{P}+", "[一-龥ࠀ-一가-퟿]+", "digits"]), "deepseek-coder"],
  [signature([cased("", "")]), "tekken"],
  [signature([cased("{1,3}", `${CONTRACTIONS}?`)]), "gpt-4o"],
  [
    signature([
      "\\p{N}{1,3}",
      "[一-龥぀-ゟ゠-ヿ]+",
      "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\\r\\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| ?[\\p{P}\\p{S}]+[\\r\\n]*|" +
        TAIL,
    ]),
    "deepseek-v3",
  ],
]);

function signature(steps: readonly string[]): string {
  return steps.join("\n");
}

/** What a file that no entry fits is named: the tokenizer refuses it by this name. */
export const UNLISTED = "unlisted";

/** `isWhole`: a word that is a token stays one, whatever the merges say. */
export function preTokenizerName(preTokenizer: Json, isWhole: boolean): string {
  const name = NAMES.get(signature(stepsOf(preTokenizer, "pretokenizers").flatMap(signOf)));
  if (name === "dbrx" && isWhole) return "llama-bpe";
  return name ?? UNLISTED;
}

/** Sequences of sequences are no deeper in any known file. */
const MOST_DEPTH = 16;

/** The steps of a part of tokenizer.json: what its sequences hold under `key`, or the part itself. */
export function stepsOf(json: Json, key: string, depth = 0): readonly Json[] {
  if (json.text("type") !== "Sequence") return [json];
  if (depth >= MOST_DEPTH)
    throw new WorkbenchError(
      "INPUT_LIMIT",
      `[tokenizer.json] ${key}: got sequences in more than ${MOST_DEPTH} others, expected fewer`,
      { hint: "No known model comes near this; the file is probably damaged." },
    );
  return json.list(key).flatMap((inner) => stepsOf(new Json(inner), key, depth + 1));
}

/** An expression, "digits" for each digit by itself, "bytes" for the byte level with its own expression. */
function signOf(json: Json): readonly string[] {
  switch (json.text("type")) {
    case "ByteLevel":
      return json.flag("use_regex") === false ? [] : ["bytes"];
    case "Digits":
      return [json.flag("individual_digits") === true ? "digits" : "whole digits"];
    case "Split": {
      const pattern = json.child("pattern");
      return [pattern.text("Regex") ?? pattern.text("String") ?? ""];
    }
    default:
      return [json.text("type") ?? ""];
  }
}

/** Whether a pre-tokenizer works on bytes, spelt as printable characters. */
export const isByteLevel = (json: Json): boolean =>
  stepsOf(json, "pretokenizers").some((step) => step.text("type") === "ByteLevel");
