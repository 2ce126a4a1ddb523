/**
 * The text form read into statements. One method a rule of the grammar in docs/ir-text.md; after a fault the reader goes on
 * with the next statement, so that one look at a text finds all its faults.
 */
import { invariant } from "../../diagnostics/errors.ts";
import type { AttrValue } from "../attributes.ts";
import type { Origin } from "../graph.ts";
import { DEEPEST_NEST } from "../regions.ts";
import { LEAF_OPS } from "../graph.ts";
import type { Steps } from "../steps.ts";
import { finish } from "../steps.ts";
import type { Faults } from "./diagnostics.ts";
import { roundedFault } from "./diagnostics.ts";
import { nearest } from "./nearest.ts";
import type { Comment, Span } from "./scanner.ts";
import { Scanner } from "./scanner.ts";
import { isRounded } from "./spelling.ts";
import type {
  Attribute,
  Block,
  Data,
  Definition,
  Provenance,
  Saying,
  Statement,
  ValueWord,
  Visitor,
  Word,
} from "./syntax.ts";

/** Longer texts are no graphs that people read: 200 000 operations take about 30 MB. */
export const MOST_TEXT = 256 << 20;
/** Lists within lists. */
const DEEPEST_LIST = 16;
const NAMED: ReadonlyMap<string, number> = new Map([
  ["inf", Infinity],
  ["nan", NaN],
]);
const STATEMENTS = ["limit", "inputs", "next", "return"] as const;
const LEAVES: ReadonlySet<string> = new Set(LEAF_OPS);

/** Leaves the statement that it was thrown in; the fault is noted already. */
class Lost extends Error {}

/** Reads a whole text; what is wrong goes into `faults`. */
export const readText = (text: string, faults: Faults, visitor: Visitor): void =>
  finish(readTextSteps(text, faults, visitor));

/** The same with pauses between statements of the outer graph. */
export const readTextSteps = (text: string, faults: Faults, visitor: Visitor): Steps<void> =>
  new Reader(text, faults).source(visitor);

/** Statements between two pauses: a few milliseconds. */
const BETWEEN_PAUSES = 256;

const NONE: readonly never[] = [];

class Reader {
  readonly faults: Faults;
  readonly #scanner: Scanner;
  readonly #text: string;
  #depth = 0;
  /** The first number since this was cleared that float64 does not have. */
  #rounded: Word | undefined;

  constructor(text: string, faults: Faults) {
    this.#text = text;
    this.faults = faults;
    this.#scanner = new Scanner(text);
  }

  *source(visitor: Visitor): Steps<void> {
    const scanner = this.#scanner;
    if (this.#text.length > MOST_TEXT) {
      const message = `text: got ${this.#text.length} characters, expected at most ${MOST_TEXT}`;
      this.faults.add("INPUT_LIMIT", { start: 0, end: 0 }, message);
      return;
    }
    try {
      const above = this.#comments();
      const below = yield* this.#statements((name) => visitor.begin(name, above), visitor.statement);
      visitor.end(below, this.#comments());
      if (scanner.kind !== "end") this.#fault(`got ${shown(scanner.word)}, expected nothing behind the graph`);
    } catch (error) {
      if (!(error instanceof Lost)) throw error;
    }
  }

  /** A graph and its statements; gives the comments before its closing brace. */
  *#statements(begin: (name: Word) => void, take: (statement: Statement) => void): Steps<readonly string[]> {
    const scanner = this.#scanner;
    this.#expect("graph", 'expected graph "name" { … }');
    const { start, before } = scanner;
    begin(scanner.kind === "string" ? this.#string("a name") : { text: "", start, end: before });
    this.#expect("{", "expected { and the graph's statements");
    this.#depth++;
    if (this.#depth > DEEPEST_NEST + 1) this.#fault(`sub-graphs are nested deeper than ${DEEPEST_NEST}`);
    for (let i = 1; !scanner.is("}") && scanner.kind !== "end" && !this.faults.isFull; i++) {
      if (i % BETWEEN_PAUSES === 0) yield;
      const from = scanner.start;
      try {
        take(this.#statement());
      } catch (error) {
        if (!(error instanceof Lost)) throw error;
        this.#recover(from);
      }
    }
    const below = this.#comments();
    this.#depth--;
    this.#expect("}", "expected } at the end of the graph");
    return below;
  }

  #block(): Block {
    const statements: Statement[] = [];
    let name: Word | undefined;
    const below = finish(
      this.#statements(
        (word) => (name = word),
        (statement) => statements.push(statement),
      ),
    );
    invariant(name, "a graph that was read has a name");
    return { name, statements, below };
  }

  #statement(): Statement {
    const scanner = this.#scanner;
    const { start, lines } = scanner;
    const comments = scanner.comments.length === 0 ? NONE : scanner.comments.splice(0);
    const [first] = comments;
    const says = this.#saying();
    return {
      says,
      span: { start, end: scanner.before },
      above: comments.length === 0 ? NONE : comments.map(({ text }) => text),
      behind: this.#behind(),
      isApart: first?.isApart ?? lines > 1,
    };
  }

