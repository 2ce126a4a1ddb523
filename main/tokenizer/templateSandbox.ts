/**
 * Runs a chat template as what it is: a program from a stranger's file. The interpreter is @huggingface/jinja's; every
 * step of it passes through `evaluate` here, which counts work, limits sizes before anything large is made, and stops.
 * Its values are Maps and own classes, so a template cannot reach JavaScript objects or their prototypes.
 *
 * Work is counted in units of about half a microsecond: one per step, more for long texts and lists.
 */
import { Environment, Interpreter, parse, tokenize } from "@huggingface/jinja";
import { WorkbenchError } from "../diagnostics/errors.ts";
import { CAN_GROW, grownLength } from "./templateGrowth.ts";
import { ValueSizes, isContainer } from "./templateSizes.ts";
import type { Value } from "./templateSizes.ts";
import { EMPTY_LIST, EMPTY_TEXT, emptyFor } from "./templateUndefined.ts";
import type { LiteralNode } from "./templateUndefined.ts";

export interface TemplateLimits {
  readonly templateCharacters: number;
  /** Of one text made by the template, its output included. */
  readonly textCharacters: number;
  /** Elements of one list. */
  readonly items: number;
  readonly work: number;
  readonly depth: number;
  /** A clock beside the count, for work that was counted too cheaply. */
  readonly milliseconds: number;
}

export const TEMPLATE_LIMITS: TemplateLimits = {
  templateCharacters: 128 << 10,
  textCharacters: 4 << 20,
  items: 20_000,
  work: 1_000_000,
  depth: 500,
  milliseconds: 900,
};

/** The preprocessing of the language takes time quadratic in a run of white space. */
const LONGEST_WHITE_SPACE = 500;
const SPACE_RUN = new RegExp(`\\s{${LONGEST_WHITE_SPACE + 1}}`, "u");

export type TemplateProgram = Parameters<Interpreter["run"]>[0];
type Statement = NonNullable<Parameters<Interpreter["evaluate"]>[0]>;
type RuntimeValue = ReturnType<Interpreter["evaluate"]>;

export function parseTemplate(source: string, limits: TemplateLimits = TEMPLATE_LIMITS): TemplateProgram {
  if (source.length > limits.templateCharacters)
    throw templateError(`it is ${source.length} characters long, expected at most ${limits.templateCharacters}`);
  if (SPACE_RUN.test(source)) throw templateError(`it has more than ${LONGEST_WHITE_SPACE} blanks in a row`);
  return guarded(() => parse(tokenize(source, { lstrip_blocks: true, trim_blocks: true })));
}

export function runTemplate(
  program: TemplateProgram,
  variables: Readonly<Record<string, unknown>>,
  limits: TemplateLimits = TEMPLATE_LIMITS,
): string {
  return guarded(() => {
    const environment = new Environment();
    for (const [name, value] of Object.entries({ ...constants, range: boundedRange(limits), ...variables }))
      environment.set(name, value);
    const result: Value = new GuardedInterpreter(environment, program, limits).run(program);
    return String(result.value);
  });
}

const constants = {
  true: true,
  false: false,
  none: null,
  True: true,
  False: false,
  None: null,
  raise_exception(message: unknown): never {
    throw templateError(
      `it refuses this conversation: ${typeof message === "string" ? message.slice(0, 500) : "no reason given"}`,
    );
  },
};

function boundedRange(limits: TemplateLimits): (start: unknown, stop?: unknown, step?: unknown) => number[] {
  return (first, second, third = 1) => {
    const [start, stop] = second === undefined ? [0, first] : [first, second];
    if (!Number.isSafeInteger(start) || !Number.isSafeInteger(stop) || !Number.isSafeInteger(third) || third === 0)
      throw templateError("range() needs whole numbers, and a step that is not 0");
    const [from, to, step] = [Number(start), Number(stop), Number(third)];
    const count = Math.max(0, Math.ceil((to - from) / step));
    if (count > limits.items) throw templateError(`range() of ${count} numbers, expected at most ${limits.items}`);
    return Array.from({ length: count }, (_, i) => from + i * step);
  };
}

class GuardedInterpreter extends Interpreter {
  readonly #limits: TemplateLimits;
  readonly #deadline: number;
  readonly #outputs: ReadonlySet<unknown>;
  readonly #sizes: ValueSizes;
  #work = 0;
  #depth = 0;
  #nextClock = 0;

