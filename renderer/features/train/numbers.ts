/** Numbers that are typed: what each may be, and what is wrong with one, in a sentence. */
import { count } from "../../ui/format.ts";

export interface NumberRule {
  readonly label: string;
  readonly about: string;
  readonly least: number;
  readonly most: number;
  readonly whole: boolean;
  /** It may be empty. */
  readonly optional?: boolean;
}

export const rule = (label: string, about: string, least: number, most: number, whole = false): NumberRule => ({
  ...{ label, about, least, most, whole },
});
/** null: it is one of these. */
export function numberProblem(
  text: string,
  { least, most, whole, optional: may = false }: Omit<NumberRule, "label" | "about">,
): string | null {
  if (text.trim() === "") return may ? null : "A number is missing.";
  const value = Number(text);
  if (!Number.isFinite(value)) return `“${text.trim()}” is no number.`;
  if (whole && !Number.isInteger(value)) return "This has to be a whole number.";
  if (value < least) return `At least ${bound(least)}.`;
  if (value > most) return `At most ${bound(most)}.`;
  return null;
}
const bound = (value: number): string => (Number.isInteger(value) ? count(value) : String(value));
