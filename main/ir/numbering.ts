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
 * Numbers for sequences of numbers from 0 on, one step at a time from 0: equal sequences, and only these, get
 * to the same one.
 */
export class Sequences {
  /** The symbol that followed a state first, and where it led: most states have no other. */
  readonly #symbol: number[] = [-1];
  readonly #next: number[] = [0];
  /** Further ones by state. Keys stay small numbers, which are quick to look up. */
  readonly #more = new Map<number, Map<number, number>>();

  step(state: number, symbol: number): number {
    if (this.#symbol[state] === symbol) return this.#next[state] ?? 0;
    if (this.#symbol[state] === -1) {
      const made = this.#make();
      this.#symbol[state] = symbol;
      this.#next[state] = made;
      return made;
    }
    const more = this.#more.get(state) ?? new Map<number, number>();
    this.#more.set(state, more);
    const made = more.get(symbol) ?? this.#make();
    more.set(symbol, made);
    return made;
  }

  #make(): number {
    this.#symbol.push(-1);
    return this.#next.push(0) - 1;
  }
}
