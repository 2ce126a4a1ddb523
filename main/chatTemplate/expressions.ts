/** Expressions, read from the words of a tag with Jinja2's precedence. */
import { templateError } from "./budget.ts";
import type { Node } from "./nodes.ts";
import type { TagToken } from "./tagLexer.ts";

const COMPARISONS: ReadonlySet<unknown> = new Set(["==", "!=", "<", ">", "<=", ">="]);
/** Words that stand for values and cannot be given another one. */
const CONSTANTS: ReadonlySet<unknown> = new Set(["true", "false", "none", "True", "False", "None"]);
/** What cannot be the argument of a test without parentheses: `x is defined and …`. */
const AFTER_TESTS: ReadonlySet<unknown> = new Set(["else", "or", "and", "is"]);

const binary = (operator: string, left: Node, right: Node): Node => ({
  type: "BinaryExpression",
  operator: { type: "Operator", value: operator },
  left,
  right,
});
const unary = (operator: string, argument: Node): Node => ({
  type: "UnaryExpression",
  operator: { type: "Operator", value: operator },
  argument,
});
export const identifier = (name: string): Node => ({ type: "Identifier", value: name });

/** Reads one tag from its first word to its last. */
export class TagReader {
  readonly #tokens: readonly TagToken[];
  #at = 0;

  constructor(tokens: readonly TagToken[]) {
    this.#tokens = tokens;
  }

  get isAtEnd(): boolean {
    return this.#at >= this.#tokens.length;
  }

  isSign(sign: string, ahead = 0): boolean {
    const token = this.#tokens[this.#at + ahead];
    return token?.kind === "sign" && token.value === sign;
  }

  isName(name: string, ahead = 0): boolean {
    const token = this.#tokens[this.#at + ahead];
    return token?.kind === "name" && token.value === name;
  }

  takeSign(sign: string): boolean {
    const isThere = this.isSign(sign);
    if (isThere) this.#at += 1;
    return isThere;
  }

  takeName(name: string): boolean {
    const isThere = this.isName(name);
    if (isThere) this.#at += 1;
    return isThere;
  }

  expectSign(sign: string): void {
    if (!this.takeSign(sign)) this.#refuse(JSON.stringify(sign));
  }

  expectName(name: string): void {
    if (!this.takeName(name)) this.#refuse(JSON.stringify(name));
  }

  name(): string {
    const token = this.#tokens[this.#at];
    if (token?.kind !== "name") this.#refuse("a name");
    this.#at += 1;
    return token.value;
  }

  /** A name that something is given to. */
  targetName(): string {
    const name = this.name();
    if (CONSTANTS.has(name)) throw templateError(`it assigns to ${name}`);
    return name;
  }

  end(): void {
    if (!this.isAtEnd) this.#refuse("the end of the tag");
  }

