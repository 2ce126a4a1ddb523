/**
 * How large template values are when they are written out. Values share parts (`[a, a]` of `[a, a]`
 * …), so a few steps can describe a text that fills any memory: sizes count every part as often as
 * it would be written.
 */

/** A value of the template language, as far as we look into it. */
export interface Value {
  readonly type: string;
  readonly value: unknown;
}

export interface ValueSize {
  /** One per value, and one per 16 characters of text. */
  readonly cells: number;
  readonly depth: number;
}

const CONTAINERS: ReadonlySet<string> = new Set([
  "ArrayValue",
  "TupleValue",
  "ObjectValue",
  "KeywordArgumentsValue",
  "NamespaceValue",
]);
export const isContainer = (type: string): boolean => CONTAINERS.has(type);

const DEEPEST = 100;

interface Measured extends ValueSize {
  /** Has a namespace inside: namespaces can change, so their sizes are not cached. */
  readonly changes: boolean;
}

export class ValueSizes {
  readonly #most: number;
  readonly #tooLarge: () => Error;
  readonly #known = new WeakMap<object, Measured>();
  #visited = 0;

  constructor(most: number, tooLarge: () => Error) {
    this.#most = most;
    this.#tooLarge = tooLarge;
  }

  of(value: Value): ValueSize {
    this.#visited = 0;
    return this.#measure(value, 0);
  }

  #measure(value: unknown, level: number): Measured {
    const inner: unknown = isValue(value) ? value.value : undefined;
    if (typeof inner === "string") return { cells: 1 + inner.length / 16, depth: 0, changes: false };
    if (typeof inner !== "object" || inner === null) return { cells: 1, depth: 0, changes: false };
    const known = this.#known.get(inner);
    if (known !== undefined) return known;
    if (level > DEEPEST || ++this.#visited > this.#most) throw this.#tooLarge();
    let cells = 1;
    let depth = 0;
    let changes = isValue(value) && value.type === "NamespaceValue";
    const add = (child: unknown): void => {
      const size = this.#measure(child, level + 1);
      cells += size.cells;
      depth = Math.max(depth, size.depth);
      changes ||= size.changes;
      if (cells > this.#most) throw this.#tooLarge();
    };
    if (Array.isArray(inner)) inner.forEach(add);
    else if (inner instanceof Map)
      for (const [key, child] of inner) {
        cells += typeof key === "string" ? key.length / 16 : 1;
        add(child);
      }
    const measured = { cells, depth: depth + 1, changes };
    if (!changes) this.#known.set(inner, measured);
    return measured;
  }
}

const isValue = (value: unknown): value is Value =>
  typeof value === "object" && value !== null && "type" in value && "value" in value;
