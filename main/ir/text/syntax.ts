/** What a text says, before anything is known of ops: statements with the places where their words stand. */
import type { AttrValue } from "../attributes.ts";
import type { Origin } from "../graph.ts";
import type { Span } from "./scanner.ts";

export interface Word extends Span {
  readonly text: string;
}

/** `%x`, or `%x.1`. */
export interface ValueWord extends Word {
  readonly name: string;
  readonly output: number;
}

export interface Attribute {
  readonly key: Word;
  readonly value: AttrValue;
  readonly span: Span;
}

/**
 * The numbers of a constant: written out, one number for all of them, or known by their hash. `rounded` is the first that
 * float64 does not have, which is a fault in whole numbers.
 */
export type Data =
  | {
      readonly kind: "numbers";
      readonly numbers: readonly number[];
      readonly shape: readonly number[];
      readonly rounded: Word | undefined;
      readonly span: Span;
    }
  | { readonly kind: "all"; readonly number: number; readonly rounded: Word | undefined; readonly span: Span }
  | { readonly kind: "hash"; readonly hash: string; readonly span: Span };

/** Where a node came from, and the passes that made it. */
export interface Provenance {
  readonly origins: readonly Origin[];
  readonly passes: readonly string[];
  readonly span: Span;
}

export interface Definition {
  readonly kind: "definition";
  readonly value: ValueWord;
  readonly op: Word;
  /** `input "x"`: the name of a leaf. */
  readonly leafName: Word | undefined;
  readonly data: Data | undefined;
  readonly operands: readonly ValueWord[];
  readonly attributes: readonly Attribute[];
  readonly types: readonly Word[];
  readonly provenance: Provenance | undefined;
  /** The op's sub-graphs, in the order of the op's names for them. */
  readonly regions: readonly Block[];
}

export type Saying =
  | Definition
  /** A definition that could not be read: its value is known, and nothing else. */
  | { readonly kind: "lost"; readonly value: ValueWord }
  | { readonly kind: "limit"; readonly symbol: Word; readonly size: number }
  | { readonly kind: "inputs"; readonly values: readonly ValueWord[] }
  | { readonly kind: "next" | "return"; readonly name: Word; readonly value: ValueWord };

export interface Statement {
  readonly says: Saying;
  readonly span: Span;
  /** Comments on lines of their own before it. */
  readonly above: readonly string[];
  /** The comment behind it. */
  readonly behind: string | undefined;
  /** An empty line stands before it. */
  readonly isApart: boolean;
}

/** `graph "name" { … }`. */
export interface Block {
  readonly name: Word;
  readonly statements: readonly Statement[];
  /** Comments before the closing brace. */
  readonly below: readonly string[];
}

/**
 * Takes the outermost graph statement by statement, as it is read: a text of 100 000 lines as a whole is a million objects,
 * which cost more than all else.
 */
export interface Visitor {
  readonly begin: (name: Word, above: readonly string[]) => void;
  readonly statement: (statement: Statement) => void;
  /** Comments before its closing brace, and behind it. */
  readonly end: (below: readonly string[], after: readonly string[]) => void;
}
