/** A grammar as its readers (GBNF, JSON schema) write it and the matcher reads it: rules of alternatives of characters and rules. */
import { WorkbenchError } from "../diagnostics/errors.ts";

/** Code points from the first to the last, both included. */
export type Range = readonly [first: number, last: number];

export type Element =
  /** One character of these: ranges in rising order that do not touch. */
  { readonly kind: "characters"; readonly ranges: readonly Range[] } | { readonly kind: "rule"; readonly rule: number };

export type Sequence = readonly Element[];

export interface Grammar {
  readonly rules: readonly (readonly Sequence[])[];
  readonly root: number;
}

export const LAST_CODE_POINT = 0x10ffff;

/** A token that a grammar names is one more character, behind those of Unicode. */
export const tokenPoint = (id: number): number => LAST_CODE_POINT + 1 + id;

/** Grammars come from anywhere: what they may cost. */
export const GRAMMAR_LIMITS = {
  /** Characters of its text. */
  text: 1 << 20,
  /** Characters, rule names and ends of sequences after repetitions are written out. */
  elements: 200_000,
  /** Groups within groups. */
  depth: 200,
  /** Values within values of a schema. */
  values: 2000,
  /** Of one repetition. */
  repetitions: 2000,
  /** Stretches of characters between the bounds of all ranges. */
  classes: 4096,
} as const;

export const tooLarge = (what: string, limit: number): WorkbenchError =>
  new WorkbenchError("INPUT_LIMIT", `[grammar] ${what}: got more than ${limit}, expected at most ${limit}`, {
    hint: "Write a smaller grammar; most of the size comes from large counts in {…}.",
  });

/** Rising, joined where they touch. */
export function joined(ranges: readonly Range[]): Range[] {
  const result: [number, number][] = [];
  for (const [first, last] of [...ranges].sort((a, b) => a[0] - b[0])) {
    const before = result.at(-1);
    if (before !== undefined && first <= before[1] + 1) before[1] = Math.max(before[1], last);
    else result.push([first, last]);
  }
  return result;
}

/** All other characters. */
export function inverted(ranges: readonly Range[]): Range[] {
  const result: Range[] = [];
  let next = 0;
  for (const [first, last] of joined(ranges)) {
    if (first > next) result.push([next, first - 1]);
    next = last + 1;
  }
  if (next <= LAST_CODE_POINT) result.push([next, LAST_CODE_POINT]);
  return result;
}

/** Collects rules, and writes repetitions as rules of their own. */
export class RuleBuilder {
  readonly #rules: (readonly Sequence[] | undefined)[] = [];
  #elements = 0;

  /** A rule whose alternatives come later. */
  reserve(): number {
    return this.#rules.push(undefined) - 1;
  }

  define(rule: number, alternatives: readonly Sequence[]): void {
    for (const sequence of alternatives) this.#count(sequence.length + 1);
    this.#rules[rule] = alternatives;
  }

  rule(alternatives: readonly Sequence[]): Element {
    const rule = this.reserve();
    this.define(rule, alternatives);
    return { kind: "rule", rule };
  }

  isDefined(rule: number): boolean {
    return this.#rules[rule] !== undefined;
  }

  /** `item` from `least` to `most` times; Infinity for no limit. */
  repeated(item: Sequence, least: number, most: number): Sequence {
    this.#count(least * item.length);
    const fixed = Array.from({ length: least }, () => item).flat();
    if (most === Infinity) {
      const rule = this.reserve();
      const again: Element = { kind: "rule", rule };
      this.define(rule, [[...item, again], []]);
      return [...fixed, again];
    }
    let rest: Element | undefined;
    for (let i = least; i < most; i++) rest = this.rule([rest === undefined ? item : [...item, rest], []]);
    return rest === undefined ? fixed : [...fixed, rest];
  }

