/**
 * The statements of the language: blocks, branches, loops, and which names each of them sees.
 * `break` and `continue` carry the text that was written before them; a turn of a loop, a macro and
 * a captured block have scopes of their own.
 */
import { Environment } from "@huggingface/jinja";
import type { TemplateBudget } from "./budget.ts";
import { templateError } from "./budget.ts";
import { Evaluated, asNode, nameOf, nodesOf } from "./nodes.ts";
import type { Node } from "./nodes.ts";
import { UNDEFINED, dictionary, elements, functionOf, functionValue, isUndefined, kindOf } from "./values.ts";
import { numberValue, textValue, truthValue } from "./values.ts";
import type { RuntimeValue } from "./values.ts";

/** What a statement needs of the interpreter. */
export interface Runner {
  readonly budget: TemplateBudget;
  readonly evaluate: (node: Node, environment: Environment) => RuntimeValue;
}

/** Ends a turn of a loop, or the loop. On its way it collects the text that the blocks it leaves have written. */
class LoopEnd extends Error {
  readonly kind: "Break" | "Continue";
  text = "";
  constructor(kind: "Break" | "Continue") {
    super(kind);
    this.kind = kind;
  }
}

/** Undefined for expressions and for what is left to the library. */
export function runStatement(node: Node, environment: Environment, runner: Runner): RuntimeValue | undefined {
  switch (node.type) {
    case "Program":
      return textValue(runBlock(node["body"], environment, runner));
    case "If": {
      const isTrue = runner.evaluate(asNode(node["test"]), environment).__bool__().value;
      return textValue(runBlock(node[isTrue ? "body" : "alternate"], environment, runner));
    }
    case "For":
      return textValue(runLoop(node, environment, runner));
    case "Break":
    case "Continue":
      throw new LoopEnd(node.type);
    case "Set": {
      if (node["value"] !== null) return undefined;
      const text = capture(node["body"], environment, runner);
      return runner.evaluate({ ...node, value: new Evaluated(textValue(text)) }, environment);
    }
    default:
      return undefined;
  }
}

function runBlock(body: unknown, environment: Environment, runner: Runner): string {
  let text = "";
  try {
    for (const statement of nodesOf(body)) {
      const result = runner.evaluate(statement, environment);
      if (typeof result.value === "string") text = added(text, result.value, runner.budget);
      else if (result.type !== "NullValue" && !isUndefined(result))
        throw templateError(`${kindOf(result)} is called as a block`);
    }
    return text;
  } catch (error) {
    if (error instanceof LoopEnd) error.text = added(text, error.text, runner.budget);
    throw error;
  }
}

function added(text: string, more: string, { limits }: TemplateBudget): string {
  if (text.length + more.length > limits.textCharacters)
    throw templateError(`it writes more than ${limits.textCharacters} characters`);
  return text + more;
}

/** The text of a block that is not written where it stands. A `break` out of it loses that text. */
export function capture(body: unknown, environment: Environment, runner: Runner): string {
  try {
    return runBlock(body, new Environment(environment), runner);
  } catch (error) {
    if (error instanceof LoopEnd) error.text = "";
    throw error;
  }
}

function runLoop(node: Node, environment: Environment, runner: Runner): string {
  const items = loopItems(node, environment, runner);
  // As Jinja2 has it: a loop of which no turn came to its end writes its `else` too.
  let isWithoutTurn = true;
  let text = "";
  for (const [i, item] of items.entries()) {
    const scope = turnScope(node, item, environment);
    scope.setVariable("loop", loopValue(items, i));
    try {
      text = added(text, runBlock(node["body"], scope, runner), runner.budget);
      isWithoutTurn = false;
    } catch (error) {
      if (!(error instanceof LoopEnd)) throw error;
      text = added(text, error.text, runner.budget);
      if (error.kind === "Break") break;
    }
  }
  if (!isWithoutTurn) return text;
  try {
    return added(text, runBlock(node["defaultBlock"], new Environment(environment), runner), runner.budget);
  } catch (error) {
    if (error instanceof LoopEnd) error.text = added(text, error.text, runner.budget);
    throw error;
  }
}

