/** Every filter of Jinja2 by its name, but `urlize`, which makes links. */
import type { Filter } from "./filter.ts";
import { LIST_FILTERS } from "./listFilters.ts";
import { NUMBER_FILTERS } from "./numberFilters.ts";
import { TEXT_MAKING_FILTERS } from "./textFilters.ts";
import { isUndefined, textValue } from "./values.ts";

/** Taken as texts, whatever they are given. */
export const TEXT_FILTERS: ReadonlySet<string> = new Set([
  "trim",
  "upper",
  "lower",
  "title",
  "capitalize",
  "replace",
  "string",
  "escape",
  "e",
  "forceescape",
  "center",
  "striptags",
  "urlencode",
  "pprint",
]);

/** Those that take nothing but their value. */
export const BARE_FILTERS: ReadonlySet<string> = new Set([
  ...["length", "count", "first", "last", "random", "list", "reverse", "items"],
  ...["escape", "e", "forceescape", "safe", "string", "striptags", "urlencode"],
  ...["upper", "lower", "capitalize", "title", "pprint", "abs", "wordcount"],
]);

/** What is not there, or with `boolean` what is false, becomes the default. */
const otherwise: Filter = (operand, args) => {
  const { default_value, boolean } = args.matched("default_value", "boolean");
  const isMissing = isUndefined(operand) || (args.flag(boolean) && !operand.__bool__().value);
  return isMissing ? (default_value ?? textValue("")) : operand;
};

export const FILTERS: ReadonlyMap<string, Filter> = new Map<string, Filter>([
  ["default", otherwise],
  ["d", otherwise],
  ...LIST_FILTERS,
  ...TEXT_MAKING_FILTERS,
  ...NUMBER_FILTERS,
]);
