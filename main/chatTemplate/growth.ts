/**
 * Filters and methods of the template language whose result can be far larger than what goes in: how large it would be,
 * reckoned before it is made.
 */
import { isContainer } from "./sizes.ts";
import type { Value, ValueSizes } from "./sizes.ts";

export const CAN_GROW: ReadonlySet<string> = new Set(["replace", "split", "indent", "join", "tojson"]);

/** Characters of text that count as one cell in ValueSizes. */
const CELL = 16;

export interface Growth {
  /** At least as long as the text that would be made. */
  readonly characters: number;
  /** Elements of the list that would be made on the way. */
  readonly pieces: number;
}

export function grownLength(
  name: string,
  operand: Value,
  args: readonly (Value | undefined)[],
  sizes: ValueSizes,
): Growth {
  const texts = args.map((arg) => (typeof arg?.value === "string" ? arg.value : ""));
  const numbers = args.map((arg) => (typeof arg?.value === "number" ? Math.abs(arg.value) : 0));
  const [first = "", second = ""] = texts;
  const widest = Math.max(4, ...numbers);
  const longest = Math.max(0, ...texts.map((text) => text.length));
  const text = typeof operand.value === "string" ? operand.value : "";
  switch (name) {
    case "replace":
      return { characters: text.length + occurrences(text, first) * second.length, pieces: 0 };
    case "split":
      return { characters: 0, pieces: first === "" ? text.length / 2 : occurrences(text, first) };
    case "indent":
      return { characters: text.length + (occurrences(text, "\n") + 1) * widest, pieces: 0 };
    case "join": {
      const { cells } = sizes.of(operand);
      return { characters: cells * (longest + CELL) + text.length * longest, pieces: text.length };
    }
    case "tojson": {
      if (!isContainer(operand.type)) return { characters: 0, pieces: 0 };
      const { cells, depth } = sizes.of(operand);
      const indent = args.length === 0 ? 0 : widest * depth;
      return { characters: cells * (longest + CELL + 8 + indent), pieces: 0 };
    }
    default:
      return { characters: 0, pieces: 0 };
  }
}

/** How often a text occurs; an empty one occurs around every character. */
function occurrences(text: string, part: string): number {
  if (part === "") return text.length + 1;
  let count = 0;
  for (let at = text.indexOf(part); at >= 0; at = text.indexOf(part, at + part.length)) count += 1;
  return count;
}