  finish(root: number): Grammar {
    return { root, rules: this.#rules.map((rule) => rule ?? []) };
  }

  #count(elements: number): void {
    this.#elements += elements;
    if (this.#elements > GRAMMAR_LIMITS.elements) throw tooLarge("its parts", GRAMMAR_LIMITS.elements);
  }
}

/**
 * A rule that comes to itself without reading a character and with something left to read behind it: it would never end. At
 * the end of a sequence nothing is left, so repetitions of what may be empty are harmless.
 */
export function leftRecursive({ rules }: Grammar): number | undefined {
  const begins = firstRules(rules);
  const circle = circles(begins.map((edges) => edges.map(({ to }) => to)));
  const found = begins.findIndex((edges, rule) =>
    edges.some(({ to, isLast }) => !isLast && circle[to] === circle[rule]),
  );
  return found < 0 ? undefined : found;
}

/**
 * The rules that hold: an alternative of theirs has elements that all hold. Each element is looked
 * at once, in whatever order the rules stand.
 */
export function rulesThatHold(rules: Grammar["rules"], doCharacters: boolean): ReadonlySet<number> {
  const held = new Set<number>();
  const todo: number[] = [];
  const hold = (rule: number): void => {
    if (!held.has(rule)) todo.push(rule);
    held.add(rule);
  };
  const waiting: { readonly rule: number; left: number }[][] = rules.map(() => []);
  rules.forEach((alternatives, rule) => {
    for (const sequence of alternatives) {
      if (!doCharacters && sequence.some(({ kind }) => kind === "characters")) continue;
      const needed = sequence.flatMap((element) => (element.kind === "rule" ? [element.rule] : []));
      if (needed.length === 0) hold(rule);
      const alternative = { rule, left: needed.length };
      for (const other of needed) waiting[other]?.push(alternative);
    }
  });
  for (let next = todo.pop(); next !== undefined; next = todo.pop())
    for (const alternative of waiting[next] ?? []) if (--alternative.left === 0) hold(alternative.rule);
  return held;
}

interface Beginning {
  readonly to: number;
  readonly isLast: boolean;
}

/** The rules that may begin each rule. */
function firstRules(rules: Grammar["rules"]): Beginning[][] {
  const nullable = rulesThatHold(rules, false);
  const canBeEmpty = (element: Element): boolean => element.kind === "rule" && nullable.has(element.rule);
  return rules.map((alternatives) =>
    alternatives.flatMap((sequence) => {
      const end = sequence.findIndex((element) => !canBeEmpty(element));
      const start = end < 0 ? sequence : sequence.slice(0, end + 1);
      return start.flatMap((element, i) =>
        element.kind === "rule" ? [{ to: element.rule, isLast: i === sequence.length - 1 }] : [],
      );
    }),
  );
}

/** A number for each node, the same for those that reach each other (Kosaraju). */
function circles(edges: readonly (readonly number[])[]): Int32Array {
  const back: number[][] = edges.map(() => []);
  edges.forEach((targets, from) => {
    for (const to of targets) back[to]?.push(from);
  });
  const seen = new Uint8Array(edges.length);
  const order: number[] = [];
  for (let start = 0; start < edges.length; start++) walk(edges, start, seen, (node) => order.push(node));
  const numbers = new Int32Array(edges.length);
  seen.fill(0);
  for (const start of order.reverse()) walk(back, start, seen, (node) => (numbers[node] = start));
  return numbers;
}

/** Depth first over what was not seen; `leave` is called when all that a node leads to is done. */
function walk(
  edges: readonly (readonly number[])[],
  start: number,
  seen: Uint8Array,
  leave: (node: number) => void,
): void {
  if (seen[start] === 1) return;
  seen[start] = 1;
  const path = [{ node: start, at: 0 }];
  for (let top = path.at(-1); top !== undefined; top = path.at(-1)) {
    const next = edges[top.node]?.[top.at++];
    if (next === undefined) {
      leave(top.node);
      path.pop();
    } else if (seen[next] === 0) {
      seen[next] = 1;
      path.push({ node: next, at: 0 });
    }
  }
}
