/** Small numbers for things that are compared often: by identity, and for sequences of such numbers. */

/**
 * Numbers for things that are the same object: 0, 1, 2 … in the order in which they are first seen.
 * Keys made of them are short.
 */
export class Numbering<T> {
  readonly #numbers = new Map<T, number>();

  of(thing: T): number {
    const known = this.#numbers.get(thing);
    if (known !== undefined) return known;
    this.#numbers.set(thing, this.#numbers.size);
    return this.#numbers.size - 1;
  }
}

/**
 * Numbers for sequences of numbers below 2^26, one step at a time from 0: equal sequences, and only
 * these, get to the same one.
 */
export class Sequences {
  readonly #next = new Map<number, number>();

  step(state: number, symbol: number): number {
    const key = state * 0x4000000 + symbol;
    const known = this.#next.get(key);
    if (known !== undefined) return known;
    this.#next.set(key, this.#next.size + 1);
    return this.#next.size;
  }
}
