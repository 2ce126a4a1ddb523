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
  const cleaned =
    wish.length <= LONGEST && VALID.test(wish) ? wish : wish.replace(/[^A-Za-z0-9_]+/g, "_").slice(0, LONGEST);
  return VALID.test(cleaned) && !RESERVED.has(cleaned) ? cleaned : `v_${cleaned}`;
}

export class NameTable {
  readonly #taken = new Set<string>();
  /** Wishes come again and again: what they become is worked out once. */
  readonly #bases = new Map<string, string>();
  /** Last suffix tried for a base name, so that the thousandth "mul" does not try 999 names. */
  readonly #last = new Map<string, number>();

  /** A free name near the wish. */
  claim(wish: string): string {
    const base = this.#bases.get(wish) ?? sanitize(wish);
    this.#bases.set(wish, base);
    let name = base;
    let suffix = this.#last.get(base) ?? 0;
    while (this.#taken.has(name)) {
      suffix += 1;
      name = `${base}_${suffix}`;
    }
    this.#last.set(base, suffix);
    this.#taken.add(name);
    return name;
  }
}
