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
import { SINGLE_CHECKS, pairCheck } from "./checks.ts";
import { FILTERS, TEXT_FILTERS, pairs } from "./filters.ts";
import type { FilterContext } from "./filters.ts";
import { CAN_GROW, grownLength } from "./growth.ts";
import { Evaluated, asNode, asStatement, filterNode, known, nameOf, outputsOf, valueOf } from "./nodes.ts";
import type { Node, Statement, TemplateProgram } from "./nodes.ts";
import { binaryValue } from "./operators.ts";
import { ValueSizes, isContainer } from "./sizes.ts";
import type { Value } from "./sizes.ts";
import { capture, closeMacro, runStatement } from "./statements.ts";
import type { Runner } from "./statements.ts";
import { TEXT_METHODS } from "./textMethods.ts";
import { EMPTY_TEXT, emptyFor } from "./undefinedValues.ts";
import type { LiteralNode } from "./undefinedValues.ts";
import { NONE, UNDEFINED, dictionary, elements, isSafe, isUndefined, keyOf, kindOf, listValue } from "./values.ts";
import { partsOf, textLike, textOf, textValue, truthValue } from "./values.ts";
import type { DictionaryKey, RuntimeValue } from "./values.ts";

export class GuardedInterpreter extends Interpreter {
  readonly #budget: TemplateBudget;
  readonly #outputs: ReadonlySet<unknown>;
  readonly #sizes: ValueSizes;
  readonly #runner: Runner;
  #depth = 0;

