/**
 * The interpreter of @huggingface/jinja under guard: every step of it passes through `evaluate`
 * here, which counts it, limits sizes before anything large is made, and stops. What the library
 * lacks or does otherwise than Jinja2 is computed here instead (filters.ts, textMethods.ts,
 * operators.ts), under the same counts. Values are Maps and own classes, so a template cannot reach
 * JavaScript objects or their prototypes.
 */
import { Interpreter } from "@huggingface/jinja";
import type { Environment } from "@huggingface/jinja";
import { Arguments } from "./arguments.ts";
import { templateError } from "./budget.ts";
import type { TemplateBudget } from "./budget.ts";
import { passes } from "./checks.ts";
import { groupPart } from "./containers.ts";
import { BARE_FILTERS, FILTERS, TEXT_FILTERS } from "./filters.ts";
import type { FilterContext } from "./filter.ts";
import { recursionOf } from "./loops.ts";
import { CONTAINER_METHODS } from "./methods.ts";
import { Evaluated, asNode, asStatement, filterNode, known, nameOf, nodesOf, outputsOf } from "./nodes.ts";
import type { Node, Statement, TemplateProgram } from "./nodes.ts";
import { binaryValue } from "./operators.ts";
import { ValueSizes, isContainer } from "./sizes.ts";
import type { Value } from "./sizes.ts";
import type { Runner } from "./runner.ts";
import { sliced } from "./slices.ts";
import { runNamedBlock, runStatement } from "./statements.ts";
import { TEXT_METHODS } from "./textMethods.ts";
import {
  UNDEFINED,
  dictionary,
  elements,
  functionValue,
  isSafe,
  isUndefined,
  keyOf,
  kindOf,
  numberOf,
} from "./values.ts";
import { partsOf, textLike, textOf, textValue, truthValue } from "./values.ts";
import type { DictionaryKey, RuntimeValue } from "./values.ts";

export class GuardedInterpreter extends Interpreter {
  readonly #budget: TemplateBudget;
  readonly #program: TemplateProgram;
  readonly #outputs: ReadonlySet<unknown>;
  readonly #sizes: ValueSizes;
  readonly #runner: Runner;
  #depth = 0;

  constructor(environment: Environment, program: TemplateProgram, budget: TemplateBudget) {
    super(environment);
    this.#budget = budget;
    this.#program = program;
    this.#outputs = outputsOf(program);
    this.#runner = { budget, root: environment, evaluate: (node, scope) => this.evaluate(asStatement(node), scope) };
    if (program.blocks.size > 0) environment.setVariable("self", this.#self(program, environment));
    this.#sizes = new ValueSizes(budget.limits.work / 8, () =>
      templateError("its values are too large or nested too deep"),
    );
  }

