/**
 * The merging that SentencePiece and byte-level BPE share. A text is a row of symbols. The best
 * pair of neighbours (the leftmost of equals) becomes one symbol, until no pair is known.
 */
import type { Steps } from "../ir/steps.ts";

/** How good it is to join from…middle and middle…to of the buffer: lower is sooner; Infinity when it is unknown. */
export type PairRank = (from: number, middle: number, to: number) => number;

/**
 * Merges in place. `starts` holds where each of the `count` symbols begins, and at `count` where
 * the last one ends; afterwards it holds those that are left.
 */
class Merging {
  readonly #starts: Int32Array;
  readonly #count: number;
  readonly #rankOf: PairRank;
  readonly #previous: Int32Array;
  readonly #next: Int32Array;
  readonly #ends: Int32Array;
  readonly #queue: PairQueue;
  #offered = 0;

  constructor(starts: Int32Array, count: number, rankOf: PairRank) {
    this.#starts = starts;
    this.#count = count;
    this.#rankOf = rankOf;
    this.#previous = new Int32Array(count);
    this.#next = new Int32Array(count + 1);
    this.#ends = new Int32Array(count);
    this.#queue = new PairQueue(Math.max(1, count));
    for (let i = 0; i < count; i++) {
      this.#previous[i] = i - 1;
      this.#next[i] = i + 1;
      this.#ends[i] = starts[i + 1] ?? 0;
    }
  }

