/** How the parts of a line are spelled. The printer writes graphs with it, the formatter texts. */
import type { AttrValue } from "../attributes.ts";
import type { Origin } from "../graph.ts";

/** The shortest digits that give the same number; all digits of a whole one, because those of an i64 are read exactly. */
export function numberText(value: number): string {
  if (Object.is(value, -0)) return "-0";
  if (Math.abs(value) >= 2 ** 53 && Math.abs(value) < 1e21) return String(BigInt(value));
  if (Number.isFinite(value)) return String(value);
  return Number.isNaN(value) ? "nan" : value > 0 ? "inf" : "-inf";
}

/** Longer literals are taken to be rounded: theirs are not counted out. */
const MOST_DIGITS = 400;

/** Whether a literal says one number and float64 has another: from 2^53 it has every second whole number, then every fourth … */
export function isRounded(word: string): boolean {
  const value = Number(word);
  if (Math.abs(value) < 2 ** 53 || !Number.isFinite(value)) return false;
  const [, sign = "", whole = "", part = "", power = "0"] = /^(-?)(\d*)\.?(\d*)(?:e([+-]?\d+))?$/iu.exec(word) ?? [];
  const zeros = Number(power) - part.length;
  if (word.length > MOST_DIGITS) return true;
  const [digits, held] = [BigInt(`${whole}${part}`), BigInt(value) * (sign === "" ? 1n : -1n)];
  return zeros < 0 ? digits !== held * 10n ** BigInt(-zeros) : digits * 10n ** BigInt(zeros) !== held;
}

function attributeText(value: AttrValue): string {
  if (typeof value === "number") return numberText(value);
  return Array.isArray(value)
    ? `[${(value as readonly AttrValue[]).map(attributeText).join(", ")}]`
    : JSON.stringify(value);
}

const keyText = (key: string): string => (/^[A-Za-z_]\w*$/.test(key) ? key : JSON.stringify(key));

/** ` {axis: 1}`, or nothing. */
export const attributesText = (entries: readonly (readonly [key: string, value: AttrValue])[]): string =>
  entries.length === 0
    ? ""
    : ` {${entries.map(([key, value]) => `${keyText(key)}: ${attributeText(value)}`).join(", ")}}`;

/** ` @ "scope" "label" 3 by "pass"`. */
export function provenanceText(origins: readonly Origin[], passes: readonly string[]): string {
  const places = origins.map(
    ({ scope, label, source }) => `${JSON.stringify(scope)} ${JSON.stringify(label)} ${source}`,
  );
  const by = passes.length === 0 ? "" : ` by ${passes.map((pass) => JSON.stringify(pass)).join(", ")}`;
  return ` @ ${places.join(" | ") || "none"}${by}`;
}

/** Numbers as nested lists; without a shape the first of them by itself. */
export function numbersText(numbers: ArrayLike<number>, shape: readonly number[]): string {
  // An axis without elements leaves nothing of the sizes behind it.
  if (numbers.length === 0) return "[]";
  let at = 0;
  const nested = (depth: number): string => {
    const size = shape[depth];
    if (size === undefined) return numberText(numbers[at++] ?? 0);
    return `[${Array.from({ length: size }, () => nested(depth + 1)).join(", ")}]`;
  };
  return nested(0);
}
