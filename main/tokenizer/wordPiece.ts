/**
 * WordPiece (`bert`): a text is cleaned and cut into words, at white space and around each sign of
 * punctuation and each Chinese character. Each word falls into the longest tokens, from left to
 * right; a word that does not becomes one unknown token. Words begin with ▁ in these files.
 */
import type { Steps } from "../ir/steps.ts";
import { bytesByKind, flag, framed, withSpaces } from "./rules.ts";
import type { TokenizerModel, TokenizerRules, TokenizerSource } from "./rules.ts";
import { TokenTrie } from "./tokenTrie.ts";
import { SIGN, baseOf, charactersOf, lowerCase, signOf } from "./unicode.ts";
import { Vocabulary, shortTokens } from "./vocabulary.ts";

export const wordPiece: TokenizerModel = {
  id: "wordpiece",
  title: "WordPiece",
  names: ["bert"],
  check: ({ name, metadata }) => void shortTokens(name, metadata),
  make,
};

function make(source: TokenizerSource): TokenizerRules {
  const { name, metadata } = source;
  shortTokens(name, metadata);
  const vocabulary = new Vocabulary(name, metadata, { bos: 101, eos: undefined, unknown: 100, separator: 102 });
  const lowers = flag(source, "normalizer.lowercase", true);
  const cleaning = { lowers, strips: flag(source, "normalizer.strip_accents", lowers) };
  let trie: TokenTrie | undefined;
  return {
    pre: "default",
    vocabulary,
    *encode(text, out) {
      trie ??= new TokenTrie(vocabulary.tokens, () => true);
      for (const word of yield* cleanWords(text, cleaning))
        yield* pushWord(trie, word, vocabulary.special.unknown, out);
    },
    bytesOf: (id, kind) => bytesByKind(vocabulary, id, kind, withSpaces),
    before: framed(vocabulary.special.bos),
    behind: framed(vocabulary.special.separator),
    addBos: flag(source, "add_bos_token", true),
    addEos: flag(source, "add_eos_token", false),
    addSep: flag(source, "add_sep_token", true),
    addSpacePrefix: flag(source, "add_space_prefix", false),
    cleanSpaces: true,
    keepsText: false,
    warnings: [],
  };
}

interface Cleaning {
  readonly lowers: boolean;
  /** Letters lose their accents. */
  readonly strips: boolean;
}

/** Characters between two pauses. */
const PAUSE_EVERY = 1 << 16;

function* cleanWords(text: string, { lowers, strips }: Cleaning): Steps<readonly string[]> {
  const words: string[] = [];
  let word = "";
  const end = (): void => {
    if (word !== "") words.push(word);
    word = "";
  };
  let count = 0;
  for (const written of charactersOf(text)) {
    if (++count % PAUSE_EVERY === 0) yield;
    const char = strips ? baseOf(written) : written;
    const sign = signOf(char);
    if (sign === SIGN.space) end();
    else if (sign === SIGN.control || char === "\ufffd" || (strips && sign === SIGN.mark)) continue;
    else {
      const shown = lowers ? lowerCase(char) : char;
      const standsAlone =
        sign === SIGN.punctuation || (sign === SIGN.symbol && char.charCodeAt(0) < 0x7f) || isChinese(char);
      if (standsAlone) end();
      word += shown;
      if (standsAlone) end();
    }
  }
  end();
  return words;
}

/**
 * Of the CJK planes what BERT's own tokenizer takes; one range begins where that does, not where
 * the block does.
 */
const CHINESE = [
  [0x4e00, 0x9fff],
  [0x3400, 0x4dbf],
  [0x20000, 0x2a6df],
  [0x2a700, 0x2b81f],
  [0x2b920, 0x2ceaf],
  [0xf900, 0xfaff],
  [0x2f800, 0x2fa1f],
] as const;
const isChinese = (char: string): boolean => {
  const point = char.codePointAt(0) ?? 0;
  return point >= 0x3400 && CHINESE.some(([first, last]) => point >= first && point <= last);
};

const encoder = new TextEncoder();
/** Bytes that are looked at between two pauses. */
const PAUSE_BYTES = 1 << 20;

function* pushWord(trie: TokenTrie, word: string, unknown: number | undefined, out: number[]): Steps<void> {
  const bytes = encoder.encode(`▁${word}`);
  const before = out.length;
  let seen = 0;
  for (let at = 0; at < bytes.length;) {
    let [id, end] = [-1, at];
    seen += trie.walk(bytes, at, bytes.length, (found, to) => ([id, end] = [found, to]));
    if (id < 0) {
      out.length = before;
      if (unknown !== undefined) out.push(unknown);
      return;
    }
    out.push(id);
    at = end;
    if (seen < PAUSE_BYTES) continue;
    seen = 0;
    yield;
  }
}