  /** Goes on for at most so many bytes of pairs that are looked up; true when all is merged. */
  run(mostBytes: number): boolean {
    let bytes = mostBytes;
    for (; this.#offered + 1 < this.#count; this.#offered++) {
      if (bytes <= 0) return false;
      bytes -= this.#offer(this.#offered);
    }
    const [ends, next] = [this.#ends, this.#next];
    for (;;) {
      if (bytes <= 0) return false;
      if (!this.#queue.pop()) return true;
      const { left, end } = this.#queue;
      const right = next[left] ?? this.#count;
      bytes -= 1;
      // Out of date when either symbol has been merged since: then the pair ends elsewhere, or the left one is gone.
      if (ends[left] === GONE || right >= this.#count || ends[right] !== end) continue;
      ends[left] = end;
      ends[right] = GONE;
      const after = next[right] ?? this.#count;
      next[left] = after;
      if (after < this.#count) this.#previous[after] = left;
      bytes -= this.#offer(this.#previous[left] ?? -1) + this.#offer(left);
    }
  }

  /** Leaves the symbols in `starts`, and says how many. */
  end(): number {
    const starts = this.#starts;
    const end = starts[this.#count] ?? 0;
    let kept = 0;
    for (let i = 0; i < this.#count; i = this.#next[i] ?? this.#count) starts[kept++] = starts[i] ?? 0;
    starts[kept] = end;
    return kept;
  }

  /** Queues a symbol with the next one by the rank of the pair; returns the bytes that were looked up. */
  #offer(left: number): number {
    const right = this.#next[left] ?? this.#count;
    if (left < 0 || right >= this.#count) return 0;
    const [from, end] = [this.#starts[left] ?? 0, this.#ends[right] ?? 0];
    const rank = this.#rankOf(from, this.#starts[right] ?? 0, end);
    if (rank !== Infinity) this.#queue.push(rank, left, end);
    return end - from;
  }
}

/** Bytes that are looked up between two pauses. */
const PAUSE_EVERY = 1 << 20;

/** Among so few symbols a look at every pair finds the best one sooner than a queue and its tables are made. */
const FEW = 32;
/** Ranks of the pairs of a short text. One for all: nothing else runs before it is merged. */
const ranks = new Float64Array(FEW);

/** The same for a few symbols. */
function mergeFew(starts: Int32Array, count: number, rankOf: PairRank): number {
  const rankAt = (i: number): number => rankOf(starts[i] ?? 0, starts[i + 1] ?? 0, starts[i + 2] ?? 0);
  for (let i = 0; i + 1 < count; i++) ranks[i] = rankAt(i);
  for (let kept = count; ; kept--) {
    let [best, rank] = [-1, Infinity];
    for (let i = 0; i + 1 < kept; i++) {
      const other = ranks[i] ?? Infinity;
      if (other >= rank) continue;
      best = i;
      rank = other;
    }
    if (best < 0) return kept;
    for (let i = best + 1; i < kept; i++) {
      starts[i] = starts[i + 1] ?? 0;
      ranks[i - 1] = ranks[i] ?? 0;
    }
    if (best > 0) ranks[best - 1] = rankAt(best - 1);
    if (best + 2 < kept) ranks[best] = rankAt(best);
  }
}

/** Merges with pauses; gives how many symbols are left. */
export function* mergeSymbols(starts: Int32Array, count: number, rankOf: PairRank): Steps<number> {
  if (count <= FEW) return mergeFew(starts, count, rankOf);
  const merging = new Merging(starts, count, rankOf);
  while (!merging.run(PAUSE_EVERY)) yield;
  return merging.end();
}

/** Where each UTF-8 character begins, and at `count` where the last one ends. */
export function characterStarts(bytes: Uint8Array): { readonly starts: Int32Array; readonly count: number } {
  const starts = new Int32Array(bytes.length + 1);
  let count = 0;
  // A character begins at every byte that is no continuation.
  bytes.forEach((byte, at) => {
    if ((byte & 0xc0) !== 0x80) starts[count++] = at;
  });
  starts[count] = bytes.length;
  return { starts, count };
}

const GONE = -1;

/** A binary heap of pairs by rank, then by place, in typed arrays. */
class PairQueue {
  left = 0;
  end = 0;
  #size = 0;
  #ranks: Float64Array;
  #lefts: Int32Array;
  #ends: Int32Array;

  constructor(capacity: number) {
    this.#ranks = new Float64Array(capacity);
    this.#lefts = new Int32Array(capacity);
    this.#ends = new Int32Array(capacity);
  }

  push(rank: number, left: number, end: number): void {
    if (this.#size === this.#ranks.length) this.#grow();
    let at = this.#size++;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (!this.#before(rank, left, parent)) break;
      this.#move(parent, at);
      at = parent;
    }
    this.#set(at, rank, left, end);
  }

  /** Puts the best pair into `left` and `end`; false when there is none. */
  pop(): boolean {
    if (this.#size === 0) return false;
    this.left = this.#lefts[0] ?? 0;
    this.end = this.#ends[0] ?? 0;
    const last = --this.#size;
    const rank = this.#ranks[last] ?? 0;
    const left = this.#lefts[last] ?? 0;
    const end = this.#ends[last] ?? 0;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= last) break;
      if (child + 1 < last && this.#before(this.#ranks[child + 1] ?? 0, this.#lefts[child + 1] ?? 0, child)) child += 1;
      if (this.#before(rank, left, child)) break;
      this.#move(child, at);
      at = child;
    }
    this.#set(at, rank, left, end);
    return true;
  }

  #before(rank: number, left: number, other: number): boolean {
    const otherRank = this.#ranks[other] ?? 0;
    return rank < otherRank || (rank === otherRank && left < (this.#lefts[other] ?? 0));
  }

  #move(from: number, to: number): void {
    this.#set(to, this.#ranks[from] ?? 0, this.#lefts[from] ?? 0, this.#ends[from] ?? 0);
  }

  #set(at: number, rank: number, left: number, end: number): void {
    this.#ranks[at] = rank;
    this.#lefts[at] = left;
    this.#ends[at] = end;
  }

  #grow(): void {
    const grown = <T extends Float64Array | Int32Array>(bigger: T, old: T): T => {
      bigger.set(old);
      return bigger;
    };
    const capacity = this.#ranks.length * 2;
    this.#ranks = grown(new Float64Array(capacity), this.#ranks);
    this.#lefts = grown(new Int32Array(capacity), this.#lefts);
    this.#ends = grown(new Int32Array(capacity), this.#ends);
  }
}
