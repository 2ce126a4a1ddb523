/**
 * Text methods with results far larger than their operands: the size is computed before the result
 * is made.
 */
import type { Value } from "./sizes.ts";

export const CAN_GROW: ReadonlySet<string> = new Set(["replace", "split"]);

export interface Growth {
  /** At least as long as the text that would be made. */
  readonly characters: number;
  /** Elements of the list that would be made on the way. */
  readonly pieces: number;
}

export function grownLength(name: string, operand: Value, args: readonly (Value | undefined)[]): Growth {
  const [first = "", second = ""] = args.map((arg) => (typeof arg?.value === "string" ? arg.value : ""));
  const text = typeof operand.value === "string" ? operand.value : "";
  if (name === "replace") return { characters: text.length + occurrences(text, first) * second.length, pieces: 0 };
  if (name === "split") return { characters: 0, pieces: first === "" ? text.length / 2 : occurrences(text, first) };
  return { characters: 0, pieces: 0 };
}

/** How often a text occurs; an empty one occurs around every character. */
function occurrences(text: string, part: string): number {
  if (part === "") return text.length + 1;
  let count = 0;
  for (let at = text.indexOf(part); at >= 0; at = text.indexOf(part, at + part.length)) count += 1;
  return count;
}
