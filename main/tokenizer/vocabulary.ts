/**
 * The tokens of a file: their texts, their kinds, the special ones among them and which of those
 * end a generation. Rules and lists of texts as llama.cpp has them, because converters rely on
 * them; what a file says explicitly wins.
 */
import { WorkbenchError } from "../diagnostics/errors.ts";
import type { Metadata } from "../formats/gguf/metadata.ts";
import type { StringTable } from "../formats/gguf/values.ts";
import { StringIndex } from "./stringIndex.ts";

/** `tokenizer.ggml.token_type`, by number. */
const KINDS = ["undefined", "normal", "unknown", "control", "user", "unused", "byte"] as const;
export type TokenKind = (typeof KINDS)[number];
const NORMAL = 1;
const UNKNOWN = 2;
const CONTROL = 3;
const USER = 4;

export interface SpecialIds {
  readonly bos: number | undefined;
  readonly eos: number | undefined;
  readonly unknown: number | undefined;
  readonly separator?: number | undefined;
}

const encoder = new TextEncoder();

/**
 * Real vocabularies end far below: the largest known has 262 144 tokens, 514 906 merges and some KB
 * of special texts.
 */
const MOST_TOKENS = 1 << 20;
export const MOST_MERGES = 1 << 21;
const MOST_SPECIAL_BYTES = 1 << 20;
const MOST_TOKEN_BYTES = 1 << 25;
const LONGEST_TOKEN = 1 << 10;

/** Texts that end a turn wherever they are a token. */
const ENDING_TEXTS = [
  "<|eot_id|>",
  "<|im_end|>",
  "<|end|>",
  "<|return|>",
  "<|call|>",
  "<|flush|>",
  "<|calls|>",
  "<end_of_turn>",
  "<|endoftext|>",
  "</s>",
  "<|eom_id|>",
  "<EOT>",
  "_<EOT>",
  "[EOT]",
  "[EOS]",
  "<|end_of_text|>",
  "<end_of_utterance>",
  "<eos>",
  "<turn|>",
  "<|tool_response>",
  "[e~[",
];
/** Fill-in-the-middle tokens that also end a generation, when the file does not name others by key. */
const ENDING_KEYS: readonly (readonly [key: string, texts: readonly string[]])[] = [
  ["tokenizer.ggml.fim_pad_token_id", ["<|fim_pad|>", "<fim-pad>", "<fim_pad>", "<PAD>", "[PAD]"]],
  ["tokenizer.ggml.fim_rep_token_id", ["<|fim_repo|>", "<|repo_name|>", "<fim-repo>", "<REPO>", "<reponame>"]],
  ["tokenizer.ggml.fim_sep_token_id", ["<|file_sep|>"]],
  ["tokenizer.ggml.eot_token_id", ["<｜end▁of▁sentence｜>"]],
  ["tokenizer.ggml.eom_token_id", []],
];
/** Control tokens that converters sometimes mark as plain text. */
const CONTROL_TEXTS = [
  [
    "<|fim_prefix|>",
    "<fim-prefix>",
    "<fim_prefix>",
    "<｜fim▁begin｜>",
    "<PRE>",
    "▁<PRE>",
    "<|code_prefix|>",
    "<|prefix|>",
  ],
  [
    "<|fim_suffix|>",
    "<fim-suffix>",
    "<fim_suffix>",
    "<｜fim▁hole｜>",
    "<SUF>",
    "▁<SUF>",
    "<|code_suffix|>",
    "<|suffix|>",
  ],
  [
    "<|fim_middle|>",
    "<fim-middle>",
    "<fim_middle>",
    "<｜fim▁end｜>",
    "<MID>",
    "▁<MID>",
    "<|code_middle|>",
    "<|middle|>",
  ],
];
/** Control tokens that one model shows in its output. */
const SHOWN_TEXTS = ["<|channel|>", "<|message|>", "<|start|>", "<|constrain|>"];

