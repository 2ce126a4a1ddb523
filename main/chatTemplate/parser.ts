/**
 * A template as a tree: text, outputs and statements, as Jinja2's grammar has them with `break`,
 * `continue` and the `generation` blocks of Hugging Face.
 */
import { templateError } from "./budget.ts";
import { TagReader, identifier } from "./expressions.ts";
import { templatePieces } from "./lexer.ts";
import { CAPTURED } from "./nodes.ts";
import type { Node, TemplateProgram } from "./nodes.ts";

/** Deeper than any template is, and shallow enough for every pass over the tree. */
const DEEPEST = 200;

export const parseProgram = (source: string): TemplateProgram => new StatementReader(source).program();

class StatementReader {
  readonly #pieces: ReturnType<typeof templatePieces>;
  readonly #blocks = new Map<string, Node>();
  #at = 0;
  #depth = 0;
  #isInLoop = false;

  constructor(source: string) {
    this.#pieces = templatePieces(source);
  }

  program(): TemplateProgram {
    const { body } = this.#body([]);
    return { type: "Program", body, blocks: this.#blocks };
  }

  /** The statements up to one of these words; the reader stands behind the word. */
  #body(ends: readonly string[]): { readonly body: readonly Node[]; readonly end?: { word: string; tag: TagReader } } {
    if (++this.#depth > DEEPEST) throw templateError("it is nested too deep");
    const body: Node[] = [];
    for (let piece = this.#pieces[this.#at]; piece !== undefined; piece = this.#pieces[this.#at]) {
      this.#at += 1;
      if (piece.kind === "text") {
        body.push({ type: "StringLiteral", value: piece.text });
        continue;
      }
      const tag = new TagReader(piece.tokens);
      if (piece.kind === "output") {
        body.push(tag.tuple());
        tag.end();
        continue;
      }
      const word = tag.name();
      if (ends.includes(word)) {
        this.#depth -= 1;
        return { body, end: { word, tag } };
      }
      body.push(...this.#statement(word, tag));
    }
    if (ends.length > 0) throw templateError(`it ends without ${ends.at(-1) ?? ""}`);
    this.#depth -= 1;
    return { body };
  }

  /** A body with one end. */
  #block(tag: TagReader, end: string): readonly Node[] {
    return this.#branches(tag, [end]).body;
  }

  #branches(tag: TagReader, ends: readonly string[]) {
    tag.takeSign(":");
    tag.end();
    const { body, end } = this.#body(ends);
    if (end === undefined) throw templateError(`it ends without ${ends.join(" or ")}`);
    if (end.word.startsWith("end") && end.word !== "endblock") end.tag.end();
    return { body, ...end };
  }

