/**
 * Jinja treats a name that is not defined as empty: no elements, no text. The interpreter refuses
 * it in places where real templates rely on that (`tools|length`, a loop over `tools`); these are
 * the literals that stand in for it.
 */
import { TEXT_FILTERS } from "./filters.ts";

export interface LiteralNode {
  readonly type: "ArrayLiteral" | "StringLiteral";
  readonly value: string | readonly never[];
}

const EMPTY_LIST: LiteralNode = { type: "ArrayLiteral", value: [] };
export const EMPTY_TEXT: LiteralNode = { type: "StringLiteral", value: "" };

const OF_LISTS: ReadonlySet<string> = new Set([
  "length",
  "count",
  "first",
  "last",
  "max",
  "min",
  "sum",
  "list",
  "join",
  "sort",
  "unique",
  "reverse",
  "map",
  "select",
  "reject",
  "selectattr",
  "rejectattr",
]);

/** What a filter should see instead of something undefined; undefined where the filter knows what to do (`default`). */
export function emptyFor(filter: string): LiteralNode | undefined {
  if (OF_LISTS.has(filter)) return EMPTY_LIST;
  return TEXT_FILTERS.has(filter) ? EMPTY_TEXT : undefined;
}