  constructor(environment: Environment, program: TemplateProgram, limits: TemplateLimits) {
    super(environment);
    this.#limits = limits;
    this.#deadline = performance.now() + limits.milliseconds;
    this.#outputs = outputsOf(program);
    this.#sizes = new ValueSizes(limits.work / 8, () => templateError("its values are too large or nested too deep"));
  }

  override evaluate(statement: Statement | undefined, environment: Environment): RuntimeValue {
    if (statement === undefined) return super.evaluate(statement, environment);
    if (statement instanceof Evaluated) return statement.result;
    if (++this.#depth > this.#limits.depth) throw templateError("it is nested too deep, or calls itself without end");
    try {
      this.#spend(1);
      const result = super.evaluate(this.#prepared(statement, environment), environment);
      this.#charge(statement, result);
      return result;
    } finally {
      // Also when a loop is broken off, which is an exception inside the interpreter.
      this.#depth -= 1;
    }
  }

  #spend(units: number): void {
    this.#work += units;
    if (this.#work > this.#limits.work) throw templateError("it does not come to an end");
    if (this.#work < this.#nextClock) return;
    this.#nextClock = this.#work + 10_000;
    if (performance.now() > this.#deadline) throw templateError(`it took longer than ${this.#limits.milliseconds} ms`);
  }

  /** What a step made: texts and lists have a largest size, and making them is work. */
  #charge(statement: Statement, result: Value): void {
    const { type, value } = result;
    if (typeof value === "string" && value.length > this.#limits.textCharacters) throw this.#tooLong(value.length);
    if (Array.isArray(value) && value.length > this.#limits.items)
      throw templateError(`a list of ${value.length}, expected at most ${this.#limits.items}`);
    if (!REFERENCES.has(statement.type)) this.#spend(shallowWork(result));
    if (this.#outputs.has(statement) && isContainer(type)) this.#payDeep(result, 1);
  }

  #tooLong(length: number): WorkbenchError {
    return templateError(`a text of ${length} characters, expected at most ${this.#limits.textCharacters}`);
  }

  /** Steps that could make something huge at once get their operands evaluated first, and are looked at. */
  #prepared(statement: Statement, environment: Environment): Statement {
    const node = statement as unknown as Node;
    switch (statement.type) {
      case "FilterStatement":
        return this.#filter(
          { ...node, type: "FilterExpression", operand: { type: "Program", body: node["body"] } },
          environment,
        );
      case "FilterExpression":
        return this.#filter(node, environment);
      case "CallExpression":
        return this.#call(node, environment);
      case "BinaryExpression":
        return this.#binary(node, environment);
      case "For":
        return this.#loop(node, environment);
      case "TestExpression": {
        const operand = this.#evaluated(node["operand"], environment);
        this.#spend(shallowWork(operand.result));
        return asStatement({ ...node, operand });
      }
      case "MemberExpression":
        return this.#member(node, environment);
      default:
        return statement;
    }
  }

  #filter(node: Node, environment: Environment): Statement {
    const filter = asNode(node["filter"]);
    const name = nameOf(filter.type === "CallExpression" ? asNode(filter["callee"]) : filter);
    const operand = this.#defined(this.#evaluated(node["operand"], environment), emptyFor(name), environment);
    if (WRITING_FILTERS.has(name)) this.#payDeep(operand.result, SORTING_FILTERS.has(name) ? 20 : 1);
    else if (!CHEAP_FILTERS.has(name)) this.#spend(shallowWork(operand.result));
    if (filter.type !== "CallExpression" || !CAN_GROW.has(name)) {
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

  #call(node: Node, environment: Environment): Statement {
    const callee = asNode(node["callee"]);
    if (callee.type !== "MemberExpression" || callee["computed"] === true) return asStatement(node);
    const object = this.#evaluated(callee["object"], environment);
    const name = nameOf(asNode(callee["property"]));
    if (SORTING_FILTERS.has(name)) this.#payDeep(object.result, 20);
    else this.#spend(shallowWork(object.result));
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
      this.#spend(shallowWork(side.result) / 2);
      // A list next to a text is written out as a text.
      const writes = operator !== "in" && operator !== "not in";
      if (writes && isContainer(side.result.type) && !isContainer(other.result.type)) this.#payDeep(side.result, 1);
    }
    return asStatement({ ...node, left, right });
  }

  /** A slice walks over the whole text or list. */
  #member(node: Node, environment: Environment): Statement {
    if (asNode(node["property"]).type !== "SliceExpression") return asStatement(node);
    const object = this.#evaluated(node["object"], environment);
    this.#spend(shallowWork(object.result) * 4);
    return asStatement({ ...node, object });
  }

  #loop(node: Node, environment: Environment): Statement {
    const iterable = asNode(node["iterable"]);
    const isSelect = iterable.type === "SelectExpression";
    const items = this.#defined(
      this.#evaluated(isSelect ? iterable["lhs"] : iterable, environment),
      EMPTY_LIST,
      environment,
    );
    // Every turn makes a scope, even when the body is empty.
    this.#spend(shallowWork(items.result) * 5);
    return asStatement({ ...node, iterable: isSelect ? { ...iterable, lhs: items } : items });
  }

  #defined(operand: Evaluated, empty: LiteralNode | undefined, environment: Environment): Evaluated {
    return operand.result.type === "UndefinedValue" && empty !== undefined
      ? this.#evaluated(empty, environment)
      : operand;
  }

  #evaluated(node: unknown, environment: Environment): Evaluated {
    return new Evaluated(this.evaluate(asStatement(asNode(node)), environment));
  }

  #arguments(call: Node, environment: Environment): Node[] {
    const args: unknown = call["args"];
    if (!Array.isArray(args)) throw templateError("a call without arguments");
    return args.map((arg: unknown) => {
      const node = asNode(arg);
      if (node.type.includes("Spread")) throw templateError("arguments are spread where that is not supported");
      if (node.type !== "KeywordArgumentExpression") return this.#evaluated(node, environment) as unknown as Node;
      return { ...node, value: this.#evaluated(node["value"], environment) };
    });
  }

  /** For what is written out or compared in all its parts. */
  #payDeep(value: Value, factor: number): void {
    this.#spend(isContainer(value.type) ? this.#sizes.of(value).cells * factor : shallowWork(value));
  }

  #checkGrowth(name: string, operand: Value, args: readonly (Value | undefined)[]): void {
    const grown = grownLength(name, operand, args, this.#sizes);
    if (grown.pieces > this.#limits.items) throw templateError("a text in too many pieces");
    if (grown.characters > this.#limits.textCharacters) throw this.#tooLong(grown.characters);
  }
}

/** A value in the place of an expression that has been evaluated already. */
class Evaluated {
  readonly type = "Evaluated";
  readonly result: RuntimeValue;
  constructor(result: RuntimeValue) {
    this.result = result;
  }
}

interface Node {
  readonly type: string;
  readonly [field: string]: unknown;
}

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

function asNode(value: unknown): Node {
  if (typeof value === "object" && value !== null && "type" in value && typeof value.type === "string")
    return value as Node;
  throw templateError("it has a form that is not known");
}
const asStatement = (node: Node): Statement => node;
const nameOf = (node: Node): string => (typeof node["value"] === "string" ? node["value"] : "");

/** Walking once over a text or a list. */
function shallowWork({ value }: Value): number {
  if (typeof value === "string") return value.length / 32;
  if (Array.isArray(value)) return value.length * 2;
  return value instanceof Map ? value.size * 2 : 0;
}

function valueOf(arg: Node | Evaluated): Value | undefined {
  if (arg instanceof Evaluated) return arg.result;
  return arg["value"] instanceof Evaluated ? arg["value"].result : undefined;
}

/** The statements whose values are written to the output. */
function outputsOf(program: TemplateProgram): ReadonlySet<unknown> {
  const outputs = new Set<unknown>();
  const visit = (value: unknown): void => {
    if (Array.isArray(value)) for (const item of value) visit(item);
    else if (value instanceof Map) for (const [key, item] of value) [key, item].forEach(visit);
    else if (typeof value === "object" && value !== null)
      for (const [field, child] of Object.entries(value)) {
        if (Array.isArray(child) && BODIES.has(field)) for (const item of child) outputs.add(item);
        visit(child);
      }
  };
  visit(program);
  return outputs;
}
const BODIES: ReadonlySet<string> = new Set(["body", "alternate", "defaultBlock"]);

export const templateError = (message: string, cause?: unknown): WorkbenchError =>
  new WorkbenchError("INPUT_TEMPLATE", `[chat template] ${message}`, {
    hint: "Give the model plain text instead (completion), or another template.",
    ...(cause === undefined ? {} : { cause }),
  });

/** Whatever the library throws becomes one kind of error, a stack that overflowed included. */
function guarded<T>(action: () => T): T {
  try {
    return action();
  } catch (error) {
    if (error instanceof WorkbenchError) throw error;
    if (error instanceof RangeError) throw templateError("it is nested too deep, or makes something too large", error);
    const message = error instanceof Error ? error.message.slice(0, 300) : "";
    throw templateError(message === "" ? "it breaks off where there is nothing to break" : message, error);
  }
}
