/** Which tokens may come next in a text that a grammar constrains. A token may end within a character; the next one goes on there. */
import type { GrammarAutomaton } from "./automaton.ts";
import { DEAD, tooAmbiguous } from "./automaton.ts";
import { LAST_CODE_POINT, tokenPoint } from "./rules.ts";
import type { VocabularyTrie } from "./vocabularyTrie.ts";

/** Masks that are kept: most texts come back to few states, such as that within a string. */
const MOST_MASKS = 256;

/**
 * A character that has begun: its bits so far, and above them how many bytes it lacks. 0 where none has. A number, because
 * a walk through a vocabulary makes one of each byte that it reads.
 */
type Begun = number;
const VALUE_BITS = 24;
const VALUE = (1 << VALUE_BITS) - 1;
const REFUSED = -1;

/** Where a text stands: the automaton's state, and the character that has begun. */
interface Place {
  readonly state: number;
  readonly begun: Begun;
}

export interface ConstraintSource {
  readonly trie: VocabularyTrie;
  readonly bytes: (id: number) => Uint8Array;
  /** Tokens that end a text. */
  readonly endings: ReadonlySet<number>;
}

/** Masks by place, for all texts of one grammar over one vocabulary. */
export class TokenMasks {
  readonly automaton: GrammarAutomaton;
  readonly source: ConstraintSource;
  readonly #masks = new Map<string, Uint32Array>();

  constructor(automaton: GrammarAutomaton, source: ConstraintSource) {
    this.automaton = automaton;
    this.source = source;
  }

  at(place: Place): Uint32Array {
    const key = `${place.state} ${place.begun}`;
    const known = this.#masks.get(key);
    if (known !== undefined) return known;
    if (this.#masks.size >= MOST_MASKS) this.#masks.clear();
    const mask = this.#make(place);
    this.#masks.set(key, mask);
    return mask;
  }

  #make(from: Place): Uint32Array {
    const { trie, endings } = this.source;
    const mask = new Uint32Array((trie.size + 31) >>> 5);
    const allow = (id: number): void => {
      mask[id >>> 5] = (mask[id >>> 5] ?? 0) | (1 << (id & 31));
    };
    const { bytes, depths, ends, tokenStarts, tokens } = trie;
    // Where the text stands behind each byte of the branch that the walk is in: its state, and the character that has begun.
    const states = new Int32Array(trie.deepest + 2).fill(from.state, 0, 1);
    const begun = new Int32Array(trie.deepest + 2).fill(from.begun, 0, 1);
    for (let node = 0; node < bytes.length;) {
      const depth = depths[node] ?? 0;
      const state = states[depth] ?? DEAD;
      const read = readByte(this.automaton, state, begun[depth] ?? 0, bytes[node] ?? 0);
      const next = stateBehind(this.automaton, state, read);
      states[depth + 1] = next;
      begun[depth + 1] = read > VALUE ? read : 0;
      if (next === DEAD) {
        node = ends[node] ?? bytes.length;
        continue;
      }
      for (let at = tokenStarts[node] ?? 0, end = tokenStarts[node + 1] ?? 0; at < end; at++) allow(tokens[at] ?? 0);
      node++;
    }
    if (from.begun === 0)
      for (const [first, last] of this.automaton.tokensIn(from.state, trie.size))
        for (let id = first; id <= last; id++) if (!endings.has(id)) allow(id);
    if (from.begun === 0 && this.automaton.mayEnd(from.state)) for (const id of endings) allow(id);
    return mask;
  }
}

/** One text under a grammar. */
export class ConstrainedTokens {
  readonly #masks: TokenMasks;
  #place: Place;
  #read = 0;

  constructor(masks: TokenMasks) {
    this.#masks = masks;
    this.#place = { state: masks.automaton.start, begun: 0 };
  }

  /** Reads those of `tokens` that it has not read. */
  read(tokens: readonly number[]): void {
    const { bytes, endings } = this.#masks.source;
    for (; this.#read < tokens.length; this.#read++) {
      const token = tokens[this.#read] ?? -1;
      if (endings.has(token)) continue;
      this.#place = this.#behind(bytes(token), token);
    }
  }

  /** A token is read by its text, by its name, or both. */
  #behind(bytes: Uint8Array, token: number): Place {
    const { automaton } = this.#masks;
    const from = this.#place;
    const named = from.begun === 0 ? automaton.next(from.state, tokenPoint(token)) : DEAD;
    let spelt = from;
    for (const byte of bytes) spelt = stepByte(automaton, spelt, byte);
    if (named === DEAD) return spelt;
    if (bytes.length === 0 || spelt.state === DEAD) return { state: named, begun: 0 };
    if (spelt.begun !== 0) throw tooAmbiguous();
    return { ...spelt, state: automaton.both(spelt.state, named) };
  }

  allowed(): Uint32Array {
    return this.#masks.at(this.#place);
  }

  /** Whether the text may end here. */
  get isWhole(): boolean {
    return this.#place.begun === 0 && this.#masks.automaton.mayEnd(this.#place.state);
  }
}

function stepByte(automaton: GrammarAutomaton, { state, begun }: Place, byte: number): Place {
  const read = readByte(automaton, state, begun, byte);
  return { state: stateBehind(automaton, state, read), begun: read > VALUE ? read : 0 };
}

/** The state once `read` is read; a character that has only begun leaves it. */
const stateBehind = (automaton: GrammarAutomaton, state: number, read: number): number =>
  read === REFUSED ? DEAD : read > VALUE ? state : automaton.next(state, read);

/**
 * The character that a byte ends, the one that has begun then, or REFUSED. UTF-8 in its shortest form; what has begun must
 * be able to become a character that the grammar allows.
 */
function readByte(automaton: GrammarAutomaton, state: number, begun: Begun, byte: number): number {
  if (state === DEAD) return REFUSED;
  const missing = begun >>> VALUE_BITS;
  if (missing === 0) {
    if (byte < 0x80) return byte;
    if (byte < 0xc2 || byte > 0xf4) return REFUSED;
    const more = byte < 0xe0 ? 1 : byte < 0xf0 ? 2 : 3;
    return goingOn(automaton, state, byte & (0x3f >> more), more, more);
  }
  if ((byte & 0xc0) !== 0x80) return REFUSED;
  const value = ((begun & VALUE) << 6) | (byte & 0x3f);
  return missing === 1 ? value : goingOn(automaton, state, value, missing - 1, missing);
}

/** The least character that has so many bytes behind its first. */
const LEAST = [0, 0x80, 0x800, 0x10000] as const;

/** `bytes`: behind the first one, before the last was read; at the third of four the least is known to be kept. */
function goingOn(automaton: GrammarAutomaton, state: number, value: number, missing: number, bytes: number): Begun {
  const low = value << (6 * missing);
  const first = Math.max(low, LEAST[bytes] ?? 0);
  const last = Math.min(low | ((1 << (6 * missing)) - 1), LAST_CODE_POINT);
  const isSurrogate = first >= 0xd800 && last <= 0xdfff;
  const goesOn = first <= last && !isSurrogate && automaton.goesOnIn(state, first, last);
  return goesOn ? (missing << VALUE_BITS) | value : REFUSED;
}
