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
 * Numbers for sequences of numbers, one step at a time from 0: equal sequences, and only these, get
 * to the same one.
 */
export class Sequences {
  /** By state, then by symbol: keys stay small numbers, which are quick to look up. */
  readonly #next: (Map<number, number> | undefined)[] = [undefined];

  step(state: number, symbol: number): number {
    const next = (this.#next[state] ??= new Map<number, number>());
    const known = next.get(symbol);
    if (known !== undefined) return known;
    const made = this.#next.length;
    this.#next.push(undefined);
    next.set(symbol, made);
    return made;
  }
}
