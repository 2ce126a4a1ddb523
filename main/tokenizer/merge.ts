/**
 * The merging that SentencePiece and byte-level BPE share: a text is a row of symbols; again and again the best pair of
 * neighbours becomes one symbol, the leftmost of equally good ones first, until no pair is known.
 */

/** How good it is to join from…middle and middle…to of the buffer: lower is sooner; Infinity when it is unknown. */
export type PairRank = (from: number, middle: number, to: number) => number;

/**
 * Merges in place. `starts` holds where each of the `count` symbols begins, and at `count` where the last one ends;
 * afterwards it holds those that are left. Returns how many.
 */
export function mergeSymbols(starts: Int32Array, count: number, rankOf: PairRank): number {
  if (count < 2) return count;
  const previous = new Int32Array(count);
  const next = new Int32Array(count + 1);
  const ends = new Int32Array(count);
  for (let i = 0; i < count; i++) {
    previous[i] = i - 1;
    next[i] = i + 1;
    ends[i] = starts[i + 1] ?? 0;
  }
  const queue = new PairQueue(count);
  const offer = (left: number): void => {
    const right = next[left] ?? count;
    if (left < 0 || right >= count) return;
    const rank = rankOf(starts[left] ?? 0, starts[right] ?? 0, ends[right] ?? 0);
    if (rank !== Infinity) queue.push(rank, left, ends[right] ?? 0);
  };
  for (let i = 0; i + 1 < count; i++) offer(i);
  while (queue.pop()) {
    const { left, end } = queue;
    const right = next[left] ?? count;
    // Out of date when either symbol has been merged since: then the pair ends elsewhere, or the left one is gone.
    if (ends[left] === GONE || right >= count || ends[right] !== end) continue;
    ends[left] = end;
    ends[right] = GONE;
    const after = next[right] ?? count;
    next[left] = after;
    if (after < count) previous[after] = left;
    offer(previous[left] ?? -1);
    offer(left);
  }
  let kept = 0;
  const end = starts[count] ?? 0;
  for (let i = 0; i < count; i = next[i] ?? count) starts[kept++] = starts[i] ?? 0;
  starts[kept] = end;
  return kept;
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
