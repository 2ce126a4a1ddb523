/**
 * Finds special tokens in a text before it is tokenised: the longest texts first, each everywhere
 * it occurs, then the next in what is left. Control tokens only when they may be parsed;
 * user-defined ones always. The work grows with the text alone, not with the number of tokens.
 */
import type { Metadata } from "../formats/gguf/metadata.ts";
import type { Steps } from "../ir/steps.ts";
import { TokenFinder } from "./tokenFinder.ts";
import type { TextNumber } from "./tokenFinder.ts";
import type { Vocabulary } from "./vocabulary.ts";

export type Fragment =
  { readonly kind: "text"; readonly text: string } | { readonly kind: "token"; readonly id: number };

export interface SpecialToken {
  readonly id: number;
  readonly text: string;
  readonly isUser: boolean;
  /** White space before or behind it is dropped. */
  readonly stripsLeft: boolean;
  readonly stripsRight: boolean;
}

/**
 * Which tokens drop the white space beside them. Files do not say it; llama.cpp knows the models by
 * their names.
 */
export interface Stripping {
  readonly left: (text: string) => boolean;
  readonly right: (text: string) => boolean;
}

const KEEPS_SPACE = new Set(["<unk>", "<s>", "<|endoftext|>"]);

export function strippingOf(metadata: Metadata): Stripping {
  const text = (key: string): string =>
    metadata.get(key)?.kind === "string" ? (metadata.optionalString(key) ?? "") : "";
  const name = text("general.name").toLowerCase();
  const mask =
    /jina-v2-(?:de|es|code)/u.test(text("tokenizer.ggml.pre")) ||
    /nomic-bert-moe|jina-bert-v3/u.test(text("general.architecture"))
      ? "<mask>"
      : name.includes("modern-bert")
        ? "[MASK]"
        : undefined;
  const isPhi3 = mask === undefined && /phi-?3/u.test(name);
  return { left: (token) => token === mask, right: (token) => isPhi3 && !KEEPS_SPACE.has(token) };
}

/** Units of text, or tokens, between two pauses. */
const PAUSE_EVERY = 1 << 16;

export class SpecialText {
  readonly #tokens: readonly SpecialToken[];
  #all: SpecialSearch | undefined;
  #users: SpecialSearch | undefined;

  constructor(tokens: readonly SpecialToken[]) {
    this.#tokens = tokens;
  }

  static of(vocabulary: Vocabulary, stripping: Stripping): SpecialText {
    return new SpecialText(
      vocabulary.specialTokens().map((id) => {
        const text = vocabulary.tokens.textAt(id);
        return {
          id,
          text,
          isUser: vocabulary.kind(id) === "user",
          stripsLeft: stripping.left(text),
          stripsRight: stripping.right(text),
        };
      }),
    );
  }

