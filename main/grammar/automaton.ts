/**
 * A grammar as a pushdown automaton over code points. A stack is a place in a rule and the stacks of what follows it; a state
 * is the set of all stacks that the text so far leaves open, and has a number. Characters that no rule tells apart are one
 * class, so a state's moves are a small table that is filled as it is asked for.
 */
import { WorkbenchError } from "../diagnostics/errors.ts";
import type { Grammar, Range } from "./rules.ts";
import { GRAMMAR_LIMITS, tokenPoint, tooLarge } from "./rules.ts";

/** No text of the grammar goes on from here. */
export const DEAD = 0;

/** The stack of a text that may end. */
const EMPTY = 0;
const UNKNOWN = -1;

const LIMITS = { stacksOfState: 2000, stacks: 1_000_000, moves: 16_000_000, maskBytes: 1 << 26 } as const;

export const tooAmbiguous = (): WorkbenchError =>
  new WorkbenchError("INPUT_LIMIT", "[grammar] the text can be read in too many ways, or is nested too deep", {
    hint: "Write the grammar so that its next characters tell the alternatives apart.",
  });

type Place =
  | { readonly kind: "end" }
  | { readonly kind: "characters"; readonly classes: Uint8Array }
  | { readonly kind: "rule"; readonly starts: readonly number[] };
const END: Place = { kind: "end" };

export class GrammarAutomaton {
  readonly start: number;
  readonly #classes: CharacterClasses;
  readonly #places: Place[] = [];
  /** Of each stack: its place, and the stack below. */
  readonly #placeOf: number[] = [UNKNOWN];
  readonly #belowOf: number[] = [UNKNOWN];
  readonly #stackIds = new Map<number, number>();
  readonly #states: Int32Array[] = [];
  readonly #stateIds = new Map<string, number>();
  readonly #moves: Int32Array[] = [];

  constructor(grammar: Grammar) {
    this.#classes = new CharacterClasses(grammar);
    const starts = this.#layOut(grammar);
    this.#state([]); // DEAD
    this.start = this.#state(this.#open((starts[grammar.root] ?? []).map((place) => [place, EMPTY])));
  }

  /** The state behind one more character. */
  next(state: number, codePoint: number): number {
    return this.#move(state, this.#classes.of(codePoint));
  }

