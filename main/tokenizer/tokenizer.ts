/**
 * Text to token ids and back, as the model's own tokenizer does it, built from the keys of a GGUF.
 * Building costs an index of the vocabulary; merges and special tokens are prepared when the first
 * text comes.
 */
import { WorkbenchError } from "../diagnostics/errors.ts";
import type { Metadata } from "../formats/gguf/metadata.ts";
import type { StringTable } from "../formats/gguf/values.ts";
import { finish } from "../ir/steps.ts";
import type { Steps } from "../ir/steps.ts";
import { BytePairEncoder, decodeByteText } from "./bpe.ts";
import { streamingDetokenizer } from "./detokenizer.ts";
import type { StreamingDetokenizer } from "./detokenizer.ts";
import { PRE_TOKENIZER_NAMES, preTokenizer, unknownPreTokenizer } from "./pretokenizers.ts";
import { SentencePieceEncoder, byteOfText, scoresOf } from "./spm.ts";
import { SpecialText } from "./specialText.ts";
import { MOST_MERGES, Vocabulary, atMost, checkedTokens } from "./vocabulary.ts";
import type { TokenKind } from "./vocabulary.ts";

export interface EncodeOptions {
  /** Add what the file's rules add (BOS, EOS). Default true. */
  readonly addSpecial?: boolean;
  /** Recognise control tokens written in the text. Default true. */
  readonly parseSpecial?: boolean;
}

export interface DecodeOptions {
  /** Show control tokens by their text. Default false. */
  readonly special?: boolean;
  /** Drop the space that the rules put before a text. Default true; false for the continuation of a text. */
  readonly dropPrefix?: boolean;
}

export interface Tokenizer {
  readonly model: "spm" | "bpe";
  /** The pre-tokenizer's name; "default" where there is none to choose. */
  readonly pre: string;
  readonly size: number;
  readonly bos: number | undefined;
  readonly eos: number | undefined;
  readonly addBos: boolean;
  readonly addEos: boolean;
  /** Every token after which a generation stops. */
  readonly endings: ReadonlySet<number>;
  /** Warnings: a missing pre-tokenizer, for example. */
  readonly warnings: readonly string[];
  readonly encode: (text: string, options?: EncodeOptions) => Int32Array;
  /** As `encode`, with pauses: a long text can be interrupted. */
  readonly encodeSteps: (text: string, options?: EncodeOptions) => Steps<Int32Array>;
  readonly decode: (ids: ArrayLike<number>, options?: DecodeOptions) => string;
  /** The bytes a token adds to a text; a control token adds none unless `special`. */
  readonly pieceBytes: (id: number, special?: boolean) => Uint8Array;
  readonly piece: (id: number, special?: boolean) => string;
  readonly detokenizer: (options?: Pick<DecodeOptions, "special">) => StreamingDetokenizer;
  /** The token's text as the vocabulary has it. */
  readonly tokenText: (id: number) => string;
  readonly tokenKind: (id: number) => TokenKind;
  /** The token with exactly this vocabulary text. */
  readonly idOf: (text: string) => number | undefined;
}

/** What the tokenizer is made from: a GGUF file fits. */
export interface TokenizerSource {
  readonly name: string;
  readonly metadata: Metadata;
}

interface Rules {
  readonly model: "spm" | "bpe";
  readonly pre: string;
  readonly vocabulary: Vocabulary;
  readonly encoder: { readonly encode: (text: string, out: number[]) => Steps<void> };
  readonly addBos: boolean;
  readonly addEos: boolean;
  readonly addSpacePrefix: boolean;
  readonly warnings: readonly string[];
}

/** Longer texts fit into no context and only cost memory. */
const LONGEST_TEXT = 4 << 20;

/** Why the file's tokenizer cannot be built, from its keys alone; undefined when it can. */
export function tokenizerRefusal({ name, metadata }: TokenizerSource): WorkbenchError | undefined {
  const text = (key: string): string | undefined =>
    metadata.get(key)?.kind === "string" ? metadata.optionalString(key) : undefined;
  const model = text("tokenizer.ggml.model");
  if (model === undefined)
    return new WorkbenchError("UNSUPPORTED_TOKENIZER", `[${name}] the file names no tokenizer`, {
      hint: "Convert the model again, with its vocabulary.",
    });
  if (model !== "llama" && model !== "gpt2") return unknownModel(name, model);
  const pre = text("tokenizer.ggml.pre") ?? "";
  if (model === "gpt2" && pre !== "" && !PRE_TOKENIZER_NAMES.includes(pre)) return unknownPreTokenizer(pre);
  try {
    const { tokens } = checkedTokens(name, metadata);
    if (model === "llama") scoresOf(name, metadata, tokens.length);
    if (model === "gpt2") mergesOf(name, metadata);
    return undefined;
  } catch (error) {
    if (error instanceof WorkbenchError) return error;
    throw error;
  }
}

const unknownModel = (file: string, model: string): WorkbenchError =>
  new WorkbenchError(
    "UNSUPPORTED_TOKENIZER",
    `[${file}] the tokenizer ${JSON.stringify(model.slice(0, 80))} is not supported`,
    {
      hint: "SentencePiece (llama) and byte-level BPE (gpt2) are. The file can still be inspected, measured and exported.",
      details: { model: model.slice(0, 80) },
    },
  );

export function createTokenizer(source: TokenizerSource): Tokenizer {
  const model = source.metadata.string("tokenizer.ggml.model");
  switch (model) {
    case "llama":
      return build(source, sentencePiece(source));
    case "gpt2":
      return build(source, bytePairs(source));
    default:
      throw unknownModel(source.name, model);
  }
}