export class Vocabulary {
  readonly file: string;
  readonly tokens: StringTable;
  readonly index: StringIndex;
  readonly special: SpecialIds;
  /** Tokens after which generation stops. */
  readonly endings: ReadonlySet<number>;
  /** Tokens that the model is never to write (`tokenizer.ggml.suppress_tokens`). */
  readonly suppressed: readonly number[];
  readonly #kinds: Uint8Array;
  readonly #fileKinds: Uint8Array;

  constructor(file: string, metadata: Metadata, defaults: SpecialIds) {
    this.file = file;
    const { tokens, kinds } = checkedTokens(file, metadata);
    this.tokens = tokens;
    this.index = new StringIndex(tokens, "last");
    this.#kinds = kinds;
    this.#fileKinds = kinds.slice();
    const known = (key: string, fallback: number | undefined): number | undefined => {
      const id = metadata.optionalCount(`tokenizer.ggml.${key}_token_id`);
      if (id !== undefined && id < this.size) return id;
      return fallback !== undefined && fallback < this.size ? fallback : undefined;
    };
    this.special = {
      bos: known("bos", defaults.bos),
      eos: known("eos", defaults.eos),
      unknown: known("unknown", defaults.unknown),
      // As the key is spelt.
      separator: known("seperator", defaults.separator),
    };
    this.endings = this.#findEndings(metadata);
    const suppressed = metadata.optionalIntegers("tokenizer.ggml.suppress_tokens") ?? [];
    this.suppressed = [...new Set(suppressed)].filter((id) => id >= 0 && id < this.size);
  }

  get size(): number {
    return this.tokens.length;
  }

  kind(id: number): TokenKind {
    return KINDS[this.#kinds[this.check(id)] ?? 0] ?? "undefined";
  }

  /** As the file says it, before what is known by its text. */
  fileKind(id: number): TokenKind {
    return KINDS[this.#fileKinds[id] ?? 0] ?? "undefined";
  }

  /** Unknown, control and user-defined tokens are found in a text before anything else is done with it. */
  specialTokens(): number[] {
    const ids: number[] = [];
    this.#kinds.forEach((kind, id) => {
      if (isSpecial(kind)) ids.push(id);
    });
    return ids;
  }

  /** The token with exactly this text. */
  idOf(text: string): number | undefined {
    const id = this.index.find(encoder.encode(text));
    return id < 0 ? undefined : id;
  }

  check(id: number): number {
    if (Number.isInteger(id) && id >= 0 && id < this.size) return id;
    throw new WorkbenchError("INPUT_ARGUMENT", `[tokenizer] token id: got ${id}, expected 0 to ${this.size - 1}`, {
      hint: "The id belongs to another vocabulary.",
    });
  }

  #findEndings(metadata: Metadata): ReadonlySet<number> {
    const endings = new Set<number>();
    const asControl = (id: number): void => {
      this.#kinds[id] = CONTROL;
    };
    for (const text of ENDING_TEXTS) {
      const id = this.idOf(text);
      if (id === undefined) continue;
      endings.add(id);
      asControl(id);
    }
    for (const texts of CONTROL_TEXTS) {
      const id = texts.map((text) => this.idOf(text)).find((found) => found !== undefined);
      if (id !== undefined) asControl(id);
    }
    for (const [key, texts] of ENDING_KEYS) {
      const given = metadata.optionalCount(key);
      const id =
        given !== undefined && given < this.size
          ? given
          : texts.map((text) => this.idOf(text)).find((found) => found !== undefined);
      if (id === undefined) continue;
      endings.add(id);
      if (given === undefined) asControl(id);
    }
    for (const text of SHOWN_TEXTS) {
      const id = this.idOf(text);
      if (id !== undefined) this.#kinds[id] = USER;
    }
    if (this.special.eos !== undefined) endings.add(this.special.eos);
    const ends = (text: string): number | undefined => {
      const id = this.idOf(text);
      return id !== undefined && endings.has(id) ? id : undefined;
    };
    const has = (...texts: readonly string[]): boolean => texts.some((text) => ends(text) !== undefined);
    // Where calls and returns end a turn, "<|end|>" only ends a part of it.
    const end = ends("<|end|>");
    if (end !== undefined && has("<|call|>", "<|calls|>") && has("<|return|>", "<|flush|>")) {
      endings.delete(end);
      this.#kinds[end] = USER;
    }
    // Beside these, "</s>" is a text like any other.
    const closing = ends("</s>");
    if (closing !== undefined && has("<|tool_response>")) {
      endings.delete(closing);
      this.#kinds[closing] = NORMAL;
    }
    return endings;
  }
}

