/**
 * RWKV (`rwkv`): from left to right the longest token, byte by byte. Tokens are any bytes, which
 * the file writes with escapes: \n, \x0a.
 */
import { StringTable } from "../formats/gguf/values.ts";
import type { Steps } from "../ir/steps.ts";
import { flag } from "./rules.ts";
import type { TokenizerModel, TokenizerRules, TokenizerSource } from "./rules.ts";
import { TokenTrie } from "./tokenTrie.ts";
import { Vocabulary, shortTokens } from "./vocabulary.ts";

export const rwkv: TokenizerModel = {
  id: "rwkv",
  title: "RWKV",
  names: ["rwkv"],
  check: ({ name, metadata }) => void shortTokens(name, metadata),
  make,
};

function make(source: TokenizerSource): TokenizerRules {
  const { name, metadata } = source;
  shortTokens(name, metadata);
  const vocabulary = new Vocabulary(name, metadata, { bos: undefined, eos: undefined, unknown: undefined });
  const tokens = unescaped(vocabulary.tokens);
  let trie: TokenTrie | undefined;
  return {
    pre: "default",
    vocabulary,
    *encode(text, out) {
      trie ??= new TokenTrie(tokens, () => true);
      yield* pushLongest(trie, text, vocabulary.special.unknown, out);
    },
    bytesOf: (id) => tokens.bytesAt(id).slice(),
    before: [],
    behind: [],
    addBos: flag(source, "add_bos_token", false),
    addEos: flag(source, "add_eos_token", false),
    addSep: flag(source, "add_sep_token", false),
    addSpacePrefix: flag(source, "add_space_prefix", false),
    cleanSpaces: false,
    keepsText: true,
    warnings: [],
  };
}

const encoder = new TextEncoder();
/** Bytes that are looked at between two pauses. */
const PAUSE_BYTES = 1 << 20;

function* pushLongest(trie: TokenTrie, text: string, unknown: number | undefined, out: number[]): Steps<void> {
  const bytes = encoder.encode(text);
  let seen = 0;
  for (let at = 0; at < bytes.length;) {
    let [longest, next] = [unknown, at + 1];
    seen += 1 + trie.walk(bytes, at, bytes.length, (id, end) => ([longest, next] = [id, end]));
    if (longest !== undefined) out.push(longest);
    at = next;
    if (seen < PAUSE_BYTES) continue;
    seen = 0;
    yield;
  }
}

const BACKSLASH = 0x5c;
const ESCAPES: ReadonlyMap<number, number> = new Map(
  Object.entries({ t: 0x09, n: 0x0a, r: 0x0d }).map(([char, byte]) => [char.charCodeAt(0), byte]),
);
const HEX = 0x78;

/** The bytes of all tokens, laid out as a file's strings are. */
function unescaped(escaped: StringTable): StringTable {
  const { region, length } = escaped;
  const bytes = new Uint8Array(region.length + 8);
  const starts = new Uint32Array(length + 1);
  let at = 8;
  for (let id = 0; id < length; id++) {
    starts[id] = at;
    at = unescapeInto(bytes, at, region.subarray(escaped.startOf(id), escaped.endOf(id))) + 8;
  }
  starts[length] = at;
  return new StringTable(bytes.subarray(0, at), starts);
}

/** Returns where the bytes end. */
function unescapeInto(out: Uint8Array, start: number, text: Uint8Array): number {
  let at = start;
  for (let i = 0; i < text.length; i++) {
    const byte = text[i] ?? 0;
    if (byte !== BACKSLASH) {
      out[at++] = byte;
      continue;
    }
    const escape = text[++i];
    if (escape === undefined) break;
    if (escape !== HEX) out[at++] = ESCAPES.get(escape) ?? escape;
    else if (i + 2 < text.length) {
      out[at++] = hexDigit(text[i + 1] ?? 0) * 16 + hexDigit(text[i + 2] ?? 0);
      i += 2;
    } else break;
  }
  return at;
}

/** Small letters, as Python writes them. */
const hexDigit = (char: number): number => (char >= 0x61 ? char - 0x61 + 10 : char - 0x30);
