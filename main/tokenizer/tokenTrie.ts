/**
 * Which tokens a text goes on with, from any place in it. The tokens lie in order of their bytes,
 * so those with a common beginning are neighbours: a walk narrows the neighbours byte by byte. It
 * needs four bytes for each token, and a file cannot choose tokens that make it slower than their
 * longest (see `shortTokens`).
 */
import type { StringTable } from "../formats/gguf/values.ts";

interface OneTokenWalk {
  readonly bytes: Uint8Array;
  readonly from: number;
  readonly to: number;
  /** Bytes that are compared already. */
  readonly depth: number;
  readonly found: (id: number, end: number) => void;
}

export class TokenTrie {
  readonly #strings: StringTable;
  /** Token ids, by their bytes; each text once. */
  readonly #order: Int32Array;
  /** Where the tokens that begin with each byte begin in `#order`. */
  readonly #firstBytes = new Int32Array(257);

  /** Of tokens with the same text, the last one counts. */
  constructor(strings: StringTable, isIn: (id: number) => boolean) {
    this.#strings = strings;
    const ids = new Int32Array(strings.length);
    let count = 0;
    for (let id = 0; id < strings.length; id++)
      if (strings.endOf(id) > strings.startOf(id) && isIn(id)) ids[count++] = id;
    this.#order = sortedOnce(strings, ids.subarray(0, count));
    for (const id of this.#order) this.#count(strings.region[strings.startOf(id)] ?? 0);
    for (let byte = 0; byte < 256; byte++)
      this.#firstBytes[byte + 1] = (this.#firstBytes[byte + 1] ?? 0) + (this.#firstBytes[byte] ?? 0);
  }

  #count(byte: number): void {
    this.#firstBytes[byte + 1] = (this.#firstBytes[byte + 1] ?? 0) + 1;
  }

  /**
   * Tells the tokens that the bytes from…to begin with, shortest first. Returns how many bytes are
   * the beginning of any token.
   */
  walk(bytes: Uint8Array, from: number, to: number, found: (id: number, end: number) => void): number {
    const { region, starts } = this.#strings;
    const order = this.#order;
    const first = bytes[from] ?? 0;
    let low = this.#firstBytes[first] ?? 0;
    let high = this.#firstBytes[first + 1] ?? 0;
    for (let depth = 0; from + depth < to; depth++) {
      if (depth > 0) {
        const byte = bytes[from + depth] ?? 0;
        if (region[(starts[order[low] ?? 0] ?? 0) + depth] !== byte) low = this.#lowerBound(low, high, depth, byte);
        if (low < high && region[(starts[order[high - 1] ?? 0] ?? 0) + depth] !== byte)
          high = this.#lowerBound(low, high, depth, byte + 1);
      }
      if (low >= high) return depth;
      const id = order[low] ?? 0;
      if (this.#strings.endOf(id) - (starts[id] ?? 0) === depth + 1) {
        found(id, from + depth + 1);
        low += 1;
        if (low === high) return depth + 1;
      }
      if (high - low === 1) return this.#walkOne(order[low] ?? 0, { bytes, from, to, depth: depth + 1, found });
    }
    return to - from;
  }

  /** The rest of a walk that one token is left of: a plain comparison. */
  #walkOne(id: number, { bytes, from, to, depth, found }: OneTokenWalk): number {
    const { region } = this.#strings;
    const start = this.#strings.startOf(id);
    const length = this.#strings.endOf(id) - start;
    const most = Math.min(length, to - from);
    let at = depth;
    while (at < most && region[start + at] === bytes[from + at]) at += 1;
    if (at === length) found(id, from + length);
    return at;
  }

  /**
   * The first of low…high whose byte at this depth is no smaller. All of them are longer than the
   * depth.
   */
  #lowerBound(low: number, high: number, depth: number, byte: number): number {
    let [first, end] = [low, high];
    while (first < end) {
      const middle = (first + end) >> 1;
      if (this.#byteAt(middle, depth) < byte) first = middle + 1;
      else end = middle;
    }
    return first;
  }

  #byteAt(place: number, depth: number): number {
    return this.#strings.region[this.#strings.startOf(this.#order[place] ?? 0) + depth] ?? 0;
  }
}

/**
 * By their bytes, by quicksort over one byte at a time with pivots by chance: linear in the bytes,
 * whatever they are.
 */
function sortedOnce(strings: StringTable, ids: Int32Array): Int32Array {
  const byteAt = (id: number, depth: number): number => {
    const at = strings.startOf(id) + depth;
    return at < strings.endOf(id) ? (strings.region[at] ?? 0) : -1;
  };
  const ranges = [0, ids.length, 0];
  const kept = new Uint8Array(ids.length).fill(1);
  while (ranges.length > 0) {
    const [low = 0, high = 0, depth = 0] = ranges.splice(-3);
    if (high - low < 2) continue;
    const pivot = byteAt(ids[low + Math.floor(Math.random() * (high - low))] ?? 0, depth);
    let [below, at, above] = [low, low, high];
    while (at < above) {
      const id = ids[at] ?? 0;
      const byte = byteAt(id, depth);
      if (byte < pivot) swap(ids, below++, at++);
      else if (byte > pivot) swap(ids, at, --above);
      else at += 1;
    }
    ranges.push(low, below, depth, above, high, depth);
    if (pivot >= 0) ranges.push(below, above, depth + 1);
    else keepLast(ids, below, above, kept);
  }
  return ids.filter((_, place) => kept[place] === 1);
}

function swap(ids: Int32Array, a: number, b: number): void {
  const id = ids[a] ?? 0;
  ids[a] = ids[b] ?? 0;
  ids[b] = id;
}

/** Of equal texts only the highest id. */
function keepLast(ids: Int32Array, low: number, high: number, kept: Uint8Array): void {
  ids.subarray(low, high).sort();
  kept.fill(0, low, high - 1);
}
