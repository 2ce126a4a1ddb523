/**
 * DRY ("don't repeat yourself"): where the end of the text has stood before, the token that followed
 * it there would go on with the repetition, and loses more the longer the repetition is.
 */
import type { Dry } from "../../ir/session.ts";

/** Larger powers of the base do not fit into a float32. */
const LARGEST_LOG = 88.7228391;

/** What each token that would go on with a repetition loses. */
export function dryPenalties({ multiplier, base, allowedLength, tokens, breakers }: Dry): Map<number, number> {
  const penalties = new Map<number, number>();
  // From the end of the text backwards: repetitions are common beginnings of it.
  const back = Int32Array.from(tokens).reverse();
  if (back.length <= allowedLength) return penalties;
  const limit = untilBreaker(back, breakers);
  if (limit < allowedLength) return penalties;
  const longest = new Map<number, number>();
  const common = commonBeginnings(back);
  for (let at = 1; at < back.length; at++) {
    const length = Math.min(common[at] ?? 0, limit);
    const next = back[at - 1] ?? -1;
    if (length >= allowedLength && length > (longest.get(next) ?? -1)) longest.set(next, length);
  }
  const mostExponent = base > 1.000001 ? Math.floor(LARGEST_LOG / Math.log(base)) : 0;
  for (const [token, length] of longest) {
    if (breakers.get(token)?.some((tail) => tail.length === 0) === true) continue;
    const excess = length - allowedLength;
    penalties.set(token, multiplier * base ** (mostExponent > 0 ? Math.min(excess, mostExponent) : excess));
  }
  return penalties;
}

/** How many tokens stand behind the last breaker; all where there is none. */
function untilBreaker(back: Int32Array, breakers: Dry["breakers"]): number {
  for (let at = 0; at < back.length; at++) {
    const tails = (breakers.get(back[at] ?? -1) ?? []).filter(
      (tail) => tail.length <= at && tail.every((token, i) => token === back[at - 1 - i]),
    );
    if (tails.length > 0) return at - Math.max(...tails.map(({ length }) => length));
  }
  return back.length;
}

/** For each place: how many tokens from there on equal those at the beginning (the Z function). */
function commonBeginnings(tokens: Int32Array): Int32Array {
  const common = new Int32Array(tokens.length);
  let [start, end] = [0, 0];
  for (let at = 1; at < tokens.length; at++) {
    let length = at < end ? Math.min(end - at, common[at - start] ?? 0) : 0;
    while (at + length < tokens.length && tokens[length] === tokens[at + length]) length++;
    common[at] = length;
    if (at + length > end) [start, end] = [at, at + length];
  }
  return common;
}

/** What finding breakers needs of a tokenizer. */
export interface BreakerSource {
  readonly size: number;
  readonly pieceBytes: (id: number, special?: boolean) => Uint8Array;
  readonly encode: (text: string, options: { readonly addSpecial: false; readonly parseSpecial: false }) => Int32Array;
}

/** Longer breakers are cut, so that no check takes long. */
const LONGEST_BREAKER_BYTES = 40;
const LONGEST_TAIL = 20;

const latin1 = (bytes: Uint8Array): string => bytes.reduce((text, byte) => text + String.fromCharCode(byte), "");
const utf8 = (text: string): Uint8Array => new TextEncoder().encode(text);

/**
 * The tokens in which a breaker begins, each with the tokens that must follow it: none where it is whole in one token.
 * Texts are compared by their bytes, because a token may hold half a character.
 */
export function breakersOf(source: BreakerSource, texts: readonly string[]): Map<number, number[][]> {
  const breakers = new Map<number, number[][]>();
  const add = (id: number, tail: readonly number[]): void => {
    const tails = breakers.get(id) ?? [];
    if (!tails.some((known) => known.length === tail.length && known.every((token, i) => token === tail[i])))
      breakers.set(id, [...tails, [...tail]]);
  };
  const wanted = texts.filter((text) => text !== "").map((text) => utf8(text).subarray(0, LONGEST_BREAKER_BYTES));
  for (let id = 0; id < source.size; id++) {
    const piece = latin1(source.pieceBytes(id, true));
    for (const bytes of wanted) {
      const breaker = latin1(bytes);
      if (piece.includes(breaker)) add(id, []);
      else
        for (let length = Math.min(piece.length, breaker.length - 1); length > 0; length--) {
          if (!piece.endsWith(breaker.slice(0, length))) continue;
          const rest = new TextDecoder().decode(bytes.subarray(length));
          add(id, [...source.encode(rest, { addSpecial: false, parseSpecial: false })].slice(0, LONGEST_TAIL));
        }
    }
  }
  return breakers;
}