  #saying(): Saying {
    const scanner = this.#scanner;
    if (scanner.kind === "value") return this.#definitionOrLost();
    const word = this.#word();
    switch (word.text) {
      case "limit": {
        scanner.next();
        const symbol = this.#name("a symbol");
        this.#expect("=", "expected = and the largest size");
        return { kind: "limit", symbol, size: this.#number() };
      }
      case "inputs":
        scanner.next();
        return { kind: "inputs", values: this.#list(() => this.#value()) };
      case "next":
      case "return": {
        scanner.next();
        const name = this.#string(word.text === "next" ? "the state's name" : "the output's name");
        this.#expect("=", "expected = and a value");
        return { kind: word.text, name, value: this.#value() };
      }
      default: {
        const meant = scanner.kind === "name" ? nearest(word.text, STATEMENTS) : undefined;
        return this.#fault(
          `got ${shown(word.text)}, expected a statement: %value = op(…), ${STATEMENTS.join(", ")}`,
          meant === undefined ? undefined : { title: `write ${meant}`, span: word, text: meant },
        );
      }
    }
  }

  #definitionOrLost(): Saying {
    const from = this.#scanner.start;
    const value = this.#value();
    try {
      return this.#definition(value);
    } catch (error) {
      if (!(error instanceof Lost)) throw error;
      this.#recover(from);
      return { kind: "lost", value };
    }
  }

  #definition(value: ValueWord): Definition {
    const scanner = this.#scanner;
    this.#expect("=", "expected = and an operation");
    const op = this.#name("an operation");
    const isLeaf = LEAVES.has(op.text);
    if (!isLeaf && !scanner.is("(")) this.#noOperands(op);
    const leafName = isLeaf && scanner.kind === "string" ? this.#string("a name") : undefined;
    const data = op.text === "constant" ? this.#data() : undefined;
    const operands = isLeaf ? NONE : this.#operands();
    const attributes = scanner.is("{") ? this.#attributes() : NONE;
    const types = scanner.is(":") ? this.#types() : NONE;
    const provenance = scanner.is("@") ? this.#provenance() : undefined;
    const regions: Block[] = [];
    while (scanner.is("graph")) regions.push(this.#block());
    return {
      kind: "definition",
      value,
      op,
      leafName,
      data,
      operands,
      attributes,
      types,
      provenance,
      regions: regions.length === 0 ? NONE : regions,
    };
  }