  #refuse(expected: string): never {
    const token = this.#tokens[this.#at];
    const got = token === undefined ? "the end of the tag" : JSON.stringify(token.value).slice(0, 50);
    throw templateError(`a tag has ${got}, expected ${expected}`);
  }

  /** One expression, or several with commas, which are a tuple. */
  tuple(one: () => Node = () => this.expression(), isInParentheses = false): Node {
    const items: Node[] = [];
    let isTuple = false;
    while (!this.#isTupleEnd()) {
      items.push(one());
      if (!this.takeSign(",")) break;
      isTuple = true;
    }
    const [first] = items;
    if (!isTuple && first !== undefined) return first;
    if (!isTuple && !isInParentheses) this.#refuse("an expression");
    return { type: "TupleLiteral", value: items };
  }

  #isTupleEnd(): boolean {
    return this.isAtEnd || this.isSign(")") || this.isName("in") || this.isName("recursive");
  }

  /** What `set`, `for` and `with` give values to: names, tuples of them, and parts of namespaces. */
  target(withParts = false): Node {
    const one = (): Node => {
      if (this.takeSign("(")) {
        const inner = this.tuple(one, true);
        this.expectSign(")");
        return inner;
      }
      const name = this.targetName();
      if (!withParts || !this.takeSign(".")) return identifier(name);
      return { type: "MemberExpression", object: identifier(name), property: identifier(this.name()), computed: false };
    };
    return this.tuple(one);
  }

  expression(): Node {
    let node = this.or();
    while (this.takeName("if")) {
      const condition = this.or();
      node = this.takeName("else")
        ? { type: "Ternary", condition, trueExpr: node, falseExpr: this.expression() }
        : { type: "SelectExpression", test: condition, lhs: node };
    }
    return node;
  }

  or(): Node {
    let left = this.#and();
    while (this.takeName("or")) left = binary("or", left, this.#and());
    return left;
  }

  #and(): Node {
    let left = this.#not();
    while (this.takeName("and")) left = binary("and", left, this.#not());
    return left;
  }

  #not(): Node {
    return this.takeName("not") ? unary("not", this.#not()) : this.#comparison();
  }

  /** Several in a row hold when each holds: `1 < x < 3`. */
  #comparison(): Node {
    let left = this.#sum();
    let all: Node | undefined;
    for (let operator = this.#comparator(); operator !== undefined; operator = this.#comparator()) {
      const right = this.#sum();
      const one = binary(operator, left, right);
      all = all === undefined ? one : binary("and", all, one);
      left = right;
    }
    return all ?? left;
  }

  #comparator(): string | undefined {
    const token = this.#tokens[this.#at];
    if (token?.kind === "sign" && COMPARISONS.has(token.value)) {
      this.#at += 1;
      return token.value;
    }
    if (this.takeName("in")) return "in";
    if (!this.isName("not") || !this.isName("in", 1)) return undefined;
    this.#at += 2;
    return "not in";
  }

  readonly #sum = this.#leftToRight(["+", "-"], () => this.#joined());
  readonly #joined = this.#leftToRight(["~"], () => this.#product());
  readonly #product = this.#leftToRight(["*", "/", "//", "%"], () => this.#power());
  readonly #power = this.#leftToRight(["**"], () => this.#signed(true));

  #leftToRight(operators: readonly string[], operand: () => Node): () => Node {
    return () => {
      let left = operand();
      for (;;) {
        const operator = operators.find((sign) => this.takeSign(sign));
        if (operator === undefined) return left;
        left = binary(operator, left, operand());
      }
    };
  }

  #signed(withFilters: boolean): Node {
    const sign = ["-", "+"].find((one) => this.takeSign(one));
    const inner = sign === undefined ? this.#primary() : unary(sign, this.#signed(false));
    const node = this.#parts(inner);
    return withFilters ? this.#filtersAndTests(node) : node;
  }

  #primary(): Node {
    const token = this.#tokens[this.#at];
    if (token === undefined) return this.#refuse("a value");
    this.#at += 1;
    switch (token.kind) {
      case "name":
        return identifier(token.value);
      case "integer":
        return { type: "IntegerLiteral", value: token.value };
      case "float":
        return { type: "FloatLiteral", value: token.value };
      case "text": {
        let text = token.value;
        for (let next = this.#tokens[this.#at]; next?.kind === "text"; next = this.#tokens[this.#at]) {
          text += next.value;
          this.#at += 1;
        }
        return { type: "StringLiteral", value: text };
      }
      case "sign":
        if (token.value === "(") {
          const inner = this.tuple(undefined, true);
          this.expectSign(")");
          return inner;
        }
        if (token.value === "[") return { type: "ArrayLiteral", value: this.#list("]", () => this.expression()) };
        if (token.value === "{") return { type: "ObjectLiteral", value: new Map(this.#list("}", () => this.#entry())) };
        this.#at -= 1;
        return this.#refuse("a value");
    }
  }

  #list<T>(close: string, one: () => T): T[] {
    const items: T[] = [];
    while (!this.takeSign(close)) {
      if (items.length > 0) this.expectSign(",");
      if (this.takeSign(close)) break;
      items.push(one());
    }
    return items;
  }

  #entry(): readonly [Node, Node] {
    const key = this.expression();
    this.expectSign(":");
    return [key, this.expression()];
  }

  /** `.name`, `[place]` and calls. */
  #parts(inner: Node): Node {
    let node = inner;
    for (;;) {
      if (this.takeSign(".")) node = this.#member(node);
      else if (this.takeSign("[")) node = this.#place(node);
      else if (this.isSign("(")) node = { type: "CallExpression", callee: node, args: this.callArguments() };
      else return node;
    }
  }

  #member(object: Node): Node {
    const token = this.#tokens[this.#at];
    if (token?.kind !== "integer")
      return { type: "MemberExpression", object, property: identifier(this.name()), computed: false };
    this.#at += 1;
    return {
      type: "MemberExpression",
      object,
      property: { type: "IntegerLiteral", value: token.value },
      computed: true,
    };
  }

  #place(object: Node): Node {
    const places = this.#list("]", () => this.#slice());
    const [first] = places;
    if (first === undefined) return this.#refuse("a place in brackets");
    const property = places.length === 1 ? first : { type: "TupleLiteral", value: places };
    return { type: "MemberExpression", object, property, computed: true };
  }

  #slice(): Node {
    const part = (): Node | undefined =>
      this.isSign(":") || this.isSign("]") || this.isSign(",") ? undefined : this.expression();
    const start = part();
    if (!this.takeSign(":")) return start ?? this.#refuse("a place in brackets");
    const stop = part();
    const step = this.takeSign(":") ? part() : undefined;
    return { type: "SliceExpression", start, stop, step };
  }

  callArguments(): readonly Node[] {
    this.expectSign("(");
    let [hasNamed, hasList, hasDictionary] = [false, false, false];
    const inOrder = (isRight: boolean): void => {
      if (!isRight) throw templateError("a call has arguments in an order that is not allowed");
    };
    return this.#list(")", () => {
      if (this.takeSign("*")) {
        inOrder(!hasList && !hasDictionary);
        hasList = true;
        return { type: "SpreadExpression", argument: this.expression() };
      }
      if (this.takeSign("**")) {
        inOrder(!hasDictionary);
        hasDictionary = true;
        return { type: "KeywordSpreadExpression", argument: this.expression() };
      }
      if (this.#tokens[this.#at]?.kind === "name" && this.isSign("=", 1)) {
        inOrder(!hasDictionary);
        hasNamed = true;
        const key = identifier(this.name());
        this.expectSign("=");
        return { type: "KeywordArgumentExpression", key, value: this.expression() };
      }
      inOrder(!hasNamed && !hasList && !hasDictionary);
      return this.expression();
    });
  }

  #filtersAndTests(inner: Node): Node {
    let node = inner;
    for (;;) {
      if (this.takeSign("|")) node = { type: "FilterExpression", operand: node, filter: this.filter() };
      else if (this.takeName("is")) node = this.#test(node);
      else if (this.isSign("(")) node = { type: "CallExpression", callee: node, args: this.callArguments() };
      else return node;
    }
  }

  /** The name of a filter, with its arguments where it has some. */
  filter(): Node {
    const name = identifier(this.#dottedName());
    return this.isSign("(") ? { type: "CallExpression", callee: name, args: this.callArguments() } : name;
  }

  /** Filters in a row on a value: `| trim | upper`. */
  filtersOn(inner: Node): Node {
    let node = inner;
    while (this.takeSign("|")) node = { type: "FilterExpression", operand: node, filter: this.filter() };
    return node;
  }

  #dottedName(): string {
    let name = this.name();
    while (this.takeSign(".")) name += `.${this.name()}`;
    return name;
  }

  #test(operand: Node): Node {
    const negate = this.takeName("not");
    const test = identifier(this.#dottedName());
    const args = this.isSign("(") ? this.callArguments() : this.#testArgument();
    return { type: "TestExpression", operand, negate, test, args };
  }

  #testArgument(): readonly Node[] {
    const token = this.#tokens[this.#at];
    if (this.isName("is")) throw templateError("a test follows a test");
    const isValue =
      token !== undefined && (token.kind === "sign" ? "[{".includes(token.value) : !AFTER_TESTS.has(token.value));
    return isValue ? [this.#parts(this.#primary())] : [];
  }
}
