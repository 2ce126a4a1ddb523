/** Macros, and the blocks that are handed to them as `caller`. */
import { Environment } from "@huggingface/jinja";
import { templateError } from "./budget.ts";
import { Evaluated, asNode, nameOf, nodesOf } from "./nodes.ts";
import type { Node } from "./nodes.ts";
import { runBlock } from "./runner.ts";
import type { Runner } from "./runner.ts";
import { UNDEFINED, dictionary, functionValue, partsOf, textValue, tupleValue } from "./values.ts";
import type { RuntimeValue } from "./values.ts";

/** What a macro is given only where it asks for it by these names. */
type Special = "caller" | "kwargs" | "varargs";

/** A macro sees the names where it is written, and not those where it is called. */
export function macroFunction(
  name: string,
  parameters: unknown,
  body: unknown,
  environment: Environment,
  runner: Runner,
): RuntimeValue {
  const parts = nodesOf(parameters);
  const asked = specialsOf(parameters, body);
  return functionValue((args) => {
    const scope = new Environment(environment);
    bind(name, parts, asked, args, scope, runner);
    return textValue(runBlock(body, scope, runner));
  });
}

/** `{% call m() %}`: the body becomes `caller` of the macro. */
export function callWithBlock(node: Node, environment: Environment, runner: Runner): RuntimeValue {
  const caller = macroFunction("caller", node["callerArgs"], node["body"], environment, runner);
  const call = asNode(node["call"]);
  const given = {
    type: "KeywordArgumentExpression",
    key: { type: "Identifier", value: "caller" },
    value: new Evaluated(caller),
  };
  return runner.evaluate({ ...call, args: [...nodesOf(call["args"]), given] }, environment);
}

function bind(
  macro: string,
  parameters: readonly Node[],
  asked: ReadonlySet<Special>,
  args: readonly RuntimeValue[],
  scope: Environment,
  runner: Runner,
): void {
  const last = args.at(-1);
  const hasNamed = last?.type === "KeywordArgumentsValue";
  const positional = hasNamed ? args.slice(0, -1) : args;
  const named = new Map(hasNamed ? partsOf(last) : undefined);
  const take = (name: string): RuntimeValue | undefined => {
    const value = named.get(name);
    named.delete(name);
    return value;
  };
  const missing: (readonly [string, Node])[] = [];
  parameters.forEach((parameter, i) => {
    const hasDefault = parameter.type === "KeywordArgumentExpression";
    const name = nameOf(hasDefault ? asNode(parameter["key"]) : parameter);
    const value = positional[i] ?? take(name);
    scope.setVariable(name, value ?? UNDEFINED);
    if (value === undefined && hasDefault) missing.push([name, asNode(parameter["value"])]);
  });
  const isParameter = scope.variables.has("caller");
  if (asked.has("caller") && !isParameter) {
    const caller = take("caller");
    scope.setVariable("caller", caller === undefined || caller.type === "NullValue" ? UNDEFINED : caller);
  }
  const rest = positional.slice(parameters.length);
  if (asked.has("kwargs")) scope.setVariable("kwargs", dictionary(named));
  else if (named.size > 0) throw templateError(`macro ${macro} is given ${[...named.keys()].join(", ").slice(0, 80)}`);
  if (asked.has("varargs")) scope.setVariable("varargs", tupleValue(rest));
  else if (rest.length > 0)
    throw templateError(`macro ${macro} is given ${positional.length} values, expected at most ${parameters.length}`);
  for (const [name, value] of missing) scope.setVariable(name, runner.evaluate(value, scope));
}

/** By the body: a macro in a loop is made anew in each turn. */
const knownSpecials = new WeakMap<object, ReadonlySet<Special>>();

function specialsOf(parameters: unknown, body: unknown): ReadonlySet<Special> {
  const key = nodesOf(body);
  const found = knownSpecials.get(key) ?? specialsIn([parameters, body]);
  knownSpecials.set(key, found);
  return found;
}

/** Which of the special names are read somewhere inside. */
function specialsIn(value: unknown, found = new Set<Special>()): ReadonlySet<Special> {
  if (Array.isArray(value)) for (const item of value) specialsIn(item, found);
  else if (value instanceof Map) specialsIn([...value].flat(), found);
  else if (typeof value === "object" && value !== null && !(value instanceof Evaluated)) {
    const node = asNode(value);
    if (node.type === "Identifier") addSpecial(nameOf(node), found);
    else
      for (const [field, part] of Object.entries(node))
        if (typeof part === "object" && !isBareName(node, field)) specialsIn(part, found);
  }
  return found;
}

function addSpecial(name: string, found: Set<Special>): void {
  if (name === "caller" || name === "kwargs" || name === "varargs") found.add(name);
}

/** Names of parts, filters, tests and arguments, and those that something is given to: they read nothing. */
function isBareName(node: Node, field: string): boolean {
  if (field === "property") return node["computed"] === false;
  if (field === "test") return node.type === "TestExpression";
  if (field === "operator") return true;
  return ["filter", "key", "assignee", "loopvar", "name", "targets"].includes(field) && isIdentifier(node[field]);
}
const isIdentifier = (value: unknown): boolean =>
  typeof value === "object" && value !== null && "type" in value && value.type === "Identifier";