  #noOperands(op: Word): never {
    const meant = nearest(op.text, LEAF_OPS);
    const fix = meant === undefined ? undefined : { title: `write ${meant}`, span: op, text: meant };
    const expected = `an operation with its operands in ( ), or ${LEAF_OPS.join(", ")}`;
    this.faults.add("IR_STRUCTURE", op, `got ${shown(op.text)}, expected ${expected}`, fix);
    throw new Lost();
  }

  #operands(): readonly ValueWord[] {
    this.#expect("(", "expected ( and the operands");
    const operands = this.#scanner.is(")") ? [] : this.#list(() => this.#value());
    this.#expect(")", "expected ) behind the operands");
    return operands;
  }

  #attributes(): readonly Attribute[] {
    const scanner = this.#scanner;
    this.#expect("{", "expected {");
    const attributes = scanner.is("}")
      ? []
      : this.#list((): Attribute => {
          const key = scanner.kind === "string" ? this.#string("a name") : this.#name("an attribute's name");
          this.#expect(":", "expected : and the attribute's value");
          const value = this.#attributeValue(0);
          return { key, value, span: { start: key.start, end: scanner.before } };
        });
    this.#expect("}", "expected } behind the attributes");
    return attributes;
  }

  #attributeValue(depth: number): AttrValue {
    const scanner = this.#scanner;
    if (scanner.kind === "string") return this.#string("a text").text;
    if (scanner.is("true") || scanner.is("false")) {
      const isTrue = scanner.is("true");
      scanner.next();
      return isTrue;
    }
    if (!scanner.is("[")) return this.#attributeNumber();
    if (depth >= DEEPEST_LIST) this.#fault(`lists are nested deeper than ${DEEPEST_LIST}`);
    scanner.next();
    const values = scanner.is("]") ? [] : this.#list(() => this.#attributeValue(depth + 1));
    this.#expect("]", "expected ] at the end of the list");
    return values;
  }

  /** Of digits alone it may be meant for whole numbers: which type an attribute is for, the op knows. */
  #attributeNumber(): number {
    const word = this.#word();
    const number = this.#number();
    if (/^-?\d+$/u.test(word.text) && isRounded(word.text)) roundedFault(this.faults, "IR_ATTRIBUTE", "whole", word);
    return number;
  }

  #data(): Data {
    const scanner = this.#scanner;
    const { start } = scanner;
    this.#rounded = undefined;
    if (scanner.kind === "hash") {
      const hash = scanner.word.slice(1);
      scanner.next();
      return { kind: "hash", hash, span: { start, end: scanner.before } };
    }
    if (scanner.is("all")) {
      scanner.next();
      const number = this.#number();
      return { kind: "all", number, rounded: this.#rounded, span: { start, end: scanner.before } };
    }
    const numbers: number[] = [];
    const shape: number[] = [];
    this.#numbers(numbers, shape, 0);
    return { kind: "numbers", numbers, shape, rounded: this.#rounded, span: { start, end: scanner.before } };
  }

  /** Nested lists; each must be as long as its neighbours. */
  #numbers(numbers: number[], shape: number[], depth: number): void {
    const scanner = this.#scanner;
    if (!scanner.is("[")) {
      if (depth < shape.length) this.#fault(`got a number, expected a list of ${shape[depth] ?? 0}`);
      numbers.push(this.#number());
      return;
    }
    if (depth >= DEEPEST_LIST) this.#fault(`lists are nested deeper than ${DEEPEST_LIST}`);
    const isFirst = shape.length === depth;
    if (isFirst) {
      if (numbers.length > 0) this.#fault("got a list, expected a number as before");
      shape.push(-1);
    }
    const { start } = scanner;
    scanner.next();
    let count = 0;
    while (!scanner.is("]")) {
      if (count > 0) this.#expect(",", "expected , or ]");
      this.#numbers(numbers, shape, depth + 1);
      count++;
    }
    scanner.next();
    const known = shape[depth] ?? -1;
    if (known < 0) shape[depth] = count;
    else if (known !== count) {
      this.faults.add(
        "IR_SHAPE",
        { start, end: scanner.before },
        `got a list of ${count}, expected ${known} as its neighbours`,
      );
      throw new Lost();
    }
  }

  #types(): readonly Word[] {
    this.#scanner.next();
    return this.#list(() => this.#type());
  }

  #type(): Word {
    const scanner = this.#scanner;
    if (scanner.kind !== "name") this.#fault(`got ${shown(scanner.word)}, expected a type such as f32[T,64]`);
    const { start } = scanner.upTo("]");
    if (!scanner.is("]")) {
      const span = { start, end: scanner.before };
      this.faults.add(
        "IR_TYPE",
        span,
        `got ${shown(this.#text.slice(start, span.end))}, expected a type such as f32[T,64]`,
      );
      throw new Lost();
    }
    const { end } = scanner;
    scanner.next();
    return { text: this.#text.slice(start, end), start, end };
  }

  /** `@ "scope" "label" 3 | "scope" "label" 4 by "pass"`; `@ none` for a node without an origin. */
  #provenance(): Provenance {
    const scanner = this.#scanner;
    const { start } = scanner;
    scanner.next();
    const origins: Origin[] = [];
    if (scanner.is("none")) scanner.next();
    else
      for (;;) {
        const scope = this.#string("a scope").text;
        const label = this.#string("a label").text;
        origins.push({ scope, label, source: this.#whole("the number of the node that it was first") });
        if (!scanner.is("|")) break;
        scanner.next();
      }
    let passes: readonly string[] = [];
    if (scanner.is("by")) {
      scanner.next();
      passes = this.#list(() => this.#string("a pass").text);
    }
    return { origins, passes, span: { start, end: scanner.before } };
  }

  #list<T>(item: () => T): readonly T[] {
    const items = [item()];
    while (this.#scanner.is(",")) {
      this.#scanner.next();
      items.push(item());
    }
    return items;
  }

  #word(): Word {
    const { word, start, end } = this.#scanner;
    return { text: word, start, end };
  }

  #value(): ValueWord {
    if (this.#scanner.kind !== "value") this.#fault(`got ${shown(this.#scanner.word)}, expected a value such as %x`);
    const { word: text, start, end } = this.#scanner;
    this.#scanner.next();
    const dot = text.indexOf(".");
    return dot < 0
      ? { text, start, end, name: text.slice(1), output: 0 }
      : { text, start, end, name: text.slice(1, dot), output: Number(text.slice(dot + 1)) };
  }

  #name(what: string): Word {
    if (this.#scanner.kind !== "name") this.#fault(`got ${shown(this.#scanner.word)}, expected ${what}`);
    const word = this.#word();
    this.#scanner.next();
    return word;
  }

  #string(what: string): Word {
    const { kind, word, start, end } = this.#scanner;
    if (kind !== "string") this.#fault(`got ${shown(word)}, expected ${what} in quotes`);
    const text = word.includes("\\") ? this.#unescaped(word) : word.slice(1, -1);
    this.#scanner.next();
    return { text, start, end };
  }

  #unescaped(word: string): string {
    try {
      return String(JSON.parse(word));
    } catch {
      return this.#fault(`got ${shown(word)}, expected a text as JSON writes it`);
    }
  }

  #number(): number {
    const scanner = this.#scanner;
    const word = scanner.word;
    const number = scanner.kind === "number" ? Number(word.replace("inf", "Infinity")) : NAMED.get(word);
    if (number === undefined) this.#fault(`got ${shown(word)}, expected a number`);
    if (Math.abs(number) >= 2 ** 53 && isRounded(word)) this.#rounded ??= this.#word();
    scanner.next();
    return number;
  }

  #whole(what: string): number {
    const { start, end } = this.#scanner;
    const number = this.#number();
    if (Number.isSafeInteger(number)) return number;
    this.faults.add("IR_STRUCTURE", { start, end }, `got ${number}, expected ${what}`);
    throw new Lost();
  }

  #expect(mark: string, what: string): void {
    if (!this.#scanner.is(mark)) this.#fault(`got ${shown(this.#scanner.word)}, ${what}`);
    this.#scanner.next();
  }

  #fault(message: string, fix?: { readonly title: string; readonly span: Span; readonly text: string }): never {
    const { start, end } = this.#scanner;
    this.faults.add("IR_STRUCTURE", { start, end }, message, fix);
    throw new Lost();
  }

  /** To the next word behind `from` that can begin a statement on a line of its own. */
  #recover(from: number): void {
    const scanner = this.#scanner;
    const isStatement = (): boolean =>
      scanner.lines > 0 && (scanner.kind === "value" || scanner.is("}") || STATEMENTS.some((word) => scanner.is(word)));
    if (scanner.start === from) scanner.next();
    while (scanner.kind !== "end" && !isStatement()) scanner.next();
  }

  #comments(): readonly string[] {
    return this.#scanner.comments.splice(0).map(({ text }) => text);
  }

  /** The comment on the line where a statement ended. */
  #behind(): string | undefined {
    const [first] = this.#scanner.comments as readonly Comment[];
    if (first === undefined || first.isAlone) return undefined;
    this.#scanner.comments.shift();
    return first.text;
  }
}

const shown = (word: string): string =>
  word === ""
    ? "the end of the text"
    : word.length > 40
      ? `${JSON.stringify(word.slice(0, 40))}…`
      : JSON.stringify(word);
