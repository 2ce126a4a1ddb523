/** The formats of texts that a JSON schema may ask for, as rules. */
import { characters, DIGIT, literal, one } from "./elements.ts";
import type { Element, Range, RuleBuilder, Sequence } from "./rules.ts";

const DIGITS: Range = [0x30, 0x39];
const two = (first: Range, ...rest: readonly Range[]): Sequence => [characters(first), characters(...rest)];
const sixty = (): Sequence => two([0x30, 0x35], DIGITS);

/** Undefined for a format that is not known. */
export function textFormat(format: unknown, builder: RuleBuilder): Sequence | undefined {
  const either = (...all: readonly Sequence[]): Element => builder.rule(all);
  const date = (): Sequence => [
    ...[DIGIT, DIGIT, DIGIT, DIGIT],
    ...literal("-"),
    either(two(one("0"), [0x31, 0x39]), two(one("1"), [0x30, 0x32])),
    ...literal("-"),
    either(two(one("0"), [0x31, 0x39]), two(one("1"), DIGITS), two(one("2"), [0x30, 0x38])),
  ];
  const hours = (): Element => either(two([0x30, 0x31], DIGITS), two(one("2"), [0x30, 0x33]));
  const time = (): Sequence => [hours(), ...literal(":"), ...sixty(), ...literal(":"), ...sixty(), ...literal("Z")];
  const hex = characters([0x30, 0x39], [0x61, 0x66]);
  switch (format) {
    case "date":
      return date();
    case "time":
      return time();
    case "date-time":
      return [...date(), ...literal("T"), ...time()];
    case "uuid":
      return [8, 4, 4, 4, 12].flatMap((count, i) => [
        ...(i === 0 ? [] : literal("-")),
        ...Array.from({ length: count }, () => hex),
      ]);
    default:
      return undefined;
  }
}
