/**
 * Names that MIL accepts: letters, digits and underscores, not starting with a digit. One table per program part keeps
 * the mapping injective: two different wishes never get the same name, and the same wish twice gets two names.
 */

const VALID = /^[A-Za-z_][A-Za-z0-9_]*$/;
const LONGEST = 120;
/** Words of MIL's own text form, and the parts of names that its tools treat specially. */
const RESERVED = new Set([
  "program",
  "func",
  "tensor",
  "state",
  "list",
  "tuple",
  "dict",
  "string",
  "bool",
  "const",
  "main",
]);

/** The valid name closest to a wish: other characters become "_". Not injective by itself. */
export function sanitize(wish: string): string {
  if (wish.length <= LONGEST && VALID.test(wish)) return RESERVED.has(wish) ? `v_${wish}` : wish;
  const cleaned = wish.replace(/[^A-Za-z0-9_]+/g, "_").slice(0, LONGEST);
  return VALID.test(cleaned) && !RESERVED.has(cleaned) ? cleaned : `v_${cleaned}`;
}

export class NameTable {
  /** Every name taken, with the last suffix tried after it, so that the thousandth "mul" does not try 999 names. */
  readonly #taken = new Map<string, number>();

  /** A free name near the wish. */
  claim(wish: string): string {
    // What is taken is valid, as long as it is not too long.
    const known = wish.length <= LONGEST ? this.#taken.get(wish) : undefined;
    const base = known === undefined ? sanitize(wish) : wish;
    let suffix = known ?? this.#taken.get(base);
    if (suffix === undefined) {
      this.#taken.set(base, 0);
      return base;
    }
    let name: string;
    do name = `${base}_${++suffix}`;
    while (this.#taken.has(name));
    this.#taken.set(base, suffix).set(name, 0);
    return name;
  }
}