  /** What the whole template writes. */
  write(): string {
    return textOf(this.evaluate(asStatement(this.#program), this.#runner.root), this.#budget);
  }

  override evaluate(statement: Statement | undefined, environment: Environment): RuntimeValue {
    if (statement === undefined) return super.evaluate(statement, environment);
    if (statement instanceof Evaluated) return statement.result;
    if (++this.#depth > this.#budget.limits.depth)
      throw templateError("it is nested too deep, or calls itself without end");
    try {
      this.#budget.spend(1);
      const result =
        runStatement(statement as unknown as Node, environment, this.#runner) ?? this.#value(statement, environment);
      this.#charge(statement, result);
      return this.#outputs.has(statement) ? this.#written(result) : result;
    } finally {
      // Also when a loop is broken off, which is an exception inside the interpreter.
      this.#depth -= 1;
    }
  }

  #value(statement: Statement, environment: Environment): RuntimeValue {
    const prepared = this.#prepared(statement, environment);
    return prepared instanceof Evaluated ? prepared.result : super.evaluate(prepared, environment);
  }

  /** The named blocks, to be written once more: `self.title()`. */
  #self({ blocks }: TemplateProgram, environment: Environment): RuntimeValue {
    return dictionary(
      [...blocks].map(([name, block]) => [
        name,
        functionValue(() => textValue(runNamedBlock(block, environment, this.#runner))),
      ]),
    );
  }

  /** What a step made: texts and lists have a largest size, and making them is work. */
  #charge(statement: Statement, result: Value): void {
    const { value } = result;
    const { limits } = this.#budget;
    if (typeof value === "string" && value.length > limits.textCharacters) this.#budget.text(value.length);
    if (Array.isArray(value) && value.length > limits.items) this.#budget.items(value.length);
    if (!REFERENCES.has(statement.type)) this.#budget.spend(shallowWork(result));
  }

  /** A value on its way to the output, as Python writes it. */
  #written(result: RuntimeValue): RuntimeValue {
    if (typeof result.value === "string" || isUndefined(result)) return result;
    this.#payDeep(result, 1);
    return textValue(textOf(result, this.#budget));
  }

  /** Steps that could make something huge at once get their operands evaluated first, and are looked at. */
  #prepared(statement: Statement, environment: Environment): Statement {
    const node = statement as unknown as Node;
    switch (statement.type) {
      case "FilterExpression":
        return this.#filter(node, environment);
      case "CallExpression":
        return this.#call(node, environment);
      case "BinaryExpression":
        return this.#binary(node, environment);
      case "ObjectLiteral":
        return known(this.#dictionary(node, environment));
      case "TestExpression":
        return this.#test(node, environment);
      case "MemberExpression":
        return this.#member(node, environment);
      default:
        return statement;
    }
  }

  #filter(node: Node, environment: Environment): Statement {
    const filter = asNode(node["filter"]);
    const isCall = filter.type === "CallExpression";
    const name = nameOf(isCall ? asNode(filter["callee"]) : filter);
    const own = FILTERS.get(name);
    if (own === undefined) throw templateError(`it has a filter ${name.slice(0, 50)}, which is not known`);
    const operand = this.#evaluated(node["operand"], environment).result;
    if (WRITING_FILTERS.has(name) || (TEXT_FILTERS.has(name) && isContainer(operand.type)))
      this.#payDeep(operand, SORTING_FILTERS.has(name) ? 20 : 1);
    else if (!CHEAP_FILTERS.has(name)) this.#budget.spend(shallowWork(operand));
    const args = isCall ? this.#given(name, filter, environment) : new Arguments(name, [], new Map());
    if (BARE_FILTERS.has(name)) args.matched();
    return known(own(operand, args, this.#context(environment)));
  }

  #context(environment: Environment): FilterContext {
    return {
      budget: this.#budget,
      apply: (name, value, args) => this.evaluate(filterNode(name, value, args), environment),
      passes: (name, value, args) => {
        this.#budget.spend(1 + shallowWork(value));
        return passes(name, value, args, this.#budget);
      },
    };
  }

  #test(node: Node, environment: Environment): Statement {
    const operand = this.#evaluated(node["operand"], environment).result;
    const name = nameOf(asNode(node["test"]));
    const args = this.#given(name, node, environment);
    this.#budget.spend(shallowWork(operand));
    return known(truthValue(passes(name, operand, args, this.#budget) !== (node["negate"] === true)));
  }

  #call(node: Node, environment: Environment): Statement {
    const callee = asNode(node["callee"]);
    if (callee.type !== "MemberExpression" || callee["computed"] === true) {
      const called = this.#evaluated(callee, environment);
      const again = recursionOf(called.result);
      if (again === undefined) return asStatement({ ...node, callee: called });
      const { iterable } = this.#given("loop", node, environment).matched("iterable");
      return known(again(iterable ?? UNDEFINED));
    }
    const name = nameOf(asNode(callee["property"]));
    const object = this.#object(callee, environment);
    if (SORTING_FILTERS.has(name)) this.#payDeep(object.result, 20);
    else this.#budget.spend(shallowWork(object.result));
    const { value } = object.result;
    if (typeof value === "string") {
      const method = TEXT_METHODS.get(name);
      if (method === undefined) throw templateError(`${name.slice(0, 50)} of a text is not known`);
      if (isSafe(object.result) && UNSAFE_METHODS.has(name))
        throw templateError(`${name} of a text marked as safe is not supported`);
      const made = method(value, this.#given(name, node, environment), this.#budget);
      return known(typeof made.value === "string" ? textLike(object.result, made.value) : made);
    }
    // In a call a dictionary's method goes before its key: a JSON schema has keys named "items".
    const method = CONTAINER_METHODS.get(object.result.type)?.get(name);
    if (method !== undefined) return known(method(object.result, this.#given(name, node, environment), this.#budget));
    return asStatement({ ...node, callee: { ...callee, object } });
  }

  #binary(node: Node, environment: Environment): Statement {
    const operator = asNode(node["operator"])["value"];
    if (operator === "and" || operator === "or") return asStatement(node);
    const left = this.#evaluated(node["left"], environment);
    const right = this.#evaluated(node["right"], environment);
    for (const [side, other] of [
      [left, right],
      [right, left],
    ] as const) {
      this.#budget.spend(shallowWork(side.result) / 2);
      const writes = operator === "~" || operator === "%";
      const compares = operator !== "in" && operator !== "not in" && !isContainer(other.result.type);
      if ((writes || compares) && isContainer(side.result.type)) this.#payDeep(side.result, 1);
    }
    return known(binaryValue(operator, left.result, right.result, this.#budget));
  }

  #object(node: Node, environment: Environment): Evaluated {
    const object = this.#evaluated(node["object"], environment);
    if (!isUndefined(object.result)) return object;
    const part = nameOf(asNode(node["property"])).slice(0, 50);
    throw templateError(`it asks for ${part === "" ? "a part" : part} of something undefined`);
  }

  #member(node: Node, environment: Environment): Statement {
    const object = this.#object(node, environment);
    // A slice walks over the whole text or list.
    const place = asNode(node["property"]);
    if (place.type === "SliceExpression") {
      this.#budget.spend(shallowWork(object.result) * 8);
      const bound = (part: unknown): RuntimeValue | undefined =>
        part === undefined ? undefined : this.#evaluated(part, environment).result;
      return known(
        sliced(object.result, [bound(place["start"]), bound(place["stop"]), bound(place["step"])], this.#budget),
      );
    }
    if (node["computed"] !== true) {
      const half = groupPart(object.result, nameOf(place));
      return half === undefined ? asStatement({ ...node, object }) : known(half);
    }
    const property = this.#evaluated(node["property"], environment);
    const parts = partsOf(object.result);
    const part = keyOf(property.result);
    if (parts !== undefined && typeof part !== "string")
      return known((part === undefined ? undefined : parts.get(part)) ?? UNDEFINED);
    const text = object.result.value;
    const at = property.result.type === "FloatValue" ? undefined : numberOf(property.result);
    if (Array.isArray(text) && at !== undefined) return known(elements(object.result).at(at) ?? UNDEFINED);
    if (Array.isArray(text) && typeof part !== "string") return known(UNDEFINED);
    if (typeof text !== "string" || typeof at !== "number") return asStatement({ ...node, object, property });
    this.#budget.spend(shallowWork(object.result) * 4);
    const character = /[\ud800-\udfff]/.test(text) ? Array.from(text).at(at) : text.at(at);
    return known(character === undefined ? UNDEFINED : textLike(object.result, character));
  }

  #dictionary(node: Node, environment: Environment): RuntimeValue {
    const entries: [DictionaryKey, RuntimeValue][] = [];
    for (const [key, value] of node["value"] as ReadonlyMap<unknown, unknown>) {
      const evaluated = this.#evaluated(key, environment).result;
      const name = evaluated.type === "BooleanValue" ? undefined : keyOf(evaluated);
      if (name === undefined) throw templateError(`a dictionary has ${kindOf(evaluated)} as a key`);
      entries.push([name, this.#evaluated(value, environment).result]);
    }
    return dictionary(entries);
  }

  #evaluated(node: unknown, environment: Environment): Evaluated {
    return new Evaluated(this.evaluate(asStatement(asNode(node)), environment));
  }

  /** The values of the arguments, each paid as what is walked over once. */
  #given(name: string, call: Node, environment: Environment): Arguments {
    const positional: RuntimeValue[] = [];
    const named = new Map<string, RuntimeValue>();
    const add = (key: string, value: RuntimeValue): void => {
      if (named.has(key)) throw templateError(`${name} is given ${key.slice(0, 50)} twice`);
      named.set(key, value);
    };
    for (const arg of nodesOf(call["args"])) {
      const isSpread = arg.type === "SpreadExpression" || arg.type === "KeywordSpreadExpression";
      const isNamed = arg.type === "KeywordArgumentExpression";
      const value = this.#evaluated(isSpread ? arg["argument"] : isNamed ? arg["value"] : arg, environment).result;
      this.#budget.spend(shallowWork(value));
      if (arg.type === "SpreadExpression") positional.push(...elements(value, this.#budget));
      else if (isNamed) add(nameOf(asNode(arg["key"])), value);
      else if (isSpread)
        for (const [key, part] of partsOf(value) ?? []) add(typeof key === "string" ? key : "a number", part);
      else positional.push(value);
    }
    return new Arguments(name, positional, named);
  }

  /** For what is written out or compared in all its parts. */
  #payDeep(value: Value, factor: number): void {
    this.#budget.spend(isContainer(value.type) ? this.#sizes.of(value).cells * factor : shallowWork(value));
  }
}

/** Those of which Jinja2 escapes the arguments, or marks each part of the result. */
const UNSAFE_METHODS: ReadonlySet<string> = new Set(["replace", "format", "join", "split", "rsplit", "splitlines"]);

/** Steps that hand on a text instead of making one. */
const REFERENCES: ReadonlySet<string> = new Set(["Identifier", "MemberExpression", "StringLiteral"]);
/** Filters that look at all parts of a value, however deep. */
const WRITING_FILTERS: ReadonlySet<string> = new Set(["tojson", "string", "join", "sort", "dictsort"]);
const SORTING_FILTERS: ReadonlySet<string> = new Set(["sort", "dictsort"]);
const CHEAP_FILTERS: ReadonlySet<string> = new Set([
  "length",
  "count",
  "first",
  "last",
  "default",
  "list",
  "safe",
  "items",
  "int",
  "float",
]);

/** Walking once over a text or a list. */
function shallowWork({ value }: Value): number {
  if (typeof value === "string") return value.length / 32;
  if (Array.isArray(value)) return value.length * 2;
  return value instanceof Map ? value.size * 2 : 0;
}
