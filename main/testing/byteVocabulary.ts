/** Keys of a byte vocabulary with one merge, an end mark and a chat template: for toy files that are spoken with. */
import { numberEntry, numbersEntry, stringEntry, stringsEntry } from "../formats/gguf/encode.ts";
import type { MetadataEntry } from "../formats/gguf/values.ts";

/** GPT-2's characters for the bytes, in the order of the bytes. */
export function byteCharacters(): string[] {
  const isVisible = (byte: number): boolean =>
    (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
  let next = 256;
  return Array.from({ length: 256 }, (_, byte) => String.fromCodePoint(isVisible(byte) ? byte : next++));
}

/** The bytes, then one merge and the end mark. */
const vocabulary = (): readonly string[] => [...byteCharacters(), "th", "<|im_end|>"];

const TEMPLATE =
  "{% for message in messages %}{{ message.role }}: {{ message.content }}\n{% endfor %}" +
  "{% if add_generation_prompt %}assistant: {% endif %}";

/** Its tokens. */
export const BYTE_TOKENS = 258;

export interface ByteVocabulary {
  /** The pre-tokenizer it names. */
  readonly pre?: string;
  readonly template?: string | undefined;
  /** Control tokens behind the others. */
  readonly marks?: readonly string[];
  /** Rows of the embedding; tokens that are never written fill it up. */
  readonly rows?: number;
}

export function byteVocabulary({
  pre = "qwen2",
  template = TEMPLATE,
  marks = [],
  rows = BYTE_TOKENS + marks.length,
}: ByteVocabulary = {}): readonly MetadataEntry[] {
  const tokens = vocabulary();
  const end = tokens.length - 1;
  const unused = Array.from({ length: rows - tokens.length - marks.length }, (_, i) => `<|unused ${i}|>`);
  return [
    stringEntry("tokenizer.ggml.model", "gpt2"),
    stringEntry("tokenizer.ggml.pre", pre),
    stringsEntry("tokenizer.ggml.tokens", [...tokens, ...marks, ...unused]),
    numbersEntry("tokenizer.ggml.token_type", "i32", [
      ...tokens.map((_, i) => (i === end ? 3 : 1)),
      ...marks.map(() => 3),
      ...unused.map(() => 5),
    ]),
    stringsEntry("tokenizer.ggml.merges", ["t h"]),
    numberEntry("tokenizer.ggml.eos_token_id", "u32", end),
    stringEntry("tokenizer.chat_template", template),
  ];
}