function sentencePiece({ name, metadata }: TokenizerSource): Rules {
  const vocabulary = new Vocabulary(name, metadata, { bos: 1, eos: 2, unknown: 0 });
  return {
    model: "spm",
    pre: "default",
    vocabulary,
    encoder: new SentencePieceEncoder(vocabulary, scoresOf(name, metadata, vocabulary.size)),
    addBos: metadata.optionalBool("tokenizer.ggml.add_bos_token") ?? true,
    addEos: metadata.optionalBool("tokenizer.ggml.add_eos_token") ?? false,
    addSpacePrefix: metadata.optionalBool("tokenizer.ggml.add_space_prefix") ?? true,
    warnings: [],
  };
}

function bytePairs({ name, metadata }: TokenizerSource): Rules {
  const named = metadata.optionalString("tokenizer.ggml.pre") ?? "";
  const pre = preTokenizer(named === "" ? "default" : named);
  const vocabulary = new Vocabulary(name, metadata, { bos: 11, eos: 11, unknown: undefined });
  return {
    model: "bpe",
    pre: pre.name,
    vocabulary,
    encoder: new BytePairEncoder(vocabulary, mergesOf(name, metadata), pre),
    addBos: metadata.optionalBool("tokenizer.ggml.add_bos_token") ?? pre.addBos,
    addEos: metadata.optionalBool("tokenizer.ggml.add_eos_token") ?? false,
    addSpacePrefix: metadata.optionalBool("tokenizer.ggml.add_space_prefix") ?? false,
    warnings:
      named === ""
        ? ["The file does not name its pre-tokenizer; text is split by the default rules, which may be the wrong ones."]
        : [],
  };
}

function mergesOf(file: string, metadata: Metadata): StringTable {
  const merges = metadata.strings("tokenizer.ggml.merges");
  atMost(file, "merges", merges.length, MOST_MERGES);
  return merges;
}

function build(source: TokenizerSource, rules: Rules): Tokenizer {
  const { vocabulary } = rules;
  const { bos, eos } = vocabulary.special;
  const isPhi3 = /phi-?3/iu.test(source.metadata.optionalString("general.name") ?? "");
  const keepsSpace = new Set(["<unk>", "<s>", "<|endoftext|>"]);
  let specials: SpecialText | undefined;

  function* encodeSteps(
    text: string,
    { addSpecial = true, parseSpecial = true }: EncodeOptions = {},
  ): Steps<Int32Array> {
    if (text.length > LONGEST_TEXT)
      throw new WorkbenchError(
        "INPUT_LIMIT",
        `[tokenizer] got a text of ${text.length} characters, expected at most ${LONGEST_TEXT}`,
        {
          hint: "Split the text.",
        },
      );
    specials ??= SpecialText.of(vocabulary, (token) => isPhi3 && !keepsSpace.has(token));
    const out: number[] = [];
    if (addSpecial && rules.addBos && bos !== undefined) out.push(bos);
    let afterSpecial = true;
    for (const fragment of yield* specials.split(text, parseSpecial)) {
      if (fragment.kind === "token") out.push(fragment.id);
      // SentencePiece puts a space before the text, and again behind every special token.
      else
        yield* rules.encoder.encode(
          rules.model === "spm" && rules.addSpacePrefix && afterSpecial ? ` ${fragment.text}` : fragment.text,
          out,
        );
      afterSpecial = fragment.kind === "token";
    }
    if (addSpecial && rules.addEos && eos !== undefined) out.push(eos);
    return Int32Array.from(out);
  }

  const pieceBytes = (id: number, special = false): Uint8Array => pieceOf(rules, id, special);

  const decode = (ids: ArrayLike<number>, { special = false, dropPrefix = true }: DecodeOptions = {}): string => {
    const stream = streamingDetokenizer((id) => pieceOf(rules, id, special));
    let text = "";
    for (let i = 0; i < ids.length; i++) text += stream.push(ids[i] ?? -1);
    text += stream.flush();
    return dropPrefix && rules.addSpacePrefix && text.startsWith(" ") ? text.slice(1) : text;
  };

  return {
    model: rules.model,
    pre: rules.pre,
    size: vocabulary.size,
    bos,
    eos,
    addBos: rules.addBos,
    addEos: rules.addEos,
    endings: vocabulary.endings,
    warnings: rules.warnings,
    encode: (text, options) => finish(encodeSteps(text, options)),
    encodeSteps,
    decode,
    pieceBytes,
    piece: (id, special = false) => new TextDecoder("utf-8", { ignoreBOM: true }).decode(pieceBytes(id, special)),
    detokenizer: ({ special = false } = {}) => streamingDetokenizer((id) => pieceOf(rules, id, special)),
    tokenText: (id) => vocabulary.tokens.textAt(vocabulary.check(id)),
    tokenKind: (id) => vocabulary.kind(id),
    idOf: (text) => vocabulary.idOf(text),
  };
}

const NOTHING = new Uint8Array(0);

function pieceOf(rules: Rules, id: number, special: boolean): Uint8Array {
  const { vocabulary } = rules;
  const kind = vocabulary.kind(id);
  const raw = vocabulary.tokens.bytesAt(id);
  switch (kind) {
    case "control":
    case "unknown":
      return special ? raw.slice() : NOTHING;
    case "user":
      return raw.slice();
    case "normal":
      return rules.model === "bpe"
        ? decodeByteText(vocabulary.tokens.textAt(id))
        : new TextEncoder().encode(vocabulary.tokens.textAt(id).replaceAll("▁", " "));
    case "byte": {
      const byte = rules.model === "spm" ? byteOfText(vocabulary.tokens.textAt(id)) : undefined;
      return byte === undefined ? NOTHING : Uint8Array.of(byte);
    }
    case "unused":
    case "undefined":
      return NOTHING;
  }
}
