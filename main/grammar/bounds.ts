/** Numbers between bounds, as rules of their digits. */
import { DIGIT, MOST_DIGITS, characters, literal } from "./elements.ts";
import type { Element, RuleBuilder, Sequence } from "./rules.ts";

/** The whole numbers from `low` to `high`, neither negative, as sequences of digits. */
export function spans(low: number, high: number): Sequence[] {
  const result: Sequence[] = [];
  for (let from = low; from <= high;) {
    // As many last digits as may be anything: all numbers from `from` on that share its other digits.
    let free = 0;
    while (from % 10 ** (free + 1) === 0 && from > 0 && from + 10 ** (free + 1) - 1 <= high) free++;
    const step = 10 ** free;
    const digit = Math.floor(from / step) % 10;
    // Then the last of the others runs up as far as it can.
    let last = digit;
    while (last < 9 && from + (last - digit + 2) * step - 1 <= high) last++;
    const head = Math.floor(from / step / 10);
    result.push([
      ...(head === 0 ? [] : literal(String(head))),
      characters([0x30 + digit, 0x30 + last]),
      ...Array.from({ length: free }, () => DIGIT),
    ]);
    from += (last - digit + 1) * step;
  }
  return result;
}

/** One end of what is taken; `isOpen`: the end itself is not. */
export interface Bound {
  readonly value: number;
  readonly isOpen: boolean;
}

/** The decimal numbers from one bound to the other, without exponents; no sequence where there are none. */
export function decimals(low: Bound | undefined, high: Bound | undefined, builder: RuleBuilder): Sequence[] {
  const zero = { value: 0, isOpen: false };
  const mirrored = (bound: Bound | undefined): Bound | undefined => bound && { ...bound, value: -bound.value };
  const all: Sequence[] = [];
  if (low === undefined || low.value < 0) {
    const nearest = high !== undefined && high.value < 0 ? mirrored(high) : { value: 0, isOpen: true };
    const negative = new DecimalWriter(builder).between(nearest ?? zero, mirrored(low));
    all.push(...negative.map((sequence) => [...literal("-"), ...sequence]));
  }
  if (high === undefined || high.value >= 0) {
    const from = low !== undefined && low.value >= 0 ? low : zero;
    all.push(...new DecimalWriter(builder).between(from, high));
  }
  return all;
}

/** Digits behind the point that a number must still be compared with; undefined where the comparison is decided. */
type Rest = { readonly digits: string; readonly isOpen: boolean } | undefined;

class DecimalWriter {
  readonly #builder: RuleBuilder;

  constructor(builder: RuleBuilder) {
    this.#builder = builder;
  }

  /** Neither bound is negative. */
  between(low: Bound, high: Bound | undefined): Sequence[] {
    const from = parts(low);
    const to = high === undefined ? undefined : parts(high);
    if (to?.whole === from.whole) return this.#behind(from.whole, from.rest, to.rest);
    const last = to === undefined ? 10 ** MOST_DIGITS - 1 : to.whole - 1;
    const free = from.whole + 1 > last ? [] : [this.#builder.rule(spans(from.whole + 1, last))];
    return [
      ...this.#behind(from.whole, from.rest, undefined),
      ...free.map((whole) => [whole, this.#point(undefined, undefined)]),
      ...(to === undefined || to.whole < from.whole ? [] : this.#behind(to.whole, undefined, to.rest)),
    ];
  }

  /** A whole part with the fractions that fit. */
  #behind(whole: number, low: Rest, high: Rest): Sequence[] {
    const fraction = this.#fraction(low, high, MOST_DIGITS);
    const digits = literal(String(whole));
    const ways = fraction === undefined ? [] : [[...digits, ...literal("."), fraction]];
    return mayEnd(low, high) ? [digits, ...ways] : ways;
  }

  #point(low: Rest, high: Rest): Element {
    const fraction = this.#fraction(low, high, MOST_DIGITS);
    return this.#builder.rule([...(fraction === undefined ? [] : [[...literal("."), fraction]]), []]);
  }

  /** One digit or more. Undefined where none fits. */
  #fraction(low: Rest, high: Rest, room: number): Element | undefined {
    if (low === undefined && high === undefined) return this.#builder.rule([this.#builder.repeated([DIGIT], 1, room)]);
    if (room === 0) return undefined;
    const ways: Sequence[] = [];
    for (const { first, last, nextLow, nextHigh } of steps(low, high)) {
      const digit = characters([0x30 + first, 0x30 + last]);
      const rest = room === 1 ? undefined : this.#fraction(nextLow, nextHigh, room - 1);
      if (rest !== undefined) ways.push([digit, rest]);
      if (mayEnd(nextLow, nextHigh)) ways.push([digit]);
    }
    return ways.length === 0 ? undefined : this.#builder.rule(ways);
  }
}

function parts({ value, isOpen }: Bound): { readonly whole: number; readonly rest: Rest } {
  const [whole = "0", fraction = ""] = String(value).split(".");
  return { whole: Number(whole), rest: { digits: fraction, isOpen } };
}

/** Whether a number that ends here lies between the bounds. */
function mayEnd(low: Rest, high: Rest): boolean {
  const isAbove = low === undefined || (low.digits === "" && !low.isOpen);
  return isAbove && (high === undefined || high.digits !== "" || !high.isOpen);
}

interface Step {
  readonly first: number;
  readonly last: number;
  readonly nextLow: Rest;
  readonly nextHigh: Rest;
}

/** The next digits, those together that leave the same to compare. */
function steps(low: Rest, high: Rest): Step[] {
  const [least, most] = [Number(low?.digits[0] ?? 0), Number(high === undefined ? 9 : (high.digits[0] ?? 0))];
  const behind = (rest: Rest): Rest => rest && { ...rest, digits: rest.digits.slice(1) };
  const isMet = low?.digits === "" && !low.isOpen;
  const lowAt = (digit: number): Rest => (digit > least || isMet ? undefined : behind(low));
  const highAt = (digit: number): Rest => (digit < most ? undefined : behind(high));
  const edges = new Set([least, most].filter((digit) => digit >= least && digit <= most));
  const found: Step[] = [...edges].map((digit) => ({
    first: digit,
    last: digit,
    nextLow: lowAt(digit),
    nextHigh: highAt(digit),
  }));
  if (most - least > 1) found.push({ first: least + 1, last: most - 1, nextLow: undefined, nextHigh: undefined });
  return found;
}