  *split(text: string, parseSpecial: boolean): Steps<readonly Fragment[]> {
    if (text === "") return [];
    const search = parseSpecial
      ? (this.#all ??= new SpecialSearch(this.#tokens))
      : (this.#users ??= new SpecialSearch(this.#tokens.filter(({ isUser }) => isUser)));
    return yield* search.split(text);
  }
}

const utf8 = new TextEncoder();

/** One set of tokens, the longest first and of equal texts the first one. */
class SpecialSearch {
  readonly #tokens: readonly SpecialToken[];
  readonly #finder: TokenFinder;

  constructor(tokens: readonly SpecialToken[]) {
    const seen = new Set([""]);
    this.#tokens = tokens
      .filter(({ text }) => !seen.has(text) && seen.add(text) !== undefined)
      .map((token) => ({ token, bytes: utf8.encode(token.text).length }))
      .toSorted((a, b) => b.bytes - a.bytes)
      .map(({ token }) => token);
    this.#finder = new TokenFinder(this.#tokens.map(({ text }) => text));
  }

  *split(text: string): Steps<readonly Fragment[]> {
    const places = yield* this.#candidates(text);
    if (places === undefined) return [{ kind: "text", text }];
    yield* this.#choose(text, places);
    return this.#fragments(text, places);
  }

  /** The longest token at each place of the text; undefined when there is none anywhere. */
  *#candidates(text: string): Steps<Places | undefined> {
    let places: Places | undefined;
    let state = 0;
    for (let at = text.length - 1; at >= 0; at--) {
      if (at % PAUSE_EVERY === 0) yield;
      state = this.#finder.step(state, text.charCodeAt(at));
      const longest = this.#finder.longestAt(state);
      if (longest !== 0) (places ??= new Places(text.length, this.#tokens.length)).offer(at, longest);
    }
    return places;
  }

  /**
   * Tokens are taken longest first, so a later overlapping one is cut to a shorter token or
   * dropped.
   */
  *#choose(text: string, places: Places): Steps<void> {
    let done = 0;
    for (let token = 1; token <= this.#tokens.length; token++) {
      for (const at of places.offered(token)) {
        if (++done % PAUSE_EVERY === 0) yield;
        if (places.ownerOf(at) >= 0) continue;
        const length = this.#finder.lengths[token] ?? 0;
        const owner = places.ownerOf(at + length - 1);
        if (owner < 0)
          places.take(this.#startOf(text, at, token, places), token, this.#endOf(text, at + length, token, places));
        else {
          const shorter = this.#finder.within(token, owner - at);
          if (shorter !== 0) places.offer(at, shorter);
        }
      }
    }
  }

  #startOf(text: string, start: number, token: TextNumber, places: Places): number {
    if (this.#tokens[token - 1]?.stripsLeft !== true) return start;
    let at = start;
    while (at > 0 && places.ownerOf(at - 1) < 0 && isSpace(text.charCodeAt(at - 1))) at -= 1;
    return at;
  }

  #endOf(text: string, end: number, token: TextNumber, places: Places): number {
    if (this.#tokens[token - 1]?.stripsRight !== true) return end;
    let at = end;
    while (at < text.length && places.ownerOf(at) < 0 && isSpace(text.charCodeAt(at))) at += 1;
    return at;
  }

  #fragments(text: string, places: Places): readonly Fragment[] {
    const fragments: Fragment[] = [];
    let start = 0;
    for (const { at, end, token } of places.taken()) {
      if (at > start) fragments.push({ kind: "text", text: text.slice(start, at) });
      fragments.push({ kind: "token", id: this.#tokens[token - 1]?.id ?? 0 });
      start = end;
    }
    if (start < text.length) fragments.push({ kind: "text", text: text.slice(start) });
    return fragments;
  }
}

const isSpace = (unit: number): boolean => unit === 0x20 || (unit >= 0x09 && unit <= 0x0d);

/** Which token is offered at each place of a text, and which are taken. */
class Places {
  /** Per token the first place that offers it, and per place the next one with the same token; counted from 1. */
  readonly #first: Int32Array;
  readonly #next: Int32Array;
  /** Per place where the token that covers it begins; counted from 1. */
  readonly #owners: Int32Array;
  readonly #taken: { readonly at: number; readonly end: number; readonly token: TextNumber }[] = [];

  constructor(units: number, tokens: number) {
    this.#first = new Int32Array(tokens + 1);
    this.#next = new Int32Array(units);
    this.#owners = new Int32Array(units);
  }

  offer(at: number, token: TextNumber): void {
    this.#next[at] = this.#first[token] ?? 0;
    this.#first[token] = at + 1;
  }

  /** From left to right. */
  offered(token: TextNumber): readonly number[] {
    const places: number[] = [];
    let isSorted = true;
    for (let at = this.#first[token] ?? 0; at > 0; at = this.#next[at - 1] ?? 0) {
      isSorted &&= places.length === 0 || (places.at(-1) ?? 0) < at - 1;
      places.push(at - 1);
    }
    return isSorted ? places : places.sort((a, b) => a - b);
  }

  /** -1 where nothing is taken. */
  ownerOf(at: number): number {
    return (this.#owners[at] ?? 0) - 1;
  }

  take(at: number, token: TextNumber, end: number): void {
    this.#owners.fill(at + 1, at, end);
    this.#taken.push({ at, end, token });
  }

  taken(): readonly { readonly at: number; readonly end: number; readonly token: TextNumber }[] {
    return this.#taken.toSorted((a, b) => a.at - b.at);
  }
}