/** Those that pass the `if` of the loop. */
function loopItems(node: Node, environment: Environment, runner: Runner): readonly RuntimeValue[] {
  const iterable = asNode(node["iterable"]);
  const isSelect = iterable.type === "SelectExpression";
  const list = runner.evaluate(isSelect ? asNode(iterable["lhs"]) : iterable, environment);
  const items = elements(list, runner.budget);
  // Every turn makes a scope, even when the body is empty.
  runner.budget.spend(items.length * 10);
  if (!isSelect) return items;
  const test = asNode(iterable["test"]);
  return items.filter((item) => runner.evaluate(test, turnScope(node, item, environment)).__bool__().value);
}

/** The names of one turn: what it sets is gone with it. */
function turnScope(node: Node, item: RuntimeValue, environment: Environment): Environment {
  const scope = new Environment(environment);
  assign(asNode(node["loopvar"]), item, scope);
  return scope;
}

function assign(target: Node, value: RuntimeValue, scope: Environment): void {
  if (target.type === "Identifier") {
    scope.setVariable(nameOf(target), value);
    return;
  }
  if (target.type !== "TupleLiteral") throw templateError("it assigns to something that is no name");
  const names = nodesOf(target["value"]);
  const parts = elements(value);
  if (names.length !== parts.length)
    throw templateError(`it takes ${parts.length} values apart into ${names.length} names`);
  names.forEach((name, i) => {
    assign(name, parts[i] ?? UNDEFINED, scope);
  });
}

function loopValue(items: readonly RuntimeValue[], i: number): RuntimeValue {
  const left = items.length - i;
  return dictionary([
    ["index", numberValue(i + 1, false)],
    ["index0", numberValue(i, false)],
    ["revindex", numberValue(left, false)],
    ["revindex0", numberValue(left - 1, false)],
    ["first", truthValue(i === 0)],
    ["last", truthValue(left === 1)],
    ["length", numberValue(items.length, false)],
    ["previtem", items[i - 1] ?? UNDEFINED],
    ["nextitem", items[i + 1] ?? UNDEFINED],
    ["cycle", functionValue((args) => args[i % args.length] ?? UNDEFINED)],
  ]);
}

/** A macro sees the names where it is written, and not those where it is called; of these only `caller`. */
export function closeMacro(macro: RuntimeValue, environment: Environment): void {
  const called = functionOf(macro);
  if (called === undefined) return;
  const body = called.value;
  called.value = (args, callScope) => {
    const scope = new Environment(environment);
    const caller = callScope.variables.get("caller");
    if (caller?.type === "FunctionValue") scope.setVariable("caller", caller);
    return body(args, scope);
  };
}

/** Jinja2 refuses a `break` outside of a loop when it reads the template, not when it gets there. */
export function checkLoopControls(value: unknown, isInLoop = false): void {
  if (Array.isArray(value)) {
    for (const item of value) checkLoopControls(item, isInLoop);
    return;
  }
  const node = asNode(value);
  switch (node.type) {
    case "Break":
    case "Continue":
      if (!isInLoop) throw templateError("`break` or `continue` outside a loop");
      return;
    case "For":
      checkLoopControls(node["body"], true);
      checkLoopControls(node["defaultBlock"], isInLoop);
      return;
    case "If":
      checkLoopControls(node["body"], isInLoop);
      checkLoopControls(node["alternate"], isInLoop);
      return;
    case "Macro":
    case "CallStatement":
      checkLoopControls(node["body"]);
      return;
    case "Program":
    case "Set":
    case "FilterStatement":
      checkLoopControls(node["body"], isInLoop);
      return;
  }
}
