/** Numbers for things that are the same object: 0, 1, 2 … in the order in which they are first seen. Keys made of them are short. */
export class Numbering<T> {
  readonly #numbers = new Map<T, number>();

  of(thing: T): number {
    const known = this.#numbers.get(thing);
    if (known !== undefined) return known;
    this.#numbers.set(thing, this.#numbers.size);
    return this.#numbers.size - 1;
  }
}
