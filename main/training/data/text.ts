/** A text as numbers: its characters, in the order of their code points, are the words of a model. */
import { WorkbenchError } from "../../diagnostics/errors.ts";

/** Characters of different kinds; a text with more is no text for a model of characters. */
const MOST_KINDS = 1024;
export const LARGEST_TEXT = 256 << 20;

export interface Alphabet {
  readonly characters: readonly string[];
  /** A character that the alphabet lacks is an error, which `who` names. */
  encode(text: string, who: string): Int32Array;
  decode(ids: Iterable<number>): string;
}

export function alphabetOf(text: string, file: string): Alphabet {
  const characters = [...new Set(text)].toSorted((a, b) => (a.codePointAt(0) ?? 0) - (b.codePointAt(0) ?? 0));
  if (characters.length < 2)
    throw new WorkbenchError(
      "INPUT_ARGUMENT",
      `[${file}] got ${characters.length} kinds of characters, expected a text`,
    );
  if (characters.length > MOST_KINDS)
    throw new WorkbenchError(
      "INPUT_LIMIT",
      `[${file}] got ${characters.length} kinds of characters, expected ${MOST_KINDS} at most`,
      { hint: "Take a text in one script." },
    );
  const ids = new Map(characters.map((character, id) => [character, id]));
  return {
    characters,
    encode(given, who) {
      const out: number[] = [];
      for (const character of given) {
        const id = ids.get(character);
        if (id === undefined)
          throw new WorkbenchError(
            "INPUT_ARGUMENT",
            `[train] ${who}: got ${JSON.stringify(character)}, expected characters that the text has`,
          );
        out.push(id);
      }
      return Int32Array.from(out);
    },
    decode: (given) => Array.from(given, (id) => characters[id] ?? "").join(""),
  };
}

/** UTF-8, or an error that says it is none. */
export function textIn(file: string, bytes: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch (cause) {
    throw new WorkbenchError("INPUT_MALFORMED", `[${file}] got bytes that are no UTF-8 text`, {
      hint: "Save the text as UTF-8.",
      cause,
    });
  }
}