  constructor(environment: Environment, program: TemplateProgram, budget: TemplateBudget) {
    super(environment);
    this.#budget = budget;
    this.#outputs = outputsOf(program);
    this.#runner = { budget, evaluate: (node, scope) => this.evaluate(asStatement(node), scope) };
    this.#sizes = new ValueSizes(budget.limits.work / 8, () =>
      templateError("its values are too large or nested too deep"),
    );
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
    if (prepared instanceof Evaluated) return prepared.result;
    const result = super.evaluate(prepared, environment);
    if (statement.type === "Macro")
      closeMacro(environment.lookupVariable(nameOf(asNode((statement as unknown as Node)["name"]))), environment);
    return result;
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
      case "FilterStatement":
        return this.#filter(
          {
            ...node,
            type: "FilterExpression",
            operand: new Evaluated(textValue(capture(node["body"], environment, this.#runner))),
          },
          environment,
        );
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
    let operand = this.#defined(this.#evaluated(node["operand"], environment), emptyFor(name), environment);
    if (WRITING_FILTERS.has(name) || (TEXT_FILTERS.has(name) && isContainer(operand.result.type)))
      this.#payDeep(operand.result, SORTING_FILTERS.has(name) ? 20 : 1);
    else if (!CHEAP_FILTERS.has(name)) this.#budget.spend(shallowWork(operand.result));
    const own = FILTERS.get(name);
    if (own !== undefined) {
      const args = isCall ? this.#given(name, filter, environment) : new Arguments(name, [], new Map());
      return known(own(operand.result, args, this.#context(environment)));
    }
    if (TEXT_FILTERS.has(name)) operand = new Evaluated(textValue(textOf(operand.result, this.#budget)));
    if (!isCall || !CAN_GROW.has(name)) {
      this.#checkGrowth(name, operand.result, []);
      return asStatement({ ...node, operand });
    }
    const args = this.#arguments(filter, environment);
    this.#checkGrowth(
      name,
      operand.result,
      args.map((arg) => valueOf(arg)),
    );
    return asStatement({ ...node, operand, filter: { ...filter, args } });
  }

  #context(environment: Environment): FilterContext {
    return {
      budget: this.#budget,
      apply: (name, value, args) => this.evaluate(filterNode(name, value, args), environment),
      passes: (name, value, args) => {
        const paired = pairCheck(name, value, args, this.#budget);
        if (paired !== undefined) return paired;
        args.matched();
        const test = { type: "Identifier", value: name };
        const node = { type: "TestExpression", operand: new Evaluated(value), negate: false, test };
        return this.evaluate(asStatement(node), environment).__bool__().value;
      },
    };
  }

  #test(node: Node, environment: Environment): Statement {
    const operand = this.#evaluated(node["operand"], environment);
    this.#budget.spend(shallowWork(operand.result));
    const own = SINGLE_CHECKS.get(nameOf(asNode(node["test"])));
    if (own === undefined) return asStatement({ ...node, operand });
    return known(truthValue(own(operand.result) !== (node["negate"] === true)));
  }

  #call(node: Node, environment: Environment): Statement {
    const callee = asNode(node["callee"]);
    if (callee.type !== "MemberExpression" || callee["computed"] === true) return asStatement(node);
    const name = nameOf(asNode(callee["property"]));
    const object = this.#object(callee, environment);
    if (SORTING_FILTERS.has(name)) this.#payDeep(object.result, 20);
    else this.#budget.spend(shallowWork(object.result));
    const { value } = object.result;
    const method = typeof value === "string" ? TEXT_METHODS.get(name) : undefined;
    if (isSafe(object.result) && UNSAFE_METHODS.has(name))
      throw templateError(`${name} of a text marked as safe is not supported`);
    if (typeof value === "string" && method !== undefined) {
      const made = method(value, this.#given(name, node, environment), this.#budget);
      return known(typeof made.value === "string" ? textLike(object.result, made.value) : made);
    }
    // In a call a dictionary's method goes before its key: a JSON schema has keys named "items".
    const ofDictionary = partsOf(object.result) === undefined ? undefined : DICTIONARY_METHODS.get(name);
    if (ofDictionary !== undefined)
      return known(ofDictionary(object.result, this.#given(name, node, environment), this.#budget));
    if (!CAN_GROW.has(name)) return asStatement({ ...node, callee: { ...callee, object } });
    const args = this.#arguments(node, environment);
    this.#checkGrowth(
      name,
      object.result,
      args.map((arg) => valueOf(arg)),
    );
    return asStatement({ ...node, callee: { ...callee, object }, args });
  }

  #binary(node: Node, environment: Environment): Statement {
    const operator = asNode(node["operator"])["value"];
    if (operator === "and" || operator === "or") return asStatement(node);
    const empty = operator === "~" ? EMPTY_TEXT : undefined;
    const left = this.#defined(this.#evaluated(node["left"], environment), empty, environment);
    const right = this.#defined(this.#evaluated(node["right"], environment), empty, environment);
    for (const [side, other] of [
      [left, right],
      [right, left],
    ] as const) {
      this.#budget.spend(shallowWork(side.result) / 2);
      const writes = operator === "~" || operator === "%";
      const compares = operator !== "in" && operator !== "not in" && !isContainer(other.result.type);
      if ((writes || compares) && isContainer(side.result.type)) this.#payDeep(side.result, 1);
    }
    const own = binaryValue(operator, left.result, right.result, this.#budget);
    return own === undefined ? asStatement({ ...node, left, right }) : known(own);
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
    if (asNode(node["property"]).type === "SliceExpression") {
      this.#budget.spend(shallowWork(object.result) * 8);
      return asStatement({ ...node, object });
    }
    if (node["computed"] !== true) return asStatement({ ...node, object });
    const property = this.#evaluated(node["property"], environment);
    const parts = partsOf(object.result);
    const part = keyOf(property.result);
    if (parts !== undefined && typeof part !== "string")
      return known((part === undefined ? undefined : parts.get(part)) ?? UNDEFINED);
    const text = object.result.value;
    const at = property.result.type === "IntegerValue" ? property.result.value : undefined;
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

  #defined(operand: Evaluated, empty: LiteralNode | undefined, environment: Environment): Evaluated {
    return isUndefined(operand.result) && empty !== undefined ? this.#evaluated(empty, environment) : operand;
  }

  #evaluated(node: unknown, environment: Environment): Evaluated {
    return new Evaluated(this.evaluate(asStatement(asNode(node)), environment));
  }

  #arguments(call: Node, environment: Environment): (Node | Evaluated)[] {
    const args: unknown = call["args"];
    if (!Array.isArray(args)) throw templateError("a call without arguments");
    return args.map((arg: unknown) => {
      const node = asNode(arg);
      if (node.type.includes("Spread")) throw templateError("arguments are spread where that is not supported");
      if (node.type !== "KeywordArgumentExpression") return this.#evaluated(node, environment);
      return { ...node, value: this.#evaluated(node["value"], environment) };
    });
  }

  /** The values of the arguments, each paid as what is walked over once. */
  #given(name: string, call: Node, environment: Environment): Arguments {
    const positional: RuntimeValue[] = [];
    const named = new Map<string, RuntimeValue>();
    for (const arg of this.#arguments(call, environment)) {
      const value = arg instanceof Evaluated ? arg : arg["value"];
      if (!(value instanceof Evaluated)) throw templateError("an argument of a form that is not known");
      this.#budget.spend(shallowWork(value.result));
      if (arg instanceof Evaluated) positional.push(value.result);
      else named.set(nameOf(asNode(arg["key"])), value.result);
    }
    return new Arguments(name, positional, named);
  }

  /** For what is written out or compared in all its parts. */
  #payDeep(value: Value, factor: number): void {
    this.#budget.spend(isContainer(value.type) ? this.#sizes.of(value).cells * factor : shallowWork(value));
  }

  #checkGrowth(name: string, operand: Value, args: readonly (Value | undefined)[]): void {
    const sought = args[0]?.value;
    // Each place may be one where something is put in or taken out.
    if (name === "replace" && typeof operand.value === "string") this.#budget.spend(operand.value.length / 8);
    if (typeof operand.value === "string" && typeof sought === "string") this.#budget.search(operand.value, sought);
    const { limits } = this.#budget;
    const grown = grownLength(name, operand, args);
    if (grown.pieces > limits.items) throw templateError("a text in too many pieces");
    if (grown.characters > limits.textCharacters) this.#budget.text(grown.characters);
  }
}

/** Those of which Jinja2 escapes the arguments, or marks each part of the result. */
const UNSAFE_METHODS: ReadonlySet<string> = new Set(["replace", "format", "join", "split", "rsplit", "splitlines"]);

type DictionaryMethod = (value: RuntimeValue, args: Arguments, budget: TemplateBudget) => RuntimeValue;
const DICTIONARY_METHODS: ReadonlyMap<string, DictionaryMethod> = new Map<string, DictionaryMethod>([
  [
    "get",
    (value, args) => {
      const { key, default: otherwise } = args.matched("key", "default");
      const name = key === undefined ? undefined : keyOf(key);
      return (name === undefined ? undefined : partsOf(value)?.get(name)) ?? otherwise ?? NONE;
    },
  ],
  ["keys", (value, args, budget) => (args.matched(), listValue(elements(value, budget)))],
  ["values", (value, args) => (args.matched(), listValue([...(partsOf(value)?.values() ?? [])]))],
  ["items", (value, args, budget) => (args.matched(), listValue(pairs(value, budget)))],
]);

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