const isSpecial = (kind: number | undefined): boolean => kind === UNKNOWN || kind === CONTROL || kind === USER;

/** The tokens of a file and their kinds, refused where a tokenizer cannot be made of them or would cost too much. */
export function checkedTokens(
  file: string,
  metadata: Metadata,
): { readonly tokens: StringTable; readonly kinds: Uint8Array } {
  const tokens = metadata.strings("tokenizer.ggml.tokens");
  if (tokens.length === 0) throw tokenizerError(file, "the vocabulary is empty");
  atMost(file, "tokens", tokens.length, MOST_TOKENS);
  const kinds = readKinds(file, metadata, tokens.length);
  let bytes = 0;
  for (let id = 0; id < kinds.length; id++) if (isSpecial(kinds[id])) bytes += tokens.endOf(id) - tokens.startOf(id);
  atMost(file, "bytes of special tokens", bytes, MOST_SPECIAL_BYTES);
  return { tokens, kinds };
}

/**
 * The tokens of a model that looks for each of them at each place of a text: their length is what a
 * place can cost.
 */
export function shortTokens(
  file: string,
  metadata: Metadata,
): { readonly tokens: StringTable; readonly kinds: Uint8Array } {
  const checked = checkedTokens(file, metadata);
  const { tokens } = checked;
  let [longest, bytes] = [0, 0];
  for (let id = 0; id < tokens.length; id++) {
    const length = tokens.endOf(id) - tokens.startOf(id);
    longest = Math.max(longest, length);
    bytes += length;
  }
  atMost(file, "bytes in a token", longest, LONGEST_TOKEN);
  atMost(file, "bytes of tokens", bytes, MOST_TOKEN_BYTES);
  return checked;
}

export function atMost(file: string, what: string, count: number, most: number): void {
  if (count > most)
    throw new WorkbenchError("INPUT_LIMIT", `[${file}] tokenizer: got ${count} ${what}, expected at most ${most}`, {
      hint: "No known model has this many; the file is probably damaged. It can still be inspected and exported.",
    });
}

function readKinds(file: string, metadata: Metadata, size: number): Uint8Array {
  const kinds = new Uint8Array(size).fill(NORMAL);
  const given = metadata.optionalIntegers("tokenizer.ggml.token_type");
  if (given === undefined) return kinds;
  if (given.length < size) throw tokenizerError(file, `got ${given.length} token types for ${size} tokens`);
  for (let id = 0; id < size; id++) {
    const kind = given[id] ?? 0;
    kinds[id] = kind > 0 && kind < KINDS.length ? kind : 0;
  }
  return kinds;
}

export const tokenizerError = (file: string, message: string): WorkbenchError =>
  new WorkbenchError("INPUT_TOKENIZER", `[${file}] tokenizer: ${message}`, {
    hint: "The vocabulary in the file is damaged; convert the model again.",
  });

/** One score for each token; 0 where the file has none. More of them do no harm, as in llama.cpp. */
export function scoresOf(file: string, metadata: Metadata, size: number): Float32Array {
  const scores = metadata.optionalFloats("tokenizer.ggml.scores") ?? new Float32Array(size);
  if (scores.length < size) throw tokenizerError(file, `got ${scores.length} scores for ${size} tokens`);
  return scores;
}
