/** Numbers of a JSON schema as rules: any, whole ones, and those between bounds. */
import type { WorkbenchError } from "../diagnostics/errors.ts";
import type { Bound } from "./bounds.ts";
import { decimals, spans } from "./bounds.ts";
import { characters, DIGIT, literal, MOST_DIGITS, one } from "./elements.ts";
import type { RuleBuilder, Sequence } from "./rules.ts";
import type { JsonObject } from "./valueForm.ts";

/** The error for a place behind the schema's own, and what is wrong there. */
export type Refusal = (place: string, what: string) => WorkbenchError;

export const BOUNDS = ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"] as const;
export const isBounded = (schema: JsonObject): boolean => BOUNDS.some((word) => schema[word] !== undefined);

export function anyNumber(builder: RuleBuilder): Sequence {
  const point = builder.rule([[...literal("."), ...builder.repeated([DIGIT], 1, MOST_DIGITS)], []]);
  const sign = builder.rule([[characters(one("+"), one("-"))], []]);
  const mark = characters(one("E"), one("e"));
  const exponent = builder.rule([[mark, sign, ...builder.repeated([DIGIT], 1, 2)], []]);
  return [...wholeNumber(builder), point, exponent];
}

export function wholeNumber(builder: RuleBuilder): Sequence {
  const minus = builder.rule([literal("-"), []]);
  const digits = builder.repeated([DIGIT], 0, MOST_DIGITS - 1);
  return [minus, builder.rule([literal("0"), [characters([0x31, 0x39]), ...digits]])];
}

/** Without an exponent. */
export function boundedNumber(schema: JsonObject, builder: RuleBuilder, wrong: Refusal): Sequence {
  const bounds = (closed: string, open: string): readonly Bound[] =>
    [closed, open].flatMap((word) => {
      const value = boundOf(schema, word, wrong);
      return value === undefined ? [] : [{ value, isOpen: word === open }];
    });
  /** Of two, the one that takes less; of the same value the one that does not take it. */
  const tighter = (all: readonly Bound[], sign: 1 | -1): Bound | undefined =>
    all.toSorted((a, b) => sign * (b.value - a.value) || Number(b.isOpen) - Number(a.isOpen))[0];
  const low = tighter(bounds("minimum", "exclusiveMinimum"), 1);
  const high = tighter(bounds("maximum", "exclusiveMaximum"), -1);
  const isEmpty =
    low !== undefined &&
    high !== undefined &&
    (low.value > high.value || (low.value === high.value && (low.isOpen || high.isOpen)));
  const ways = isEmpty ? [] : decimals(low, high, builder);
  if (ways.length === 0) throw wrong("", "got bounds without a number between them, expected some");
  return [builder.rule(ways)];
}

export function boundedInteger(schema: JsonObject, builder: RuleBuilder, wrong: Refusal): Sequence {
  const bound = (word: string): number | undefined => boundOf(schema, word, wrong);
  const [minimum, above] = [bound("minimum"), bound("exclusiveMinimum")];
  const [maximum, below] = [bound("maximum"), bound("exclusiveMaximum")];
  const most = 10 ** MOST_DIGITS - 1;
  const low = Math.max(-most, Math.ceil(minimum ?? -most), Math.floor(above ?? -most - 1) + 1);
  const high = Math.min(most, Math.floor(maximum ?? most), Math.ceil(below ?? most + 1) - 1);
  if (high < low) throw wrong("", "got bounds without a whole number between them, expected some");
  const alternatives: Sequence[] = [];
  if (low < 0) alternatives.push(...spans(Math.max(1, -high), -low).map((span) => [...literal("-"), ...span]));
  if (high >= 0) alternatives.push(...spans(Math.max(0, low), high));
  return [builder.rule(alternatives)];
}

function boundOf(schema: JsonObject, word: string, wrong: Refusal): number | undefined {
  const value = schema[word];
  if (value === undefined) return undefined;
  const isShort = typeof value === "number" && Math.abs(value) < 10 ** MOST_DIGITS && !/e-/u.test(String(value));
  if (isShort) return value;
  throw wrong(`/${word}`, `got ${JSON.stringify(value)}, expected a number of at most ${MOST_DIGITS} digits`);
}
