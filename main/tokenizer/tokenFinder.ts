/**
 * Where the tokens of a list begin in a text, in one pass however many tokens there are and however
 * they overlap: an automaton of Aho and Corasick over the texts read backwards. At each place it
 * tells the longest token that begins there; the shorter ones are found from it in a few steps.
 */

/** A number from 1 for each text, in their order; 0 for none. */
export type TextNumber = number;

const randomWord = (): number => Math.floor(Math.random() * 2 ** 32) | 0;

export class TokenFinder {
  /** Of each text, in UTF-16 units. */
  readonly lengths: Int32Array;
  /** For each text the longest shorter one that it begins with. */
  readonly #shorter: Int32Array;
  /** For each text one of those it begins with, further away: the chain can be walked down in few steps. */
  readonly #jumps: Int32Array;
  readonly #longest: Int32Array;
  readonly #fail: Int32Array;
  readonly #edges: Edges;

  /** Texts that differ from each other; one that begins with another stands before it. */
  constructor(texts: readonly string[]) {
    const total = texts.reduce((sum, text) => sum + text.length, 0);
    this.#edges = new Edges(total);
    this.#longest = new Int32Array(total + 1);
    this.#fail = new Int32Array(total + 1);
    this.lengths = Int32Array.from([0, ...texts.map((text) => text.length)]);
    this.#shorter = new Int32Array(texts.length + 1);
    this.#jumps = new Int32Array(texts.length + 1);
    const ends = new Int32Array(texts.length + 1);
    const depths = new Int32Array(total + 1);
    const parents = new Int32Array(total + 1);
    const units = new Uint16Array(total + 1);
    let nodes = 1;
    texts.forEach((text, i) => {
      let node = 0;
      for (let at = text.length - 1; at >= 0; at--) {
        const unit = text.charCodeAt(at);
        let next = this.#edges.get(node, unit);
        if (next === 0) {
          next = nodes++;
          this.#edges.set(node, unit, next);
          depths[next] = (depths[node] ?? 0) + 1;
          parents[next] = node;
          units[next] = unit;
        }
        node = next;
      }
      this.#longest[node] = i + 1;
      ends[i + 1] = node;
    });
    for (const node of byDepth(depths, nodes)) {
      const parent = parents[node] ?? 0;
      const fail = parent === 0 ? 0 : this.step(this.#fail[parent] ?? 0, units[node] ?? 0);
      this.#fail[node] = fail;
      if (this.#longest[node] === 0) this.#longest[node] = this.#longest[fail] ?? 0;
    }
    this.#makeChains(ends);
  }

  /** The state behind one more unit, read from the end of a text to its beginning. 0 is the first state. */
  step(state: number, unit: number): number {
    for (let from = state; ; from = this.#fail[from] ?? 0) {
      const next = this.#edges.get(from, unit);
      if (next !== 0 || from === 0) return next;
    }
  }

  /** The longest text that begins at the unit that was read last. */
  longestAt(state: number): TextNumber {
    return this.#longest[state] ?? 0;
  }

  /** The longest beginning of a text that is a text too and has at most so many units. */
  within(text: TextNumber, units: number): TextNumber {
    let at = text;
    while ((this.lengths[at] ?? 0) > units) {
      const jump = this.#jumps[at] ?? 0;
      at = (this.lengths[jump] ?? 0) > units ? jump : (this.#shorter[at] ?? 0);
    }
    return at;
  }

  #makeChains(ends: Int32Array): void {
    const levels = new Int32Array(ends.length);
    const level = (text: TextNumber): number => levels[text] ?? 0;
    // Shorter texts stand behind, so those that a text begins with are done before it.
    for (let text = ends.length - 1; text > 0; text--) {
      const shorter = this.#longest[this.#fail[ends[text] ?? 0] ?? 0] ?? 0;
      const jump = this.#jumps[shorter] ?? 0;
      const further = this.#jumps[jump] ?? 0;
      this.#shorter[text] = shorter;
      levels[text] = level(shorter) + 1;
      this.#jumps[text] = level(shorter) - level(jump) === level(jump) - level(further) ? further : shorter;
    }
  }
}

/** All nodes but the first, those nearest to it first. */
function byDepth(depths: Int32Array, nodes: number): Int32Array {
  const places = new Int32Array(nodes + 1);
  for (let node = 1; node < nodes; node++) places[(depths[node] ?? 0) + 1] = (places[(depths[node] ?? 0) + 1] ?? 0) + 1;
  for (let depth = 1; depth <= nodes; depth++) places[depth] = (places[depth] ?? 0) + (places[depth - 1] ?? 0);
  const sorted = new Int32Array(nodes - 1);
  for (let node = 1; node < nodes; node++) {
    const depth = depths[node] ?? 0;
    const place = places[depth] ?? 0;
    sorted[place] = node;
    places[depth] = place + 1;
  }
  return sorted;
}

/** The edges of the automaton in one keyed hash table: a file cannot choose texts that collide in it. */
class Edges {
  readonly #key = randomWord();
  readonly #mask: number;
  readonly #from: Int32Array;
  readonly #units: Uint16Array;
  readonly #to: Int32Array;

  constructor(most: number) {
    let capacity = 16;
    while (capacity < most * 2) capacity *= 2;
    this.#mask = capacity - 1;
    this.#from = new Int32Array(capacity);
    this.#units = new Uint16Array(capacity);
    this.#to = new Int32Array(capacity);
  }

  get(from: number, unit: number): number {
    return this.#to[this.#slot(from, unit)] ?? 0;
  }

  set(from: number, unit: number, to: number): void {
    const slot = this.#slot(from, unit);
    this.#from[slot] = from;
    this.#units[slot] = unit;
    this.#to[slot] = to;
  }

  #slot(from: number, unit: number): number {
    let hash = Math.imul(from ^ this.#key, 0x9e3779b1);
    hash = Math.imul(hash ^ (hash >>> 15) ^ unit, 0x85ebca6b);
    hash = Math.imul(hash ^ (hash >>> 13) ^ this.#key, 0xc2b2ae35);
    let slot = (hash ^ (hash >>> 16)) & this.#mask;
    while (this.#to[slot] !== 0 && (this.#from[slot] !== from || this.#units[slot] !== unit))
      slot = (slot + 1) & this.#mask;
    return slot;
  }
}