  /** Whether some character of these may come next. */
  goesOnIn(state: number, first: number, last: number): boolean {
    for (let at = this.#classes.of(first), end = this.#classes.of(last); at <= end; at++)
      if (this.#move(state, at) !== DEAD) return true;
    return false;
  }

  /** The state of a text that may be read in the ways of both. */
  both(first: number, second: number): number {
    if (first === DEAD || first === second) return second;
    if (second === DEAD) return first;
    const stacks = new Set([...(this.#states[first] ?? []), ...(this.#states[second] ?? [])]);
    return this.#state([...stacks].sort((a, b) => a - b));
  }

  /** The tokens that may come next by their names. */
  *tokensIn(state: number, size: number): Generator<readonly [first: number, last: number]> {
    for (const [characterClass, first, last] of this.#classes.behind(tokenPoint(0), tokenPoint(size)))
      if (this.#move(state, characterClass) !== DEAD) yield [first - tokenPoint(0), last - tokenPoint(0)];
  }

  mayEnd(state: number): boolean {
    return this.#states[state]?.[0] === EMPTY;
  }

  #move(state: number, characterClass: number): number {
    const moves = this.#moves[state];
    const known = moves?.[characterClass] ?? UNKNOWN;
    if (known !== UNKNOWN || moves === undefined) return known;
    const open: (readonly [number, number])[] = [];
    for (const stack of this.#states[state] ?? []) {
      const place = this.#placeOf[stack] ?? UNKNOWN;
      const at = this.#places[place];
      if (at?.kind === "characters" && at.classes[characterClass] === 1)
        open.push([place + 1, this.#belowOf[stack] ?? EMPTY]);
    }
    return (moves[characterClass] = this.#state(this.#open(open)));
  }

  /** The stacks that wait for a character, or are empty, from these places on. */
  #open(from: readonly (readonly [place: number, below: number])[]): number[] {
    const found = new Set<number>();
    const expanded = new Set<number>();
    const todo = [...from];
    for (let next = todo.pop(); next !== undefined; next = todo.pop()) {
      const [place, below] = next;
      const at = this.#places[place] ?? END;
      if (at.kind === "end") {
        if (below === EMPTY) found.add(EMPTY);
        else todo.push([this.#placeOf[below] ?? 0, this.#belowOf[below] ?? EMPTY]);
        continue;
      }
      const stack = this.#stack(place, below);
      if (at.kind === "characters") found.add(stack);
      else if (!expanded.has(stack)) {
        expanded.add(stack);
        // At the end of a sequence nothing is left to come back to.
        const after = this.#places[place + 1]?.kind === "end" ? below : this.#stack(place + 1, below);
        for (const start of at.starts) todo.push([start, after]);
      }
      if (found.size > LIMITS.stacksOfState) throw tooAmbiguous();
    }
    return [...found].sort((a, b) => a - b);
  }

  #stack(place: number, below: number): number {
    const key = below * this.#places.length + place;
    const known = this.#stackIds.get(key);
    if (known !== undefined) return known;
    if (this.#placeOf.length > LIMITS.stacks) throw tooAmbiguous();
    this.#belowOf.push(below);
    const id = this.#placeOf.push(place) - 1;
    this.#stackIds.set(key, id);
    return id;
  }

  #state(stacks: readonly number[]): number {
    const key = stacks.join();
    const known = this.#stateIds.get(key);
    if (known !== undefined) return known;
    if ((this.#moves.length + 1) * this.#classes.count > LIMITS.moves) throw tooAmbiguous();
    this.#stateIds.set(key, this.#states.length);
    this.#moves.push(new Int32Array(this.#classes.count).fill(stacks.length === 0 ? DEAD : UNKNOWN));
    return this.#states.push(Int32Array.from(stacks)) - 1;
  }

  /** Writes all sequences behind one another, each with an end; answers where those of each rule begin. */
  #layOut({ rules }: Grammar): readonly (readonly number[])[] {
    let at = 0;
    const starts = rules.map((alternatives) =>
      alternatives.map((sequence) => {
        const start = at;
        at += sequence.length + 1;
        return start;
      }),
    );
    for (const sequence of rules.flat()) {
      for (const element of sequence)
        this.#places.push(
          element.kind === "rule"
            ? { kind: "rule", starts: starts[element.rule] ?? [] }
            : { kind: "characters", classes: this.#classes.maskOf(element.ranges) },
        );
      this.#places.push(END);
    }
    return starts;
  }
}

/** Characters by what the grammar's ranges tell apart: the stretches between their bounds. */
class CharacterClasses {
  /** First character of each stretch. */
  readonly #firsts: Int32Array;
  /** Of characters below 0x10000. */
  readonly #table = new Uint16Array(0x10000);
  readonly #masks = new Map<string, Uint8Array>();

  constructor({ rules }: Grammar) {
    const bounds = new Set([0]);
    for (const element of rules.flat(2))
      if (element.kind === "characters") for (const [first, last] of element.ranges) bounds.add(first).add(last + 1);
    if (bounds.size > GRAMMAR_LIMITS.classes) throw tooLarge("characters that it tells apart", GRAMMAR_LIMITS.classes);
    this.#firsts = Int32Array.from(bounds).sort();
    let stretch = 0;
    for (let point = 0; point < this.#table.length; point++) {
      while ((this.#firsts[stretch + 1] ?? Infinity) <= point) stretch++;
      this.#table[point] = stretch;
    }
  }

  get count(): number {
    return this.#firsts.length;
  }

  of(point: number): number {
    if (point < 0x10000) return this.#table[point] ?? 0;
    let [low, high] = [0, this.#firsts.length - 1];
    while (low < high) {
      const middle = (low + high + 1) >>> 1;
      if ((this.#firsts[middle] ?? 0) <= point) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  /** The stretches from one point up to another: their class, their first point and their last. */
  *behind(from: number, end: number): Generator<readonly [characterClass: number, first: number, last: number]> {
    for (let at = this.of(from); at < this.count; at++) {
      const first = Math.max(from, this.#firsts[at] ?? 0);
      const last = Math.min(end, this.#firsts[at + 1] ?? end) - 1;
      if (first > last) return;
      yield [at, first, last];
    }
  }

  /** Which classes these characters are. */
  maskOf(ranges: readonly Range[]): Uint8Array {
    const key = ranges.join(";");
    const known = this.#masks.get(key);
    if (known !== undefined) return known;
    const most = Math.floor(LIMITS.maskBytes / this.count);
    if (this.#masks.size >= most) throw tooLarge("different sets of characters", most);
    const mask = new Uint8Array(this.count);
    for (const [first, last] of ranges) mask.fill(1, this.of(first), this.of(last) + 1);
    this.#masks.set(key, mask);
    return mask;
  }
}