  /** A body that is a function of its own: no loop around it can be left from there. */
  #closedBlock(tag: TagReader, end: string): readonly Node[] {
    return this.#within(false, () => this.#block(tag, end));
  }

  #within<T>(isInLoop: boolean, read: () => T): T {
    const before = this.#isInLoop;
    this.#isInLoop = isInLoop;
    const result = read();
    this.#isInLoop = before;
    return result;
  }

  #statement(word: string, tag: TagReader): readonly Node[] {
    switch (word) {
      case "if":
        return [this.#if(tag)];
      case "for":
        return [this.#for(tag)];
      case "set":
        return [this.#set(tag)];
      case "with":
        return [this.#with(tag)];
      case "macro": {
        const name = identifier(tag.targetName());
        return [{ type: "Macro", name, args: this.#parameters(tag), body: this.#closedBlock(tag, "endmacro") }];
      }
      case "call":
        return [this.#call(tag)];
      case "filter": {
        const first = { type: "FilterExpression", operand: identifier(CAPTURED), filter: tag.filter() };
        const filtered = tag.filtersOn(first);
        return [{ type: "FilterStatement", filtered, body: this.#block(tag, "endfilter") }];
      }
      case "block":
        return [this.#namedBlock(tag)];
      case "generation":
        return [{ type: "With", targets: [], values: [], body: this.#closedBlock(tag, "endgeneration") }];
      case "print":
        return this.#print(tag);
      case "break":
      case "continue":
        tag.end();
        if (!this.#isInLoop) throw templateError("`break` or `continue` outside a loop");
        return [{ type: word === "break" ? "Break" : "Continue" }];
      case "extends":
      case "include":
      case "import":
      case "from":
        return [{ type: "OtherTemplate", word }];
      default:
        throw templateError(`it has a tag ${word.slice(0, 50)}, which is not known`);
    }
  }

  #if(tag: TagReader): Node {
    const test = tag.tuple(() => tag.or());
    const { body, word, tag: next } = this.#branches(tag, ["elif", "else", "endif"]);
    const alternate =
      word === "elif" ? [this.#nested(() => this.#if(next))] : word === "else" ? this.#block(next, "endif") : [];
    return { type: "If", test, body, alternate };
  }

  #nested(read: () => Node): Node {
    if (++this.#depth > DEEPEST) throw templateError("it is nested too deep");
    const node = read();
    this.#depth -= 1;
    return node;
  }

  #for(tag: TagReader): Node {
    const loopvar = tag.target();
    tag.expectName("in");
    const iterable = tag.tuple(() => tag.or());
    const test = tag.takeName("if") ? tag.expression() : undefined;
    const isRecursive = tag.takeName("recursive");
    const { body, word, tag: next } = this.#within(true, () => this.#branches(tag, ["else", "endfor"]));
    const defaultBlock = word === "else" ? this.#block(next, "endfor") : [];
    return { type: "For", loopvar, iterable, test, isRecursive, body, defaultBlock };
  }

  #set(tag: TagReader): Node {
    const assignee = tag.target(true);
    if (tag.takeSign("=")) {
      const value = tag.tuple();
      tag.end();
      return { type: "Set", assignee, value, body: [] };
    }
    const filtered = tag.filtersOn(identifier(CAPTURED));
    return { type: "Set", assignee, value: null, filtered, body: this.#block(tag, "endset") };
  }

  #with(tag: TagReader): Node {
    const targets: Node[] = [];
    const values: Node[] = [];
    while (!tag.isAtEnd && !tag.isSign(":")) {
      if (targets.length > 0) tag.expectSign(",");
      targets.push(tag.target());
      tag.expectSign("=");
      values.push(tag.expression());
    }
    return { type: "With", targets, values, body: this.#block(tag, "endwith") };
  }

  #parameters(tag: TagReader): readonly Node[] {
    const parameters: Node[] = [];
    let hasDefault = false;
    tag.expectSign("(");
    while (!tag.takeSign(")")) {
      if (parameters.length > 0) tag.expectSign(",");
      const key = identifier(tag.targetName());
      const isGiven = tag.takeSign("=");
      if (hasDefault && !isGiven) throw templateError("a parameter without a default follows one with a default");
      hasDefault = isGiven;
      parameters.push(isGiven ? { type: "KeywordArgumentExpression", key, value: tag.expression() } : key);
    }
    return parameters;
  }

  #call(tag: TagReader): Node {
    const callerArgs = tag.isSign("(") ? this.#parameters(tag) : [];
    const call = tag.expression();
    if (call.type !== "CallExpression") throw templateError("a call block has something that is no call");
    return { type: "CallStatement", call, callerArgs, body: this.#closedBlock(tag, "endcall") };
  }

  #namedBlock(tag: TagReader): Node {
    const name = tag.name();
    if (this.#blocks.has(name)) throw templateError(`it has two blocks ${name.slice(0, 50)}`);
    const isScoped = tag.takeName("scoped");
    if (tag.isName("required")) throw templateError("a block is required of a template that extends this one");
    const { body, tag: end } = this.#within(false, () => this.#branches(tag, ["endblock"]));
    end.takeName(name);
    end.end();
    const block = { type: "Block", isScoped, body };
    this.#blocks.set(name, block);
    return block;
  }

  #print(tag: TagReader): readonly Node[] {
    const outputs: Node[] = [];
    while (!tag.isAtEnd) {
      if (outputs.length > 0) tag.expectSign(",");
      outputs.push(tag.expression());
    }
    return outputs;
  }
}
