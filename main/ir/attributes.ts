/**
 * Attribute schemas: a tiny run-time description of an op's attributes, used by the builder
 * (check), the text form (parse) and the docs. Attributes are plain data with one canonical JSON
 * spelling.
 */
import { WorkbenchError } from "../diagnostics/errors.ts";
import type { Sizes, Dim } from "./dim.ts";
import { bindDim, canonicalDim, dimSymbols } from "./dim.ts";
import type { DType, ElementType } from "./dtype.ts";
import { isDType, isElementType } from "./dtype.ts";
import { bindType, formatType, parseType } from "./type.ts";

export type AttrValue = number | string | boolean | readonly AttrValue[];
export type AttrRecord = Readonly<Record<string, AttrValue | undefined>>;
/** For ops without attributes. */
export type NoAttrs = Readonly<Record<never, never>>;

export interface AttrSpec<T> {
  /** For docs: "int >= 0", "one of sum, mean". */
  readonly expects: string;
  readonly optional: boolean;
  readonly check: (value: unknown) => value is T;
  readonly canonical?: (value: T) => T;
  /** For values that hold sizes: the value with symbols bound. */
  readonly bind?: (value: T, bindings: Sizes) => T;
  /** The symbols that `bind` would bind. */
  readonly symbols?: (value: T) => readonly string[];
}

export type AttrSchema<A> = { readonly [K in keyof A]-?: AttrSpec<Exclude<A[K], undefined>> };

const spec = <T>(
  expects: string,
  check: (v: unknown) => v is T,
  sizes?: Required<Pick<AttrSpec<T>, "canonical" | "bind" | "symbols">>,
): AttrSpec<T> => ({ expects, optional: false, check, ...sizes });

const isNumber = (v: unknown): v is number => typeof v === "number" && !Number.isNaN(v);
const isInt = (v: unknown): v is number => Number.isSafeInteger(v);
const isDim = (v: unknown): v is Dim => isInt(v) || (typeof v === "string" && v.length > 0);

export const attr = {
  int: (min = Number.MIN_SAFE_INTEGER, max = Number.MAX_SAFE_INTEGER): AttrSpec<number> =>
    spec(`int ${min}..${max}`, (v): v is number => isInt(v) && v >= min && v <= max),
  float: (): AttrSpec<number> => spec("number", isNumber),
  bool: (): AttrSpec<boolean> => spec("true or false", (v): v is boolean => typeof v === "boolean"),
  string: (): AttrSpec<string> => spec("string", (v): v is string => typeof v === "string"),
  strings: (): AttrSpec<readonly string[]> =>
    spec("list of strings", (v): v is readonly string[] => Array.isArray(v) && v.every((t) => typeof t === "string")),
  oneOf: <const T extends string>(values: readonly T[]): AttrSpec<T> =>
    spec(
      `one of ${values.join(", ")}`,
      (v): v is T => typeof v === "string" && (values as readonly string[]).includes(v),
    ),
  ints: (): AttrSpec<readonly number[]> =>
    spec("list of ints", (v): v is readonly number[] => Array.isArray(v) && v.every(isInt)),
  floats: (): AttrSpec<readonly number[]> =>
    spec("list of numbers", (v): v is readonly number[] => Array.isArray(v) && v.every(isNumber)),
  dim: (): AttrSpec<Dim> =>
    spec("size or symbol", isDim, { canonical: canonicalDim, bind: bindDim, symbols: dimSymbols }),
  dims: (): AttrSpec<readonly Dim[]> =>
    spec("list of sizes or symbols", (v): v is readonly Dim[] => Array.isArray(v) && v.every(isDim), {
      canonical: (v) => v.map(canonicalDim),
      bind: (v, bindings) => v.map((dim) => bindDim(dim, bindings)),
      symbols: (v) => v.flatMap(dimSymbols),
    }),
  /** Types by their text, `f32[T,4]`. */
  types: (): AttrSpec<readonly string[]> =>
    spec("list of types", (v): v is readonly string[] => Array.isArray(v) && v.every((t) => typeof t === "string"), {
      canonical: (v) => v.map((text) => formatType(parseType(text))),
      bind: (v, bindings) => v.map((text) => formatType(bindType(parseType(text), bindings))),
      symbols: (v) => v.flatMap((text) => parseType(text).shape.flatMap(dimSymbols)),
    }),
  dtype: (): AttrSpec<DType> => spec("a dtype", (v): v is DType => typeof v === "string" && isDType(v)),
  elementType: (): AttrSpec<ElementType> =>
    spec("an element type", (v): v is ElementType => typeof v === "string" && isElementType(v)),
  optional: <T>(inner: AttrSpec<T>): AttrSpec<T> => ({
    ...inner,
    expects: `${inner.expects}, or absent`,
    optional: true,
  }),
};

/** The untyped face of a schema, for code that walks all ops. */
export type AnyAttrSchema = Readonly<Record<string, AttrSpec<never>>>;

/** Equal texts mean equal attributes. Unlike JSON it tells infinities and the two zeros apart. */
export function attrsText(attrs: AttrRecord): string {
  let text = "";
  for (const key of Object.keys(attrs)) text += `${key}:${valueText(attrs[key])};`;
  return text;
}

function valueText(value: AttrValue | undefined): string {
  if (typeof value === "string") return JSON.stringify(value);
  if (typeof value === "number") return Object.is(value, -0) ? "-0" : String(value);
  return Array.isArray(value) ? `[${(value as readonly AttrValue[]).map(valueText).join()}]` : String(value);
}

/** Checks names and values; drops absent optionals; returns keys in schema order (one canonical spelling). */
export function checkAttrs(op: string, schema: AnyAttrSchema, attrs: AttrRecord): AttrRecord {
  for (const key of Object.keys(attrs))
    if (!(key in schema) && attrs[key] !== undefined)
      throw new WorkbenchError(
        "IR_ATTRIBUTE",
        `[${op}] unknown attribute "${key}": expected ${Object.keys(schema).join(", ") || "none"}`,
      );
  const result: Record<string, AttrValue> = {};
  for (const [key, entry] of Object.entries(schema)) {
    const value = attrs[key];
    if (value === undefined) {
      if (entry.optional) continue;
      throw new WorkbenchError("IR_ATTRIBUTE", `[${op}] attribute "${key}" is missing: expected ${entry.expects}`);
    }
    if (!entry.check(value))
      throw new WorkbenchError(
        "IR_ATTRIBUTE",
        `[${op}] attribute "${key}": got ${JSON.stringify(value)}, expected ${entry.expects}`,
      );
    result[key] = entry.canonical ? entry.canonical(value) : value;
  }
  return result;
}
