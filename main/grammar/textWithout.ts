/**
 * Text in which marks do not stand: an automaton that remembers how much of a mark has been written
 * (Aho and Corasick), as rules.
 */
import { one } from "./elements.ts";
import type { Element, Range, RuleBuilder, Sequence } from "./rules.ts";
import { inverted, joined } from "./rules.ts";

export interface Letters {
  /** Characters that stand for themselves. */
  readonly plain: readonly Range[];
  /** Other ways to write one character. */
  readonly escapes: readonly Sequence[];
  /** A plain character that the text neither begins nor ends with. */
  readonly inner?: string;
}

export interface TextBounds {
  readonly least: number;
  /** Infinity for no limit. */
  readonly most: number;
}

export const UNBOUNDED: TextBounds = { least: 0, most: Infinity };

/**
 * A text without these marks, which may end anywhere. One of counted characters holds no beginning
 * of two characters of a mark either: each character more would need the whole automaton again.
 */
export function textWithout(
  marks: readonly string[],
  { plain, escapes, inner }: Letters,
  { least, most }: TextBounds,
  builder: RuleBuilder,
): Sequence {
  const last = most === Infinity ? least : most;
  const refused = last === 0 ? marks : marks.map((mark) => mark.slice(0, 2));
  const begun = [...new Set([...beginnings(refused), ...(inner === undefined ? [] : [inner])])];
  const special = [
    ...new Set([...refused.flatMap((mark) => Array.from(mark)), ...(inner === undefined ? [] : [inner])]),
  ].filter((character) => holds(plain, character));
  const others = without(plain, special);
  const layers = Array.from({ length: last + 1 }, () => new Map(begun.map((text) => [text, builder.reserve()])));
  const at = (layer: number, text: string): Element => ({ kind: "rule", rule: layers[layer]?.get(text) ?? 0 });
  const waysFrom = (layer: number, text: string, isStart: boolean): Sequence[] => {
    const next = Math.min(layer + 1, last);
    const to = new Map<string, Range[]>([["", [...others]]]);
    for (const character of special) {
      const behind = follow(text + character, refused, begun);
      if (behind !== undefined && !(isStart && character === inner))
        to.set(behind, [...(to.get(behind) ?? []), one(character)]);
    }
    const ways: Sequence[] = layer >= least && text !== inner ? [[]] : [];
    if (layer >= most) return ways;
    for (const [behind, ranges] of to)
      if (ranges.length > 0) ways.push([{ kind: "characters", ranges: joined(ranges) }, at(next, behind)]);
    for (const escape of escapes) ways.push([...escape, at(next, "")]);
    return ways;
  };
  layers.forEach((rules, layer) => {
    for (const [text, rule] of rules) builder.define(rule, waysFrom(layer, text, false));
  });
  return [inner === undefined ? at(0, "") : builder.rule(waysFrom(0, "", true))];
}

/** All beginnings of the marks, the empty one too, but no whole mark. */
const beginnings = (marks: readonly string[]): readonly string[] => [
  ...new Set(["", ...marks.flatMap((mark) => Array.from({ length: mark.length - 1 }, (_, i) => mark.slice(0, i + 1)))]),
];

/** The longest beginning of a mark that the text ends with; undefined where it ends with a whole one. */
function follow(text: string, marks: readonly string[], begun: readonly string[]): string | undefined {
  if (marks.some((mark) => text.endsWith(mark))) return undefined;
  return begun.reduce((longest, each) => (text.endsWith(each) && each.length > longest.length ? each : longest), "");
}

const holds = (ranges: readonly Range[], character: string): boolean => {
  const [point] = one(character);
  return ranges.some(([first, last]) => first <= point && point <= last);
};

/** Ranges less some characters. */
export const without = (ranges: readonly Range[], characters: readonly string[]): readonly Range[] =>
  inverted([...inverted(ranges), ...characters.map(one)]);
