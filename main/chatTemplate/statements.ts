/**
 * The statements of the language: branches, loops, blocks, and which names each of them sees. A turn
 * of a loop, a macro and a captured block have scopes of their own.
 */
import { Environment } from "@huggingface/jinja";
import { templateError } from "./budget.ts";
import { loopValue } from "./loops.ts";
import { callWithBlock, macroFunction } from "./macros.ts";
import { CAPTURED, asNode, nameOf, nodesOf } from "./nodes.ts";
import type { Node } from "./nodes.ts";
import { LoopEnd, added, capture, runBlock } from "./runner.ts";
import type { Runner } from "./runner.ts";
import { NONE, UNDEFINED, elements, namesOf, textValue } from "./values.ts";
import type { RuntimeValue } from "./values.ts";

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
      const isBlock = node["value"] === null;
      const value = isBlock ? filtered(node, environment, runner) : runner.evaluate(asNode(node["value"]), environment);
      assign(asNode(node["assignee"]), value, environment);
      return NONE;
    }
    case "FilterStatement":
      return filtered(node, environment, runner);
    case "With": {
      const scope = new Environment(environment);
      const values = nodesOf(node["values"]).map((value) => runner.evaluate(value, environment));
      nodesOf(node["targets"]).forEach((target, i) => {
        assign(target, values[i] ?? UNDEFINED, scope);
      });
      return textValue(runBlock(node["body"], scope, runner));
    }
    case "Block":
      return textValue(runNamedBlock(node, environment, runner));
    case "Macro": {
      const name = nameOf(asNode(node["name"]));
      environment.setVariable(name, macroFunction(name, node["args"], node["body"], environment, runner));
      return NONE;
    }
    case "CallStatement":
      return callWithBlock(node, environment, runner);
    case "OtherTemplate":
      throw templateError(
        `it asks for another template (${nameOf({ type: "", value: node["word"] })}), and there is none`,
      );
    default:
      return undefined;
  }
}

/** A block sees the names of the whole template; with `scoped` those where it stands. */
export function runNamedBlock(node: Node, environment: Environment, runner: Runner): string {
  return runBlock(node["body"], new Environment(node["isScoped"] === true ? environment : runner.root), runner);
}

/** What a block writes, through its filters. */
function filtered(node: Node, environment: Environment, runner: Runner): RuntimeValue {
  const scope = new Environment(environment);
  scope.setVariable(CAPTURED, textValue(capture(node["body"], environment, runner)));
  return runner.evaluate(asNode(node["filtered"]), scope);
}

function runLoop(node: Node, environment: Environment, runner: Runner, depth = 1, given?: RuntimeValue): string {
  const items = loopItems(node, environment, runner, given);
  const again = (inner: RuntimeValue): RuntimeValue => {
    if (node["isRecursive"] !== true) throw templateError("a loop that is not recursive is called");
    return textValue(runLoop(node, environment, runner, depth + 1, inner));
  };
  const loop = loopValue(items, depth, again, runner.budget);
  // As Jinja2 has it: a loop of which no turn came to its end writes its `else` too.
  let isWithoutTurn = true;
  let text = "";
  for (const [i, item] of items.entries()) {
    const scope = turnScope(node, item, environment);
    scope.setVariable("loop", loop(i));
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
function loopItems(node: Node, environment: Environment, runner: Runner, given?: RuntimeValue) {
  const list = given ?? runner.evaluate(asNode(node["iterable"]), environment);
  const items = elements(list, runner.budget);
  // Every turn makes a scope, even when the body is empty.
  runner.budget.spend(items.length * 10);
  if (node["test"] === undefined) return items;
  const test = asNode(node["test"]);
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
  if (target.type === "MemberExpression") {
    const names = namesOf(scope.lookupVariable(nameOf(asNode(target["object"]))));
    if (names === undefined) throw templateError("it assigns to a part of something that is no namespace");
    names.set(nameOf(asNode(target["property"])), value);
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
