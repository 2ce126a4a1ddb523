/**
 * The texts of a vocabulary as a tree of bytes, in the order of a walk through it: a walk is one pass over arrays, and leaving
 * a branch out is a jump to its end. So the mask of a large vocabulary costs milliseconds.
 */
import type { Steps } from "../ir/steps.ts";

export interface TokenTexts {
  readonly size: number;
  /** The bytes that a token adds to a text; none for a token that no grammar may choose. */
  readonly bytes: (id: number) => Uint8Array;
}

export interface VocabularyTrie {
  readonly size: number;
  /** Of each node in the order of the walk: its byte, how deep it stands (the first byte: 0), and the node behind its branch. */
  readonly bytes: Uint8Array;
  readonly depths: Uint16Array;
  readonly ends: Int32Array;
  readonly deepest: number;
  /** The tokens that end at node i are `tokens[tokenStarts[i] … tokenStarts[i + 1] - 1]`. */
  readonly tokenStarts: Int32Array;
  readonly tokens: Int32Array;
}

/** Longer tokens are no text that anyone constrains, and stay out. */
const LONGEST_TOKEN = 1024;
const PART = 16_384;

/** Takes some tenths of a second for a large vocabulary, with pauses. */
export function* vocabularyTrie({ size, bytes }: TokenTexts): Steps<VocabularyTrie> {
  const texts: { readonly id: number; readonly key: string }[] = [];
  for (let id = 0; id < size; id++) {
    if (id % PART === 0) yield;
    const text = bytes(id);
    if (text.length > 0 && text.length <= LONGEST_TOKEN) texts.push({ id, key: latin1(text) });
  }
  yield;
  texts.sort((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : a.id - b.id));
  yield;
  const nodes = { bytes: [] as number[], depths: [] as number[], tokenStarts: [0] };
  const tokens: number[] = [];
  let before = "";
  for (const { id, key } of texts) {
    let common = 0;
    while (common < before.length && common < key.length && before.charCodeAt(common) === key.charCodeAt(common))
      common++;
    for (let depth = common; depth < key.length; depth++) {
      nodes.bytes.push(key.charCodeAt(depth));
      nodes.depths.push(depth);
      nodes.tokenStarts.push(tokens.length);
    }
    tokens.push(id);
    nodes.tokenStarts[nodes.tokenStarts.length - 1] = tokens.length;
    before = key;
  }
  yield;
  const count = nodes.bytes.length;
  const ends = new Int32Array(count).fill(count);
  const open: number[] = [];
  for (let node = 0; node < count; node++) {
    const depth = nodes.depths[node] ?? 0;
    while (open.length > depth) ends[open.pop() ?? 0] = node;
    open.push(node);
  }
  return {
    size,
    bytes: Uint8Array.from(nodes.bytes),
    depths: Uint16Array.from(nodes.depths),
    ends,
    deepest: nodes.depths.reduce((most, depth) => Math.max(most, depth), 0),
    tokenStarts: Int32Array.from(nodes.tokenStarts),
    tokens: Int32Array.from(tokens),
  };
}

function latin1(bytes: Uint8Array): string {
  let text = "";
  for (const byte of bytes) text += String.fromCharCode(byte);
  return text;
}
