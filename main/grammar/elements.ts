/** Small parts that schemas, patterns and bounds are written with. */
import type { Element, Range, Sequence } from "./rules.ts";

export const characters = (...ranges: readonly Range[]): Element => ({ kind: "characters", ranges });
export const one = (character: string): Range => [character.charCodeAt(0), character.charCodeAt(0)];
export const literal = (text: string): Sequence =>
  Array.from(text, (character) => {
    const point = character.codePointAt(0) ?? 0;
    return characters([point, point]);
  });
export const DIGIT = characters([0x30, 0x39]);
/** Digits of numbers that are not bounded, as a double can hold them. */
export const MOST_DIGITS = 15;
