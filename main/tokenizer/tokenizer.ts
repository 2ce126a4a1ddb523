/**
 * Text to token ids and back, as the model's own tokenizer does it, built from the keys of a GGUF.
 * Building costs an index of the vocabulary; merges and special tokens are prepared when the first
 * text comes.
 */
import { WorkbenchError } from "../diagnostics/errors.ts";
import { finish } from "../ir/steps.ts";
import type { Steps } from "../ir/steps.ts";
import { cleanSpaces, streamingDetokenizer } from "./detokenizer.ts";
import type { StreamingDetokenizer } from "./detokenizer.ts";
import { tokenizerModel, unknownModel } from "./models.ts";
import type { TokenizerModel, TokenizerRules, TokenizerSource } from "./rules.ts";
import { SpecialText, strippingOf } from "./specialText.ts";
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
  /**
   * Drop the spaces that the rules put before punctuation and contractions, where the model's rules
   * do. Default false for models that give a text back as it was, true for the others (WordPiece).
   */
  readonly cleanSpaces?: boolean;
}

export interface Tokenizer {
  /** The id of its `TokenizerModel`: spm, bpe, wordpiece, unigram, rwkv, plamo2. */
  readonly model: string;
  /** The pre-tokenizer's name; "default" where there is none to choose. */
  readonly pre: string;
  readonly size: number;
  readonly bos: number | undefined;
  readonly eos: number | undefined;
  readonly addBos: boolean;
  readonly addEos: boolean;
  /** What stands between the two texts of a pair, for a reranker. */
  readonly separator: number | undefined;
  readonly addSep: boolean;
  /** Every token after which a generation stops. */
  readonly endings: ReadonlySet<number>;
  /** Tokens that the file wants never to be drawn. */
  readonly suppressed: readonly number[];
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
  const known = tokenizerModel(model);
  if (known === undefined) return unknownModel(name, model);
  try {
    known.check({ name, metadata });
    return undefined;
  } catch (error) {
    if (error instanceof WorkbenchError) return error;
    throw error;
  }
}

export function createTokenizer(source: TokenizerSource, models?: readonly TokenizerModel[]): Tokenizer {
  const name = source.metadata.string("tokenizer.ggml.model");
  const model = tokenizerModel(name, models);
  if (model === undefined) throw unknownModel(source.name, name);
  return build(source, model.id, model.make(source));
}

function build(source: TokenizerSource, model: string, rules: TokenizerRules): Tokenizer {
  const { vocabulary } = rules;
  const { bos, eos } = vocabulary.special;
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
    specials ??= SpecialText.of(vocabulary, strippingOf(source.metadata));
    const out: number[] = addSpecial ? [...rules.before] : [];
    let isFirst = true;
    for (const fragment of yield* specials.split(text, parseSpecial)) {
      if (fragment.kind === "token") out.push(fragment.id);
      else yield* rules.encode(fragment.text, out, isFirst);
      isFirst = fragment.kind === "token";
    }
    if (addSpecial) out.push(...rules.behind);
    return Int32Array.from(out);
  }

  const pieceBytes = (id: number, special = false): Uint8Array => {
    const kind = vocabulary.kind(id);
    return !special && isHidden(kind) ? NOTHING : rules.bytesOf(id, kind);
  };

  /** The first token that is shown does; nothing else can have been put there by the rules. */
  const beginsWithSpace = (ids: ArrayLike<number>, special: boolean): boolean => {
    let first = 0;
    while (!special && first < ids.length && isHidden(vocabulary.kind(ids[first] ?? -1))) first += 1;
    return first < ids.length && pieceBytes(ids[first] ?? -1, special)[0] === 0x20;
  };

  const decode = (ids: ArrayLike<number>, options: DecodeOptions = {}): string => {
    const { special = false, dropPrefix = true, cleanSpaces: isCleaned = !rules.keepsText } = options;
    const stream = streamingDetokenizer((id) => pieceBytes(id, special));
    let text = "";
    for (let i = 0; i < ids.length; i++) text += stream.push(ids[i] ?? -1);
    text += stream.flush();
    if (dropPrefix && rules.addSpacePrefix && beginsWithSpace(ids, special)) text = text.slice(1);
    return isCleaned && rules.cleanSpaces ? cleanSpaces(text) : text;
  };

  return {
    model,
    pre: rules.pre,
    size: vocabulary.size,
    bos,
    eos,
    addBos: rules.addBos,
    addEos: rules.addEos,
    separator: vocabulary.special.separator,
    addSep: rules.addSep,
    endings: vocabulary.endings,
    suppressed: vocabulary.suppressed,
    warnings: rules.warnings,
    encode: (text, options) => finish(encodeSteps(text, options)),
    encodeSteps,
    decode,
    pieceBytes,
    piece: (id, special = false) => new TextDecoder("utf-8", { ignoreBOM: true }).decode(pieceBytes(id, special)),
    detokenizer: ({ special = false } = {}) => streamingDetokenizer((id) => pieceBytes(id, special)),
    tokenText: (id) => vocabulary.tokens.textAt(vocabulary.check(id)),
    tokenKind: (id) => vocabulary.kind(id),
    idOf: (text) => vocabulary.idOf(text),
  };
}

const isHidden = (kind: TokenKind): boolean => kind === "control" || kind === "unknown";

const NOTHING = new Uint8Array(0);
